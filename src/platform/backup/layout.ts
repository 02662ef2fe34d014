/** What stands in a backup: a zip of these files, sealed by a password (see container.ts). */

/** The file is no backup, is damaged, or belongs to another password. */
export class BackupError extends Error {
  override name = 'BackupError';
}

export const NO_BACKUP = 'The file is not a backup of a gateway.';

export interface BackupInfo {
  /** Of the gateway that made it. */
  version: string;
  made_at: string;
}

/** A `BackupInfo`. */
export const INFO_FILE = 'backup.json';
export const STATE_FILE = 'state.db';
/** PEM files: the authority whose certificates the devices trust, and the keys of the servers. */
export const TLS_FOLDER = 'tls';
