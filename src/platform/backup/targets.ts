/**
 * Where backups go: a folder (of a disk, a stick, a network drive that the system mounted), or another machine over
 * SFTP or WebDAV. The two protocols are spoken by `sftp` and `curl` of the system, which many people look after.
 */
import { hostOf, leadingZeros } from '../../lib/address.ts';
import type { Clock } from '../clock/index.ts';
import type { BackupTarget } from './target.ts';
import { folderTarget } from './folder-target.ts';
import { sftpTarget } from './sftp-target.ts';
import { webDavTarget } from './web-dav-target.ts';

export { sftpKey } from './sftp-target.ts';
export { TargetError } from './target.ts';

const PATH = '(?:/[A-Za-z0-9._~-]+)+/?';
const HOST = '(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})|\\[[0-9A-Fa-f:]+\\])(?::\\d{1,5})?';

/** Text allowed as a target: nothing that a shell, `sftp` or `curl` reads as more than a name. */
const TARGET_PATTERN = new RegExp(
  `^(?:${PATH}|sftp://[A-Za-z0-9._][A-Za-z0-9._-]{0,63}@${HOST}${PATH}|https?://${HOST}(?:${PATH}|/))$`,
);

/** The fault of a target as text; undefined: none. */
export function targetProblem(text: string): string | undefined {
  if (!TARGET_PATTERN.test(text))
    return 'must be a folder such as /media/backup, sftp://user@host/folder, or https://host/folder of a WebDAV server; of letters, digits and . _ ~ -';
  if (text.split('/').some((part) => part === '..' || part === '.'))
    return 'must not have . or .. in its path';
  return leadingZeros(hostOf(text) ?? '') && 'must not have leading zeros in its address';
}

/**
 * @param options.location as `targetProblem` admits it
 * @param options.dataDir where keys of the gateway for other machines lie, and files on their way
 */
export function createTarget(options: {
  location: string;
  dataDir: string;
  /** User name for WebDAV. */
  username: string | undefined;
  password: string | undefined;
  /** Refuses a folder while nothing is mounted there. */
  isMountExpected: boolean;
  clock: Pick<Clock, 'setRepeating'>;
  /** Ends what is under way with another machine. */
  signal?: AbortSignal;
}): BackupTarget {
  const { location, dataDir } = options;
  if (location.startsWith('sftp://')) return sftpTarget(location, dataDir, options);
  if (location.startsWith('/')) return folderTarget(location, dataDir, options.isMountExpected);
  return webDavTarget(location, dataDir, options);
}
