/** What rules plan, in the forecast of the site (docs/interface/http.md#energy), from a script in the real sandbox. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../support/until.ts';
import { RULES, startRuleGateway } from './rule-support.ts';

const HOUR_S = 3_600;

interface Plan {
  rule_slug: string;
  device_name: string;
  output?: string;
  steps: { from: string; to: string; action: string }[];
}

/** Plans from midnight on, with steps of which it says nothing, and one of the day after tomorrow. */
const script = (startS: number): string => `
local safe = { command = 'set_mode', arguments = { mode = 'self_consumption' } }
local values = table.pack('CHARGE', 'CHARGE', nil, 'DISCHARGE')
values[72] = 'HOLD'
values.n = 72
scheduler.add(500, function()
  output.request('battery', 'set_charge_limit', { limit_w = 7000 },
    { safe = safe, output = 'cells', plan = { start = ${startS}, step_s = ${HOUR_S}, values = values } })
end)`;

test('a plan of a rule is part of the forecast while the rule runs, within today and tomorrow', async (t) => {
  const rules = await startRuleGateway(t);
  const { gateway } = rules;
  const battery = await gateway.provision('Battery');
  await battery.connect();
  battery.obey();
  const plans = async (): Promise<Plan[]> => {
    const { energy_forecast: forecast } = await gateway.ok('READONLY', 'GET', '/v3/site/energy/forecast');
    return (forecast as { plans: Plan[] }).plans;
  };
  assert.deepEqual(await plans(), []);
  const midnightS = Math.floor(Date.now() / 86_400_000) * 86_400;
  await rules.create('cheap-hours', script(midnightS));
  await until(async () => (await plans()).length > 0);
  const [plan] = await plans();
  assert.ok(plan);
  assert.deepEqual([plan.rule_slug, plan.device_name, plan.output], ['cheap-hours', 'Battery', 'cells']);
  const at = (hour: number): string => new Date((midnightS + hour * HOUR_S) * 1_000).toISOString();
  assert.deepEqual(plan.steps, [
    { from: at(0), to: at(2), action: 'CHARGE' },
    { from: at(3), to: at(4), action: 'DISCHARGE' },
  ]);
  await gateway.ok('OWNER', 'POST', `${RULES}/cheap-hours/disable`);
  assert.deepEqual(await plans(), []);
  await gateway.ok('OWNER', 'POST', `${RULES}/cheap-hours/enable`);
  await until(async () => (await plans()).length > 0);
  await gateway.ok('OWNER', 'DELETE', `${RULES}/cheap-hours`);
  assert.deepEqual(await plans(), []);
});
