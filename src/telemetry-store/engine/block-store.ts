/** Statements of the block store: it stores bytes, whose meaning other files know. */
import type { EpochS } from '../../lib/time.ts';
import type { Database, Owner } from '../../platform/sqlite/index.ts';
import type { Series } from '../codec/series.ts';

/** Seconds of one cell; 1: samples. */
export type Resolution = 1 | 60 | 900;

/** `changes_from`: first journal record in the list of changes; 0: there is no reader. */
type StateName = 'journal_sequence' | 'journal_from' | 'next_series_id' | 'next_part_id' | 'changes_from';

/** Samples added by one sealing. */
interface ChangeEntry {
  /** Last journal record in it. */
  sequence: number;
  /** When its first record came. */
  sinceS: EpochS;
  samples: number;
  directory: Buffer;
}

export type BlockStore = ReturnType<typeof createBlockStore>;

export function createBlockStore(database: Database) {
  return {
    ...stateStatements(database),
    ...seriesStatements(database),
    ...partStatements(database),
    ...changeStatements(database),
    ...blockStatements(database),
    ...fileStatements(database),
  };
}

/**
 * The same store; tells the watchers of a series before its blocks are written or removed. And it remembers a day
 * without a block: to find that out SQLite reads whole blocks around the key, and charts of today ask again and again.
 */
export function watchBlocks(
  store: BlockStore,
  watchers: readonly { changed: (seriesId: number) => void }[],
): BlockStore {
  /** By series. */
  const dayWithout = new Map<number, number>();
  const changing =
    <Rest extends unknown[], Result>(change: (seriesId: number, ...rest: Rest) => Result) =>
    (seriesId: number, ...rest: Rest): Result => {
      dayWithout.delete(seriesId);
      for (const watcher of watchers) watcher.changed(seriesId);
      return change(seriesId, ...rest);
    };
  return {
    ...store,
    hasBlock: (seriesId, day) => {
      if (dayWithout.get(seriesId) === day) return false;
      const isFound = store.hasBlock(seriesId, day);
      if (!isFound) dayWithout.set(seriesId, day);
      return isFound;
    },
    putBlock: changing(store.putBlock),
    removeBlock: changing(store.removeBlock),
    removeSomeBlocks: changing(store.removeSomeBlocks),
  };
}

function stateStatements(database: Database) {
  const get = database.prepare<[string], { value: number | Buffer }>(
    'SELECT value FROM telemetry_state WHERE name = ?',
  );
  const set = database.prepare<[string, number | Buffer]>(
    'INSERT INTO telemetry_state (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  );
  return {
    number: (name: StateName) => (get.get(name)?.value as number | undefined) ?? 0,
    setNumber: (name: StateName, value: number) => void set.run(name, value),
    latest: () => get.get('latest')?.value as Buffer | undefined,
    setLatest: (data: Buffer) => void set.run('latest', data),
  };
}

function seriesStatements(database: Database) {
  const all = database.prepare<[], Series>(
    'SELECT id, device_id AS deviceId, attribute, type FROM telemetry_series ORDER BY id',
  );
  const ids = database.prepare<[], number>('SELECT id FROM telemetry_series').pluck();
  const add = database.prepare<[number, string, string, string]>(
    'INSERT OR REPLACE INTO telemetry_series (id, device_id, attribute, type) VALUES (?, ?, ?, ?)',
  );
  const remove = database.prepare<[number]>('DELETE FROM telemetry_series WHERE id = ?');
  return {
    allSeries: () => all.all(),
    seriesIds: () => ids.all(),
    addSeries: ({ id, deviceId, attribute, type }: Series) => void add.run(id, deviceId, attribute, type),
    removeSeries: (seriesId: number) => void remove.run(seriesId),
  };
}

function partStatements(database: Database) {
  const add = database.prepare<[number, Buffer]>('INSERT INTO telemetry_part (id, data) VALUES (?, ?)');
  const get = database.prepare<[number], { data: Buffer }>('SELECT data FROM telemetry_part WHERE id = ?');
  const size = database.prepare<[number], { bytes: number }>(
    'SELECT length(data) AS bytes FROM telemetry_part WHERE id = ?',
  );
  const remove = database.prepare<[number, number]>('DELETE FROM telemetry_part WHERE id BETWEEN ? AND ?');
  const removeFrom = database.prepare<[number]>('DELETE FROM telemetry_part WHERE id >= ?');
  const lastPart = database.prepare<[], { id: number | null }>('SELECT MAX(id) AS id FROM telemetry_part');
  const generations = database.prepare<[], { id: number; directory: Buffer }>(
    'SELECT id, directory FROM telemetry_generation ORDER BY id',
  );
  const addGeneration = database.prepare<[number, Buffer]>(
    'INSERT INTO telemetry_generation (id, directory) VALUES (?, ?)',
  );
  const removeGenerations = database.prepare<[number]>('DELETE FROM telemetry_generation WHERE id < ?');
  return {
    addPart: (id: number, data: Buffer) => void add.run(id, data),
    part: (id: number) => get.get(id)?.data,
    partBytes: (id: number) => size.get(id)?.bytes ?? 0,
    /** 0 when there is none. */
    lastPartId: () => lastPart.get()?.id ?? 0,
    removeParts: (firstId: number, lastId: number) => void remove.run(firstId, lastId),
    /** Parts of a sealing that never ended. */
    removePartsFrom: (id: number) => void removeFrom.run(id),
    generations: () => generations.all(),
    /** A generation has the id of its last part. */
    addGeneration: (id: number, directory: Buffer) => void addGeneration.run(id, directory),
    /** Generations whose parts all have lower ids. */
    removeGenerationsBefore: (partId: number) => void removeGenerations.run(partId),
  };
}

function changeStatements(database: Database) {
  const put = database.prepare<[number, number, number, Buffer]>(
    'INSERT OR REPLACE INTO telemetry_change (sequence, since_s, samples, directory) VALUES (?, ?, ?, ?)',
  );
  const remove = database.prepare<[number]>('DELETE FROM telemetry_change WHERE sequence = ?');
  const removeUpTo = database.prepare<[number]>('DELETE FROM telemetry_change WHERE sequence <= ?');
  const next = database.prepare<[number], ChangeEntry>(
    `SELECT sequence, since_s AS sinceS, samples, directory FROM telemetry_change
     WHERE sequence > ? ORDER BY sequence LIMIT 1`,
  );
  const last = database.prepare<[number], { sequence: number | null }>(
    'SELECT MAX(sequence) AS sequence FROM telemetry_change WHERE sequence <= ?',
  );
  const sum = database.prepare<[number, number], { samples: number | null; sinceS: EpochS | null }>(
    'SELECT SUM(samples) AS samples, MIN(since_s) AS sinceS FROM telemetry_change WHERE sequence > ? AND sequence <= ?',
  );
  const count = database.prepare<[], { count: number }>('SELECT COUNT(*) AS count FROM telemetry_change');
  return {
    putChange: ({ sequence, sinceS, samples, directory }: ChangeEntry) =>
      void put.run(sequence, sinceS, samples, directory),
    removeChange: (sequence: number) => void remove.run(sequence),
    removeChangesUpTo: (sequence: number) => void removeUpTo.run(sequence),
    changeAfter: (sequence: number) => next.get(sequence),
    changeAtOrBefore: (sequence: number) => last.get(sequence)?.sequence ?? undefined,
    /** All entries after a record and up to another together. */
    changesBetween: (sequence: number, upTo: number) => {
      const found = sum.get(sequence, upTo);
      return { samples: found?.samples ?? 0, sinceS: found?.sinceS ?? undefined };
    },
    changeCount: () => count.get()?.count ?? 0,
  };
}

function blockStatements(database: Database) {
  const key = 'series_id = ? AND resolution_s = ?';
  const get = database.prepare<[number, number, number], { data: Buffer }>(
    `SELECT data FROM telemetry_block WHERE ${key} AND day = ?`,
  );
  const put = database.prepare<[number, number, number, Buffer]>(
    'INSERT OR REPLACE INTO telemetry_block (series_id, resolution_s, day, data) VALUES (?, ?, ?, ?)',
  );
  const remove = database.prepare<[number, number, number]>(
    `DELETE FROM telemetry_block WHERE ${key} AND day = ?`,
  );
  const first = database.prepare<[number, number, number], { day: number }>(
    `SELECT day FROM telemetry_block WHERE ${key} AND day >= ? ORDER BY day LIMIT 1`,
  );
  const last = database.prepare<[number, number, number], { day: number }>(
    `SELECT day FROM telemetry_block WHERE ${key} AND day <= ? ORDER BY day DESC LIMIT 1`,
  );
  const any = database.prepare<[number, number], { found: number }>(
    `SELECT 1 AS found FROM telemetry_block
     WHERE series_id = ? AND resolution_s IN (1, 60, 900) AND day = ? LIMIT 1`,
  );
  const some = database.prepare<[number, number], { resolution_s: number; day: number }>(
    'SELECT resolution_s, day FROM telemetry_block WHERE series_id = ? LIMIT ?',
  );
  const size = database.prepare<[number], { bytes: number | null }>(
    'SELECT sum(length(data)) AS bytes FROM telemetry_block WHERE series_id = ?',
  );
  const highest = database.prepare<[], { id: number | null }>(
    'SELECT MAX(series_id) AS id FROM telemetry_block',
  );
  const next = database.prepare<[number], { series_id: number }>(
    'SELECT series_id FROM telemetry_block WHERE series_id > ? ORDER BY series_id LIMIT 1',
  );
  return {
    block: (seriesId: number, resolution: Resolution, day: number) =>
      get.get(seriesId, resolution, day)?.data,
    putBlock: (seriesId: number, resolution: Resolution, day: number, data: Buffer) =>
      void put.run(seriesId, resolution, day, data),
    removeBlock: (seriesId: number, resolution: Resolution, day: number) =>
      void remove.run(seriesId, resolution, day),
    /** Whether there is a block of any resolution. */
    hasBlock: (seriesId: number, day: number) => any.get(seriesId, day) !== undefined,
    /** First day at or after `fromDay` that has a block. */
    firstDay: (seriesId: number, resolution: Resolution, fromDay: number) =>
      first.get(seriesId, resolution, fromDay)?.day,
    /** Last day at or before `toDay` that has a block. */
    lastDay: (seriesId: number, resolution: Resolution, toDay: number) =>
      last.get(seriesId, resolution, toDay)?.day,
    /** Bytes of all blocks of a series. */
    blockBytes: (seriesId: number) => size.get(seriesId)?.bytes ?? 0,
    /** Removes up to `limit` blocks of a series; returns how many. */
    removeSomeBlocks: (seriesId: number, limit: number) => {
      const found = some.all(seriesId, limit);
      for (const { resolution_s, day } of found) remove.run(seriesId, resolution_s, day);
      return found.length;
    },
    /** Highest series id that has blocks; 0 when there is none. */
    lastSeriesWithBlocks: () => highest.get()?.id ?? 0,
    /** Least series id above `seriesId` that has blocks. */
    nextSeriesWithBlocks: (seriesId: number) => next.get(seriesId)?.series_id,
  };
}

function fileStatements(database: Database) {
  const size = database.prepare<[], { pages: number; free: number; bytes: number }>(
    `SELECT page_count AS pages, freelist_count AS free, page_size AS bytes
     FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
  );
  const { bytes: pageBytes } = size.get() ?? { bytes: 4_096 };
  const durable = database.prepare('PRAGMA synchronous = FULL');
  const lazy = database.prepare('PRAGMA synchronous = NORMAL');
  const vacuum = database.prepare('PRAGMA incremental_vacuum(1)');
  const checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  return {
    /** Runs `fn` in one transaction; `isDurable` waits for the disk, else the next durable one makes it so. */
    transaction: <Result>(isDurable: boolean, fn: () => Result): Result => {
      (isDurable ? durable : lazy).run();
      return database.transaction(fn);
    },
    /** Bytes of the pages in use, and of the file. */
    size: () => {
      const { pages, free, bytes } = size.get() ?? { pages: 0, free: 0, bytes: 0 };
      return { usedBytes: (pages - free) * bytes, fileBytes: pages * bytes };
    },
    /** The file never grows beyond this; a write that would need more fails with SQLITE_FULL. */
    limitSize: (fileBytes: number) =>
      // A pragma cannot be a parameter; the number is ours.
      void database.prepare(`PRAGMA max_page_count = ${Math.floor(fileBytes / pageBytes)}`).get(),
    /** Gives up to `pages` unused pages at the end of the file back to the file system. */
    shrink: (pages: number) =>
      database.transaction(() => {
        // One step of the statement frees one page.
        for (let page = 0; page < pages; page++) vacuum.run();
      }),
    checkpoint: () => void checkpoint.all(),
    close: () => database.close(),
  };
}

/** Which site a history.db belongs to. */
export function historyOwner(siteId: string): Owner {
  return {
    id: siteId,
    read: (database) =>
      database
        .prepare<[], { value: string }>(`SELECT value FROM telemetry_state WHERE name = 'site_id'`)
        .get()?.value,
    write: (database, id) =>
      void database
        .prepare<[string]>(`INSERT OR REPLACE INTO telemetry_state (name, value) VALUES ('site_id', ?)`)
        .run(id),
  };
}
