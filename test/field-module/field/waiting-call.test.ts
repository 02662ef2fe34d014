import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { WaitingCall } from '../../../src/field-module/field/waiting-call.ts';
import { TestClock } from '../../support/test-clock.ts';

describe('a call that waits for what arrives', () => {
  const waiting = () => {
    const clock = new TestClock();
    const call = new WaitingCall(clock);
    const arrived: string[] = [];
    const wait = (timeoutMs: number): Promise<string> =>
      call.wait((isLate) => arrived.shift() ?? (isLate ? 'timeout' : undefined), timeoutMs);
    return { clock, call, arrived, wait };
  };

  test('a call that waits for what arrives gets one of several things that arrive at once, the next call the next', async () => {
    const { call, arrived, wait } = waiting();
    const first = wait(1_000);
    for (const thing of ['one', 'two']) {
      arrived.push(thing);
      call.wake();
    }
    assert.deepEqual([await first, await wait(1_000), call.isWaiting], ['one', 'two', false]);
  });

  test('a call that waits for what arrives gets what came in time to a busy process, which reads it after its timers', async () => {
    const { clock, arrived, wait } = waiting();
    const call = wait(10);
    const passed = clock.advance(10);
    arrived.push('in time');
    await passed;
    assert.equal(await call, 'in time');
  });

  test('a call that waits for what arrives does not wait without time', async () => {
    const { call, wait } = waiting();
    assert.equal(await wait(0), 'timeout');
    assert.equal(call.isWaiting, false);
  });
});
