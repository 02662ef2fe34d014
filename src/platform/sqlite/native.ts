/** Loads the native part of the library with this module, not with the first database: see platform/threads/loaded.ts. */
import BetterSqlite3 from 'better-sqlite3';

new BetterSqlite3(':memory:').close();
