/** Messages for Home Assistant on a real broker when devices, attributes, the site or the connection change. */
import assert from 'node:assert/strict';
import { beforeEach, test, type TestContext } from 'node:test';
import type { MockDevice } from '../support/mock-device.ts';
import { BROKER_USER, type MosquittoBroker, type Seen, startMosquitto } from '../support/mosquitto-broker.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

/** Time of the test, which may run long after its file was read: values older than minutes count as history. */
let nowS = 0;
beforeEach(() => {
  nowS = Math.floor(Date.now() / 1_000);
});

interface Site {
  gateway: TestGateway;
  broker: MosquittoBroker;
  device: MockDevice;
  seen: Seen[];
  /** The newest of a topic. */
  last: (topic: string) => string | undefined;
}

/** The device is the only one that goes there, so that nothing but itself has anything sent. */
async function site(
  t: TestContext,
  attributes: string[] | null = ['battery_power'],
): Promise<Site | undefined> {
  const broker = await startMosquitto(t);
  if (!broker) return undefined;
  const gateway = await startTestGateway(t);
  const seen = await broker.watch('#');
  const device = await gateway.provision('Battery');
  await device.connect();
  const { username, password: secret } = BROKER_USER;
  await gateway.ok('OWNER', 'POST', '/v3/targets', {
    name: 'home',
    kind: 'MQTT',
    mqtt: { url: broker.url, username, secret, form: 'HOME_ASSISTANT' },
    selection: { devices: [device.id], attributes },
  });
  const last = (topic: string): string | undefined =>
    seen.findLast((message) => message.topic === topic)?.payload;
  return { gateway, broker, device, seen, last };
}

const configOf = ({ id }: MockDevice): string => `homeassistant/sensor/${id}_battery_power/config`;
const availabilityOf = ({ slug }: MockDevice, site = 'Depot'): string =>
  `energy-gateway/${site}/${slug}/availability`;

test('a device that goes away becomes unavailable in Home Assistant, also after an outage of the broker', async (t) => {
  const all = await site(t);
  if (!all) return;
  const { broker, device, seen, last } = all;
  const availability = availabilityOf(device);
  await until(() => last(availability) === 'online');
  await device.leave();
  await until(() => last(availability) === 'offline');
  await device.connect();
  await until(() => last(availability) === 'online');
  await broker.kill();
  seen.length = 0;
  await broker.start();
  await until(
    () => last('energy-gateway/Depot/availability') === 'online' && last(availability) === 'online',
  );
});

test('a constant value is published again under another slug, and after the broker lost it', async (t) => {
  const all = await site(t);
  if (!all) return;
  const { gateway, broker, device, seen, last } = all;
  await device.telemetry({ timestamp: nowS, battery_power: 7.5 });
  await until(() => last(`energy-gateway/Depot/${device.slug}/battery_power`) === '7.5');
  await gateway.ok('OWNER', 'PATCH', `/v3/devices/${device.id}`, { slug: 'other' });
  const state = 'energy-gateway/Depot/other/battery_power';
  await until(() => last(state) === '7.5');
  await broker.kill();
  seen.length = 0;
  await broker.start();
  await until(() => last(state) === '7.5');
  // What comes later counts, what was measured before does not.
  await device.telemetry({ timestamp: nowS - 1, battery_power: 1 });
  await device.telemetry({ timestamp: nowS + 1, battery_power: 2 });
  await until(() => last(state) === '2');
  assert.ok(!seen.some(({ topic, payload }) => topic === state && payload === '1'));
});

test('a change of a device names only the attributes that are sent', async (t) => {
  const all = await site(t);
  if (!all) return;
  const { device, seen, last } = all;
  await until(() => last(availabilityOf(device)) === 'online');
  const configurations = seen.filter(({ topic }) => topic.startsWith('homeassistant/'));
  assert.deepEqual(
    configurations.map(({ topic }) => topic),
    [configOf(device)],
  );
});

test('a deleted device is removed from the broker with all that it retained', async (t) => {
  const all = await site(t, null);
  if (!all) return;
  const { gateway, device, seen, last } = all;
  await until(() => last(availabilityOf(device)) === 'online');
  await device.telemetry({ timestamp: nowS, battery_power: 7 });
  const state = `energy-gateway/Depot/${device.slug}/battery_power`;
  await until(() => last(state) === '7');
  await gateway.ok('OWNER', 'DELETE', `/v3/devices/${device.id}`);
  await until(
    () => last(configOf(device)) === '' && last(state) === '' && last(availabilityOf(device)) === '',
  );
  const kept = new Map(seen.map(({ topic, payload }) => [topic, payload]));
  const left = [...kept].filter(([topic, payload]) => topic.includes(device.id) && payload !== '');
  assert.deepEqual(left, []);
});

test('an attribute that is no longer chosen is removed from the broker', async (t) => {
  const all = await site(t);
  if (!all) return;
  const { gateway, device, last } = all;
  await until(() => last(availabilityOf(device)) === 'online');
  const { targets } = await gateway.ok('OWNER', 'GET', '/v3/targets');
  const [target] = targets as { id: string }[];
  await gateway.ok('OWNER', 'PATCH', `/v3/targets/${target?.id}`, {
    selection: { attributes: ['battery_soc'] },
  });
  const chosen = `homeassistant/sensor/${device.id}_battery_soc/config`;
  await until(() => last(configOf(device)) === '' && (last(chosen) ?? '').includes('state_topic'));
});

test('another name of the site moves all topics', async (t) => {
  const all = await site(t);
  if (!all) return;
  const { gateway, device, seen, last } = all;
  await until(() => last(availabilityOf(device)) === 'online');
  await gateway.ok('OWNER', 'PATCH', '/v3/site', { name: 'Plant' });
  await until(() => last(availabilityOf(device, 'Plant')) === 'online');
  assert.match(
    last(configOf(device)) ?? '',
    new RegExp(`"state_topic":"energy-gateway/Plant/${device.slug}/`),
  );
  await until(() => last('energy-gateway/Plant/availability') === 'online');
  const kept = (): string[] => {
    const newest = new Map(seen.map(({ topic, payload }) => [topic, payload]));
    return [...newest].flatMap(([topic, payload]) => (payload === '' ? [] : topic));
  };
  await until(() => kept().every((topic) => !topic.startsWith('energy-gateway/Depot/')));
});

test('a late sample is not published as a state', async (t) => {
  const all = await site(t);
  if (!all) return;
  const { gateway, device, seen } = all;
  const states = (): string[] =>
    seen.filter(({ topic }) => topic.endsWith('/battery_power')).map(({ payload }) => payload);
  await device.telemetry({ timestamp: nowS, battery_power: 7 });
  await until(() => states().length === 1);
  await device.telemetry({ timestamp: nowS - 600, battery_power: 3 });
  const sent = async (): Promise<number> => {
    const { targets } = await gateway.ok('OWNER', 'GET', '/v3/targets');
    return (targets as { status: { sent_samples: number } }[])[0]?.status.sent_samples ?? 0;
  };
  await until(async () => (await sent()) === 2);
  await device.telemetry({ timestamp: nowS + 1, battery_power: 8 });
  await until(() => states().length === 2);
  assert.deepEqual(states(), ['7', '8']);
});
