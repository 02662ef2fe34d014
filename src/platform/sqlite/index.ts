export {
  migrationsDigest,
  NewerDatabaseError,
  openDatabase,
  openOrSetAside,
  readMigrations,
  type Database,
} from './database.ts';
export { createGroupCommit, type GroupCommit, type Participant } from './group-commit.ts';
