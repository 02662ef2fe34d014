export { type Backup, type BackupOptions, openBackup } from './backup.ts';
export type { BackupInfo } from './layout.ts';
export { applyRestore, prepareRestore } from './restore.ts';
export { BackupError } from './seal.ts';
