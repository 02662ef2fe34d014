/** Rows of state.db that cannot be read cost themselves, never the start. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { type Column, getTableColumns, getTableName } from 'drizzle-orm';
import { STATE_ROWS } from '../../src/gateway/state-rows.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import {
  Database,
  quarantinedRows,
  quarantinedSince,
  quarantineRows,
  removeQuarantined,
  type RowRules,
} from '../../src/platform/sqlite/index.ts';
import { STATE_ROWS_SQL } from '../support/state-rows-sql.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { TestClock } from '../support/test-clock.ts';
import { recordingLog } from '../support/workspace.ts';

/** A data folder with a row in every table. */
let seeded: string;
/** Its state.db. */
let sound: Buffer;

interface Break {
  title: string;
  table: string;
  column: string;
  /** What stands there instead, as SQL. */
  value: string;
}

function breaks(rules: RowRules): Break[] {
  const { table, json = {} } = rules;
  return Object.entries(getTableColumns(table) as Record<string, Column>).flatMap(([property, column]) => {
    const values: [string, string][] = [];
    if (column.dataType === 'json' || property in json) values.push(['broken JSON', `'{"half": '`]);
    if (column.dataType === 'json' && json[property as never] !== 'any')
      values.push(['JSON of another kind', `'7'`]);
    if (column.enumValues?.length) values.push(['an unknown value', `'NONSENSE'`]);
    if (column.dataType === 'boolean') values.push(['a boolean of 7', '7']);
    return values.map(([fault, value]) => ({
      title: `${fault} in ${getTableName(table)}.${column.name}`,
      table: getTableName(table),
      column: column.name,
      value,
    }));
  });
}

/** Writes what no statement of ours would: without types and references. */
function damage(handle: BetterSqlite3.Database, broken: readonly Omit<Break, 'title'>[]): void {
  handle.unsafeMode();
  handle.pragma('foreign_keys = OFF');
  handle.pragma('ignore_check_constraints = ON');
  const setTypes = (from: string, to: string): void => {
    handle.pragma('writable_schema = ON');
    const change = handle.prepare('UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = ?');
    for (const { table } of broken) change.run(`) ${from}`, `) ${to}`, table);
    handle.pragma('writable_schema = RESET');
  };
  setTypes('STRICT', '/*S*/');
  for (const { table, column, value } of broken)
    handle.exec(`UPDATE ${table} SET ${column} = ${value} ${lastRow(table)}`);
  setTypes('/*S*/', 'STRICT');
}

const ONE_ROW_TABLES =
  /^(blueprint_unused|device_configuration|execution_response|device_storage|rule_storage|departed_device|serial_port|io_port|target_cursor|carried_content|target_request|carried_change|device_rhythm)$/;

/** The one that was added for this test is the newest; tables without a rowid have one row. */
function lastRow(table: string): string {
  return ONE_ROW_TABLES.test(table) ? '' : `WHERE rowid = (SELECT max(rowid) FROM ${table})`;
}

before(async () => {
  const ends: (() => unknown)[] = [];
  seeded = mkdtempSync(join(tmpdir(), 'gateway-rows-'));
  const gateway = await startTestGateway(
    { after: (end) => void ends.push(end as () => unknown) },
    { dataDir: seeded },
  );
  await gateway.provision();
  for (const end of ends) await end();
  const handle = new BetterSqlite3(join(seeded, 'state.db'));
  handle.exec(STATE_ROWS_SQL);
  handle.pragma('journal_mode = DELETE');
  handle.close();
  sound = readFileSync(join(seeded, 'state.db'));
});
after(() => rmSync(seeded, { recursive: true, force: true }));

/** What a person looks at; the statuses that are not 200. */
async function looks({ call }: TestGateway): Promise<string[]> {
  const paths = [
    '/v3/site',
    '/v3/devices?expand=manifest,properties',
    '/v3/blueprints',
    '/v3/blueprints/device_profiles',
    '/v3/auth/users',
    '/v3/auth/tokens',
    '/v3/audit',
    '/v3/alerts',
    '/v3/targets',
    '/v3/notification_channels',
    '/v3/notification_deliveries',
    '/v3/site/rule_engine',
    '/v3/site/rule_engine/rules',
    '/v3/devices/battery/command_executions',
  ];
  const refused: string[] = [];
  for (const path of paths) {
    const { status, body } = await call('INSTALLER', 'GET', path);
    if (status !== 200) refused.push(`${path}: ${status} ${JSON.stringify(body)}`);
  }
  return refused;
}

describe('a start', () => {
  const perTable = STATE_ROWS.map(breaks);
  // One of each table at once, so that few starts do for all.
  for (let index = 0; perTable.some((list) => list.length > index); index++) {
    const broken = perTable.flatMap((list) => list[index] ?? []);
    test(`goes on with ${broken.map(({ title }) => title).join(', ')}`, async (t) => {
      const dataDir = mkdtempSync(join(tmpdir(), 'gateway-rows-'));
      cpSync(seeded, dataDir, { recursive: true });
      const handle = new BetterSqlite3(join(dataDir, 'state.db'));
      damage(handle, broken);
      handle.close();
      const gateway = await startTestGateway(t, { dataDir });
      t.after(() => rmSync(dataDir, { recursive: true, force: true }));
      const isNamed = ({ table, column }: Break): boolean =>
        gateway.lines.some(
          (line) =>
            line.level === 'error' && line.table === table && String(line.reason).startsWith(`${column} `),
        );
      assert.deepEqual(
        broken.filter((each) => !isNamed(each)).map(({ title }) => title),
        [],
      );
      assert.deepEqual(await looks(gateway), []);
      const { devices } = await gateway.ok('OWNER', 'GET', '/v3/devices?expand=raised_alert_names');
      const own = (devices as { type: string; raised_alert_names: string[] }[]).find(
        ({ type }) => type === 'GATEWAY',
      );
      assert.ok(own?.raised_alert_names.includes('state_rows_quarantined'));
    });
  }
});

/** Every way in which any column of any table can be wrong. */
function allBreaks(rules: RowRules): Break[] {
  const table = getTableName(rules.table);
  const handle = new BetterSqlite3(sound);
  const references = handle.pragma(`foreign_key_list(${table})`) as { from: string }[];
  handle.close();
  return [
    ...breaks(rules),
    ...Object.values(getTableColumns(rules.table) as Record<string, Column>).map((column) => ({
      title: `another type in ${table}.${column.name}`,
      table,
      column: column.name,
      value:
        column.name === 'number' ||
        table === 'claim' ||
        table === 'energy_setting' ||
        ((table.startsWith('backup_') || table === 'clock_behind') && column.name === 'id') ||
        column.name === 'position'
          ? 'number_or_id'
          : column.getSQLType() === 'blob'
            ? `'text'`
            : `x'00ff'`,
    })),
    ...Object.values(getTableColumns(rules.table) as Record<string, Column>)
      .filter(({ name }) => name.endsWith('_at_ms'))
      .map(({ name }) => ({ title: `no moment in ${table}.${name}`, table, column: name, value: '9e15' })),
    ...references.map(({ from }) => ({
      title: `a dangling ${table}.${from}`,
      table,
      column: from,
      value: `'missing'`,
    })),
  ].filter(({ value }) => value !== 'number_or_id');
}

function judged(t: TestContext) {
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const database = new Database(new BetterSqlite3(sound), { path: ':memory:' });
  t.after(() => database.close());
  const limits = LIMITS.state.quarantine;
  return { database, lines, options: { database, rules: STATE_ROWS, clock, log, limits } };
}

/** What is wrong about how the broken rows, one of a table, are treated. */
function faultsOf({ database, options }: ReturnType<typeof judged>, broken: readonly Break[]): string[] {
  damage(database.orm.$client, broken);
  const first = quarantineRows(options);
  const kept = database
    .prepare<[], { table_name: string; row: string; reason: string }>('SELECT * FROM quarantine')
    .all();
  const isTold = ({ table, column }: Break): boolean =>
    kept.some(({ table_name, reason }) => table_name === table && reason.includes(`${column} `));
  const titles = broken.map(({ title }) => title).join(', ');
  const faults = broken
    .filter((each) => !isTold(each))
    .map(({ title }) => `${title}: not found (${JSON.stringify(first)})`);
  if (quarantineRows(options).length > 0) faults.push(`${titles}: found again`);
  if ((database.orm.$client.pragma('foreign_key_check') as unknown[]).length > 0)
    faults.push(`${titles}: references are left that refer to nothing`);
  if (!kept.every(({ row }) => typeof JSON.parse(row) === 'object')) faults.push(`${titles}: row not kept`);
  const devices = database.prepare<[], { count: number }>('SELECT count(*) AS count FROM device').get();
  // Only a device without a readable id or address is lost.
  if (
    devices?.count !== 3 &&
    !broken.some(({ table, column }) => table === 'device' && column.endsWith('id'))
  )
    faults.push(`${titles}: a device is lost`);
  database.close();
  return faults;
}

describe('what cannot be read in state.db', () => {
  test('is judged by the rules of every table', (t) => {
    const names = judged(t)
      .database.prepare<[], string>(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`)
      .pluck()
      .all();
    assert.deepEqual([...STATE_ROWS.map(({ table }) => getTableName(table)), 'quarantine'].toSorted(), names);
  });

  test('is repaired or moved away once, stays as it was in the quarantine, and leaves all others alone', (t) => {
    const perTable = STATE_ROWS.map(allBreaks);
    const faults: string[] = [];
    // One of each table at once, so that few rounds do for all; a broken device takes others with it.
    for (let index = 0; perTable.some((list) => list.length > index); index++) {
      const broken = perTable.flatMap((list) => list[index] ?? []);
      const [devices, others] = [true, false].map((isDevice) =>
        broken.filter(({ table }) => (table === 'device') === isDevice),
      );
      for (const together of [devices, others]) faults.push(...faultsOf(judged(t), together ?? []));
    }
    assert.deepEqual(faults, []);
  });

  test('is nothing in a sound database', (t) => {
    const { options, lines } = judged(t);
    assert.deepEqual(quarantineRows(options), []);
    assert.deepEqual(
      lines.filter(({ level }) => level === 'error'),
      [],
    );
  });

  test('is kept in quarantine up to a bound, the newest of it, and ends when somebody says so', (t) => {
    const { database, options } = judged(t);
    const insert = database.prepare<[number]>(
      `INSERT INTO quarantine VALUES (?, 1, 'device', '{"id":"0123456789"}', 'name is no text', 0)`,
    );
    for (let number = 1; number <= 50; number++) insert.run(number);
    const numbers = (): number[] => quarantinedRows(database).map(({ number }) => number);
    quarantineRows({ ...options, limits: { ...options.limits, rowsKept: 20 } });
    assert.deepEqual(
      numbers(),
      Array.from({ length: 20 }, (_, index) => 31 + index),
    );
    quarantineRows({ ...options, limits: { ...options.limits, bytesKept: 100 } });
    assert.deepEqual(numbers(), [46, 47, 48, 49, 50]);
    quarantineRows({ ...options, limits: { ...options.limits, bytesKept: 1 } });
    assert.deepEqual(numbers(), [50]);
    assert.deepEqual(quarantinedSince(database, 0), [{ table: 'device', count: 1 }]);
    assert.equal(removeQuarantined(database, 49), 0);
    assert.equal(removeQuarantined(database), 1);
    assert.deepEqual(quarantinedSince(database, 0), []);
  });
});
