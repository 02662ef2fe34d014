/** Telemetry as Sparkplug B on a real broker, read by a host application of the test. */
import assert from 'node:assert/strict';
import { beforeEach, describe, test, type TestContext } from 'node:test';
import { DATATYPES, encodeSparkplug, REBIRTH } from '../../src/protocol/sparkplug.ts';
import type { MockDevice } from '../support/mock-device.ts';
import { manifestWith, zipOf } from '../capabilities/blueprints/support.ts';
import { BROKER_USER, type MosquittoBroker, type Seen, startMosquitto } from '../support/mosquitto-broker.ts';
import { decodeSparkplug, type Metric, type Payload } from '../support/sparkplug-decoder.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const LOGIN = { username: BROKER_USER.username, secret: BROKER_USER.password };
const STATE = 'spBv1.0/STATE/scada';

interface Told {
  kind: string;
  device: string | undefined;
  payload: Payload;
}

interface Site {
  gateway: TestGateway;
  broker: MosquittoBroker;
  device: MockDevice;
  told: () => Told[];
  stateOf: () => Promise<{ state: string; last_error?: { message: string } }>;
}

function toldOf(seen: readonly Seen[]): Told[] {
  return seen
    .filter(({ topic }) => !/\/(STATE|NCMD)\//.test(topic))
    .map(({ topic, bytes }) => {
      const [, , kind = '', , device] = topic.split('/');
      return { kind, device, payload: decodeSparkplug(bytes) };
    });
}

async function uploaded(gateway: TestGateway, manifest: string): Promise<string> {
  const zip = await zipOf({ 'manifest.yml': manifest });
  const { id } = await gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
  return id as string;
}

async function site(
  t: TestContext,
  mqtt: object = {},
  { configuration, manifest }: { configuration?: string; manifest?: string } = {},
): Promise<Site | undefined> {
  const broker = await startMosquitto(t, undefined, undefined, configuration);
  if (!broker) return undefined;
  const gateway = await startTestGateway(t);
  const seen = await broker.watch('spBv1.0/#');
  const device = await gateway.provision('Battery', manifest && (await uploaded(gateway, manifest)));
  await device.connect();
  await gateway.ok('OWNER', 'POST', '/v3/targets', {
    name: 'scada',
    kind: 'MQTT',
    mqtt: { url: broker.url, ...LOGIN, form: 'SPARKPLUG_B', topic: 'plants', ...mqtt },
    selection: {
      devices: [device.id],
      attributes: ['battery_power', 'battery_soc', 'status', 'report'],
    },
  });
  return {
    gateway,
    broker,
    device,
    told: () => toldOf(seen),
    stateOf: async () => {
      const { targets } = await gateway.ok('OWNER', 'GET', '/v3/targets');
      return (targets as { status: { state: string } }[])[0]?.status ?? { state: '' };
    },
  };
}

const kindsOf = (told: readonly Told[]): string[] => told.map(({ kind }) => kind);
const valuesOf = (told: readonly Told[], name: string): Metric[] =>
  told
    .filter(({ kind }) => kind === 'DDATA')
    .flatMap(({ payload }) => payload.metrics.filter((metric) => metric.name === name));
const sessionOf = ({ payload }: Told): unknown => payload.metrics.find(({ name }) => name === 'bdSeq')?.value;

/** Every message of a node follows the one before, from a birth on. */
function assertInOrder(told: readonly Told[]): void {
  let next: bigint | undefined;
  for (const { kind, payload } of told) {
    if (kind === 'NDEATH') continue;
    assert.equal(payload.seq, kind === 'NBIRTH' ? 0n : next, kind);
    next = ((payload.seq ?? 0n) + 1n) % 256n;
  }
}

describe('Sparkplug B', () => {
  /** Time of the test, which may run long after its file was read: values older than minutes count as history. */
  let nowS = 0;
  beforeEach(() => {
    nowS = Math.floor(Date.now() / 1_000);
  });

  test('Sparkplug B waits while the host application is away, and begins with births', async (t) => {
    const all = await site(t, { host_id: 'scada' });
    if (!all) return;
    const { broker, device, told, stateOf } = all;
    await device.telemetry({ timestamp: nowS, battery_power: 1.5 });
    await until(async () => (await stateOf()).state === 'FAILING');
    assert.equal((await stateOf()).last_error?.message, 'The host application scada is not online.');
    assert.deepEqual(told(), []);
    await broker.publish(STATE, JSON.stringify({ online: true, timestamp: Date.now() }), true);
    await until(() => valuesOf(told(), 'battery_power').length > 0);
    assert.deepEqual(kindsOf(told()).slice(0, 3), ['NBIRTH', 'DBIRTH', 'DDATA']);
    await broker.publish(STATE, JSON.stringify({ online: false, timestamp: Date.now() }), true);
    await until(() => kindsOf(told()).includes('NDEATH'));
  });

  test('Sparkplug B announces the metrics of each device, and then its values with type and time', async (t) => {
    const all = await site(t);
    if (!all) return;
    const { gateway, device, told } = all;
    await device.telemetry({ timestamp: nowS, battery_power: 1.5, status: 'charging', battery_soc: 80 });
    await until(() => valuesOf(told(), 'status').length > 0);
    const [node, birth] = told();
    assert.equal(node?.payload.metrics.find(({ name }) => name === REBIRTH)?.value, false);
    assert.equal(birth?.device, device.slug);
    const names = birth.payload.metrics.map(({ name }) => name);
    assert.deepEqual(names.toSorted(), ['battery_power', 'battery_soc', 'status']);
    assert.equal(birth.payload.metrics.find(({ name }) => name === 'battery_power')?.unit, 'W');
    const [power] = valuesOf(told(), 'battery_power');
    const timestamp = BigInt(nowS) * 1_000n;
    assert.deepEqual(power, { name: 'battery_power', timestamp, datatype: DATATYPES.DOUBLE, value: 1.5 });
    assert.equal(valuesOf(told(), 'status')[0]?.value, 'charging');
    await device.leave();
    await until(() => told().at(-1)?.kind === 'DDEATH');
    await gateway.stop();
    await until(() => told().at(-1)?.kind === 'NDEATH');
    const death = told().at(-1);
    assert.ok(death && node);
    assert.equal(sessionOf(death), sessionOf(node));
    assertInOrder(told());
  });

  test('Sparkplug B is announced, and again after an outage, while nothing is measured', async (t) => {
    const all = await site(t);
    if (!all) return;
    const { broker, told, stateOf } = all;
    const births = (): string[] => kindsOf(told()).filter((kind) => kind.endsWith('BIRTH'));
    await until(() => births().length === 2);
    assert.deepEqual(births(), ['NBIRTH', 'DBIRTH']);
    await broker.kill();
    await until(async () => (await stateOf()).state === 'FAILING');
    await broker.start();
    await until(async () => (await stateOf()).state === 'CURRENT');
  });

  test('Sparkplug B births have the newest values after a restart of the gateway', async (t) => {
    const all = await site(t);
    if (!all) return;
    const { gateway, device, told } = all;
    await device.telemetry({ timestamp: nowS - 600, battery_power: 1.5, status: 'charging' });
    await until(() => valuesOf(told(), 'battery_power').length > 0);
    const known = told().length;
    await gateway.restart();
    await device.connect();
    const birth = (): Told | undefined =>
      told()
        .slice(known)
        .find(({ kind }) => kind === 'DBIRTH');
    await until(() => birth() !== undefined);
    const values = new Map(birth()?.payload.metrics.map(({ name, value }) => [name, value]));
    assert.deepEqual([values.get('battery_power'), values.get('status')], [1.5, 'charging']);
  });

  test('Sparkplug B sends everything but a text that is too long for the broker', async (t) => {
    const telemetry =
      'telemetry:\n  battery_power: {display_name: P, type: float}\n  report: {display_name: S, type: string}\n';
    const manifest = manifestWith(telemetry);
    const all = await site(t, {}, { configuration: 'max_packet_size 2000', manifest });
    if (!all) return;
    const { device, told, stateOf } = all;
    await device.telemetry({ timestamp: nowS - 1, battery_power: 6, report: 'x'.repeat(3_000) });
    await device.telemetry({ timestamp: nowS, battery_power: 7 });
    const powers = () => valuesOf(told(), 'battery_power').map(({ value }) => value);
    await until(() => powers().includes(7));
    assert.deepEqual(powers(), [6, 7]);
    assert.deepEqual(valuesOf(told(), 'report'), []);
    const birth = told().findLast(({ kind }) => kind === 'DBIRTH');
    const report = birth?.payload.metrics.find(({ name }) => name === 'report');
    assert.ok(report && report.value === undefined);
    await until(async () => /takes 2000 bytes at once/.test((await stateOf()).last_error?.message ?? ''));
    assertInOrder(told());
  });

  test('Sparkplug B ignores the will of an earlier connection of the host', async (t) => {
    const all = await site(t, { host_id: 'scada' });
    if (!all) return;
    const { broker, device, told } = all;
    const state = (online: boolean, timestamp: number): Promise<void> =>
      broker.publish(STATE, JSON.stringify({ online, timestamp }), true);
    await state(true, 2_000);
    await until(() => kindsOf(told()).includes('DBIRTH'));
    await state(false, 1_000);
    await device.telemetry({ timestamp: nowS, battery_power: 1.5 });
    await until(() => valuesOf(told(), 'battery_power').length > 0);
    assert.ok(!kindsOf(told()).includes('NDEATH'));
    await state(false, 3_000);
    await until(() => kindsOf(told()).includes('NDEATH'));
  });

  test('Sparkplug B repeats its births when the host asks, and only then', async (t) => {
    const all = await site(t);
    if (!all) return;
    const { broker, device, told } = all;
    await device.telemetry({ timestamp: nowS, battery_power: 1 });
    await until(() => valuesOf(told(), 'battery_power').length > 0);
    const asked = (value: boolean): Promise<void> =>
      broker.publish(
        'spBv1.0/plants/NCMD/Depot',
        encodeSparkplug({
          timestampMs: Date.now(),
          metrics: [{ name: REBIRTH, timestampMs: Date.now(), datatype: DATATYPES.BOOLEAN, value }],
        }),
      );
    await asked(false);
    await broker.publish('spBv1.0/plants/NCMD/Depot', 'no protocol buffers');
    await asked(true);
    await until(() => kindsOf(told()).filter((kind) => kind === 'DBIRTH').length === 2);
    assert.deepEqual(
      kindsOf(told()).filter((kind) => kind.endsWith('BIRTH')),
      ['NBIRTH', 'DBIRTH', 'NBIRTH', 'DBIRTH'],
    );
    const again = told().findLast(({ kind }) => kind === 'DBIRTH');
    assert.equal(again?.payload.metrics.find(({ name }) => name === 'battery_power')?.value, 1);
    assertInOrder(told());
  });

  test('Sparkplug B sends everything of an outage as history, in order, and the newest as current', async (t) => {
    const all = await site(t);
    if (!all) return;
    const { broker, device, told, stateOf } = all;
    await device.telemetry({ timestamp: nowS - 3_000, battery_soc: 1 });
    await until(() => valuesOf(told(), 'battery_soc').length > 0);
    await broker.kill();
    for (let index = 2; index <= 300; index++)
      await device.telemetry({ timestamp: nowS - 3_000 + index * 10, battery_soc: index % 100 });
    await until(async () => (await stateOf()).state === 'FAILING');
    await broker.start();
    const times = (): Map<bigint, Metric> =>
      new Map(valuesOf(told(), 'battery_soc').map((metric) => [metric.timestamp, metric]));
    await until(() => times().size === 300);
    const values = [...times().values()];
    assert.deepEqual(
      values.map(({ value }) => Number(value)),
      Array.from({ length: 300 }, (_, index) => (index + 1) % 100),
    );
    assert.equal(values.at(-1)?.is_historical, undefined);
    const old = values.filter(({ timestamp }) => timestamp < BigInt(nowS - 400) * 1_000n);
    assert.ok(old.every(({ is_historical: isHistorical }) => isHistorical === true));
    const sessions = told()
      .filter(({ kind }) => kind === 'NBIRTH')
      .map(sessionOf);
    assert.equal(new Set(sessions).size, sessions.length);
  });
});
