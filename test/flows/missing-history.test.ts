/** A history that somebody removed, or that only a newer version reads: the gateway goes on without it, and says so. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { readMigrations } from '../../src/platform/sqlite/index.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { TestClock } from '../support/test-clock.ts';
import { MIGRATIONS_DIR, temporaryFolder } from '../support/workspace.ts';

const SENTENCE = 'history is missing beside state.db, a new one is begun';

test('a new box has no missing history, nor has one that starts again', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.restart();
  assert.deepEqual(
    gateway.lines.filter(({ message }) => message === SENTENCE),
    [],
  );
});

test('a first start cut off before there was a history reports none as missing', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.stop();
  removeHistory(gateway);
  await gateway.restart();
  assert.equal((await alerts(gateway)).includes('history_missing'), false);
});

test('a box whose clock is not set keeps no telemetry yet, and misses none after a start', async (t) => {
  const gateway = await startTestGateway(t, { clock: new TestClock(60_000) });
  await gateway.provision('Battery');
  await gateway.restart();
  assert.deepEqual(
    gateway.lines.filter(({ message }) => message === SENTENCE),
    [],
  );
});

function removeHistory({ dataDir }: TestGateway): void {
  for (const name of ['history.db', 'history.db-wal', 'history.db-shm', 'telemetry-journal'])
    rmSync(join(dataDir, name), { recursive: true, force: true });
}

async function alerts(gateway: TestGateway): Promise<string[]> {
  const { devices } = await gateway.ok(
    'OWNER',
    'GET',
    '/v3/devices?type.in=GATEWAY&expand=raised_alert_names',
  );
  return (devices as { raised_alert_names: string[] }[]).flatMap(({ raised_alert_names: names }) => names);
}

test('a new box that gets the state of an old one misses no history', async (t) => {
  const [old, dataDir] = [await startTestGateway(t), temporaryFolder(t)];
  await old.stop();
  mkdirSync(join(dataDir, 'restore'));
  cpSync(join(old.dataDir, 'state.db'), join(dataDir, 'restore', 'state.db'));
  writeFileSync(join(dataDir, 'restore', 'ready'), 'before-restore-1');
  const gateway = await startTestGateway(t, { dataDir });
  assert.ok(gateway.lines.some(({ message }) => message.startsWith('backup restored')));
  assert.equal((await alerts(gateway)).includes('history_missing'), false);
});

test('a missing history.db and journal are named by an alert, until a person removes its note', async (t) => {
  const gateway = await startTestGateway(t);
  const before = await gateway.provision('Battery');
  await gateway.stop();
  removeHistory(gateway);
  await gateway.restart();
  const [line] = gateway.lines.filter(({ message }) => message === SENTENCE);
  assert.equal(line?.level, 'error');
  assert.deepEqual(line?.['missing'], ['history.db', 'telemetry-journal']);
  await gateway.ok('OWNER', 'GET', `/v3/devices/${before.slug}`);
  await gateway.restart();
  assert.ok((await alerts(gateway)).includes('history_missing'));
  rmSync(join(gateway.dataDir, 'history-missing.json'));
  await gateway.restart();
  assert.equal((await alerts(gateway)).includes('history_missing'), false);
});

test('a history of a newer version does not stop control, is named by an alert, and is used again by that version', async (t) => {
  const gateway = await startTestGateway(t);
  const battery = await gateway.provision('Battery');
  await battery.connect();
  await battery.log('of the newer version', { persist: true });
  await battery.telemetry({ battery_soc: 41 });
  await gateway.stop();
  const schemaTo = (name: string, schema: number): void => {
    const handle = new BetterSqlite3(join(gateway.dataDir, name));
    handle.pragma(`user_version = ${schema}`);
    handle.close();
  };
  const logs = async (): Promise<string[]> => {
    const { logs: entries } = await gateway.ok(
      'USER',
      'GET',
      '/v3/devices/battery/logs?retention=PERSISTENT',
    );
    return (entries as { message: string }[]).map(({ message }) => message);
  };
  schemaTo('history.db', 999);
  await gateway.restart();
  assert.deepEqual(await logs(), []);
  await battery.connect();
  await battery.log('meanwhile', { persist: true });
  assert.deepEqual(await logs(), ['meanwhile']);
  assert.equal((await alerts(gateway)).includes('history_of_other_site'), true);

  await gateway.stop();
  const known = readMigrations(join(MIGRATIONS_DIR, 'history')).length;
  schemaTo('history.db.of-schema-999', known);
  for (const name of ['history.db', 'telemetry-journal'])
    renameSync(
      join(gateway.dataDir, `${name}.of-schema-999`),
      join(gateway.dataDir, `${name}.of-schema-${known}`),
    );
  await gateway.restart();
  assert.deepEqual(await logs(), ['of the newer version']);
});
