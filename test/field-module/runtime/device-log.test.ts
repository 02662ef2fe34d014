import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { createDeviceLog } from '../../../src/field-module/runtime/device-script.ts';
import { TestClock } from '../../support/test-clock.ts';

function setUp() {
  const clock = new TestClock();
  const said: string[] = [];
  const log = createDeviceLog({
    clock,
    limits: LIMITS.module,
    messageBytes: 100,
    post: ({ message }) => said.push(message),
  });
  return { clock, log, said };
}

describe('the log of a device', () => {
  test('the log of a device reports how many entries were dropped although none follows', async () => {
    const { clock, log, said } = setUp();
    const { logBurst } = LIMITS.module;
    for (let count = 0; count < logBurst + 7; count++)
      log.write({ message: 'again', severity: 'info', persist: false });
    assert.equal(said.length, logBurst);
    await clock.advance(1_000);
    assert.deepEqual(said.slice(logBurst), ['7 log entries were dropped, because there were too many']);
    assert.equal(clock.waiting, 0);
  });

  test('the log of a device has an error once a minute, also one that differs only where it is cut', async () => {
    const { clock, log, said } = setUp();
    for (let count = 0; count < 3; count++) log.error(`${'x'.repeat(100)}${count}`);
    assert.deepEqual(said.splice(0), ['x'.repeat(100)]);
    await clock.advance(LIMITS.module.sameErrorMs);
    log.error('x'.repeat(100));
    assert.equal(said.length, 1);
  });
});
