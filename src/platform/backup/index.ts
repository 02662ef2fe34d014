export { type Backup, type BackupOptions, openBackup } from './backup.ts';
export { BackupError, type BackupInfo } from './layout.ts';
export { applyRestore, isPlainCopy, prepareCopyRestore, prepareRestore } from './restore.ts';
