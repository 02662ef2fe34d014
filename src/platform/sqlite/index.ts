export {
  damageOf,
  isDamage,
  judgeCopy,
  markDamaged,
  migrationsDigest,
  NewerDatabaseError,
  openDatabase,
  openOrSetAside,
  readMigrations,
  setAside,
  type Database,
} from './database.ts';
export { createGroupCommit, type GroupCommit, type Participant } from './group-commit.ts';
export { FolderLockedError, lockFolder, tryLockFolder, type FolderLock } from './folder-lock.ts';
export {
  correctedStamp,
  excluded,
  isWrongStamp,
  type Orm,
  placeholders,
  present,
  type Present,
} from './orm.ts';
