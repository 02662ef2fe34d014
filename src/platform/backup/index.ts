export { type Backup, type BackupOptions, openBackup } from './backup.ts';
export { BackupError, type BackupInfo } from './layout.ts';
export { applyRestore, prepareRestore } from './restore.ts';
