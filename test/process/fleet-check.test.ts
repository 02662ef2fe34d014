/** The shipped dashboard and alerts for many boxes, asked of a real VictoriaMetrics; `npm run check -- fleet` runs twenty of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fleetCheck, FLEET_ENGINE } from '../../scripts/checks/fleet/run.ts';
import { hasBundle } from '../../scripts/support/gateway-process.ts';
import { isInstalled } from '../../scripts/checks/targets/programs.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';

test('dashboard and alerts show of every box what it reports itself', async (t) => {
  if (!FLEET_ENGINE.every(isInstalled)) {
    t.diagnostic('victoria-metrics is not installed (package victoria-metrics): not asked');
    return;
  }
  const clock = createSystemClock();
  t.after(() => clock.close());
  const { problems, compared } = await fleetCheck({
    gateways: 2,
    seconds: 15,
    program: hasBundle() ? 'bundle' : 'source',
    clock,
    say: (text) => t.diagnostic(text),
  });
  assert.deepEqual(problems, []);
  assert.ok(compared > 0);
});
