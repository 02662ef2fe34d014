import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { LIMITS } from '../../../src/lib/limits.ts';
import { RetainedMessages } from '../../../src/platform/mqtt/retained-messages.ts';
import { Router } from '../../../src/platform/mqtt/router.ts';

const DAY_MS = 86_400_000;

test('the broker library finds its methods in a hundred days', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'] });
  const errors: unknown[] = [];
  const router = await Router.create(new RetainedMessages(LIMITS.mqtt), (error) => errors.push(error));
  t.after(() => router.close());
  for (let day = 0; day < 100; day++) {
    t.mock.timers.tick(DAY_MS);
    await setImmediate();
  }
  assert.deepEqual(errors, []);
});
