/** What stands in a backup: a zip, sealed. */

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
