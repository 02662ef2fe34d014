/** The audit trail over the whole gateway. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestGateway } from '../support/test-gateway.ts';

interface Entry {
  origin: { kind: string; name: string };
  operation: string;
  target: Record<string, string>;
  status: number;
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

  const { entries } = (await gateway.ok('OWNER', 'GET', '/v3/audit')) as { entries: Entry[] };
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
