/** What a synced commit costs, and what grouping many writes into one gains: the floor under every promise. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { type Database, openDatabase } from '../../src/platform/sqlite/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { createRandom } from '../support/random.ts';

interface CommitParameters {
  commits: number;
  /** Rows of each commit in the grouped run. */
  rowsPerCommit: number;
}

const SEED = 1;
const ROW_BYTES = 200;
const SCHEMA = 'CREATE TABLE reading (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;';

export const benchmark: Benchmark<CommitParameters> = {
  name: 'commit',
  describe: 'synced commits of one row and of many, in a file beside the working folder',
  small: { commits: 5, rowsPerCommit: 10 },
  large: { commits: 500, rowsPerCommit: 500 },
  seed: SEED,
  run,
};

async function run({ commits, rowsPerCommit }: CommitParameters, report: Report): Promise<string> {
  const clock = createSystemClock();
  // Not below the system's temporary folder, which may be memory.
  mkdirSync('data', { recursive: true });
  const folder = mkdtempSync(join('data', 'bench-'));
  try {
    writeFileSync(join(folder, '0001_reading.sql'), SCHEMA);
    const log = createLog({
      level: 'error',
      format: 'text',
      clock,
      write: (text) => process.stderr.write(text),
    });
    const database = openDatabase({ path: join(folder, 'bench.db'), migrationsDir: folder, clock, log });
    const singles = timeCommits(database, commits, 1);
    const grouped = timeCommits(database, commits, rowsPerCommit);
    report('one row per commit, median', singles.medianMs, 'ms');
    report('one row per commit, slowest', singles.slowestMs, 'ms');
    report('one row per commit', singles.rowsPerSecond, 'rows/s');
    report(`${rowsPerCommit} rows per commit, median`, grouped.medianMs, 'ms');
    report(`${rowsPerCommit} rows per commit`, grouped.rowsPerSecond, 'rows/s');
    const checksum = checksumOf(database);
    database.close();
    return checksum;
  } finally {
    rmSync(folder, { recursive: true });
    clock.close();
  }
}

function timeCommits(
  database: Database,
  commits: number,
  rows: number,
): { medianMs: number; slowestMs: number; rowsPerSecond: number } {
  const random = createRandom(SEED, rows);
  const insert = database.prepare<[Buffer]>('INSERT INTO reading (body) VALUES (?)');
  const takenMs: number[] = [];
  for (let count = 0; count < commits; count++) {
    const bodies = Array.from({ length: rows }, () => Buffer.alloc(ROW_BYTES, random.integer(0, 255)));
    const startedMs = performance.now();
    database.transaction(() => bodies.forEach((body) => insert.run(body)));
    takenMs.push(performance.now() - startedMs);
  }
  const sumMs = takenMs.reduce((sum, each) => sum + each, 0);
  takenMs.sort((a, b) => a - b);
  return {
    medianMs: takenMs[Math.floor(takenMs.length / 2)] ?? 0,
    slowestMs: takenMs.at(-1) ?? 0,
    rowsPerSecond: (commits * rows * 1_000) / sumMs,
  };
}

function checksumOf(database: Database): string {
  const hash = createHash('sha256');
  const rows = database.prepare<[], { body: Buffer }>('SELECT body FROM reading ORDER BY id').all();
  for (const { body } of rows) hash.update(body);
  return hash.digest('hex').slice(0, 16);
}
