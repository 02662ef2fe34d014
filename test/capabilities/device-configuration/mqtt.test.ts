/** Configuration over MQTT (docs/interface/mqtt-devices.md#configuration), on the whole gateway. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MockDevice } from '../../support/mock-device.ts';
import { refusal, startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { until } from '../../support/until.ts';
import { manifestWith, zipOf } from '../blueprints/support.ts';

const SECTIONS =
  'configuration:\n  main:\n    display_name: M\n    parameters:\n' +
  '      address: {display_name: A, type: string, format: connection_uri, required: true}\n' +
  '      limit: {display_name: L, type: integer, default: 5, max: 10}\n' +
  '      pin: {display_name: P, type: string, sensitive: true}\n' +
  '  other: {display_name: O, parameters: {note: {display_name: N, type: string}}}\n';

interface Heard {
  device: MockDevice;
  /** Messages on the topic of the configuration, parsed. */
  told: unknown[];
}

async function upload({ ok }: TestGateway, sections: string): Promise<string> {
  const zip = await zipOf({ 'manifest.yml': manifestWith(sections) });
  return String((await ok('OWNER', 'POST', '/v3/blueprints/upload', zip))['id']);
}

async function listening(gateway: TestGateway): Promise<Heard> {
  const device = await gateway.provision('Heater', await upload(gateway, SECTIONS));
  const { client } = await device.connect();
  const { hardwareId, channelId } = device.config;
  const topic = `v1/to/${hardwareId}/${channelId}/v1/configuration`;
  const told: unknown[] = [];
  client.on('message', (at, payload) => {
    if (at === topic) told.push(JSON.parse(payload.toString('utf8')));
  });
  assert.equal(await device.subscribe(topic), 1);
  return { device, told };
}

describe('a device that speaks MQTT', () => {
  test('a device that speaks MQTT gets its configuration when it asks: all groups, defaults filled in, sensitive values too', async (t) => {
    const gateway = await startTestGateway(t);
    const { device, told } = await listening(gateway);
    await device.publish(device.from('v1/configuration/read'), '');
    await until(() => told.length === 1);
    const path = `/v3/devices/${device.id}/configuration/main`;
    const set = { address: 'tcp://10.0.0.1:502', pin: '1234' };
    const { configuration } = await gateway.ok('USER', 'PATCH', path, { set });
    assert.deepEqual(configuration, { address: 'tcp://10.0.0.1:502', limit: 5 });
    await until(() => told.length === 2);
    await device.publish(device.from('v1/configuration/read'), '{}');
    await until(() => told.length === 3);
    const all = { main: { address: 'tcp://10.0.0.1:502', limit: 5, pin: '1234' }, other: {} };
    assert.deepEqual(told, [{ main: { limit: 5 }, other: {} }, all, all]);
  });

  test('a device that speaks MQTT is told of every change that is one, and of what another blueprint makes of its values', async (t) => {
    const gateway = await startTestGateway(t);
    const { device, told } = await listening(gateway);
    const path = `/v3/devices/${device.id}/configuration/main`;
    const refused = await gateway.call('USER', 'PATCH', path, { set: { limit: 7, address: 'nowhere' } });
    assert.equal(refusal(refused), '422 invalid_configuration');
    await gateway.ok('USER', 'PATCH', path, { set: { limit: 5 } });
    await gateway.ok('USER', 'PATCH', path, { set: { limit: 9 } });
    await gateway.ok('USER', 'POST', `${path}/reset_all`);
    await gateway.ok('USER', 'PATCH', path, { set: { limit: 8, pin: '1' } });
    const narrower = await upload(gateway, SECTIONS.replace('max: 10', 'max: 6'));
    await gateway.ok('OWNER', 'POST', `/v3/devices/${device.id}/assign_blueprint`, {
      blueprint_id: narrower,
    });
    await until(() => told.length === 4);
    assert.deepEqual(told, [
      { main: { limit: 9 }, other: {} },
      { main: { limit: 5 }, other: {} },
      { main: { limit: 8, pin: '1' }, other: {} },
      { main: { limit: 5, pin: '1' }, other: {} },
    ]);
  });

  test('a device that speaks MQTT gets what its kept session did not acknowledge again, unless there is something newer', async (t) => {
    const gateway = await startTestGateway(t);
    const device = await gateway.provision('Heater', await upload(gateway, SECTIONS));
    const { hardwareId, channelId } = device.config;
    const kept = { clientId: 'kept', clean: false };
    const told: string[] = [];
    device.onMessage = (_topic, text) => told.push(text);
    const topic = `v1/to/${hardwareId}/${channelId}/v1/configuration`;
    const { client, closed } = await device.open(kept);
    await device.subscribe(topic);
    // It takes no further message before it has acknowledged the first; another session sees when both are sent.
    client.handleMessage = () => undefined;
    await device.open();
    await device.subscribe(topic);
    const path = `/v3/devices/${device.id}/configuration/main`;
    await gateway.ok('USER', 'PATCH', path, { set: { limit: 6 } });
    await gateway.ok('USER', 'PATCH', path, { set: { limit: 7 } });
    await until(() => told.length === 3);
    client.stream.destroy();
    await closed;
    told.length = 0;
    await device.open(kept);
    await device.publish(device.from('v1/configuration/read'), '');
    await until(() => told.length > 2);
    const newest = '{"main":{"limit":7},"other":{}}';
    assert.deepEqual(told, [newest, newest, newest]);
  });
});
