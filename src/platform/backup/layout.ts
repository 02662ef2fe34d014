/** Content of a backup: a zip of these files, sealed by a password (see container.ts). */

import { DOCUMENT_FILE, DOCUMENTS_FOLDER, RESTORED_KEYS_FILE } from '../files/index.ts';

/** The file is no backup, is damaged, or belongs to another password. */
export class BackupError extends Error {
  override name = 'BackupError';
}

export const NO_BACKUP = 'The file is not a backup of a gateway.';

/** Facts about a backup, in itself. */
export interface BackupInfo {
  /** Version of the gateway that made the backup. */
  version: string;
  made_at: string;
  /** Telemetry and logs are in it; absent: they are not. */
  includes_history?: boolean;
}

/** A `BackupInfo`. */
export const INFO_FILE = 'backup.json';
export const STATE_FILE = 'state.db';
/** The keys that open sealed secrets in state.db (platform/files). */
export const KEYS_FILE = RESTORED_KEYS_FILE;
/** PEM files: the authority whose certificates the devices trust, and the keys of the servers. */
export const TLS_FOLDER = 'tls';
/** As the gateway names them; no restore takes others. */
export const TLS_FILE = /^[a-z0-9-]+\.pem$/;
export { DOCUMENT_FILE, DOCUMENTS_FOLDER };
/** Telemetry and logs, in backups that shall have them: the database, and what it has not taken over yet. */
export const HISTORY_FILE = 'history.db';
export const JOURNAL_FOLDER = 'telemetry-journal';
export const JOURNAL_FILE = /^(?:\d{6,}\.journal(?:\.damaged)?|companion)$/;
/** In a restore, then in the data folder: the restored copy sends nothing. */
export const REHEARSAL_FILE = 'rehearsal.json';
/** In the data folder: local copies of state.db, and files of backups under way. */
export const BACKUPS_FOLDER = 'backups';
/** In that folder: beginnings of the names of incomplete files, and files that leave the box or came over the network. */
export const BEING_MADE = 'being-made';
export const BEING_CHECKED = 'being-checked';
export const OUTGOING = 'outgoing.backup';
export const READ_BACK = 'read-back';
export const UPLOADED = 'uploaded.backup';
/** In the data folder: a restore that is not ready yet. */
export const RESTORE_DRAFT = 'restore.new';
