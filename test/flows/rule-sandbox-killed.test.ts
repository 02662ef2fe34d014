/** The sandbox is killed at any time: rules come back, and what they commanded happens once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../support/until.ts';
import { startRuleGateway } from './rule-support.ts';

/** Counts before it commands, so that a number is sent once at most, whatever happens. */
const COUNTING = `
local device = enapter.device('counted')
scheduler.add(50, function()
  local number = (storage.read('number') or 0) + 1
  if storage.write('number', number) then return end
  device.execute_command('set_charge_limit', {limit_w = number})
end)`;

const KILLS = 3;

test('a killed sandbox restarts with every rule, and every command was sent once and has one end', async (t) => {
  const rules = await startRuleGateway(t);
  const { gateway } = rules;
  const device = await gateway.provision('Counted');
  await device.connect();
  device.obey();
  await rules.create('counting', COUNTING);
  await rules.create('steady', `scheduler.add(50, function() end)`);
  await rules.create('repeated', `enapter.log('run')`, { runtime: 'V1' });
  await rules.create('over', `enapter.log('over')`);
  const killed = new Set<number>();
  for (let count = 1; count <= KILLS; count++) {
    for (const slug of ['counting', 'steady', 'repeated']) await rules.becomes(slug, 'STARTED');
    await rules.heard('over', /^over$/, count);
    const before = device.requests.length;
    await until(() => device.requests.length > before + 2);
    // The device is in the middle of a command that the rule waits for.
    if (count === KILLS) device.onRequest = undefined;
    if (count === KILLS) await until(() => device.requests.length > before + 3);
    const pid = rules.sandboxPid();
    killed.add(pid);
    process.kill(pid, 'SIGKILL');
    await until(() => rules.sandboxPid() !== pid);
  }
  assert.equal(killed.size, KILLS);
  for (const slug of ['counting', 'steady', 'repeated']) await rules.becomes(slug, 'STARTED');
  await rules.heard('steady', /^the rule engine ended and is started again$/, KILLS);
  await rules.heard('steady', /^rule started$/, KILLS + 1);

  const open = device.requests.at(-1);
  device.obey();
  if (open) await device.answer(open, 'completed', { result: {} });
  await gateway.ok('OWNER', 'POST', '/v3/site/rule_engine/suspend');
  const executions = async (): Promise<{ id: string; state: string; request: { arguments: object } }[]> => {
    const path = `/v3/devices/${device.id}/command_executions?limit=50&order=CREATED_AT_ASC`;
    return (await gateway.ok('USER', 'GET', path))['executions'] as never;
  };
  await until(async () => (await executions()).every(({ state }) => state === 'SUCCESS'));
  const numbers = device.requests.map(({ arguments: { limit_w: number } }) => Number(number));
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].sort((a, b) => a - b),
    'each number once, in order',
  );
  const all = await executions();
  const shown = Math.min(all.length, device.requests.length);
  assert.deepEqual(
    all.slice(0, shown).map(({ id }) => id),
    device.requests.slice(0, shown).map(({ id }) => id),
  );
});
