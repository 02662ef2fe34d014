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

test('a day of an owner: what was made, changed, commanded and refused stands in the audit trail', async (t) => {
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
      ['OWNER', 'delete_device', 200, { device_id }],
      ['USER', 'execute_command', 422, { device_id, command: 'no_such_command' }],
      ['USER', 'delete_device', 403, { device_id: 'battery' }],
      ['OWNER', 'update_device', 200, { device_id }],
      ['OWNER', 'assign_blueprint', 200, { device_id, blueprint_id }],
      ['OWNER', 'provision_standalone_device', 200, { device_id }],
    ],
  );
});

test('what a rule commands stands there as its doing, and what it could not as well', async (t) => {
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
      command: 'set_charge_limit',
      execution_id: (executions as { id: string }[])[0]?.id,
    },
    status: 200,
  });
  assert.deepEqual(
    [failed?.status, failed?.target],
    [422, { device_id: offline.id, command: 'set_charge_limit' }],
  );
});

test('what clients of the broker try in vain stands there once an hour, with no word that may be a secret', async (t) => {
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
  const at = { hardware_id: hardwareId };
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
      ['device', 'Meter', 'mqtt_login', 401, at, '127.0.0.1'],
      ['anonymous', 'anonymous', 'mqtt_login', 401, {}, '127.0.0.1'],
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
