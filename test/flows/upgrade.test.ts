/**
 * Upgrades: databases of every released version, with rows in every table of their time, become the newest ones, and
 * today's databases take a planted next migration.
 */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { openDatabase, readMigrations } from '../../src/platform/sqlite/index.ts';
import { STATE_ROWS_SQL } from '../support/state-rows-sql.ts';
import { TestClock } from '../support/test-clock.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { MIGRATIONS_DIR, recordingLog, temporaryFolder } from '../support/workspace.ts';

type Name = 'state' | 'history';
type Rows = Record<string, unknown[]>;

const migrationsOf = (name: Name): string => join(MIGRATIONS_DIR, name);
const newestOf = (name: Name): number => readMigrations(migrationsOf(name)).length;
const earlierOf = (name: Name): number[] =>
  Array.from({ length: newestOf(name) - 1 }, (_, index) => index + 1);

/** Half of them is sealed at once, the rest stays in the journal. */
const SAMPLES = 15_000;
const SEALS_EARLY = { GATEWAY_TELEMETRY_OPEN_SAMPLES: '10000' };
const DAY_S = 86_400;
const FROM_S = Math.floor(Date.now() / 86_400_000) * DAY_S - 3 * DAY_S;

/** A data folder of the newest version with a row in every table. */
let seeded: string;
/** What a gateway of the newest version answers on it. */
let expected: Record<string, unknown>;

async function withGateway<Result>(
  dataDir: string,
  work: (gateway: TestGateway) => Promise<Result>,
): Promise<Result> {
  const ends: (() => unknown)[] = [];
  const test = { after: (end: unknown) => void ends.push(end as () => unknown) };
  try {
    return await work(await startTestGateway(test, { dataDir, environment: SEALS_EARLY }));
  } finally {
    for (const end of ends) await end();
  }
}

/** What only a running gateway writes. */
async function live(gateway: TestGateway): Promise<void> {
  await gateway.provision();
  const meter = await gateway.provision('Meter');
  await meter.connect();
  await meter.log('kept', { persist: true });
  await gateway.ok('OWNER', 'PATCH', `/v3/devices/${meter.id}/configuration/limits`, {
    set: { minimum_soc_percent: 12 },
  });
  // One that nobody answers: what it has not carried is kept for it.
  const target = { name: 'cloud', kind: 'INFLUXDB', influxdb: { url: 'http://127.0.0.1:9' } };
  await gateway.ok('OWNER', 'POST', '/v3/targets', target);
  const rows = Array.from({ length: SAMPLES }, (_, second) => `${FROM_S + second},${second % 100}`);
  const csv = `ts,telemetry=battery_soc device=meter\n${rows.join('\n')}\n`;
  await gateway.ok('OWNER', 'POST', '/v3/telemetry/import', csv, { 'Content-Type': 'text/csv' });
  const sealed = ['telemetry_block', 'telemetry_change', 'telemetry_generation', 'telemetry_part'];
  await until(() => emptyTables(join(seeded, 'history.db')).every((table) => !sealed.includes(table)));
}

function contentOf(path: string): Rows {
  const handle = new BetterSqlite3(path, { readonly: true });
  const rows = rowsOf(handle, shapeOf(handle));
  handle.close();
  return rows;
}

function versionOf(path: string): unknown {
  const handle = new BetterSqlite3(path, { readonly: true });
  const version = handle.pragma('user_version', { simple: true });
  handle.close();
  return version;
}

function emptyTables(path: string): string[] {
  const rows = contentOf(path);
  return Object.keys(rows).filter((table) => rows[table]?.length === 0);
}

function fill(path: string, sql: string): void {
  const handle = new BetterSqlite3(path);
  handle.exec(sql);
  handle.close();
}

/** Whatever has a moment of creation or change was made then. */
function madeAt(path: string, nowMs: number): string {
  const handle = new BetterSqlite3(path, { readonly: true });
  const updates = tablesOf(handle).flatMap((table) =>
    (handle.pragma(`table_info(${table})`) as { name: string }[])
      .filter(({ name }) => /^(created|updated|uploaded|changed|attempted)_at_ms$/.test(name))
      .map(({ name }) => `UPDATE ${table} SET ${name} = ${nowMs} WHERE ${name} IS NOT NULL;`),
  );
  handle.close();
  return updates.join('\n');
}

before(async () => {
  seeded = mkdtempSync(join(tmpdir(), 'gateway-upgrade-'));
  await withGateway(seeded, live);
  fill(join(seeded, 'state.db'), STATE_ROWS_SQL);
  const now = Date.now();
  // Stamps from before there was a gateway: a start removes the one and dates the others anew.
  fill(
    join(seeded, 'state.db'),
    `${madeAt(join(seeded, 'state.db'), now)}
     UPDATE audit SET at_ms = ${now} WHERE number = 9000;
     UPDATE access_token SET last_used_at_ms = ${now};
     UPDATE execution_response SET received_at_ms = ${now};
     UPDATE alert SET raised_at_ms = ${now}, cleared_at_ms = ${now}, acknowledged_at_ms = ${now}`,
  );
  fill(join(seeded, 'history.db'), `INSERT INTO rule_log VALUES (1, 'rule', 1, 1, 'spoken')`);
  const copy = mkdtempSync(join(tmpdir(), 'gateway-upgrade-'));
  cpSync(seeded, copy, { recursive: true });
  expected = await withGateway(copy, answers);
  for (const [path, answer] of Object.entries(expected))
    assert.doesNotMatch(JSON.stringify(answer), /^(?:\[\]|\{"\w+":\[\])/, `${path} has nothing to compare`);
  rmSync(copy, { recursive: true });
});
after(() => rmSync(seeded, { recursive: true, force: true }));

function tablesOf(handle: BetterSqlite3.Database): string[] {
  return handle
    .prepare<[], string>(
      `SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name`,
    )
    .pluck()
    .all();
}

function tablesIn(path: string): string[] {
  const handle = new BetterSqlite3(path, { readonly: true });
  const tables = tablesOf(handle);
  handle.close();
  return tables;
}

function columnsOf(handle: BetterSqlite3.Database, table: string): string {
  return (handle.pragma(`main.table_info(${table})`) as { name: string }[])
    .map(({ name }) => name)
    .join(', ');
}

/** The columns that the tables have now, by table. */
function shapeOf(handle: BetterSqlite3.Database): Record<string, string> {
  return Object.fromEntries(tablesOf(handle).map((table) => [table, columnsOf(handle, table)]));
}

function rowsOf(handle: BetterSqlite3.Database, shape: Record<string, string>): Rows {
  return Object.fromEntries(
    Object.entries(shape).map(([table, columns]) => [
      table,
      handle
        .prepare(`SELECT ${columns} FROM ${table}`)
        .raw()
        .all()
        .map((row) => JSON.stringify(row))
        .toSorted(),
    ]),
  );
}

/** Makes the database of an earlier version with the rows that it could have had. */
function writeEarlier(dataDir: string, name: Name, version: number): void {
  const migrationsDir = join(dataDir, `${name}-migrations`);
  mkdirSync(migrationsDir, { recursive: true });
  for (const migration of readMigrations(migrationsOf(name)).slice(0, version))
    cpSync(join(migrationsOf(name), migration.name), join(migrationsDir, migration.name));
  const path = join(dataDir, `${name}.db`);
  open(path, migrationsDir);
  rmSync(migrationsDir, { recursive: true });
  const handle = new BetterSqlite3(path);
  handle.pragma('foreign_keys = OFF');
  handle.prepare('ATTACH ? AS seeded').run(join(seeded, `${name}.db`));
  handle.transaction(() => {
    // What triggers wrote meanwhile is in the seeded tables as well.
    for (const [table, columns] of Object.entries(shapeOf(handle)))
      handle.exec(`INSERT OR REPLACE INTO main.${table} (${columns}) SELECT ${columns} FROM seeded.${table}`);
  })();
  handle.close();
}

function open(path: string, migrationsDir: string, backupDir?: string): void {
  const clock = new TestClock();
  const { log } = recordingLog(clock);
  openDatabase({ path, migrationsDir, clock, log, ...(backupDir !== undefined && { backupDir }) }).close();
}

type Entries = Record<string, Record<string, unknown>[]>;

/** One entry of a list: tokens of this test, alerts of the box and the like are others at every start. */
const only =
  (list: string, key: string, ...values: unknown[]) =>
  (body: Entries): unknown =>
    (body[list] ?? []).filter((entry) => values.includes(entry[key]));

const whole = (body: Entries): unknown => body;

/** What is kept in a table, as people get it; the telemetry store keeps what it has in several. */
const QUESTIONS: [tables: string[], path: string, pick: (body: Entries) => unknown][] = [
  [['site'], '/v3/site', whole],
  [['user_account'], '/v3/auth/users', whole],
  [['access_token'], '/v3/auth/tokens', only('access_tokens', 'id', 'parent', 'child')],
  [['audit'], '/v3/audit', only('entries', 'number', 9000)],
  [['blueprint'], '/v3/blueprints', whole],
  [['device_profile'], '/v3/blueprints/device_profiles', whole],
  [['device'], '/v3/devices/battery?expand=manifest,properties', whole],
  [['device_configuration'], '/v3/devices/meter/configuration/limits', whole],
  [['execution_response'], '/v3/devices/battery/command_executions?expand=log', whole],
  [['rule_engine'], '/v3/site/rule_engine', whole],
  [['rule'], '/v3/site/rule_engine/rules', whole],
  [['output', 'output_change'], '/v3/site/outputs/5b0a3a5c-3e0b-4d4e-8a5f-0d6a4c1f2b34/changes', whole],
  [['serial_port'], '/v3/serial_ports', whole],
  [['energy_source'], '/v3/site/energy/sources', whole],
  [['alert'], '/v3/alerts', only('alerts', 'id', 'seven')],
  [['io_port'], '/v3/io_ports', whole],
  [['backup_plan'], '/v3/backup/plan', whole],
  [['notification_channel'], '/v3/notification_channels', whole],
  [['notification_delivery'], '/v3/notification_deliveries', only('notification_deliveries', 'id', 'seven')],
  [['target'], '/v3/targets', ({ targets }) => targets?.map((entry) => ({ ...entry, status: undefined }))],
  [['device_log'], '/v3/devices/meter/logs', whole],
  [['rule', 'rule_log'], '/v3/site/rule_engine/rules/night/logs', whole],
];

const SERIES = {
  from: FROM_S,
  to: FROM_S + SAMPLES,
  granularity: '1s',
  aggregation: 'last',
  telemetry: [{ device: 'meter', attribute: 'battery_soc' }],
};

async function answers(gateway: TestGateway, questions = QUESTIONS): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const [, path, pick] of questions)
    found[path] = pick((await gateway.ok('INSTALLER', 'GET', path)) as Entries);
  const csv = { Accept: 'text/csv' };
  const answer = await gateway.call('INSTALLER', 'POST', '/v3/telemetry/query_timeseries', SERIES, csv);
  found['telemetry'] = String(answer.body).trimEnd().split('\n').slice(1);
  return found;
}

for (const name of ['state', 'history'] as const)
  describe(`${name}.db`, () => {
    test('the seeded database has a row in every table', () => {
      assert.deepEqual(emptyTables(join(seeded, `${name}.db`)), []);
    });

    test('takes a planted next migration, keeps every row, and is copied before', (t) => {
      const folder = temporaryFolder(t);
      const path = join(folder, `${name}.db`);
      cpSync(join(seeded, `${name}.db`), path);
      const rows = contentOf(path);
      const migrationsDir = join(folder, 'migrations');
      cpSync(migrationsOf(name), migrationsDir, { recursive: true });
      const next = newestOf(name) + 1;
      writeFileSync(
        join(migrationsDir, `${String(next).padStart(4, '0')}_planted.sql`),
        'CREATE TABLE planted (a INTEGER NOT NULL) STRICT;\nINSERT INTO planted VALUES (1);\n',
      );
      open(path, migrationsDir, join(folder, 'backups'));
      assert.deepEqual(contentOf(path), { ...rows, planted: ['[1]'] });
      assert.equal(versionOf(path), next);
      const [copy = ''] = readdirSync(join(folder, 'backups'));
      assert.deepEqual(contentOf(join(folder, 'backups', copy)), rows);
      assert.equal(versionOf(join(folder, 'backups', copy)), next - 1);
    });

    for (const version of earlierOf(name))
      test(`a database of version ${version} becomes the newest without losing anything`, (t) => {
        const folder = temporaryFolder(t);
        const path = join(folder, `${name}.db`);
        writeEarlier(folder, name, version);
        const earlier = new BetterSqlite3(path, { readonly: true });
        const shape = shapeOf(earlier);
        const before = rowsOf(earlier, shape);
        earlier.close();
        for (const [table, rows] of Object.entries(before)) assert.ok(rows.length > 0, `no row in ${table}`);
        open(path, migrationsOf(name), join(folder, 'backups'));
        const handle = new BetterSqlite3(path, { readonly: true });
        assert.equal(handle.pragma('user_version', { simple: true }), newestOf(name));
        assert.deepEqual(handle.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
        assert.deepEqual(handle.pragma('foreign_key_check'), []);
        assert.deepEqual(rowsOf(handle, shape), before);
        handle.close();
        const [copy = ''] = readdirSync(join(folder, 'backups'));
        const kept = new BetterSqlite3(join(folder, 'backups', copy), { readonly: true });
        assert.equal(kept.pragma('user_version', { simple: true }), version);
        assert.deepEqual(rowsOf(kept, shape), before);
        kept.close();
      });
  });

describe('a gateway', () => {
  for (const version of earlierOf('state')) {
    const history = Math.min(version, newestOf('history'));
    test(`a gateway reads everything of state.db of version ${version} and history.db of version ${history}`, async (t) => {
      const dataDir = temporaryFolder(t);
      for (const part of ['telemetry-journal'])
        if (existsSync(join(seeded, part)))
          cpSync(join(seeded, part), join(dataDir, part), { recursive: true });
      writeEarlier(dataDir, 'state', version);
      writeEarlier(dataDir, 'history', history);
      const tables = new Set(['state', 'history'].flatMap((name) => tablesIn(join(dataDir, `${name}.db`))));
      const questions = QUESTIONS.filter(([needed]) => needed.every((table) => tables.has(table)));
      const found = await withGateway(dataDir, (gateway) => answers(gateway, questions));
      for (const [, path] of questions) assert.deepEqual(found[path], expected[path], path);
      assert.deepEqual(found['telemetry'], expected['telemetry']);
      assert.equal((found['telemetry'] as string[]).length, SAMPLES);
    });
  }
});
