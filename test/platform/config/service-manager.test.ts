import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readServiceManager } from '../../../src/platform/config/index.ts';

describe('the service manager', () => {
  test('the service manager is absent without its variables', () => {
    const none = { notifySocket: undefined, watchdogMs: undefined };
    assert.deepEqual(readServiceManager({}, 7), none);
    assert.deepEqual(readServiceManager({ NOTIFY_SOCKET: '', WATCHDOG_USEC: '' }, 7), none);
  });

  for (const period of ['0', '-1', '1.5', 'often', '1e3'])
    test(`the service manager does not watch with a period of ${period}`, () => {
      assert.equal(readServiceManager({ WATCHDOG_USEC: period }, 7).watchdogMs, undefined);
    });

  test('the service manager does not watch this process when it watches another one', () => {
    assert.equal(
      readServiceManager({ WATCHDOG_USEC: '60000000', WATCHDOG_PID: '8' }, 7).watchdogMs,
      undefined,
    );
  });

  test('the service manager names its socket and its period in microseconds', () => {
    const environment = { NOTIFY_SOCKET: '@run', WATCHDOG_USEC: '60000000', WATCHDOG_PID: '7' };
    assert.deepEqual(readServiceManager(environment, 7), { notifySocket: '@run', watchdogMs: 60_000 });
  });
});
