/** Log messages of devices: which are dropped, and when an entry is acknowledged, reported and shown. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { settle } from '../../support/test-clock.ts';
import { ALL, startBench } from './support.ts';

describe('a log message that is dropped', () => {
  test('a log message that is dropped has no text: the log says so, at most once a minute', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice();
    for (let i = 0; i < 3; i++) await bench.say(device, { severity: 'info' });
    const { entries } = bench.deviceLogs.list(device, ALL);
    assert.deepEqual(
      entries.map(({ severity, message, persist }) => ({ severity, message, persist })),
      [{ severity: 'error', message: 'A log message without a text "message" was dropped.', persist: false }],
    );
    await bench.clock.advance(60_000);
    await bench.say(device, { message: 5 });
    assert.equal(bench.messages(device).length, 2);
    assert.match(await bench.metrics(), /device_logs_dropped_total\{reason="malformed"\} 4/);
  });

  test('log messages beyond the rate are dropped, and one summary entry counts them', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice();
    const sent = Array.from({ length: 230 }, (_, i) => bench.deliver(device, 'logs', { message: `m${i}` }));
    await bench.clock.advance(LIMITS.deviceLogs.summaryIntervalMs + 1_000);
    await Promise.all(sent);
    const messages = bench.messages(device);
    assert.equal(messages.length, 201);
    assert.equal(messages[199], 'm199');
    assert.equal(messages[200], '30 log entries were dropped: a device may send 20 per second.');
    const [summary] = bench.deviceLogs.list(device, { ...ALL, descending: true, limit: 1 }).entries;
    assert.equal(summary?.severity, 'warning');
    assert.equal(summary?.persist, false);
    await bench.say(device, { message: 'again' });
    assert.equal(bench.messages(device).at(-1), 'again');
  });

  test('log messages of an endless flood are summarised once per interval, kept if one was to be kept', async (t) => {
    const bench = await startBench(t, { limits: { perSecond: 1, burst: 1 } });
    const device = bench.addDevice();
    for (let second = 0; second < 20; second++) {
      for (let i = 0; i < 5; i++) void bench.deliver(device, 'logs', { message: 'x', persist: i === 4 });
      await bench.clock.advance(1_000);
    }
    await bench.clock.advance(100);
    const summaries = bench.deviceLogs
      .list(device, ALL)
      .entries.filter(({ message }) => message.includes('dropped'));
    assert.equal(summaries.length, 2);
    assert.ok(summaries.every(({ persist }) => persist));
  });

  test('a log message that is dropped is summarised also when the gateway stops', async (t) => {
    const bench = await startBench(t, { limits: { burst: 1 } });
    const device = bench.addDevice();
    void bench.deliver(device, 'logs', { message: 'a' });
    void bench.deliver(device, 'logs', { message: 'b' });
    await bench.restart();
    assert.deepEqual(bench.messages(device), [
      'a',
      '1 log entries were dropped: a device may send 20 per second.',
    ]);
  });

  test('a log message that is dropped does not count against another device', async (t) => {
    const bench = await startBench(t, { limits: { burst: 1 } });
    const [first, second] = [bench.addDevice(), bench.addDevice()];
    void bench.deliver(first, 'logs', { message: 'a' });
    void bench.deliver(first, 'logs', { message: 'b' });
    await bench.say(second, { message: 'c' });
    assert.deepEqual(bench.messages(second), ['c']);
  });
});

describe('a log message', () => {
  test('a log message is acknowledged, listed and told only when it is on disk', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice();
    const seen: string[] = [];
    bench.deviceLogs.events.on('entry_stored', 'test', ({ entry }) => void seen.push(entry.message));
    const acknowledged = bench
      .deliver(device, 'logs', { message: 'hot' })
      .then(() => seen.push('acknowledged'));
    await settle();
    assert.deepEqual(seen, []);
    assert.deepEqual(bench.messages(device), []);
    await bench.clock.advance(LIMITS.commits.windowMinMs);
    await acknowledged;
    assert.deepEqual(seen, ['hot', 'acknowledged']);
    assert.deepEqual(bench.messages(device), ['hot']);
  });

  test('a log message is listed with everything it said', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice();
    const nowMs = bench.clock.wallMs();
    await bench.say(device, { timestamp: 1_700_000_000, message: 'hot', severity: 'error', persist: true });
    await bench.say(device, { message: 'é'.repeat(10_000) });
    const { entries } = bench.deviceLogs.list(device, ALL);
    assert.deepEqual(entries, [
      {
        deviceId: device.id,
        receivedAtMs: nowMs,
        deviceTimeS: 1_700_000_000,
        severity: 'error',
        message: 'hot',
        persist: true,
      },
      {
        deviceId: device.id,
        receivedAtMs: nowMs + LIMITS.commits.windowMinMs,
        deviceTimeS: undefined,
        severity: 'info',
        message: 'é'.repeat(8_192),
        persist: false,
      },
    ]);
  });

  test('a log message waits while the disk takes no data and is stored once when it does', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice();
    bench.history.prepare('ALTER TABLE device_log RENAME TO full_disk').run();
    let acknowledged = false;
    const said = bench.deliver(device, 'logs', { message: 'a' }).then(() => (acknowledged = true));
    await bench.clock.advance(5_000);
    assert.equal(acknowledged, false);
    bench.history.prepare('ALTER TABLE full_disk RENAME TO device_log').run();
    await bench.clock.advance(LIMITS.commits.retryMs);
    await said;
    assert.deepEqual(bench.messages(device), ['a']);
  });

  test('a log message is refused when the buffer is full: not acknowledged at QoS 1, counted at QoS 0', async (t) => {
    const bench = await startBench(t, { commits: { bufferedBytes: 150 } });
    const device = bench.addDevice();
    const kept = [
      bench.deliver(device, 'logs', { message: 'a' }),
      bench.deliver(device, 'logs', { message: 'b' }),
    ];
    await assert.rejects(bench.deliver(device, 'logs', { message: 'c' }), { code: 'unavailable' });
    await bench.deliver(device, 'logs', { message: 'd' }, { qos: 0 });
    bench.deviceLogs.append(device, { severity: 'info', message: 'e', persist: true });
    await bench.clock.advance(100);
    await Promise.all(kept);
    assert.deepEqual(bench.messages(device), ['a', 'b']);
    assert.match(await bench.metrics(), /device_logs_dropped_total\{reason="disk"\} 1/);
    assert.ok(bench.lines.some(({ message }) => message === 'a device log entry of the gateway was lost'));
  });

  test('log messages keep their order when the clock goes back, and none stays in the future', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice();
    await bench.say(device, { message: 'a' });
    bench.clock.step(-3_600_000);
    await bench.say(device, { message: 'b' });
    await bench.clock.advance(1_000);
    const times = bench.deviceLogs.list(device, ALL).entries.map(({ receivedAtMs }) => receivedAtMs);
    assert.ok(times.every((atMs) => atMs <= bench.clock.wallMs()));
    assert.deepEqual(bench.messages(device), ['a', 'b']);
  });
});

describe('an entry of the gateway itself', () => {
  test('an entry of the gateway itself is stamped now, cut to the limit, and not counted against the rate', async (t) => {
    const bench = await startBench(t, { limits: { burst: 0, messageBytes: 5 } });
    const device = bench.addDevice();
    bench.deviceLogs.append(device, { severity: 'warning', message: 'too long', persist: true });
    await bench.clock.advance(100);
    assert.deepEqual(bench.deviceLogs.list(device, ALL).entries, [
      {
        deviceId: device.id,
        receivedAtMs: Date.UTC(2026, 2, 1, 8),
        deviceTimeS: undefined,
        severity: 'warning',
        message: 'too l',
        persist: true,
      },
    ]);
  });
});
