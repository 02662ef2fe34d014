/** A change that a failing disk kept from a device is sent as soon as the disk takes data again. */
import assert from 'node:assert/strict';
import { fdatasync } from 'node:fs';
import { promisify } from 'node:util';
import { test } from 'node:test';
import { manifestWith, zipOf } from '../capabilities/blueprints/support.ts';
import { provisionModule } from '../capabilities/modules/played-module.ts';
import { startTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const sync = promisify(fdatasync);

/** A disk of which the next sync fails. */
function failingDisk() {
  let failures = 0;
  return {
    syncFile: async (descriptor: number): Promise<void> => {
      if (failures === 0) return sync(descriptor);
      failures--;
      throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
    },
    failOnce: () => void (failures = 1),
    hasFailed: () => failures === 0,
  };
}

const MANIFEST =
  'blueprint_spec: device/3.0\ndisplay_name: Counter\n' +
  'runtime: {type: lua, requirements: [], options: {file: main.lua}}\n' +
  'configuration: {main: {display_name: M, parameters: {limit: {display_name: L, type: integer, default: 5}}}}\n';

test('a module learns of a device added, configured and deleted while syncs failed, without another hello', async (t) => {
  const disk = failingDisk();
  const gateway = await startTestGateway(t, { syncFile: disk.syncFile });
  const module = await provisionModule(gateway, 'Board', 'V00000000000000000000000000000001');
  const zip = await zipOf({ 'manifest.yml': MANIFEST, 'main.lua': '' });
  const { id: blueprintId } = await gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
  await module.connect();
  await module.say({ type: 'hello', version: 1, run: 'r1', offers: [] });
  assert.deepEqual((await module.next('assignments')).devices, []);
  // Whether the person learns of it depends on whose sync failed; the change is made in any case.
  const failing = async (method: string, path: string, body?: unknown): Promise<void> => {
    disk.failOnce();
    await gateway.call('OWNER', method, path, body);
    assert.ok(disk.hasFailed());
  };

  const order = { name: 'Counter', runtime_id: module.device.id, blueprint_id: String(blueprintId) };
  await failing('POST', '/v3/provisioning/lua_device', order);
  const [assigned] = (await module.next('assignments')).devices;
  assert.ok(assigned);
  assert.deepEqual((await module.next('configuration')).groups, { main: { limit: 5 } });

  const path = `/v3/devices/${assigned.device_id}`;
  await failing('PATCH', `${path}/configuration/main`, { set: { limit: 7 } });
  assert.deepEqual((await module.next('configuration')).groups, { main: { limit: 7 } });

  await failing('DELETE', path);
  assert.deepEqual((await module.next('assignments')).devices, []);
});

test('a device that speaks MQTT gets its configuration after syncs failed', async (t) => {
  const disk = failingDisk();
  const gateway = await startTestGateway(t, { syncFile: disk.syncFile });
  const sections =
    'configuration: {main: {display_name: M, parameters: {limit: {display_name: L, type: integer}}}}\n';
  const zip = await zipOf({ 'manifest.yml': manifestWith(sections) });
  const { id: blueprintId } = await gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
  const device = await gateway.provision('Heater', String(blueprintId));
  const told: string[] = [];
  device.onMessage = (_topic, text) => void told.push(text);
  await device.connect();
  const { hardwareId, channelId } = device.config;
  await device.subscribe(`v1/to/${hardwareId}/${channelId}/v1/configuration`);
  const set = (limit: number) =>
    gateway.call('OWNER', 'PATCH', `/v3/devices/${device.id}/configuration/main`, { set: { limit } });
  disk.failOnce();
  await set(7);
  assert.ok(disk.hasFailed());
  await until(() => told.length > 0);
  assert.equal((await set(8)).status, 200);
  await until(() => told.length === 2);
  assert.deepEqual(told, ['{"main":{"limit":7}}', '{"main":{"limit":8}}']);
});
