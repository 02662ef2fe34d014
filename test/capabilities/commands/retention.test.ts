/** What a restart ends, what is deleted when, and what a wrong clock must not do. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { type Bench, startBench } from './support.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LIST = { retention: 'ALL', descending: false, limit: 1_000, offset: 0 } as const;

function ids(bench: Bench): string[] {
  return bench.commands.list(LIST, 'SYSTEM').ids;
}

async function finished(bench: Bench, device: Device, ephemeral = false): Promise<string> {
  const running = await bench.run(device, 'ping', { ephemeral });
  await bench.answer(device, running, 'completed');
  return running.id;
}

describe('an execution under way', () => {
  test('an execution under way ends as TIMEOUT when the gateway stops, sent or not, and whoever waits is told what is on disk', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: { ping: {} } });
    const running = await bench.run(device, 'ping');
    const answered = await bench.run(device, 'ping');
    const acknowledged = bench.deliver(device, 'command_responses', { id: answered.id, state: 'completed' });
    bench.publish = () => new Promise(() => undefined);
    const unsent = bench.run(device, 'ping');
    await bench.commands.endAll();
    await acknowledged;
    assert.equal((await answered.ended).state, 'SUCCESS');
    for (const { id, ended } of [running, await unsent]) {
      const execution = await ended;
      assert.equal(execution.state, 'TIMEOUT');
      assert.equal(execution.response?.state, 'ERROR');
      assert.deepEqual(bench.stored({ id }), execution);
    }
    await bench.restart();
    assert.equal(bench.stored(running)?.state, 'TIMEOUT');
    assert.equal(bench.commands.log(running.id).filter(({ state }) => state === 'ERROR').length, 1);
  });

  test('an execution under way ends for whoever waits although the disk takes nothing when the gateway stops, and again with the next start', async (t) => {
    const bench = await startBench(t);
    const running = await bench.run(bench.addDevice({ commands: { ping: {} } }), 'ping');
    await bench.clock.advance(100);
    const refuse = "BEGIN SELECT RAISE(ABORT, 'full'); END";
    bench.state.prepare(`CREATE TRIGGER full BEFORE INSERT ON execution_response ${refuse}`).run();
    await bench.commands.endAll();
    assert.equal(running.current().state, 'TIMEOUT');
    assert.equal(bench.stored(running)?.state, 'IN_PROGRESS');
    bench.state.prepare('DROP TRIGGER full').run();
    await bench.restart();
    await bench.clock.advance(1_000);
    assert.equal(bench.stored(running)?.state, 'TIMEOUT');
  });
});

describe('a restart', () => {
  test('a restart ends what was unfinished as TIMEOUT, and never sends it again', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: { ping: {} } });
    const inProgress = await bench.run(device, 'ping');
    const done = await finished(bench, device);
    bench.publish = () => new Promise(() => undefined);
    void bench.run(device, 'ping');
    const fresh = bench.sent[2];
    assert.ok(fresh);
    assert.equal(bench.stored(fresh)?.state, 'NEW');

    await bench.restart();
    for (const { id } of [inProgress, fresh]) {
      const execution = bench.stored({ id });
      assert.equal(execution?.state, 'TIMEOUT');
      assert.equal(execution?.response?.state, 'ERROR');
      assert.deepEqual(execution?.response?.payload, {
        message: 'The gateway was stopped before the device answered.',
      });
    }
    assert.equal(bench.stored({ id: done })?.state, 'SUCCESS');
    assert.equal(bench.sent.length, 3);

    await bench.answer(device, inProgress, 'completed', { result: 1 });
    assert.equal(bench.stored(inProgress)?.state, 'TIMEOUT');
    assert.equal(bench.commands.log(inProgress.id)[0]?.state, 'SUCCEEDED');
  });

  test('a restart ends them when there is space again after it found a full disk', async (t) => {
    const bench = await startBench(t);
    const running = await bench.run(bench.addDevice({ commands: { ping: {} } }), 'ping');
    await bench.clock.advance(100);
    bench.state
      .prepare(
        "CREATE TRIGGER full BEFORE INSERT ON execution_response BEGIN SELECT RAISE(ABORT, 'full'); END",
      )
      .run();
    await bench.restart();
    assert.equal(bench.stored(running)?.state, 'IN_PROGRESS');
    bench.state.prepare('DROP TRIGGER full').run();
    await bench.clock.advance(LIMITS.commits.retryMs);
    assert.equal(bench.stored(running)?.state, 'TIMEOUT');
  });
});

describe('executions are deleted', () => {
  test('executions are deleted early while the room for state is scarce, but never those under way', async (t) => {
    const room = { isScarce: false, onScarce: () => () => undefined };
    const bench = await startBench(t, {
      limits: { executionsWhenScarce: 2, deletedAtOnce: 1, retentionIntervalMs: 1_000 },
      room,
    });
    const device = bench.addDevice({ commands: { ping: {} } });
    const underWay = await bench.run(device, 'ping');
    const done = [
      await finished(bench, device),
      await finished(bench, device),
      await finished(bench, device),
    ];
    await bench.clock.advance(2_000);
    assert.equal(ids(bench).length, 4);
    room.isScarce = true;
    await bench.clock.advance(2_000);
    assert.deepEqual(new Set(ids(bench)), new Set([underWay.id, done[2]]));
  });

  test('executions are deleted when ephemeral after 24 hours, when persistent after their days', async (t) => {
    const bench = await startBench(t, { limits: { persistentLifetimeMs: 2 * DAY_MS } });
    const device = bench.addDevice({ commands: { ping: {} } });
    const ephemeral = await finished(bench, device, true);
    const persistent = await finished(bench, device);
    await bench.clock.advance(23 * HOUR_MS);
    assert.deepEqual(ids(bench), [ephemeral, persistent]);
    await bench.clock.advance(HOUR_MS + 120_000);
    assert.deepEqual(ids(bench), [persistent]);
    await bench.clock.advance(23 * HOUR_MS);
    assert.deepEqual(ids(bench), [persistent]);
    await bench.clock.advance(2 * HOUR_MS);
    assert.deepEqual(ids(bench), []);
    assert.equal(bench.commands.log(persistent).length, 0);
  });

  test('executions are deleted when they are old, also those of an earlier run', async (t) => {
    const bench = await startBench(t);
    const id = await finished(bench, bench.addDevice({ commands: { ping: {} } }), true);
    await bench.clock.advance(23 * HOUR_MS);
    await bench.restart();
    assert.deepEqual(ids(bench), [id]);
    await bench.clock.advance(2 * HOUR_MS);
    assert.deepEqual(ids(bench), []);
  });

  test('executions are deleted beyond the newest of a device, each kind for itself, but never one in progress', async (t) => {
    const bench = await startBench(t, { limits: { persistentPerDevice: 2 } });
    const device = bench.addDevice({ commands: { ping: {} } });
    const other = bench.addDevice({ commands: { ping: {} } });
    const waiting = (await bench.run(device, 'ping')).id;
    await finished(bench, device);
    const kept = [await finished(bench, device), await finished(bench, device, true)];
    const last = (await bench.run(device, 'ping')).id;
    const otherId = await finished(bench, other);
    assert.deepEqual(new Set(ids(bench)), new Set([waiting, ...kept.slice(1), last, otherId]));
  });

  test('executions are deleted beyond the newest of all, in batches', async (t) => {
    const bench = await startBench(t, { limits: { executions: 3, deletedAtOnce: 2 } });
    const created: string[] = [];
    for (let i = 0; i < 8; i++)
      created.push(await finished(bench, bench.addDevice({ commands: { ping: {} } })));
    await bench.clock.advance(LIMITS.commands.retentionIntervalMs * 2);
    assert.deepEqual(ids(bench), created.slice(-3));
    assert.match(await bench.metrics(), /executions_deleted_total 5/);
  });

  test('executions are deleted together with their device', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: { ping: {} } });
    const id = await finished(bench, device);
    bench.deleteDevice(device);
    assert.deepEqual(ids(bench), []);
    assert.deepEqual(bench.commands.log(id), []);
  });

  test('executions are deleted in the next round when the disk refused', async (t) => {
    const bench = await startBench(t);
    await finished(bench, bench.addDevice({ commands: { ping: {} } }), true);
    bench.state
      .prepare("CREATE TRIGGER full BEFORE DELETE ON execution BEGIN SELECT RAISE(ABORT, 'full'); END")
      .run();
    await bench.clock.advance(25 * HOUR_MS);
    assert.equal(ids(bench).length, 1);
    assert.ok(
      bench.lines.some(({ message }) => message === 'retention of executions failed, will be tried again'),
    );
    bench.state.prepare('DROP TRIGGER full').run();
    await bench.clock.advance(2 * LIMITS.commands.retentionIntervalMs);
    assert.equal(ids(bench).length, 0);
  });
});

describe('a wrong wall clock', () => {
  test('a wrong clock deletes nothing young when it jumps years ahead, not even when it stays', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: { ping: {} } });
    const young = [await finished(bench, device, true), await finished(bench, device)];
    bench.clock.step(10 * 365 * DAY_MS);
    await bench.clock.advance(22 * HOUR_MS);
    assert.deepEqual(ids(bench), young);
  });

  test('a wrong clock deletes nothing of earlier runs when it starts years ahead and is corrected within the hour', async (t) => {
    const bench = await startBench(t);
    const id = await finished(bench, bench.addDevice({ commands: { ping: {} } }), true);
    bench.clock.step(10 * 365 * DAY_MS);
    await bench.restart();
    await bench.clock.advance(50 * 60_000);
    bench.clock.step(-10 * 365 * DAY_MS);
    await bench.clock.advance(2 * HOUR_MS);
    assert.deepEqual(ids(bench), [id]);
  });

  test('executions get their true time and life when the clock starts in 1970 and is set later', async (t) => {
    const bench = await startBench(t, { wallMs: 5_000 });
    const device = bench.addDevice({ commands: { ping: {} } });
    const id = await finished(bench, device, true);
    const before = bench.stored({ id });
    assert.equal(before?.createdAtMs, 5_000);
    await bench.clock.advance(HOUR_MS);
    const jumpMs = Date.UTC(2026, 5, 1);
    bench.clock.step(jumpMs);
    const after = bench.stored({ id });
    assert.equal(after?.createdAtMs, jumpMs + 5_000);
    assert.equal(after?.response?.receivedAtMs, jumpMs + (before?.response?.receivedAtMs ?? 0));
    await bench.clock.advance(22 * HOUR_MS);
    assert.deepEqual(ids(bench), [id]);
    await bench.clock.advance(2 * HOUR_MS);
    assert.deepEqual(ids(bench), []);
  });

  test('stamps of 1970 from an earlier run count as of the start of this one', async (t) => {
    const bench = await startBench(t, { wallMs: 5_000 });
    const id = await finished(bench, bench.addDevice({ commands: { ping: {} } }));
    const startMs = Date.UTC(2026, 5, 1);
    bench.clock.step(startMs - bench.clock.wallMs() - DAY_MS);
    assert.ok(bench.clock.isSet());
    bench.state.prepare('UPDATE execution SET created_at_ms = 5000').run();
    bench.clock.step(DAY_MS);
    await bench.restart();
    assert.equal(bench.stored({ id })?.createdAtMs, startMs);
  });
});
