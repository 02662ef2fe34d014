/**
 * Copies what can still be read of a damaged database into a new one of the same schema: rows from both ends of each
 * table, then from probes between damaged pages. Existing rows are kept.
 */
import type BetterSqlite3 from 'better-sqlite3';
import { openFile } from './native.ts';
import { isDamage } from './damage.ts';
import type { Database } from './database.ts';

/** Rows read and written at once, which takes a few milliseconds. */
const ROWS_PER_BITE = 100;
/** Probes behind damaged pages of one table; each page costs a few. */
const PROBES_MAX = 1_024;

type Key = readonly (number | string)[];
type Row = Record<string, unknown>;

interface Table {
  name: string;
  keys: string[];
  insert: BetterSqlite3.Statement<unknown[]>;
  columns: string[];
  /** Tables that it refers to. */
  parents: string[];
}

interface Run {
  first: Key | undefined;
  last: Key | undefined;
  isBroken: boolean;
}

/** Tables that are treated apart. */
export interface SalvageTables {
  /** Tables of which `salvageFirst` copies only the newest rows. */
  later: readonly string[];
  /** Tables that triggers fill, which are not copied. */
  computed: readonly string[];
  /** Tables that give numbers to names, with the columns that say what a number means. */
  identities: Readonly<Record<string, readonly string[]>>;
}

/** How history.db is taken over. */
export const HISTORY_SALVAGE: SalvageTables = {
  later: ['device_log', 'rule_log', 'telemetry_block'],
  computed: ['device_log_size', 'rule_log_size'],
  identities: { telemetry_series: ['device_id', 'attribute', 'type'], log_device: ['device_id'] },
};

/** Copies what must be there before use; then new rows get keys above the old ones. @throws when nothing can be read */
export function salvageFirst(path: string, into: Database, tables: SalvageTables): void {
  const salvage = new Salvage(path, into, tables);
  try {
    salvage.first();
  } finally {
    salvage.close();
  }
}

/**
 * Copies the rest, which may take minutes, for a database that nobody uses meanwhile. Returns the number of rows.
 * @throws Error when both give the same key to something else
 */
export function salvageRest(path: string, into: Database, tables: SalvageTables): number {
  const salvage = new Salvage(path, into, tables);
  try {
    salvage.rest();
    return salvage.rowCount;
  } finally {
    salvage.close();
  }
}

class Salvage {
  readonly #from: BetterSqlite3.Database;
  readonly #into: Database;
  /** Tables that lack rows: references to these could meet new rows with the same key. */
  readonly #broken = new Set<string>();
  readonly #later: ReadonlySet<string>;
  readonly #computed: ReadonlySet<string>;
  readonly #identities: SalvageTables['identities'];
  rowCount = 0;

  /** @throws when the file is no database any more */
  constructor(path: string, into: Database, { later, computed, identities }: SalvageTables) {
    this.#from = openFile(path, { fileMustExist: true });
    this.#into = into;
    this.#later = new Set(later);
    this.#computed = new Set(computed);
    this.#identities = identities;
  }

  first(): void {
    for (const table of this.#tables()) {
      if (!this.#later.has(table.name)) this.#copy(table);
      else if (!this.#isOrphaned(table)) this.#page(table, 'DESC', undefined, undefined);
    }
  }

  rest(): void {
    for (const table of this.#tables()) {
      this.#requireSameKeys(table);
      if (this.#later.has(table.name) && !this.#isOrphaned(table)) this.#copy(table);
    }
  }

  /** Rows of the large tables refer to these by number: the same number must mean the same in both files. */
  #requireSameKeys({ name, columns }: Table): void {
    const unique = this.#identities[name];
    if (!unique) return;
    const [key = ''] = columns;
    const rows = this.#from.prepare<[], Row>(`SELECT ${key}, ${unique.join()} FROM ${name}`).all();
    const own = this.#into.prepare<unknown[], Row>(`SELECT ${unique.join()} FROM ${name} WHERE ${key} = ?`);
    for (const row of rows) {
      const found = own.get(row[key]);
      if (!found || unique.some((column) => found[column] !== row[column]))
        throw new Error(`${name} ${String(row[key])} is another one in the new database`);
    }
  }

  #isOrphaned({ parents }: Table): boolean {
    return parents.some((parent) => this.#broken.has(parent));
  }

  close(): void {
    this.#from.close();
  }

  /** Parents first: they were created first. */
  #tables(): Table[] {
    const names = this.#into
      .prepare<[], string>(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
      .pluck()
      .all();
    return names
      .filter((name) => !this.#computed.has(name))
      .map((name) => {
        const found = this.#into
          .prepare<[string], { name: string; pk: number }>('SELECT name, pk FROM pragma_table_info(?)')
          .all(name);
        const parents = this.#into
          .prepare<[string], string>('SELECT "table" FROM pragma_foreign_key_list(?)')
          .pluck()
          .all(name);
        const columns = found.map((column) => column.name);
        const keys = found
          .filter(({ pk }) => pk > 0)
          .sort((a, b) => a.pk - b.pk)
          .map((column) => column.name);
        const insert = this.#into.prepare<unknown[]>(
          `INSERT OR IGNORE INTO ${name} (${columns.join()}) VALUES (${columns.map(() => '?').join()})`,
        );
        return { name, keys, insert, columns, parents };
      });
  }

  #copy(table: Table): void {
    const down = this.#run(table, 'DESC', undefined, undefined);
    if (!down.isBroken) return;
    this.#broken.add(table.name);
    const up = this.#run(table, 'ASC', undefined, down.last);
    if (!up.isBroken) return;
    const lowest = table.keys.map(() => -1);
    const highest = table.keys.map(() => Number.MAX_SAFE_INTEGER);
    const gaps: [Key, Key][] = [[up.last ?? lowest, down.last ?? highest]];
    let probes = PROBES_MAX;
    for (let gap = gaps.pop(); gap; gap = gaps.pop()) {
      const [low, high] = gap;
      for (const pivot of pivots(low, high)) {
        if (probes-- <= 0) return;
        const above = this.#run(table, 'ASC', pivot, high);
        if (!above.first || !above.last) continue;
        const below = this.#run(table, 'DESC', above.first, low);
        if (above.isBroken) gaps.push([above.last, high]);
        if (below.isBroken) gaps.push([low, below.last ?? above.first]);
        break;
      }
    }
  }

  /** Copies from one key towards another, both excluded, until it arrives or a page cannot be read. */
  #run(table: Table, order: 'ASC' | 'DESC', from: Key | undefined, to: Key | undefined): Run {
    const run: Run = { first: undefined, last: from, isBroken: false };
    for (;;) {
      const page = this.#page(table, order, run.last, to);
      if (page === 'broken') {
        run.isBroken = true;
        return run;
      }
      run.first ??= page[0];
      run.last = page.at(-1) ?? run.last;
      if (page.length === 0) return run;
    }
  }

  #page(table: Table, order: 'ASC' | 'DESC', from: Key | undefined, to: Key | undefined): Key[] | 'broken' {
    for (const most of [ROWS_PER_BITE, 10, 1]) {
      try {
        const rows = this.#read(table, order, from, to, most);
        this.#into.transaction(() => {
          for (const row of rows) {
            const { changes } = table.insert.run(table.columns.map((column) => row[column] ?? null));
            this.rowCount += changes;
          }
        });
        return rows.map((row) => table.keys.map((key) => row[key] as number | string));
      } catch (error) {
        if (!isDamage(error)) throw error;
      }
    }
    return 'broken';
  }

  #read(
    table: Table,
    order: 'ASC' | 'DESC',
    from: Key | undefined,
    to: Key | undefined,
    most: number,
  ): Row[] {
    const key = `(${table.keys.join()})`;
    const marks = `(${table.keys.map(() => '?').join()})`;
    const [ahead, behind] = order === 'ASC' ? ['>', '<'] : ['<', '>'];
    const bounds = [
      ...(from ? [`${key} ${ahead} ${marks}`] : []),
      ...(to ? [`${key} ${behind} ${marks}`] : []),
    ];
    const where = bounds.length > 0 ? `WHERE ${bounds.join(' AND ')}` : '';
    return this.#from
      .prepare<unknown[], Row>(
        `SELECT ${table.columns.join()} FROM ${table.name} ${where}
         ORDER BY ${table.keys.map((column) => `${column} ${order}`).join()} LIMIT ${most}`,
      )
      .all([...(from ?? []), ...(to ?? [])]);
  }
}

/**
 * Keys between two others at which the next readable page may begin: at growing distances after the lower key, before the
 * higher key, and after each value of the first differing column in between.
 */
function* pivots(low: Key, high: Key): Generator<Key> {
  const isBetween = (key: Key): boolean => compare(low, key) < 0 && compare(key, high) < 0;
  for (const pivot of candidates(low, high)) if (isBetween(pivot)) yield pivot;
}

function* candidates(low: Key, high: Key): Generator<Key> {
  yield* further(low, 1);
  yield* further(high, -1);
  const column = low.findIndex((value, index) => value !== high[index]);
  const [from, to] = [low[column], high[column]];
  if (column === low.length - 1 || typeof from !== 'number' || typeof to !== 'number') return;
  for (let step = 1; from + step <= to; step *= 2)
    yield* further(
      low.map((value, index) => (index < column ? value : index === column ? from + step : -1)),
      1,
    );
}

const STEP_MAX = 65_536;

function* further(key: Key, direction: 1 | -1): Generator<Key> {
  const last = key.at(-1);
  if (typeof last !== 'number') return;
  for (let step = 1; step <= STEP_MAX; step *= 2) yield [...key.slice(0, -1), last + direction * step];
}

function compare(a: Key, b: Key): number {
  const column = a.findIndex((value, index) => value !== b[index]);
  const [left, right] = [a[column], b[column]];
  if (left === undefined || right === undefined) return 0;
  return left < right ? -1 : 1;
}
