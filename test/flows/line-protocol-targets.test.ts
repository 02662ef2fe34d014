/** Telemetry carried on to real engines: nothing lost, whatever is down meanwhile. */
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { LINE_ENGINES, type LineEngine, startLineEngine } from '../support/line-engines.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const MEASUREMENT = 'telemetry';
/** Time of the test, which may run long after its file was read: values older than minutes count as history. */
let nowS = 0;
beforeEach(() => {
  nowS = Math.floor(Date.now() / 1_000);
});
const DAY_S = 86_400;

interface TargetOnWire {
  id: string;
  status: {
    state: string;
    lag_samples: number;
    lost_samples: number;
    refused_samples: number;
    sent_samples: number;
    last_error?: { message: string };
  };
}

async function targetTo(gateway: TestGateway, url: string, more: object = {}): Promise<TargetOnWire> {
  const body = { name: 'engine', kind: 'INFLUXDB', influxdb: { url, measurement: MEASUREMENT }, ...more };
  const { target } = await gateway.ok('OWNER', 'POST', '/v3/targets', body);
  return target as TargetOnWire;
}

async function statusOf(gateway: TestGateway): Promise<TargetOnWire['status']> {
  const { targets } = await gateway.ok('OWNER', 'GET', '/v3/targets');
  const [target] = targets as TargetOnWire[];
  assert.ok(target);
  return target.status;
}

/** Samples as somebody brings them on a stick: of any age. */
async function importSamples(
  gateway: TestGateway,
  device: string,
  samples: Iterable<readonly [atS: number, value: number]>,
): Promise<void> {
  const rows = [...samples].map(([atS, value]) => `${atS},${value}`);
  const csv = `ts,telemetry=battery_power device=${device}\n${rows.join('\n')}\n`;
  await gateway.ok('OWNER', 'POST', '/v3/telemetry/import', csv, { 'Content-Type': 'text/csv' });
}

const slugOf = async (gateway: TestGateway, deviceId: string): Promise<string> => {
  const { device } = await gateway.ok('READONLY', 'GET', `/v3/devices/${deviceId}`);
  return (device as { slug: string }).slug;
};

/** An engine shows values some time after it took them, and to read them all takes more than to send them. */
const LOOK_MS = 200;
const LOOKS = 300;

async function assertArrived(
  gateway: TestGateway,
  engine: LineEngine,
  device: string,
  expected: ReadonlyMap<number, number>,
): Promise<void> {
  await until(async () => (await statusOf(gateway)).lag_samples === 0);
  const differing = async (): Promise<string[]> => {
    const arrived = await engine.values(device, 'battery_power');
    return [...new Set([...expected.keys(), ...arrived.keys()])]
      .filter((atS) => arrived.get(atS) !== expected.get(atS))
      .map((atS) => `at ${atS}: ${arrived.get(atS)} instead of ${expected.get(atS)}`);
  };
  let found = await differing();
  for (let look = 0; look < LOOKS && found.length > 0; look++) {
    await pause(LOOK_MS);
    found = await differing();
  }
  // Some of them: to print what ten thousands of lines differ by would take all memory.
  assert.deepEqual([found.length, found.slice(0, 5)], [0, []]);
}

for (const name of LINE_ENGINES)
  describe(`telemetry to ${name}`, () => {
    test(`telemetry to ${name} arrives as it is measured, and after outages of either side`, async (t) => {
      const engine = await startLineEngine(t, name);
      if (!engine) return;
      const gateway = await startTestGateway(t);
      const device = await gateway.provision('Battery');
      const expected = new Map<number, number>();
      const send = async (atS: number, value: number): Promise<void> => {
        expected.set(atS, value);
        await device.telemetry({ timestamp: atS, battery_power: value });
      };
      const slug = await slugOf(gateway, device.id);
      await device.connect();
      await targetTo(gateway, engine.writeUrl);
      for (let index = 0; index < 20; index++) await send(nowS - 1_000 + index, index / 10);
      await assertArrived(gateway, engine, slug, expected);

      await engine.kill();
      for (let index = 0; index < 20; index++) await send(nowS - 900 + index, index);
      // A request that was under way when it was killed says something else before.
      await until(async () => {
        const { state, last_error } = await statusOf(gateway);
        return (
          state === 'FAILING' && /^Nothing listens at 127\.0\.0\.1:\d+\.$/.test(last_error?.message ?? '')
        );
      });
      await gateway.restart();
      await device.connect();
      for (let index = 0; index < 20; index++) await send(nowS - 800 + index, 100 - index);
      await engine.start();
      await assertArrived(gateway, engine, slug, expected);
      const status = await statusOf(gateway);
      assert.deepEqual(
        { lost: status.lost_samples, refused: status.refused_samples },
        { lost: 0, refused: 0 },
      );
    });

    test(`telemetry to ${name} has the power of a device whose status is a number`, async (t) => {
      const engine = await startLineEngine(t, name);
      if (!engine) return;
      const url = new URL(engine.writeUrl);
      url.searchParams.set('precision', 's');
      const known = `${MEASUREMENT},device=known,site=Depot status=1,battery_power=1 ${nowS}\n`;
      // An engine that answers already may take nothing yet.
      await until(async () => (await fetch(url, { method: 'POST', body: known })).ok);
      const gateway = await startTestGateway(t);
      const device = await gateway.provision('Battery');
      await device.connect();
      await targetTo(gateway, engine.writeUrl, { selection: { attributes: ['battery_power', 'status'] } });
      const slug = await slugOf(gateway, device.id);
      const expected = new Map<number, number>();
      for (let index = 0; index < 3; index++) {
        const atS = nowS - 10 + index;
        expected.set(atS, index);
        await device.telemetry({ timestamp: atS, battery_power: index, status: 'charging' });
        await assertArrived(gateway, engine, slug, expected);
      }
      // VictoriaMetrics passes over texts without a word.
      if (name !== 'InfluxDB') return;
      await until(async () => {
        const { alerts } = await gateway.ok('OWNER', 'GET', '/v3/alerts');
        const refusing = (alerts as { name: string }[]).filter((alert) => alert.name === 'target_refusing');
        return JSON.stringify(refusing).includes('engine: The target does not take a line');
      });
    });

    test(`telemetry to ${name} has late, imported and older samples too, of half an hour without a gateway`, async (t) => {
      const engine = await startLineEngine(t, name);
      if (!engine) return;
      const gateway = await startTestGateway(t, { environment: { GATEWAY_TELEMETRY_OPEN_SAMPLES: '10000' } });
      const device = await gateway.provision('Battery');
      const slug = await slugOf(gateway, device.id);
      const expected = new Map<number, number>();
      const bring = async (fromS: number, count: number): Promise<void> => {
        // VictoriaMetrics keeps either of two values of one second: there a second has the same value each time.
        const valueOf = (index: number): number =>
          (name === 'InfluxDB' ? index : (fromS + index) % 1_000) / 10;
        const samples = Array.from({ length: count }, (_, index) => [fromS + index, valueOf(index)] as const);
        for (const [atS, value] of samples) expected.set(atS, value);
        await importSamples(gateway, slug, samples);
      };
      await bring(nowS - 20 * DAY_S, 30_000);
      await targetTo(gateway, engine.writeUrl, { history_from: new Date(0).toISOString() });
      await assertArrived(gateway, engine, slug, expected);
      await engine.kill();
      await bring(nowS - 10 * DAY_S, 30_000);
      await bring(nowS - 20 * DAY_S + 15_000, 20_000);
      await gateway.restart();
      await bring(nowS - 5 * DAY_S, 500);
      await engine.start();
      await assertArrived(gateway, engine, slug, expected);
    });
  });
