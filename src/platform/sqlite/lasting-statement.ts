/** Statements of a database that may be opened again while they are held. */
import type BetterSqlite3 from 'better-sqlite3';
import type { Database } from './database.ts';

type AnyStatement = BetterSqlite3.Statement<unknown[], unknown>;

/** A statement that is prepared again for every opening of its database. */
export class LastingStatement {
  readonly #use: <Result>(fn: (database: Database) => Result) => Result;
  readonly #sql: string;
  readonly #generation: () => number;
  #isPlucked = false;
  #isRaw = false;
  #prepared: { statement: AnyStatement; generation: number } | undefined;

  constructor(
    use: <Result>(fn: (database: Database) => Result) => Result,
    sql: string,
    generation: () => number,
  ) {
    this.#use = use;
    this.#sql = sql;
    this.#generation = generation;
  }

  pluck(): this {
    this.#isPlucked = true;
    return this;
  }

  /** Rows as lists of values. */
  raw(): this {
    this.#isRaw = true;
    return this;
  }

  run(...parameters: unknown[]): unknown {
    return this.#use((database) => this.#statement(database).run(...parameters));
  }

  get(...parameters: unknown[]): unknown {
    return this.#use((database) => this.#statement(database).get(...parameters));
  }

  all(...parameters: unknown[]): unknown {
    return this.#use((database) => this.#statement(database).all(...parameters));
  }

  #statement(database: Database): AnyStatement {
    const generation = this.#generation();
    if (this.#prepared?.generation !== generation) {
      const statement = database.prepare(this.#sql);
      if (this.#isPlucked) statement.pluck();
      if (this.#isRaw) statement.raw();
      this.#prepared = { statement, generation };
    }
    return this.#prepared.statement;
  }
}
