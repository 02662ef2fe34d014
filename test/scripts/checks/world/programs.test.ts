import assert from 'node:assert/strict';
import { test } from 'node:test';
import { programsCheck } from '../../../../scripts/checks/world/programs.ts';
import { createSystemClock } from '../../../../src/platform/clock/index.ts';

test('the fault check of the programs beside the gateway runs and finds nothing doubled or lost', async (t) => {
  const clock = createSystemClock();
  t.after(() => clock.close());
  const said: string[] = [];
  const problems = await programsCheck({
    kills: 1,
    seed: 1,
    program: 'bundle',
    clock,
    say: (text) => said.push(text),
    killAfterMs: { min: 500, max: 1_500 },
  });
  // How long a program takes to come back is judged on a quiet machine only.
  assert.deepEqual(
    problems.filter(({ kind }) => kind !== 'stop'),
    [],
  );
  assert.match(said.join('\n'), /script: \d+ executions/);
});
