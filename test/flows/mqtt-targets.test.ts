/** Telemetry carried on to a real broker: as messages by templates, and as Home Assistant finds it. */
import assert from 'node:assert/strict';
import { beforeEach, describe, test, type TestContext } from 'node:test';
import { makeAuthority, makeCertificate } from '../../src/platform/tls/certificates.ts';
import { manifestWith, zipOf } from '../capabilities/blueprints/support.ts';
import { BROKER_USER, type MosquittoBroker, startMosquitto } from '../support/mosquitto-broker.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const DAY_MS = 86_400_000;
/** Time of the test, which may run long after its file was read: values older than minutes count as history. */
let nowS = 0;
beforeEach(() => {
  nowS = Math.floor(Date.now() / 1_000);
});
const LOGIN = { username: BROKER_USER.username, secret: BROKER_USER.password };

interface TargetOnWire {
  id: string;
  status: {
    state: string;
    lost_samples: number;
    refused_samples: number;
    last_error?: { message: string };
  };
}

const REPORTER = manifestWith(
  'telemetry:\n  power: {display_name: Power, type: float}\n  report: {display_name: Report, type: string}\n',
);

async function targetTo(
  gateway: TestGateway,
  broker: MosquittoBroker,
  mqtt: object,
  attributes = ['battery_power', 'alerts'],
): Promise<TargetOnWire> {
  const { target } = await gateway.ok('OWNER', 'POST', '/v3/targets', {
    name: 'broker',
    kind: 'MQTT',
    mqtt: { url: broker.url, ...LOGIN, ...mqtt },
    selection: { attributes },
  });
  return target as TargetOnWire;
}

async function started(
  t: TestContext,
): Promise<{ gateway: TestGateway; broker: MosquittoBroker } | undefined> {
  const broker = await startMosquitto(t);
  if (!broker) return undefined;
  return { gateway: await startTestGateway(t), broker };
}

const stateOf = async (gateway: TestGateway, { id }: TargetOnWire): Promise<TargetOnWire['status']> => {
  const { target } = await gateway.ok('OWNER', 'GET', `/v3/targets/${id}`);
  return (target as TargetOnWire).status;
};

describe('telemetry to a broker', () => {
  test('telemetry to a broker does not arrive with a wrong password, and the status says so', async (t) => {
    const both = await started(t);
    if (!both) return;
    const { gateway, broker } = both;
    const target = await targetTo(gateway, broker, { secret: 'wrong' });
    const { test: tested } = await gateway.ok('OWNER', 'POST', `/v3/targets/${target.id}/test`);
    const host = new URL(broker.url).host;
    assert.deepEqual(tested, { accepted: false, reason: `${host} does not let this client in.` });
  });

  test('telemetry to a broker waits where the client may not write, says so, and goes on when it may', async (t) => {
    const broker = await startMosquitto(t, undefined, ['topic read #', 'topic write allowed/#']);
    if (!broker) return;
    const gateway = await startTestGateway(t);
    const seen = await broker.watch('#');
    const device = await gateway.provision('Battery');
    await device.connect();
    const target = await targetTo(gateway, broker, { topic: 'forbidden/x' }, ['battery_power']);
    await device.telemetry({ timestamp: nowS, battery_power: 7 });
    await until(async () => (await stateOf(gateway, target)).state === 'FAILING');
    const sentence = `${new URL(broker.url).host} does not let this client write to forbidden/x.`;
    assert.equal((await stateOf(gateway, target)).last_error?.message, sentence);
    await gateway.ok('OWNER', 'PATCH', `/v3/targets/${target.id}`, { mqtt: { topic: 'allowed/x' } });
    await until(() => seen.some(({ payload }) => payload.includes('"battery_power":7')));
  });

  test('telemetry to a broker of small packets arrives except for a value that is too large, which is reported', async (t) => {
    const broker = await startMosquitto(t, undefined, undefined, 'max_packet_size 2000');
    if (!broker) return;
    const gateway = await startTestGateway(t);
    const seen = await broker.watch('plant/battery');
    const zip = await zipOf({ 'manifest.yml': REPORTER });
    const { id } = await gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
    const device = await gateway.provision('Battery', id as string);
    await device.connect();
    const target = await targetTo(gateway, broker, { topic: 'plant/{device}' }, ['power', 'report']);
    await device.telemetry({ timestamp: nowS - 1, power: 6, report: 'x'.repeat(3_000) });
    await device.telemetry({ timestamp: nowS, power: 7, report: 'short' });
    await until(() => seen.some(({ payload }) => payload.includes('short')));
    const values = seen.map(({ payload }) => (JSON.parse(payload) as { values: object }).values);
    assert.deepEqual(values, [{ power: 6 }, { power: 7, report: 'short' }]);
    await until(async () => (await stateOf(gateway, target)).refused_samples === 1);
    const { last_error: error } = await stateOf(gateway, target);
    assert.match(error?.message ?? '', /takes 2000 bytes at once, a message on plant\/battery has \d+\.$/);
  });

  test('telemetry to a broker that requires a client certificate arrives with the given one, and not without', async (t) => {
    const dates = { validFromMs: Date.now() - DAY_MS, validToMs: Date.now() + DAY_MS };
    const authority = await makeAuthority({ commonName: 'Test', serial: '01', ...dates });
    const made = (commonName: string, purpose: 'server' | 'client', serial: string) =>
      makeCertificate(authority, {
        commonName,
        names: { dns: [commonName], ips: [] },
        serial,
        purpose,
        ...dates,
      });
    const server = await made('localhost', 'server', '02');
    const client = await made('box', 'client', '03');
    const broker = await startMosquitto(t, {
      authority: authority.certificatePem,
      certificate: server.certificatePem,
      privateKey: server.privateKeyPem,
      client: { cert: client.certificatePem, key: client.privateKeyPem },
    });
    if (!broker) return;
    const gateway = await startTestGateway(t);
    const seen = await broker.watch('#');
    const device = await gateway.provision('Battery');
    await device.connect();
    const target = await targetTo(gateway, broker, { ca_pem: authority.certificatePem }, ['battery_power']);
    const testedOf = async () =>
      (await gateway.ok('OWNER', 'POST', `/v3/targets/${target.id}/test`))['test'] as { accepted: boolean };
    assert.equal((await testedOf()).accepted, false);
    await gateway.ok('OWNER', 'PATCH', `/v3/targets/${target.id}`, {
      mqtt: { certificate_pem: client.certificatePem, private_key_pem: client.privateKeyPem },
    });
    assert.deepEqual(await testedOf(), { accepted: true });
    await device.telemetry({ timestamp: nowS, battery_power: 7 });
    await until(() => seen.some(({ payload }) => payload.includes('"battery_power":7')));
  });

  test('telemetry to a broker with another name is held back with the reason, and other targets go on', async (t) => {
    const dates = { validFromMs: Date.now() - DAY_MS, validToMs: Date.now() + DAY_MS };
    const authority = await makeAuthority({ commonName: 'Test', serial: '01', ...dates });
    const { certificatePem, privateKeyPem } = await makeCertificate(authority, {
      commonName: 'elsewhere.example',
      names: { dns: ['elsewhere.example'], ips: [] },
      serial: '02',
      purpose: 'server',
      ...dates,
    });
    const stranger = await startMosquitto(t, {
      authority: authority.certificatePem,
      certificate: certificatePem,
      privateKey: privateKeyPem,
      client: { cert: certificatePem, key: privateKeyPem },
    });
    const both = await started(t);
    if (!stranger || !both) return;
    const { gateway, broker } = both;
    const seen = await broker.watch('#');
    const device = await gateway.provision('Battery');
    await device.connect();
    await targetTo(gateway, broker, {}, ['battery_power']);
    const { target } = await gateway.ok('OWNER', 'POST', '/v3/targets', {
      name: 'stranger',
      kind: 'MQTT',
      mqtt: { url: stranger.url, ...LOGIN, ca_pem: authority.certificatePem },
      selection: { attributes: ['battery_power'] },
    });
    await device.telemetry({ timestamp: nowS, battery_power: 7 });
    await until(async () => (await stateOf(gateway, target as TargetOnWire)).state === 'FAILING');
    const sentence = 'The certificate of the server is not for the name localhost.';
    assert.equal((await stateOf(gateway, target as TargetOnWire)).last_error?.message, sentence);
    await until(() => seen.some(({ payload }) => payload.includes('"battery_power":7')));
    const failing = async (): Promise<string> => {
      const { alerts } = await gateway.ok('OWNER', 'GET', '/v3/alerts');
      return JSON.stringify((alerts as { name: string }[]).filter(({ name }) => name === 'target_failing'));
    };
    await until(async () => (await failing()).includes(`stranger: ${sentence}`));
  });

  test('telemetry to a broker arrives by templates, each acknowledged message once, and all of it after outages', async (t) => {
    const both = await started(t);
    if (!both) return;
    const { gateway, broker } = both;
    const seen = await broker.watch('plant/#');
    const device = await gateway.provision('Battery');
    await device.connect();
    const templates = { topic: 'plant/{device}/{attribute}', payload: '{timestamp} {value}' };
    const target = await targetTo(gateway, broker, templates, ['battery_power']);
    const expected: string[] = [];
    const send = async (atS: number, value: number): Promise<void> => {
      expected.push(`${atS} ${value}`);
      await device.telemetry({ timestamp: atS, battery_power: value });
    };
    for (let index = 0; index < 10; index++) await send(nowS - 500 + index, index);
    await until(() => seen.length >= 10);
    assert.deepEqual(
      seen.map(({ payload }) => payload),
      expected,
    );
    assert.match(seen[0]?.topic ?? '', /^plant\/[a-z0-9-]+\/battery_power$/);
    await broker.kill();
    for (let index = 0; index < 10; index++) await send(nowS - 400 + index, index);
    await until(async () => (await stateOf(gateway, target)).state === 'FAILING');
    await broker.start();
    await until(() => new Set(seen.map(({ payload }) => payload)).size === 20);
    assert.deepEqual([...new Set(seen.map(({ payload }) => payload))], expected);
    assert.equal((await stateOf(gateway, target)).lost_samples, 0);
  });

  test('telemetry to a broker is discovered by Home Assistant: devices, their attributes and their availability', async (t) => {
    const both = await started(t);
    if (!both) return;
    const { gateway, broker } = both;
    const device = await gateway.provision('Battery');
    await device.connect();
    await targetTo(gateway, broker, { form: 'HOME_ASSISTANT' });
    await device.telemetry({ timestamp: nowS - 5, battery_power: 7 });
    await device.telemetry({ timestamp: nowS, battery_power: 1_500, alerts: [] });
    const seen = await broker.watch('#');
    await until(() =>
      seen.some(({ topic, payload }) => topic.endsWith('/battery_power') && payload === '1500'),
    );
    const configs = seen.filter(({ topic }) => topic.startsWith('homeassistant/'));
    const config = configs.find(
      ({ topic }) => topic === `homeassistant/sensor/${device.id}_battery_power/config`,
    );
    assert.ok(config);
    const told = JSON.parse(config.payload) as Record<string, unknown>;
    assert.partialDeepStrictEqual(told, {
      unique_id: `${device.id}_battery_power`,
      unit_of_measurement: 'W',
      device_class: 'power',
      state_class: 'measurement',
      availability_mode: 'all',
      device: { identifiers: [device.id], name: 'Battery' },
    });
    const states = seen.filter(({ topic }) => topic === told['state_topic']);
    assert.equal(states.at(-1)?.payload, '1500');
    for (const { topic } of told['availability'] as { topic: string }[])
      await until(() => seen.some((message) => message.topic === topic && message.payload === 'online'));
    const alerts = configs.find(
      ({ topic }) => topic === `homeassistant/binary_sensor/${device.id}_alerts/config`,
    );
    assert.equal((JSON.parse(alerts?.payload ?? '{}') as { device_class?: string }).device_class, 'problem');
  });

  test('a broker is told that the gateway is gone when it ends', async (t) => {
    const both = await started(t);
    if (!both) return;
    const { gateway, broker } = both;
    const seen = await broker.watch('energy-gateway/+/availability');
    const device = await gateway.provision('Battery');
    await device.connect();
    await targetTo(gateway, broker, { form: 'HOME_ASSISTANT' });
    await device.telemetry({ timestamp: nowS, battery_power: 1 });
    await until(() => seen.at(-1)?.payload === 'online');
    await gateway.stop();
    await until(() => seen.at(-1)?.payload === 'offline');
  });
});
