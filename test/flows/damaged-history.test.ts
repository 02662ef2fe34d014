/** Damage of history.db, page by page: whatever it hits, control goes on (decision 0002). */
import assert from 'node:assert/strict';
import { closeSync, cpSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
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

for (const table of ['log_device', 'device_log', 'telemetry_series', 'telemetry_block', 'telemetry_state'])
  test(`a gateway repairs a damaged table ${table} while it runs, and says so`, async (t) => {
    const dataDir = temporaryFolder(t);
    await withGateway(dataDir, async (gateway) => {
      const device = await gateway.provision('Battery');
      await device.connect();
      await device.log('first', { persist: true });
      await device.telemetry({ battery_soc: 41 });
    });
    damageTable(join(dataDir, 'history.db'), table);
    await withGateway(dataDir, async (gateway) => {
      const logs = async (): Promise<string[] | undefined> => {
        const answer = await gateway.call('USER', 'GET', '/v3/devices/battery/logs');
        if (answer.status !== 200) return undefined;
        const { logs: entries } = answer.body as { logs: { message: string }[] };
        return entries.map(({ message }) => message);
      };
      await until(async () => (await logs()) !== undefined);
      const isOfLogs = table === 'log_device' || table === 'device_log';
      if (!isOfLogs) assert.deepEqual(await logs(), ['first']);
      const device = await gateway.provision('After');
      await device.connect();
      await device.log('into the light');
      await device.telemetry({ battery_soc: 5 });
      await gateway.ok('OWNER', 'GET', '/healthz');
      const kept = (): string[] =>
        readdirSync(dataDir).filter((name) => name.startsWith('history.db.damaged-'));
      await until(() => kept().length >= 1);
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

test('a gateway whose history.db has a damaged page starts, takes commands and stores telemetry', async (t) => {
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
