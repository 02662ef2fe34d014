/**
 * Devices of other makers with credentials of the gateway, and a Mosquitto bridge: what they say on topics of their own
 * costs them nothing else, and the log of the device tells about it (docs/interface/mqtt-devices.md#credentials).
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startBridge } from '../support/mosquitto-bridge.ts';
import type { MockDevice } from '../support/mock-device.ts';
import { type TestGateway, useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const gateway = useTestGateway();

interface Entry {
  message: string;
  severity: string;
}

async function logsOf(device: MockDevice): Promise<Entry[]> {
  const { logs } = await gateway().ok('OWNER', 'GET', `/v3/devices/${device.id}/logs`);
  return logs as Entry[];
}

/** Resolves with the entries once there are so many. */
async function logged(device: MockDevice, count: number): Promise<string[]> {
  await until(async () => (await logsOf(device)).length >= count);
  const entries = await logsOf(device);
  return entries.map(({ message }) => message).sort();
}

async function latest(of: TestGateway, device: MockDevice, attribute: string): Promise<unknown> {
  const { telemetry } = await of.ok(
    'READONLY',
    'GET',
    `/v3/devices/${device.id}/telemetry?attribute=${attribute}`,
  );
  return (telemetry as Record<string, { value: unknown } | undefined>)[attribute]?.value;
}

describe('a device with birth, will and topics of its own', () => {
  for (const [title, topics] of [
    ['as Tasmota has them', ['tele/plug/LWT', 'tele/plug/STATE', 'tele/plug/SENSOR', 'stat/plug/RESULT']],
    ['as Shelly has them', ['shellies/plug/online', 'shellies/announce', 'shellies/plug/relay/0/power']],
    ['as ESPHome has them', ['meter/status', 'meter/debug', 'homeassistant/sensor/meter/power/config']],
    [
      'as zigbee2mqtt has them',
      ['zigbee2mqtt/bridge/state', 'zigbee2mqtt/plug', 'zigbee2mqtt/bridge/devices'],
    ],
  ] as const)
    test(`a device with topics of its own keeps its telemetry ${title}, and its log names the rest`, async () => {
      const device = await gateway().provision();
      const [birth = '', ...others] = topics;
      const { client } = await device.open({
        will: { topic: birth, payload: Buffer.from('Offline'), qos: 1, retain: true },
      });
      await client.publishAsync(birth, 'Online', { qos: 1, retain: true });
      await assert.rejects(client.subscribeAsync(`${birth.split('/')[0]}/#`, { qos: 1 }));
      for (const qos of [0, 1, 2] as const)
        for (const topic of others) await client.publishAsync(topic, '{"POWER":"ON"}', { qos });
      await client.publishAsync(device.from('v1/telemetry'), '{"battery_soc":55}', { qos: 1 });
      assert.equal(client.connected, true);
      assert.equal(await latest(gateway(), device, 'battery_soc'), 55);
      const { hardwareId } = device.config;
      const own = `this device may publish below "v1/from/${hardwareId}/" only.`;
      assert.deepEqual(await logged(device, 3), [
        `Messages on "${birth}" are dropped: ${own}`,
        `The subscription to "${birth.split('/')[0]}/#" is refused: this device may subscribe below "v1/to/${hardwareId}/" only.`,
        `The will on "${birth}" is dropped: ${own}`,
      ]);
    });

  test('the log of a device names a topic that the gateway does not know', async () => {
    const device = await gateway().provision();
    const { client } = await device.open();
    for (let times = 0; times < 3; times++)
      await client.publishAsync(device.from('SENSOR'), '{}', { qos: 1 });
    const topic = device.from('SENSOR');
    assert.deepEqual(await logged(device, 1), [
      `Messages on "${topic}" are dropped: the gateway knows no such topic.`,
    ]);
  });
});

describe('a connection that is closed for what the device did has its reason in the log of the device:', () => {
  test('the log of a device names a message larger than the limit as the reason of a closed connection', async () => {
    const device = await gateway().provision();
    const session = await device.open();
    session.client.publish(device.from('v1/telemetry'), Buffer.alloc(262_145, ' '), { qos: 1 });
    await session.closed;
    assert.deepEqual(await logged(device, 1), [
      'The connection was closed: a message was larger than the limit.',
    ]);
  });

  test('the log of a device names a topic with too many levels as the reason of a closed connection', async () => {
    const device = await gateway().provision();
    const session = await device.open();
    session.client.publish(`a${'/b'.repeat(20)}`, '', { qos: 1 });
    await session.closed;
    assert.deepEqual(await logged(device, 1), [
      'The connection was closed: a topic had too many bytes or levels.',
    ]);
  });

  test('the log of a device names a protocol error as the reason of a closed connection', async () => {
    const device = await gateway().provision();
    const session = await device.open();
    session.client.stream.write(Buffer.from([0x30, 3, 0, 1, 0x23]));
    await session.closed;
    assert.deepEqual(await logged(device, 1), [
      'The connection was closed: it broke the protocol (topic of a publication has a wildcard).',
    ]);
  });
});

test('a Mosquitto bridge with its default notifications loses no telemetry', async (t) => {
  const device = await gateway().provision();
  const { hardwareId, credentials } = device.config;
  assert.ok(credentials.protocol === 'MQTT');
  const { mqttPort } = gateway().ports;
  const bridge = await startBridge(t, mqttPort, credentials, [
    `topic telemetry out 1 plant/inverter/ v1/from/${hardwareId}/ucm/v1/`,
  ]);
  if (!bridge) return;
  for (let count = 1; count <= 64; count++)
    await bridge.publish('plant/inverter/telemetry', `{"battery_soc":${count}}`);
  await until(async () => (await latest(gateway(), device, 'battery_soc')) === 64);
  assert.match((await logged(device, 1)).join('\n'), /"\$SYS\/broker\/connection\/.+\/state"/);
  const { device: shown } = await gateway().ok(
    'READONLY',
    'GET',
    `/v3/devices/${device.id}?expand=connectivity`,
  );
  assert.equal((shown as { connectivity: { status: string } }).connectivity.status, 'ONLINE');
});

describe('a value that is no JSON costs itself, and is named once in the log of the device,', () => {
  const leftOut = (name: string): string => `The value of "${name}" is no JSON and was left out.`;

  test('one value that is no JSON loses only itself in telemetry, and the log names it once', async () => {
    const device = await gateway().provision();
    const { client } = await device.open();
    for (const word of ['nan', '-inf', '-nan(ind)', 'NaN'])
      await client.publishAsync(
        device.from('v1/telemetry'),
        `{"battery_power":${word},"battery_soc":41.5,}`,
        {
          qos: 1,
        },
      );
    assert.equal(await latest(gateway(), device, 'battery_soc'), 41.5);
    assert.equal(await latest(gateway(), device, 'battery_power'), undefined);
    assert.deepEqual(await logged(device, 1), [leftOut('battery_power')]);
  });

  test('one value that is no JSON loses only itself in properties, and the log names it once', async () => {
    const device = await gateway().provision();
    const { client } = await device.open();
    await client.publishAsync(
      device.from('v1/properties'),
      '{"nominal_capacity":inf,"serial_number":"A1"}\0',
      {
        qos: 1,
      },
    );
    const { device: shown } = await gateway().ok(
      'OWNER',
      'GET',
      `/v3/devices/${device.id}?expand=properties`,
    );
    assert.equal((shown as { properties: Record<string, unknown> }).properties['serial_number'], 'A1');
    assert.deepEqual(await logged(device, 1), [leftOut('nominal_capacity')]);
  });

  test('one value that is no JSON loses only itself in a log entry, and the log names it once', async () => {
    const device = await gateway().provision();
    const { client } = await device.open();
    await client.publishAsync(device.from('v3/logs'), '{"message":"line\none","timestamp":nan}', { qos: 1 });
    assert.deepEqual(await logged(device, 2), [leftOut('timestamp'), 'line\none']);
  });

  test('one value that is no JSON loses only itself in the response to a command, and the log names it once', async () => {
    const device = await gateway().provision();
    const { client } = await device.open();
    await client.subscribeAsync(device.requestTopic, { qos: 1 });
    device.onRequest = ({ id }) =>
      client.publish(
        device.from('v1/command/responses'),
        `{"id":"${id}","state":"completed","payload":{"power":nan,"limit":007}}`,
      );
    const { execution } = await gateway().ok('OWNER', 'POST', `/v3/devices/${device.id}/commands/execute`, {
      name: 'start',
    });
    const { response } = execution as { response: { state: string; payload: unknown } };
    assert.deepEqual([response.state, response.payload], ['SUCCEEDED', { limit: 7 }]);
    assert.deepEqual(await logged(device, 1), [leftOut('payload.power')]);
  });
});
