/** Another machine over WebDAV (RFC 4918), by the program `curl`; its certificate has to be one that the system trusts. */
import { join } from 'node:path';
import { BACKUPS_FOLDER, READ_BACK } from './layout.ts';
import { type BackupTarget, PART, requireSame, runClient } from './target.ts';
import { removeFile } from '../files/index.ts';

const CURL = { name: 'curl', debianPackage: 'curl' };
/** Without configuration files; a transfer that is silent for a minute is given up. */
const WORDS =
  '--disable --silent --show-error --fail --proto =https,http --config - --connect-timeout 20 --speed-limit 1 --speed-time 60'.split(
    ' ',
  );
/** Last part of each path in the answer to PROPFIND, whatever prefix the server gives the namespace. */
const HREF = /<(?:[\w-]+:)?href>\s*([^<]*?)\/?\s*<\/(?:[\w-]+:)?href>/gi;

export function webDavTarget(
  location: string,
  dataDir: string,
  {
    username,
    password,
    signal,
  }: { username: string | undefined; password: string | undefined; signal?: AbortSignal },
): BackupTarget {
  const base = location.replace(/\/$/, '');
  const home = join(dataDir, BACKUPS_FOLDER);
  // Through the standard input, as the words of a program are seen by every user of the box.
  const input = username === undefined ? '' : `user = ${quoted(`${username}:${password ?? ''}`)}\n`;
  const run = (...words: string[]): Promise<string> =>
    runClient(CURL, [...WORDS, ...words], { input, home, signal });
  return {
    store: async (path, name) => {
      const target = `${base}/${name}`;
      const readBack = join(home, READ_BACK);
      try {
        await run('--upload-file', path, target + PART);
        await run('--output', readBack, target + PART);
        await requireSame(path, readBack);
        await run('--request', 'MOVE', '--header', `Destination: ${target}`, target + PART);
      } finally {
        removeFile(readBack);
      }
    },
    names: async () => {
      const answer = await run('--request', 'PROPFIND', '--header', 'Depth: 1', `${base}/`);
      return [...answer.matchAll(HREF)].map(([, path = '']) => path.split('/').at(-1) ?? '');
    },
    remove: async (name) => void (await run('--request', 'DELETE', `${base}/${name}`)),
  };
}

/** As curl(1) reads a value of its configuration. */
function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
