/**
 * Another machine over SFTP, by the program `sftp` of OpenSSH. The gateway has a key of its own (`sftpKey`); the key of
 * the other machine is kept when it is met first, and another one is refused from then on.
 */
import { chmodSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  makePrivateFolder,
  readPrivateFile,
  removeFile,
  removeTree,
  syncFile,
  syncFolder,
  writePrivateFile,
} from '../files/index.ts';
import { BACKUPS_FOLDER, READ_BACK } from './layout.ts';
import { type BackupTarget, PART, ReadBack, runClient, timeoutOf } from './target.ts';
import type { Clock } from '../clock/index.ts';

const SFTP = { name: 'sftp', debianPackage: 'openssh-client' };
const KEYGEN = { name: 'ssh-keygen', debianPackage: 'openssh-client' };
/** Without configuration files, with commands from standard input. */
const WORDS = ['-F', '/dev/null', '-b', '-'];
const CONNECT_TIMEOUT_S = 20;

/**
 * The public key by which other machines know the gateway; made when it is asked for first, or when a cut of power left
 * nothing of the private one. @throws TargetError
 */
export async function sftpKey(dataDir: string): Promise<string> {
  const folder = join(dataDir, BACKUPS_FOLDER);
  const key = keyFile(folder);
  if (textOf(key).startsWith('-----BEGIN ')) {
    // OpenSSH refuses one that others may read, as a copy of the data folder may leave it.
    chmodSync(key, 0o600);
    const known = textOf(`${key}.pub`);
    if (known.startsWith('ssh-')) return known;
    // Other machines know the key already, so it stays.
    const publicKey = (await runClient(KEYGEN, ['-y', '-f', key], { input: '', home: folder })).trim();
    writePrivateFile(`${key}.pub`, `${publicKey}\n`);
    return publicKey;
  }
  makePrivateFolder(folder);
  const draft = `${key}.new`;
  for (const path of [draft, `${draft}.pub`]) removeTree(path);
  const words = ['-q', '-t', 'ed25519', '-N', '', '-C', 'energy-gateway', '-f', draft];
  await runClient(KEYGEN, words, { input: '', home: folder });
  for (const suffix of ['', '.pub']) syncFile(draft + suffix);
  // The private one last: it says that the key is made.
  for (const suffix of ['.pub', '']) renameSync(draft + suffix, key + suffix);
  syncFolder(folder);
  return textOf(`${key}.pub`);
}

const textOf = (path: string): string => readPrivateFile(path)?.trim() ?? '';

const keyFile = (folder: string): string => join(folder, 'sftp-key');

export function sftpTarget(
  location: string,
  dataDir: string,
  { clock, signal }: { clock: Pick<Clock, 'setRepeating'>; signal?: AbortSignal },
): BackupTarget {
  const { username, hostname, port, pathname } = new URL(location);
  const folder = join(dataDir, BACKUPS_FOLDER);
  const remote = pathname.replace(/\/$/, '');
  const readBack = join(folder, READ_BACK);
  /** @param movedBytes of the file that goes or comes; what comes is no longer */
  const run = async (batch: readonly string[], movedBytes = 0): Promise<string> => {
    await sftpKey(dataDir);
    const settings = {
      BatchMode: 'yes',
      LogLevel: 'ERROR',
      ConnectTimeout: CONNECT_TIMEOUT_S,
      ServerAliveInterval: CONNECT_TIMEOUT_S,
      StrictHostKeyChecking: 'accept-new',
      UserKnownHostsFile: join(folder, 'sftp-known-hosts'),
      IdentityFile: keyFile(folder),
      IdentitiesOnly: 'yes',
    };
    const words = [
      ...WORDS,
      '-P',
      port || '22',
      ...Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
      '--',
      `${username}@${hostname}`,
    ];
    const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    const watch = { clock, isTooMuch: () => movedBytes > 0 && sizeOf(readBack) > movedBytes };
    const timeoutMs = timeoutOf(movedBytes);
    const input = `${batch.join('\n')}\n`;
    return runClient(SFTP, words, { input, home: folder, signal, timeoutMs, watch });
  };
  return {
    store: async (path, name) => {
      const target = `${remote}/${name}`;
      const sent = new ReadBack(path);
      try {
        removeFile(readBack);
        await run([`-mkdir "${remote}"`, `put "${path}" "${target}${PART}"`], sent.sizeBytes);
        await run([`get "${target}${PART}" "${readBack}"`], sent.sizeBytes);
        await sent.takeFile(readBack);
        await run([`rename "${target}${PART}" "${target}"`]);
      } finally {
        removeFile(readBack);
      }
    },
    names: async () =>
      (await run([`ls -1 "${remote}"`]))
        .split('\n')
        .filter((line) => !line.startsWith('sftp>'))
        .map((line) => line.trim().split('/').at(-1) ?? ''),
    remove: async (name) => void (await run([`rm "${remote}/${name}"`])),
  };
}
