export { Database, openDatabase } from './database.ts';
export { foreignSchemaIn, isDamage, isStateOfGateway, judgeCopy, judgeSchema } from './damage.ts';
export { foreignPath, removeSetAside, setAside, setAsideOf, type SetAside } from './set-aside.ts';
export { lockFolder, tryLockFolder, type FolderLock } from './folder-lock.ts';
export { copyCompact, type LocalCopy, localCopies } from './local-copies.ts';
export { rowStampsOf } from './row-stamps.ts';
export { lastRecovery, openState, textOfRecovery } from './open-state.ts';
export { releaseStartReserve, StateUpkeep, takeStartReserve } from './state-upkeep.ts';
export type { LostChanges } from './log-evidence.ts';
export { createGroupCommit, type GroupCommit } from './group-commit.ts';
export {
  MigrationsPendingError,
  migrationsDigest,
  NewerDatabaseError,
  readMigrations,
} from './migrations.ts';
export type { SyncFile } from './write-ahead-log.ts';
export {
  absent,
  correctedStamp,
  excluded,
  given,
  isWrongStamp,
  placeholders,
  placeholdersBut,
  type Present,
  present,
  presentRow,
  restampOf,
  upsert,
} from './orm.ts';
export { countOf, highestOf, isWithin, removalOf, unlessNull, updateOf } from './statements.ts';
export { type KeyValueStore, createKeyValueStore } from './key-values.ts';
export { DegradableDatabase, type Owner, type SqlDatabase } from './degradable-database.ts';
export { HISTORY_SALVAGE, salvageRest } from './salvage.ts';
