export { type Backup, type BackupOptions, openBackup } from './backup.ts';
export { deliverBackup } from './delivery.ts';
export { BackupError, type BackupInfo } from './layout.ts';
export { type BackupOpener, createBackupOpener } from './opening.ts';
export { applyRestore, isPlainCopy, prepareCopyRestore, prepareRestore } from './restore.ts';
export { saveBackup } from './save.ts';
export { createTarget, sftpKey, TargetError, targetProblem } from './targets.ts';
export { keepUpload, restoreUpload } from './uploaded.ts';
