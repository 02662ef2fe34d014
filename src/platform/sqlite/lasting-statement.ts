import type BetterSqlite3 from 'better-sqlite3';
import { remembered } from '../../lib/remembered.ts';
import type { Database } from './database.ts';

type Statement = BetterSqlite3.Statement<unknown[], unknown>;
type Use = <Result>(fn: (database: Database) => Result) => Result;

/** A statement that is prepared again for every opening of its database; what drizzle and our stores use of one. */
export function lastingStatement(
  use: Use,
  sql: string,
): Pick<Statement, 'pluck' | 'raw' | 'run' | 'get' | 'all'> {
  const modes = new Set<'pluck' | 'raw'>();
  const statementIn = remembered((database: Database): Statement => {
    const statement = database.prepare(sql);
    for (const mode of modes) statement[mode]();
    return statement;
  });
  const lasting = {
    pluck: () => {
      modes.add('pluck');
      return lasting as Statement;
    },
    raw: () => {
      modes.add('raw');
      return lasting as Statement;
    },
    run: (...parameters: unknown[]) => use((database) => statementIn(database).run(...parameters)),
    get: (...parameters: unknown[]) => use((database) => statementIn(database).get(...parameters)),
    all: (...parameters: unknown[]) => use((database) => statementIn(database).all(...parameters)),
  };
  return lasting;
}
