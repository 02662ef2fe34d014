/** Rules on the whole gateway, with the real sandbox as a child process and devices on real MQTT. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const RULES = '/v3/site/rule_engine/rules';

function start(t: TestContext): Promise<TestGateway> {
  return startTestGateway(t, { environment: { GATEWAY_RULE_SANDBOX: 'true' } });
}

async function createRule(gateway: TestGateway, slug: string, code: string, version = 'V3'): Promise<void> {
  await gateway.ok('OWNER', 'POST', RULES, {
    slug,
    script: {
      code: Buffer.from(code).toString('base64'),
      runtime_version: version,
      ...(version === 'V1' && { exec_interval: '100ms' }),
    },
  });
}

async function stateOf(gateway: TestGateway, slug: string): Promise<string> {
  const { rule } = await gateway.ok('READONLY', 'GET', `${RULES}/${slug}`);
  return (rule as { state: string }).state;
}

async function messagesOf(gateway: TestGateway, slug: string): Promise<string[]> {
  const { logs } = await gateway.ok('USER', 'GET', `${RULES}/${slug}/logs`);
  return (logs as { message: string }[]).map(({ message }) => message);
}

test('a rule reads two devices and commands a third, and the execution names the rule', async (t) => {
  const gateway = await start(t);
  const [first, second, third] = [
    await gateway.provision('First'),
    await gateway.provision('Second'),
    await gateway.provision('Third'),
  ];
  for (const device of [first, second, third]) await device.connect();
  third.obey({ done: true });
  await createRule(
    gateway,
    'both-full',
    `scheduler.add(50, function()
       local a = enapter.device('first').telemetry.now('battery_soc')
       local b = enapter.device('second').telemetry.now('battery_soc')
       if a and b and a > 90 and b > 90 and not sent then
         sent = true
         local payload, err = enapter.device('third').execute_command('set_charge_limit', {limit_w = 100})
         enapter.log(payload and inspect(payload) or err)
       end
     end)`,
  );
  await until(async () => (await stateOf(gateway, 'both-full')) === 'STARTED');
  await first.telemetry({ battery_soc: 95 });
  await second.telemetry({ battery_soc: 89 });
  await second.telemetry({ battery_soc: 96 });
  await until(() => third.requests.length > 0);
  assert.deepEqual(
    third.requests.map(({ name, arguments: given }) => [name, given]),
    [['set_charge_limit', { limit_w: 100 }]],
  );
  await until(async () => (await messagesOf(gateway, 'both-full')).some((text) => text.includes('done')));
  const { executions } = await gateway.ok(
    'USER',
    'GET',
    '/v3/site/commands/executions?name.in=set_charge_limit',
  );
  assert.deepEqual(
    (executions as { state: string }[]).map(({ state }) => state),
    ['SUCCESS'],
  );
});

test('a V1 rule runs repeatedly, and its storage survives a restart of the gateway', async (t) => {
  const gateway = await start(t);
  await createRule(
    gateway,
    'counter',
    `local count = (storage.namespaced.read('count') or 0) + 1
     storage.namespaced.write('count', count)
     enapter.log('run ' .. tostring(count))`,
    'V1',
  );
  const runs = async (): Promise<number[]> =>
    (await messagesOf(gateway, 'counter')).flatMap((text) => {
      const match = /^run (\d+)/.exec(text);
      return match ? [Number(match[1])] : [];
    });
  await until(async () => (await runs()).includes(3));
  await gateway.restart();
  const before = Math.max(...(await runs()));
  await until(async () => Math.max(...(await runs())) > before);
});

test('creating and enabling a rule answer the resulting state, and its log has an entry', async (t) => {
  const gateway = await start(t);
  const rules = '/v3/site/rule_engine/rules';
  const code = Buffer.from(`enapter.log('here') scheduler.add(50, function() end)`).toString('base64');
  const script = { code, runtime_version: 'V3' };
  const stateIn = ({ rule }: Record<string, unknown>): string => (rule as { state: string }).state;
  assert.equal(stateIn(await gateway.ok('OWNER', 'POST', rules, { slug: 'a', script })), 'STARTED');
  const off = { slug: 'b', script, disable: true };
  assert.equal(stateIn(await gateway.ok('OWNER', 'POST', rules, off)), 'STOPPED');
  assert.equal(stateIn(await gateway.ok('OWNER', 'POST', `${rules}/b/enable`)), 'STARTED');
  await until(async () => (await messagesOf(gateway, 'b')).includes('here'));
  const batch = { rule_ids: ['a', 'b'] };
  await gateway.ok('OWNER', 'POST', `${rules}/batch_disable`, batch);
  const { rules: enabled } = await gateway.ok('OWNER', 'POST', `${rules}/batch_enable`, batch);
  assert.deepEqual(
    (enabled as { state: string }[]).map(({ state }) => state),
    ['STARTED', 'STARTED'],
  );
});

test('a runaway rule is stopped and named in its log, and its neighbours go on', async (t) => {
  const gateway = await start(t);
  await createRule(gateway, 'neighbour', `scheduler.add(50, function() enapter.log('tick') end)`);
  await createRule(gateway, 'runaway', `while true do pcall(function() while true do end end) end`);
  await until(async () => (await messagesOf(gateway, 'runaway')).some((text) => /execution time/.test(text)));
  const ticks = async (): Promise<number> => {
    const { total_count: total } = await gateway.ok('USER', 'GET', `${RULES}/neighbour/logs`);
    return Number(total);
  };
  const before = await ticks();
  await until(async () => (await ticks()) > before + 2);
});
