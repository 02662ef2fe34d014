export { Database, openDatabase, type OpenOptions } from './database.ts';
export { damageOf, isDamage, isStateOfGateway, judgeCopy } from './damage.ts';
export { markDamaged, openOrSetAside, setAside } from './set-aside.ts';
export { diskFaultOf, isFull } from './disk-fault.ts';
export { FolderLockedError, lockFolder, tryLockFolder, type FolderLock } from './folder-lock.ts';
export { localCopies, type LocalCopy } from './local-copies.ts';
export { lastRecovery, openState, type StateRecovery } from './open-state.ts';
export { releaseStartReserve, StateUpkeep } from './state-upkeep.ts';
export { createGroupCommit, type GroupCommit, type Participant } from './group-commit.ts';
export {
  MigrationsPendingError,
  migrationsDigest,
  NewerDatabaseError,
  readMigrations,
} from './migrations.ts';
export type { SyncFile } from './write-ahead-log.ts';
export {
  correctedStamp,
  excluded,
  isWrongStamp,
  type Orm,
  placeholders,
  present,
  type Present,
} from './orm.ts';
export {
  DegradableDatabase,
  type DatabaseUser,
  type Owner,
  type SqlDatabase,
} from './degradable-database.ts';
export { quarantinedSince, quarantineRows, type Quarantined } from './quarantine.ts';
export { rowRules, type RowRules } from './row-rules.ts';
