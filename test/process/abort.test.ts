/** Callers of the real program that go away; many more of them: npm run check -- aborts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { abortCheck } from '../../scripts/checks/aborts/run.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';

test('callers that go away at any moment of any operation leave nothing behind, and no error in the log', async (t) => {
  const clock = createSystemClock();
  t.after(() => clock.close());
  const report = await abortCheck({
    count: 60,
    seed: 20_261_121,
    program: 'bundle',
    clock,
    say: (text) => t.diagnostic(text),
  });
  assert.deepEqual(report.problems, []);
  assert.ok(report.operations > 80);
});
