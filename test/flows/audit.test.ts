/** The audit trail over the whole gateway. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { startRuleGateway } from './rule-support.ts';

interface Entry {
  origin: { kind: string; name: string };
  operation: string;
  target: Record<string, string>;
  status: number;
  remote_address?: string;
}

/** Newest first. */
async function entriesOf(gateway: TestGateway): Promise<Entry[]> {
  return (await gateway.ok('OWNER', 'GET', '/v3/audit'))['entries'] as Entry[];
}

test('the audit trail has a day of an owner: what was made, changed, commanded and refused', async (t) => {
  const gateway = await startTestGateway(t);
  const device = await gateway.provision('Battery');
  await gateway.call('OWNER', 'PATCH', '/v3/devices/battery', { name: 'Battery 1' });
  await gateway.call('USER', 'DELETE', '/v3/devices/battery');
  const command = { name: 'no_such_command' };
  await gateway.call('USER', 'POST', '/v3/devices/battery/commands/execute', command);
  const query = { from: 0, to: 1, granularity: '1s', telemetry: [] };
  await gateway.call('USER', 'POST', '/v3/telemetry/query_timeseries', query);
  await gateway.call('OWNER', 'DELETE', `/v3/devices/${device.id}`);
  await gateway.restart();

  const entries = await entriesOf(gateway);
  const blueprint_id = await gateway.sampleBlueprintId();
  const { id: device_id } = device;
  assert.deepEqual(
    entries.map(({ origin, operation, target, status }) => [origin.name, operation, status, target]),
    [
      ['OWNER', 'delete_device', 200, { device_id, device_name: 'Battery 1' }],
      ['USER', 'execute_command', 422, { device_id, device_name: 'Battery 1', command: 'no_such_command' }],
      ['USER', 'delete_device', 403, { device_id: 'battery', device_name: 'Battery 1' }],
      ['OWNER', 'update_device', 200, { device_id, device_name: 'Battery 1' }],
      ['OWNER', 'assign_blueprint', 200, { device_id, device_name: 'Battery', blueprint_id }],
      ['OWNER', 'provision_standalone_device', 200, { device_id, device_name: 'Battery' }],
    ],
  );
});

test('the audit trail has the commands of a rule, and those that failed', async (t) => {
  const rules = await startRuleGateway(t);
  const { gateway } = rules;
  const [online, offline] = [await gateway.provision('Online'), await gateway.provision('Offline')];
  await online.connect();
  online.obey({ done: true });
  const command = `execute_command('set_charge_limit', {limit_w = 100})`;
  await rules.create(
    'limiter',
    `enapter.log('1 ' .. tostring(enapter.device('offline').${command}))
     enapter.log('2 ' .. tostring(enapter.device('online').${command}))`,
  );
  await rules.heard('limiter', /^2 /);
  const byRule = async (): Promise<Entry[]> =>
    (await entriesOf(gateway)).filter(({ origin }) => origin.kind === 'rule');
  await until(async () => (await byRule()).length === 2);
  const [done, failed] = await byRule();
  const { executions } = await gateway.ok('USER', 'GET', '/v3/site/commands/executions');
  assert.deepEqual(done, {
    ...done,
    origin: { ...done?.origin, kind: 'rule', name: 'limiter' },
    operation: 'execute_command',
    target: {
      device_id: online.id,
      device_name: 'Online',
      command: 'set_charge_limit',
      execution_id: (executions as { id: string }[])[0]?.id,
    },
    status: 200,
  });
  assert.deepEqual(
    [failed?.status, failed?.target],
    [422, { device_id: offline.id, device_name: 'Offline', command: 'set_charge_limit' }],
  );
});

test('the audit trail has refused broker clients once an hour, without anything that may be a secret', async (t) => {
  const gateway = await startTestGateway(t);
  const device = await gateway.provision('Meter');
  const { hardwareId } = device.config;
  for (let attempt = 0; attempt < 3; attempt++) {
    await assert.rejects(device.open({ password: 'wrong' }));
    await assert.rejects(device.open({ username: 'my password', password: 'x' }));
  }
  const { client } = await device.open();
  await assert.rejects(client.subscribeAsync('v1/to/OTHER/#'));
  await (await device.open()).client.publishAsync('v1/from/OTHER/ucm/v1/telemetry', '{}');
  const attempts = async (): Promise<Entry[]> =>
    (await entriesOf(gateway)).filter(({ operation }) => operation.startsWith('mqtt_')).reverse();
  await until(async () => (await attempts()).length === 4);
  const reason = 'bad_credentials';
  const at = { device_id: device.id, device_name: 'Meter', hardware_id: hardwareId };
  assert.deepEqual(
    (await attempts()).map(({ origin, operation, target, status, remote_address }) => [
      origin.kind,
      origin.name,
      operation,
      status,
      target,
      remote_address,
    ]),
    [
      ['device', 'Meter', 'mqtt_login', 401, { ...at, reason }, '127.0.0.1'],
      ['anonymous', 'anonymous', 'mqtt_login', 401, { reason }, '127.0.0.1'],
      ['device', 'Meter', 'mqtt_subscribe', 403, { ...at, topic: 'v1/to/OTHER/#' }, '127.0.0.1'],
      [
        'device',
        'Meter',
        'mqtt_publish',
        403,
        { ...at, topic: 'v1/from/OTHER/ucm/v1/telemetry' },
        '127.0.0.1',
      ],
    ],
  );
  assert.ok(!JSON.stringify(await entriesOf(gateway)).includes('my password'));
});

test('the audit trail names the actor of a creation, change and end, also when the user is gone', async (t) => {
  const gateway = await startTestGateway(t);
  const { ok } = gateway;
  const rule = { slug: 'night', script: { code: '', runtime_version: 'V3' } };
  const made = (await ok('OWNER', 'POST', '/v3/site/rule_engine/rules', rule))['rule'] as { id: string };
  await ok('OWNER', 'POST', '/v3/site/rule_engine/rules/batch_disable', { rule_ids: ['night'] });
  await ok('OWNER', 'DELETE', `/v3/site/rule_engine/rules/${made.id}`);
  const token = await ok('OWNER', 'POST', '/v3/auth/tokens', { name: 'dashboard', role: 'READONLY' });
  const { id } = token['access_token'] as { id: string };
  await ok('OWNER', 'DELETE', `/v3/auth/tokens/${id}`);
  const user = { name: 'anna', role: 'USER', password: 'a long sentence' };
  const { id: userId } = (await ok('INSTALLER', 'POST', '/v3/auth/users', user))['user'] as { id: string };
  await ok('INSTALLER', 'PATCH', `/v3/auth/users/${userId}`, { password: 'another sentence' });
  await ok('INSTALLER', 'DELETE', `/v3/auth/users/${userId}`);
  assert.deepEqual(
    (await entriesOf(gateway)).reverse().map(({ operation, target }) => [operation, target]),
    [
      ['create_rule', { rule_id: made.id, rule_slug: 'night' }],
      ['batch_disable_rules', { rule_slugs: 'night' }],
      ['delete_rule', { rule_id: made.id, rule_slug: 'night' }],
      ['create_token', { token_id: id, token_name: 'dashboard', role: 'READONLY' }],
      ['revoke_token', { token_id: id, token_name: 'dashboard' }],
      ['create_user', { user_id: userId, user_name: 'anna', role: 'USER' }],
      ['update_user', { user_id: userId, user_name: 'anna', changed: 'password' }],
      ['delete_user', { user_id: userId, user_name: 'anna' }],
    ],
  );
});
