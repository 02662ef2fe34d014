/** Damage of history.db, page by page: whatever it hits, control goes on (decision 2). */
import assert from 'node:assert/strict';
import { closeSync, cpSync, existsSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from '../support/workspace.ts';

const PAGE_BYTES = 4_096;
/** Every page would take a minute; over the file, each kind of page is met. */
const PAGES_TRIED = 6;

/** Runs a gateway on the folder and ends it before it returns. */
async function withGateway(dataDir: string, work: (gateway: TestGateway) => Promise<void>): Promise<void> {
  const ends: (() => unknown)[] = [];
  const gateway = await startTestGateway(
    { after: (end) => void ends.push(end as () => unknown) },
    { dataDir },
  );
  try {
    await work(gateway);
  } finally {
    for (const end of ends) await end();
  }
}

test('a gateway whose history.db turns out to be damaged is not healthy, and heals by a restart', async (t) => {
  const dataDir = temporaryFolder(t);
  await withGateway(dataDir, async (gateway) => {
    const device = await gateway.provision('Battery');
    await device.connect();
    await device.log('first', { persist: true });
  });
  damageTable(join(dataDir, 'history.db'), 'log_device');
  await withGateway(dataDir, async (gateway) => {
    const device = await gateway.provision('After');
    const session = await device.connect();
    let isAcknowledged = false;
    const lost = device.log('into the dark').then(
      () => (isAcknowledged = true),
      () => undefined,
    );
    await until(() => !gateway.gateway.isHealthy());
    await gateway.ok('OWNER', 'GET', '/healthz');
    session.client.end(true);
    await lost;
    assert.equal(isAcknowledged, false);

    await gateway.restart();
    assert.equal(gateway.gateway.isHealthy(), true);
    await device.connect();
    await device.log('into the light');
    const { logs } = await gateway.ok('USER', 'GET', `/v3/devices/${device.slug}/logs`);
    assert.deepEqual(
      (logs as { message: string }[]).map(({ message }) => message),
      ['into the light'],
    );
    const kept = readdirSync(dataDir).filter((name) => name.startsWith('history.db.damaged-'));
    assert.equal(kept.length >= 1, true);
    assert.equal(existsSync(join(dataDir, 'history.db.set-aside')), false);
  });
});

/** Overwrites the first page of a table, so that only who uses it sees the damage. */
function damageTable(path: string, table: string): void {
  const handle = new BetterSqlite3(path);
  const { rootpage } = handle
    .prepare<[string], { rootpage: number }>('SELECT rootpage FROM sqlite_schema WHERE name = ?')
    .get(table) ?? { rootpage: 0 };
  handle.close();
  assert.ok(rootpage > 1, `no table ${table}`);
  overwritePage(path, rootpage - 1);
}

function overwritePage(path: string, page: number): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(PAGE_BYTES, 0xa5), 0, PAGE_BYTES, page * PAGE_BYTES);
  closeSync(file);
}

test('a gateway whose history.db has a damaged page starts, is commanded and takes telemetry', async (t) => {
  const whole = temporaryFolder(t);
  await withGateway(whole, async (gateway) => {
    const device = await gateway.provision('Battery');
    await device.connect();
    const numbers = Array.from({ length: 20 }, (_, number) => number);
    const text = 'x'.repeat(500);
    await Promise.all(numbers.map((number) => device.log(`${number} ${text}`, { persist: true })));
  });
  const pages = Math.ceil(statSync(join(whole, 'history.db')).size / PAGE_BYTES);
  assert.ok(pages >= PAGES_TRIED, `${pages} pages`);
  for (let tried = 0; tried < PAGES_TRIED; tried++) {
    const page = Math.floor((tried * pages) / PAGES_TRIED);
    const dataDir = temporaryFolder(t);
    cpSync(whole, dataDir, { recursive: true });
    overwritePage(join(dataDir, 'history.db'), page);
    await withGateway(dataDir, async (gateway) => {
      await gateway.ok('OWNER', 'GET', '/v3/devices/battery');
      const device = await gateway.provision('After');
      await device.connect();
      device.obey();
      await device.telemetry({ battery_soc: 5 });
      const path = `/v3/devices/${device.slug}`;
      const { execution } = await gateway.ok('USER', 'POST', `${path}/execute_command`, { name: 'start' });
      assert.equal((execution as { state: string }).state, 'SUCCESS', `page ${page}`);
      const { telemetry } = await gateway.ok('USER', 'GET', `${path}/telemetry?attribute.in=battery_soc`);
      assert.equal((telemetry as { battery_soc: { value: number } }).battery_soc.value, 5, `page ${page}`);
    });
  }
});
