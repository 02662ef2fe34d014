/** What is deleted when, in batches, and what a wrong clock must not do. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { ALL, type Bench, startBench } from './support.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ROUND_MS = LIMITS.deviceLogs.retentionIntervalMs;

async function sayMany(bench: Bench, device: Device, count: number, persist: boolean): Promise<void> {
  for (let i = 0; i < count; i++)
    bench.deviceLogs.append(device, { severity: 'info', message: `${persist ? 'p' : 'e'}${i}`, persist });
  await bench.clock.advance(100);
}

function rowCount(bench: Bench, table: 'device_log' | 'log_device'): number {
  return (
    bench.history.prepare<[], { count: number }>(`SELECT COUNT(*) AS count FROM ${table}`).get()?.count ?? -1
  );
}

describe('entries are deleted', () => {
  test('entries are deleted when ephemeral after 24 hours, when persistent after their days', async (t) => {
    const bench = await startBench(t, { limits: { persistentDays: 2 } });
    const device = bench.addDevice();
    await sayMany(bench, device, 1, false);
    await sayMany(bench, device, 1, true);
    await bench.clock.advance(DAY_MS - HOUR_MS);
    assert.deepEqual(bench.messages(device), ['e0', 'p0']);
    await bench.clock.advance(HOUR_MS + 2 * ROUND_MS);
    assert.deepEqual(bench.messages(device), ['p0']);
    await bench.clock.advance(DAY_MS);
    assert.deepEqual(bench.messages(device), []);
  });

  test('entries are deleted beyond the newest of a device, each kind for itself', async (t) => {
    const bench = await startBench(t, { limits: { persistentEntries: 3, ephemeralEntries: 2 } });
    const [device, other] = [bench.addDevice(), bench.addDevice()];
    await sayMany(bench, device, 5, true);
    await sayMany(bench, device, 5, false);
    await sayMany(bench, other, 2, true);
    await bench.clock.advance(ROUND_MS);
    assert.deepEqual(bench.messages(device), ['p2', 'p3', 'p4', 'e3', 'e4']);
    assert.deepEqual(bench.messages(other), ['p0', 'p1']);
    await sayMany(bench, device, 1, true);
    await bench.clock.advance(ROUND_MS);
    assert.deepEqual(bench.messages(device), ['p3', 'p4', 'e3', 'e4', 'p0']);
  });

  test('entries are deleted when they take too much room: temporary ones first, of the device that has the most', async (t) => {
    const sizeMaxBytes = 2 * 1_048_576;
    const bench = await startBench(t, { sizeMaxBytes: () => sizeMaxBytes });
    const [quiet, loud] = [bench.addDevice(), bench.addDevice()];
    await sayMany(bench, quiet, 20, false);
    await sayMany(bench, quiet, 20, true);
    await sayMany(bench, loud, 20, true);
    for (let index = 0; index < 2_000; index++) {
      const message = `${index} ${'x'.repeat(4_000)}`;
      bench.deviceLogs.append(loud, { severity: 'info', message, persist: index % 2 === 0 });
      if (index % 50 === 49) await bench.clock.advance(500);
    }
    await bench.clock.advance(10_000);
    const file = bench.history
      .prepare<[], { bytes: number }>(
        `SELECT (page_count - freelist_count) * page_size AS bytes
         FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
      )
      .get();
    assert.ok((file?.bytes ?? 0) < 1.5 * sizeMaxBytes, `${file?.bytes} bytes`);
    assert.equal(bench.messages(quiet).length, 40);
    const kept = bench.messages(loud);
    assert.ok(kept.length > 300, `${kept.length} entries`);
    assert.equal(kept.at(-1)?.split(' ')[0], '1998', 'the newest that is kept for long');
    assert.ok(bench.deviceLogs.removedEarly > 1_000);
  });

  test('entries are deleted in batches of bounded size, with a pause between them', async (t) => {
    const bench = await startBench(t, { limits: { persistentEntries: 10, deletedAtOnce: 40 } });
    const device = bench.addDevice();
    await bench.clock.advance(100);
    await sayMany(bench, device, 120, true);
    await bench.clock.advance(ROUND_MS - 200);
    const counts = [rowCount(bench, 'device_log')];
    for (let i = 0; i < 20; i++) {
      await bench.clock.advance(LIMITS.deviceLogs.retentionPauseMs / 2);
      const count = rowCount(bench, 'device_log');
      if (count !== counts.at(-1)) counts.push(count);
    }
    assert.deepEqual(counts, [120, 80, 40, 10]);
    assert.match(await bench.metrics(), /device_logs_deleted_total 110/);
  });

  test('entries are deleted in batches of bounded time', async (t) => {
    const bench = await startBench(t, { limits: { persistentEntries: 1 } });
    const devices = Array.from({ length: 6 }, () => bench.addDevice());
    await bench.clock.advance(100);
    for (const device of devices) await sayMany(bench, device, 2, true);
    await bench.clock.advance(ROUND_MS - 1_000);
    // From now on every look at the clock takes as long as half a batch.
    const trueMs = bench.clock.monotonicMs.bind(bench.clock);
    let spentMs = 0;
    bench.clock.monotonicMs = () => trueMs() + (spentMs += LIMITS.deviceLogs.retentionBatchMs / 2);
    const counts = new Set<number>();
    for (let i = 0; i < 60; i++) {
      await bench.clock.advance(LIMITS.deviceLogs.retentionPauseMs / 2);
      counts.add(rowCount(bench, 'device_log'));
    }
    assert.deepEqual([...counts], [12, 11, 10, 9, 8, 7, 6]);
  });

  test('entries are deleted when their device is deleted, also those not written yet, also after a restart', async (t) => {
    const bench = await startBench(t, { limits: { deletedAtOnce: 2 } });
    const [device, other] = [bench.addDevice(), bench.addDevice()];
    await sayMany(bench, device, 5, true);
    await sayMany(bench, other, 1, true);
    bench.deviceLogs.append(device, { severity: 'info', message: 'last', persist: true });
    bench.deleteDevice(device);
    await bench.restart();
    await bench.clock.advance(2 * ROUND_MS);
    assert.equal(rowCount(bench, 'device_log'), 1);
    assert.equal(rowCount(bench, 'log_device'), 1);
    assert.deepEqual(bench.messages(other), ['p0']);
  });

  test('entries are deleted soon after their device, and their numbers are not given again', async (t) => {
    const bench = await startBench(t);
    const [device, other] = [bench.addDevice(), bench.addDevice()];
    await sayMany(bench, device, 3, true);
    const number = bench.deviceLogs.newestNumber();
    bench.deleteDevice(device);
    await bench.clock.advance(1_000);
    assert.equal(rowCount(bench, 'log_device'), 0);
    await sayMany(bench, other, 1, true);
    assert.deepEqual(
      bench.deviceLogs.after(number, 10).map((entry) => [entry.number, entry.deviceId]),
      [[number + 1, other.id]],
    );
  });

  test('entries are deleted in the next round when the disk refused', async (t) => {
    const bench = await startBench(t, { limits: { persistentEntries: 1 } });
    const device = bench.addDevice();
    await bench.clock.advance(100);
    await sayMany(bench, device, 3, true);
    bench.history
      .prepare("CREATE TRIGGER full BEFORE DELETE ON device_log BEGIN SELECT RAISE(ABORT, 'full'); END")
      .run();
    await bench.clock.advance(ROUND_MS);
    assert.equal(bench.messages(device).length, 3);
    assert.ok(
      bench.lines.some(({ message }) => message === 'retention of device logs failed, will be tried again'),
    );
    bench.history.prepare('DROP TRIGGER full').run();
    await bench.clock.advance(ROUND_MS);
    assert.deepEqual(bench.messages(device), ['p2']);
  });
});

describe('a wrong wall clock', () => {
  test('a wrong clock deletes nothing young when it jumps years ahead', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice();
    await sayMany(bench, device, 2, false);
    bench.clock.step(10 * 365 * DAY_MS);
    await bench.clock.advance(22 * HOUR_MS);
    assert.deepEqual(bench.messages(device), ['e0', 'e1']);
  });

  test('nothing is deleted while the clock is not set, not even beyond the number', async (t) => {
    const bench = await startBench(t, { wallMs: 0, limits: { ephemeralEntries: 1 } });
    const device = bench.addDevice();
    await sayMany(bench, device, 3, false);
    await bench.clock.advance(DAY_MS);
    assert.equal(bench.messages(device).length, 3);
  });

  test('entries get their true time when the clock is set later, unwritten ones too', async (t) => {
    const bench = await startBench(t, { wallMs: 5_000, limits: { deletedAtOnce: 2 } });
    const device = bench.addDevice();
    await sayMany(bench, device, 5, true);
    bench.deviceLogs.append(device, { severity: 'info', message: 'last', persist: true });
    const jumpMs = Date.UTC(2026, 5, 1);
    bench.clock.step(jumpMs);
    await bench.clock.advance(1_000);
    const stamps = bench.deviceLogs.list(device, ALL).entries.map(({ receivedAtMs }) => receivedAtMs);
    assert.deepEqual(stamps, [...Array.from({ length: 5 }, () => jumpMs + 5_000), jumpMs + 5_100]);
    assert.equal(bench.messages(device).at(-1), 'last');
  });
});
