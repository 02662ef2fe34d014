export { type Backup, type BackupOptions, openBackup } from './backup.ts';
export { deliverBackup, saveBackup } from './save.ts';
export { BackupError, type BackupInfo } from './layout.ts';
export {
  discardUpload,
  isPlainCopy,
  keepUpload,
  prepareCopyRestore,
  prepareRestore,
  removeLeftovers,
  restoreUpload,
} from './restore.ts';
export { type BackupOpener, createBackupOpener } from './opening.ts';
export { endRehearsal, isRehearsalDue, type Rehearsal, rehearsalIn } from './rehearsal.ts';
export { applyRestore, restoreFaultSince } from './take-over.ts';
export { type BackupTarget, removeOld } from './target.ts';
export { createTarget, sftpKey, TargetError, targetProblem } from './targets.ts';
