export { createGroupCommit, Database, type GroupCommit, openDatabase, rowStampsOf } from './database.ts';
export { foreignSchemaIn, isDamage, isStateOfGateway, judgeCopy, judgeSchema } from './damage.ts';
export {
  copyCompact,
  foreignPath,
  localCopies,
  type LocalCopy,
  removeSetAside,
  setAside,
  type SetAside,
  setAsideOf,
} from './local-copies.ts';
export { lockFolder, tryLockFolder, type FolderLock, type KilledHolder } from './folder-lock.ts';
export { lastRecovery, openState, textOfRecovery } from './open-state.ts';
export { releaseStartReserve, StateUpkeep, takeStartReserve } from './state-upkeep.ts';
export { lossNoter, recentLosses } from './loss-note.ts';
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
  countOf,
  createKeyValueStore,
  excluded,
  given,
  highestOf,
  isWithin,
  isWrongStamp,
  type KeyValueStore,
  placeholders,
  placeholdersBut,
  present,
  type Present,
  presentRow,
  removalOf,
  restampOf,
  unlessNull,
  updateOf,
  upsert,
} from './orm.ts';
export { DegradableDatabase, type Owner, type SqlDatabase } from './degradable-database.ts';
export { HISTORY_SALVAGE, salvageRest } from './salvage.ts';
