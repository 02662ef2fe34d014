export {
  migrationsDigest,
  NewerDatabaseError,
  openDatabase,
  readMigrations,
  type Database,
} from './database.ts';
export { createGroupCommit, type GroupCommit, type Participant } from './group-commit.ts';
