/** What a device answers, when it is acknowledged, and what silence does. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import type { Running } from '../../../src/capabilities/commands/index.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { settle } from '../../support/test-clock.ts';
import { type Bench, startBench } from './support.ts';

type Options = Parameters<typeof startBench>[1];

async function started(
  t: Parameters<typeof startBench>[0],
  options?: Options,
): Promise<{ bench: Bench; device: Device; running: Running }> {
  const bench = await startBench(t, options);
  const device = bench.addDevice({ commands: { ping: {} } });
  const running = await bench.run(device, 'ping');
  await bench.clock.advance(100);
  return { bench, device, running };
}

function log(bench: Bench, running: { id: string }): string[] {
  return bench.commands
    .log(running.id)
    .map(({ state, payload }) => `${state} ${JSON.stringify(payload)}`)
    .reverse();
}

async function ignoredReasons(bench: Bench): Promise<string[]> {
  const text = await bench.metrics();
  return [...text.matchAll(/command_responses_ignored_total\{reason="([^"]+)"\} ([1-9]\d*)/g)].map(
    ([, reason, count]) => `${reason} ${count}`,
  );
}

describe('a response that is not recorded', () => {
  const foreign: [title: string, body: (id: string) => Record<string, unknown>, reason: string][] = [
    ['has no id', () => ({ state: 'completed' }), 'malformed'],
    ['has no state', (id) => ({ id }), 'malformed'],
    ['answers nothing that was asked', () => ({ id: 'x', state: 'completed' }), 'unknown execution'],
  ];
  for (const [title, body, reason] of foreign)
    test(title, async (t) => {
      const { bench, device, running } = await started(t);
      await bench.deliver(device, 'command_responses', body(running.id));
      assert.deepEqual(log(bench, running), ['STARTED {}']);
      assert.deepEqual(await ignoredReasons(bench), [`${reason} 1`]);
      assert.ok(bench.lines.some(({ message }) => message === 'command response ignored'));
    });

  test('a response that is not recorded comes from another device, before the end and after', async (t) => {
    const { bench, device, running } = await started(t);
    const other = bench.addDevice({ commands: { ping: {} } });
    await bench.deliver(other, 'command_responses', { id: running.id, state: 'completed' });
    assert.equal(bench.stored(running)?.state, 'IN_PROGRESS');
    await bench.answer(device, running, 'completed');
    await bench.deliver(other, 'command_responses', { id: running.id, state: 'error' });
    assert.deepEqual(log(bench, running), ['STARTED {}', 'SUCCEEDED {}']);
    assert.deepEqual(await ignoredReasons(bench), ['another device 2']);
  });
});

describe('responses of the device', () => {
  test('responses of the device follow one another in the log, newest first, and the newest is the response', async (t) => {
    const { bench, device, running } = await started(t);
    await bench.answer(device, running, 'log', { message: 'working' });
    await bench.answer(device, running, 'completed', { result: null });
    const execution = bench.stored(running);
    assert.equal(execution?.state, 'SUCCESS');
    assert.deepEqual(execution?.response?.payload, { result: null });
    assert.deepEqual(log(bench, running), [
      'STARTED {}',
      'IN_PROGRESS {"message":"working"}',
      'SUCCEEDED {"result":null}',
    ]);
    assert.deepEqual(await running.ended, execution);
  });

  test('responses of the device are acknowledged, published and counted only when they are on disk', async (t) => {
    const { bench, device, running } = await started(t);
    const seen: string[] = [];
    bench.commands.events.on('execution_updated', 'test', ({ execution }) => void seen.push(execution.state));
    void running.ended.then(() => seen.push('ended'));
    const acknowledged = bench
      .deliver(device, 'command_responses', { id: running.id, state: 'completed' })
      .then(() => seen.push('acknowledged'));
    await settle();
    assert.deepEqual(seen, []);
    assert.equal(bench.stored(running)?.state, 'IN_PROGRESS');
    await bench.clock.advance(100);
    await acknowledged;
    assert.deepEqual(new Set(seen), new Set(['SUCCESS', 'acknowledged', 'ended']));
  });

  test('responses of the device wait while the disk takes no data, and are there when it does again', async (t) => {
    const { bench, device, running } = await started(t);
    bench.state.prepare('ALTER TABLE execution_response RENAME TO full_disk').run();
    let acknowledged = false;
    const answered = bench
      .deliver(device, 'command_responses', { id: running.id, state: 'completed' })
      .then(() => (acknowledged = true));
    await bench.clock.advance(5_000);
    assert.equal(acknowledged, false);
    assert.ok(bench.commits.failure);
    bench.state.prepare('ALTER TABLE full_disk RENAME TO execution_response').run();
    await bench.clock.advance(2_000);
    await answered;
    assert.deepEqual(log(bench, running), ['STARTED {}', 'SUCCEEDED {}']);
    assert.equal((await running.ended).state, 'SUCCESS');
  });

  test('responses of the device are refused, not acknowledged, when too many wait for the disk', async (t) => {
    const { bench, device, running } = await started(t, { limits: { bufferedResponseBytes: 300 } });
    bench.state.prepare('ALTER TABLE execution_response RENAME TO full_disk').run();
    const answer = (qos: 0 | 1, payload: unknown) =>
      bench.deliver(device, 'command_responses', { id: running.id, state: 'log', payload }, { qos });
    const kept = [answer(1, 'a'), answer(1, 'b')];
    await assert.rejects(answer(1, 'c'), { name: 'GatewayError', code: 'unavailable' });
    await answer(0, 'd');
    bench.state.prepare('ALTER TABLE full_disk RENAME TO execution_response').run();
    await bench.clock.advance(2_000);
    await Promise.all(kept);
    assert.deepEqual(log(bench, running), [
      'STARTED {}',
      'IN_PROGRESS {"message":"a"}',
      'IN_PROGRESS {"message":"b"}',
    ]);
    assert.match(await bench.metrics(), /command_responses_refused_total 2/);
  });

  test('responses of the device do not wait for the window that spares the card when they end an execution', async (t) => {
    const { bench, device } = await started(t);
    for (let i = 0; i < 50; i++) {
      const running = await bench.run(device, 'ping');
      const answered = bench.deliver(device, 'command_responses', { id: running.id, state: 'completed' });
      await bench.clock.advance(LIMITS.commits.quickWindowMs);
      await answered;
      assert.equal((await running.ended).state, 'SUCCESS');
    }
  });

  test('responses of the device after the end stand in the log and change nothing', async (t) => {
    const { bench, device, running } = await started(t);
    const lateness: boolean[] = [];
    await bench.answer(device, running, 'completed', { n: 1 });
    bench.commands.events.on('execution_updated', 'test', ({ late }) => void lateness.push(late));
    await bench.answer(device, running, 'error', { message: 'second session' });
    const execution = bench.stored(running);
    assert.equal(execution?.state, 'SUCCESS');
    assert.deepEqual(execution?.response?.payload, { n: 1 });
    assert.deepEqual(log(bench, running), [
      'STARTED {}',
      'SUCCEEDED {"n":1}',
      'ERROR {"message":"second session"}',
    ]);
    assert.deepEqual(lateness, [true]);
  });

  test('responses of the device after the end but before it is on disk change nothing either', async (t) => {
    const { bench, device, running } = await started(t);
    const acknowledged = ['completed', 'error'].map((state) =>
      bench.deliver(device, 'command_responses', { id: running.id, state }),
    );
    await bench.clock.advance(100);
    await Promise.all(acknowledged);
    assert.equal(bench.stored(running)?.state, 'SUCCESS');
    assert.equal(bench.stored(running)?.response?.state, 'SUCCEEDED');
    assert.equal(log(bench, running).length, 3);
  });

  test('responses of the device keep their order when the wall clock jumps back', async (t) => {
    const { bench, device, running } = await started(t);
    await bench.answer(device, running, 'log', 'a');
    bench.clock.step(-3_600_000);
    await bench.answer(device, running, 'completed');
    bench.clock.step(7_200_000);
    const late = [bench.deliver(device, 'command_responses', { id: running.id, state: 'log' })];
    bench.clock.step(-7_200_000);
    late.push(bench.deliver(device, 'command_responses', { id: running.id, state: 'log' }));
    await bench.clock.advance(1_000);
    await Promise.all(late);
    const times = bench.commands.log(running.id).map(({ receivedAtMs }) => receivedAtMs);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => b - a),
    );
  });
});

describe('a response that is committed and not synced yet', () => {
  for (const [title, failure] of [
    ['until it is', undefined],
    ['also when the sync failed, until one succeeds', new Error('the disk fails')],
  ] as const)
    test(`a response committed but not synced is hidden from waiting callers and listeners, ${title}`, async (t) => {
      const held: ((failure: Error | undefined) => void)[] = [];
      let isHeld = false;
      const hold = (): Promise<void> =>
        new Promise((resolve, reject) => held.push((error) => (error ? reject(error) : resolve())));
      const release = (): void => {
        isHeld = false;
        for (const end of held.splice(0)) end(failure);
      };
      t.after(release);
      const bench = await startBench(t, { sync: () => (isHeld ? hold() : Promise.resolve()) });
      const device = bench.addDevice({ commands: { ping: {} } });
      const running = await bench.run(device, 'ping');
      await bench.clock.advance(100);
      const told: string[] = [];
      bench.commands.events.on('execution_updated', 'test', ({ response }) => void told.push(response.state));
      void running.ended.then(({ state }) => told.push(state));
      isHeld = true;
      void bench.deliver(device, 'command_responses', { id: running.id, state: 'completed' });
      await bench.clock.advance(100);
      assert.deepEqual([bench.stored(running)?.state, ...told], ['SUCCESS']);
      release();
      await settle();
      assert.deepEqual(told, failure ? [] : ['SUCCEEDED', 'SUCCESS']);
      await bench.clock.advance(LIMITS.commits.retryMs);
      assert.deepEqual(told, ['SUCCEEDED', 'SUCCESS']);
      assert.deepEqual(log(bench, running), ['STARTED {}', 'SUCCEEDED {}']);
    });
});

describe('a response that is sent again with the DUP flag', () => {
  for (const when of ['before the end', 'after the end'])
    test(`a response that is sent again with the DUP flag is recorded once, ${when}`, async (t) => {
      const { bench, device, running } = await started(t);
      await bench.answer(device, running, 'log', 'a');
      if (when === 'after the end') await bench.answer(device, running, 'completed', 'b');
      const before = log(bench, running);
      await bench.answer(device, running, 'log', 'a', { duplicate: true });
      if (when === 'after the end')
        await bench.answer(device, running, 'completed', 'b', { duplicate: true });
      assert.deepEqual(log(bench, running), before);
    });

  test('a response sent again waits for the first one when that is not on disk yet', async (t) => {
    const { bench, device, running } = await started(t);
    const body = { id: running.id, state: 'completed' };
    let acknowledged = 0;
    const both = [false, true].map((duplicate) =>
      bench.deliver(device, 'command_responses', body, { duplicate }).then(() => acknowledged++),
    );
    await settle();
    assert.equal(acknowledged, 0);
    await bench.clock.advance(100);
    await Promise.all(both);
    assert.deepEqual(log(bench, running), ['STARTED {}', 'SUCCEEDED {}']);
  });

  test('a response that is sent again with the DUP flag is recorded when the first one was lost', async (t) => {
    const { bench, device, running } = await started(t);
    await bench.answer(device, running, 'completed', 'b', { duplicate: true });
    assert.deepEqual(log(bench, running), ['STARTED {}', 'SUCCEEDED {"message":"b"}']);
  });

  test('a response without the DUP flag is new: a device may report the same twice', async (t) => {
    const { bench, device, running } = await started(t);
    await bench.answer(device, running, 'log', 'a');
    await bench.answer(device, running, 'log', 'a');
    assert.equal(log(bench, running).length, 3);
  });
});

describe('silence', () => {
  test('silence ends an execution after 60 s as TIMEOUT with an ERROR response', async (t) => {
    const { bench, running } = await started(t);
    await bench.clock.advance(59_800);
    assert.equal(bench.stored(running)?.state, 'IN_PROGRESS');
    await bench.clock.advance(300);
    assert.equal(bench.stored(running)?.state, 'TIMEOUT');
    assert.deepEqual(log(bench, running), [
      'STARTED {}',
      'ERROR {"message":"The device did not answer within 60 s."}',
    ]);
    assert.deepEqual(await running.ended, bench.stored(running));
  });

  test('silence is counted anew from each response', async (t) => {
    const { bench, device, running } = await started(t);
    for (let i = 0; i < 3; i++) {
      await bench.clock.advance(50_000);
      await bench.answer(device, running, 'log', i);
    }
    assert.equal(bench.stored(running)?.state, 'IN_PROGRESS');
    await bench.clock.advance(60_000);
    assert.equal(bench.stored(running)?.state, 'TIMEOUT');
  });

  test('silence is measured by the monotonic clock', async (t) => {
    const { bench, running } = await started(t);
    bench.clock.step(7_200_000);
    await bench.clock.advance(1_000);
    assert.equal(bench.stored(running)?.state, 'IN_PROGRESS');
    bench.clock.step(-14_400_000);
    await bench.clock.advance(59_100);
    assert.equal(bench.stored(running)?.state, 'TIMEOUT');
  });

  test('silence has a length that the server can set', async (t) => {
    const { bench, running } = await started(t, { timeoutMs: 5_000 });
    await bench.clock.advance(5_100);
    assert.equal(bench.stored(running)?.response?.payload.message, 'The device did not answer within 5 s.');
  });

  test('silence followed by an answer: the log has it, the state stays', async (t) => {
    const { bench, device, running } = await started(t);
    await bench.clock.advance(61_000);
    await bench.answer(device, running, 'completed', { result: 1 });
    assert.equal(bench.stored(running)?.state, 'TIMEOUT');
    assert.equal(bench.stored(running)?.response?.state, 'ERROR');
    assert.deepEqual(log(bench, running).at(-1), 'SUCCEEDED {"result":1}');
  });

  test('silence leaves no timer after the end', async (t) => {
    const { bench, device, running } = await started(t);
    const waiting = bench.clock.waiting;
    await bench.answer(device, running, 'completed');
    assert.equal(bench.clock.waiting, waiting - 1);
  });
});

describe('a log that is full', () => {
  for (const limits of [{ responsesPerExecution: 3 }, { responseBytesPerExecution: 30 }])
    test(`a full log takes no more progress, but the end, at the limit of ${Object.keys(limits).join()}`, async (t) => {
      const { bench, device, running } = await started(t, { limits });
      for (let i = 0; i < 5; i++) {
        await bench.clock.advance(50_000);
        await bench.answer(device, running, 'log', `step ${i}`);
      }
      await bench.answer(device, running, 'completed', 'end');
      await bench.answer(device, running, 'log', 'late');
      assert.deepEqual(log(bench, running), [
        'STARTED {}',
        'IN_PROGRESS {"message":"step 0"}',
        'IN_PROGRESS {"message":"step 1"}',
        'SUCCEEDED {"message":"end"}',
      ]);
      assert.deepEqual(await ignoredReasons(bench), ['log full 4']);
    });

  test('a full log keeps the message that filled it', async (t) => {
    const { bench, device, running } = await started(t, { limits: { responsePayloadBytes: 50 } });
    await bench.answer(device, running, 'error', { message: 'why', dump: 'x'.repeat(100) });
    assert.equal(bench.stored(running)?.state, 'ERROR');
    assert.match(String(bench.stored(running)?.response?.payload.message), /^why \(The payload of \d+ bytes/);
  });
});
