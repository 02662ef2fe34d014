import type BetterSqlite3 from 'better-sqlite3';

type Statement = BetterSqlite3.Statement<unknown[], unknown>;

/** An open connection. */
interface Opening {
  prepare: (sql: string) => Statement;
}

/**
 * A statement that is prepared when it is first used, and again for every other opening of its database; what drizzle and
 * our stores use of one. Most of a start's hundreds of statements are not needed for a while.
 */
export function lastingStatement(
  use: <Result>(fn: (opening: Opening) => Result) => Result,
  sql: string,
): Pick<Statement, 'pluck' | 'raw' | 'run' | 'get' | 'all'> {
  const modes = new Set<'pluck' | 'raw'>();
  let prepared: { opening: Opening; statement: Statement } | undefined;
  const statementIn = (opening: Opening): Statement => {
    if (prepared?.opening === opening) return prepared.statement;
    const statement = opening.prepare(sql);
    for (const mode of modes) statement[mode]();
    prepared = { opening, statement };
    return statement;
  };
  const lasting = {
    pluck: () => {
      modes.add('pluck');
      return lasting as Statement;
    },
    raw: () => {
      modes.add('raw');
      return lasting as Statement;
    },
    run: (...parameters: unknown[]) => use((opening) => statementIn(opening).run(...parameters)),
    get: (...parameters: unknown[]) => use((opening) => statementIn(opening).get(...parameters)),
    all: (...parameters: unknown[]) => use((opening) => statementIn(opening).all(...parameters)),
  };
  return lasting;
}
