import assert from 'node:assert/strict';
import { renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { createMetrics } from '../../src/platform/metrics/index.ts';
import { registerStoreMetrics } from '../../src/capabilities/telemetry/service.ts';
import type { TestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { acknowledged, attribute, manifestOf, startTelemetry } from '../capabilities/telemetry/support.ts';

const NOW_S = Date.UTC(2026, 2, 1, 8) / 1_000;
const MANIFEST = manifestOf({ count: attribute('integer') });
/** More than are rolled up while one looks. */
const DAYS = 2_000;
const EVERYTHING = {
  from: NOW_S - 100,
  to: NOW_S + 100,
  granularity: '1s',
  aggregation: 'last',
  telemetry: [{ attribute: 'count' }],
};

async function* whole(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

const THREAD_FAILED = 'thread of the telemetry store failed, starts again';

/** Reads of the file end with EIO until the returned function is called. */
function refuse(path: string): () => void {
  renameSync(path, `${path}.away`);
  symlinkSync('/proc/self/mem', path);
  return () => {
    rmSync(path);
    renameSync(`${path}.away`, path);
  };
}

/** The thread takes real time to start. */
async function whenReady(
  clock: TestClock,
  query: (query: object) => Promise<string>,
  stepMs = 100,
): Promise<void> {
  await until(async () => {
    await clock.advance(stepMs);
    return query(EVERYTHING).then(
      () => true,
      (error: { code?: string }) => {
        assert.equal(error.code, 'unavailable');
        return false;
      },
    );
  });
}

describe('the thread of the store', () => {
  test('the thread of the store starts again when it fails, with everything that was acknowledged', async (t) => {
    const entry = join(import.meta.dirname, 'failing-thread.ts');
    const { devices, send, query, clock, lines } = await startTelemetry(t, { entry });
    const device = devices.add('meter', MANIFEST);
    for (let index = 0; index < 6; index++) await send(device, { timestamp: NOW_S + index, count: index });
    let csv = '';
    // The thread takes real time to start.
    const untilMs = performance.now() + 60_000;
    while (csv === '' && performance.now() < untilMs) {
      await clock.advance(100);
      csv = await query(EVERYTHING).catch((error: { code?: string }) => {
        assert.equal(error.code, 'unavailable');
        return '';
      });
    }
    assert.deepEqual(
      csv.trimEnd().split('\n').slice(1),
      Array.from({ length: 6 }, (_, index) => `${NOW_S + index},${index}`),
    );
    assert.ok(lines.some(({ message }) => message === THREAD_FAILED));
  });

  test('the thread of the store waits for a journal that the disk does not read now, and loses nothing of it', async (t) => {
    const { devices, send, query, clock, folder, lines, restart } = await startTelemetry(t);
    const device = devices.add('meter', MANIFEST);
    for (let index = 0; index < 3; index++) await send(device, { timestamp: NOW_S + index, count: index });
    const giveBack = refuse(join(folder, 'journal', '000001.journal'));
    await restart();
    await until(() => lines.some(({ message }) => message === THREAD_FAILED));
    giveBack();
    await whenReady(clock, query);
    await send(device, { timestamp: NOW_S + 3, count: 3 });
    await restart();
    const rows = [0, 1, 2, 3].map((count) => `${NOW_S + count},${count}`);
    assert.deepEqual((await query(EVERYTHING)).trimEnd().split('\n').slice(1), rows);
  });

  test('the thread of the store goes on without a part of the journal that the disk has refused for long', async (t) => {
    const { devices, send, query, clock, folder, lines, restart } = await startTelemetry(t);
    const device = devices.add('meter', MANIFEST);
    await send(device, { timestamp: NOW_S, count: 0 });
    refuse(join(folder, 'journal', '000001.journal'));
    await restart();
    await whenReady(clock, query, 10_000);
    assert.ok(lines.some(({ message }) => message.startsWith('part of the telemetry journal is damaged')));
    await send(device, { timestamp: NOW_S + 1, count: 1 });
    assert.deepEqual((await query(EVERYTHING)).trimEnd().split('\n').slice(1), [`${NOW_S + 1},1`]);
  });

  test('the thread of the store seals everything on request, and the journal is free then', async (t) => {
    const { devices, send, query, telemetry, restart } = await startTelemetry(t);
    const device = devices.add('meter', MANIFEST);
    for (let index = 0; index < 5; index++) await send(device, { timestamp: NOW_S + index, count: index });
    await telemetry.seal();
    await send(device, { timestamp: NOW_S + 2, count: 99 });
    const rows = [0, 1, 99, 3, 4].map((count, index) => `${NOW_S + index},${count}`);
    assert.deepEqual((await query(EVERYTHING)).trimEnd().split('\n').slice(1), rows);
    await restart();
    assert.deepEqual((await query(EVERYTHING)).trimEnd().split('\n').slice(1), rows);
  });

  test('a journal whose segments are all gone is reported once samples were sealed, whatever else is gone with them', async (t) => {
    const { devices, send, telemetry, folder, lines, restart } = await startTelemetry(t);
    const device = devices.add('meter', MANIFEST);
    const losses = (): unknown[] =>
      lines.filter(({ message }) => message.startsWith('part of the telemetry journal is damaged'));
    await send(device, { timestamp: NOW_S, count: 0 });
    await telemetry.seal();
    await restart();
    await send(device, { timestamp: NOW_S + 1, count: 1 });
    await telemetry.stop();
    assert.deepEqual(losses(), []);
    rmSync(join(folder, 'journal'), { recursive: true });
    await restart();
    assert.equal(losses().length, 1);
    await send(device, { timestamp: NOW_S + 2, count: 2 });
    await restart();
    assert.equal(losses().length, 1);
  });

  test('the thread of the store ends at once in the middle of its maintenance, which goes on after the next start', async (t) => {
    const { devices, telemetry, query, restart, folder, clock } = await startTelemetry(t);
    devices.add('meter', MANIFEST);
    const days = Array.from({ length: DAYS }, (_, day) => NOW_S - (DAYS - day) * 86_400);
    const csv = ['ts,telemetry=count device=meter', ...days.map((second, day) => `${second},${day}`)].join(
      '\n',
    );
    await acknowledged(
      clock,
      telemetry.importCsv(whole(csv)).then(() => undefined),
    );
    await telemetry.seal();
    const history = new Database(join(folder, 'history.db'), { readonly: true });
    t.after(() => history.close());
    const count = (table: string): unknown => history.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
    await until(() => count('telemetry_block') !== 0);
    await telemetry.stop();
    assert.notEqual(count('telemetry_part'), 0, 'all days were rolled up first');
    await restart();
    await until(() => count('telemetry_part') === 0);
    const all = { ...EVERYTHING, from: NOW_S - DAYS * 86_400, to: NOW_S, granularity: '1d' };
    const rows = (await query(all)).trimEnd().split('\n').slice(1);
    assert.deepEqual(
      rows.map((row) => row.split(',')[1]).filter((value) => value !== ''),
      days.map((_, day) => String(day)),
    );
  });

  test('the thread of the store slows acknowledgements down while it lags behind, and then goes on', async (t) => {
    const { devices, send, query } = await startTelemetry(t, { limits: { storeBacklogBytes: 0 } });
    const device = devices.add('meter', MANIFEST);
    for (let index = 0; index < 5; index++) await send(device, { timestamp: NOW_S + index, count: index });
    assert.equal((await query(EVERYTHING)).trimEnd().split('\n').length, 6);
  });

  test('the thread of the store leaves samples out of the metrics page while their values are unknown', async () => {
    const metrics = createMetrics();
    registerStoreMetrics(metrics, () => undefined);
    const text = await metrics.text();
    assert.match(text, /^# TYPE gateway_telemetry_store_limit_bytes gauge$/m);
    assert.doesNotMatch(text, /^gateway_/m);
  });

  test('the thread of the store shows its state on the metrics page', async (t) => {
    const { metrics, telemetry } = await startTelemetry(t);
    await until(() => telemetry.status() !== undefined);
    const text = await metrics.text();
    assert.match(text, /^gateway_telemetry_store_limit_bytes 67108864$/m);
    assert.match(text, /^gateway_telemetry_store_degraded 0$/m);
  });

  test('the thread of the store reports its size and its faults', async (t) => {
    const { telemetry } = await startTelemetry(t);
    await until(() => telemetry.status() !== undefined);
    const status = telemetry.status();
    assert.equal(status?.degraded, undefined);
    assert.ok((status?.fileBytes ?? 0) > 0);
    assert.equal(status?.sizeMaxBytes, 64 * 1_048_576);
    assert.equal(status?.retention.sampleDays, 4_000);
  });
});
