/**
 * Minutes of the workload to real servers that go away and come back, through a gateway that is killed and loses its
 * power. `npm run check -- targets` goes on for a day of it.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { targetCheck } from '../../scripts/checks/targets/run.ts';
import { hasBundle } from '../../scripts/support/gateway-process.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';

test('all that devices send is in every target once, and commands from above come in time and once', async (t) => {
  const clock = createSystemClock();
  t.after(() => clock.close());
  const seed = randomInt(2 ** 31);
  const { values, problems } = await targetCheck({
    seed,
    isNewestFirst: seed % 2 === 1,
    devices: 2,
    seconds: 100,
    speed: 10,
    program: hasBundle() ? 'bundle' : 'source',
    clock,
    say: (text) => t.diagnostic(text),
  });
  assert.deepEqual(problems, [], `seed ${seed}`);
  assert.ok(values > 0);
});
