/** Damage of history.db, page by page: whatever it hits, control goes on (decision 2). */
import assert from 'node:assert/strict';
import { closeSync, cpSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
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
    const file = openSync(join(dataDir, 'history.db'), 'r+');
    writeSync(file, Buffer.alloc(PAGE_BYTES, 0xa5), 0, PAGE_BYTES, page * PAGE_BYTES);
    closeSync(file);
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
