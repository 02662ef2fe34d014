/** Latest values while clocks are wrong: the device's, the box's, and the box's in an earlier run. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { acknowledged, attribute, manifestOf, startTelemetry } from './support.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MANIFEST = manifestOf({
  power: attribute('float'),
  measured: attribute('float'),
  faults: attribute('alerts'),
});

async function startMeter(t: Pick<TestContext, 'after'>) {
  const bench = await startTelemetry(t);
  const { clock } = bench;
  const device = bench.devices.add('meter', MANIFEST);
  const latest = (name = 'power') => bench.telemetry.latest(device, name);
  return {
    bench,
    clock,
    latest,
    value: (name = 'power') => latest(name)?.value,
    ageMs: (name = 'power') => latest(name)?.ageMs ?? Number.NaN,
    shown: (relevanceMs: number) =>
      bench.telemetry.latestOfDevice(device, ['power'], relevanceMs, 'READONLY').get('power'),
    raisedAlerts: () => bench.devices.raisedAlerts(device),
    send: (body: object) => bench.send(device, body),
    seal: () => acknowledged(clock, bench.telemetry.seal()),
    query: () =>
      bench.query({
        from: 0,
        to: 4_000_000_000,
        granularity: '1s',
        telemetry: [{ device: 'meter', attribute: 'power', aggregation: 'last' }],
      }),
  };
}

describe('a clock that was ahead and is put back', () => {
  test('a clock put back does not freeze latest values, alerts and what rules get', async (t) => {
    const { bench, clock, value, raisedAlerts, send } = await startMeter(t);
    clock.step(2 * HOUR_MS);
    await send({ power: 1, faults: ['overheated'] });
    clock.step(-2 * HOUR_MS);
    await clock.advance(SECOND_MS);
    await send({ power: 2, faults: [] });
    assert.equal(value(), 2);
    assert.deepEqual(raisedAlerts(), []);
    assert.equal(bench.received.at(-1)?.values.get('power')?.isLatest, true);
  });

  test('a clock that was ahead and is put back moves what it stamped to the time when it came', async (t) => {
    const { clock, latest, ageMs, send } = await startMeter(t);
    const cameAtS = Math.floor(clock.wallMs() / SECOND_MS);
    clock.step(2 * HOUR_MS);
    await send({ power: 1 });
    await clock.advance(300 * SECOND_MS);
    clock.step(-2 * HOUR_MS);
    assert.equal(latest()?.timestampS, cameAtS);
    assert.ok(ageMs() >= 300 * SECOND_MS && ageMs() < 302 * SECOND_MS, `${ageMs()}`);
  });

  test('a clock that was ahead and is put back is forgotten by the store too: a later value stays the latest over restarts', async (t) => {
    const { bench, clock, value, send, seal } = await startMeter(t);
    clock.step(2 * HOUR_MS);
    await send({ power: 1 });
    await seal();
    clock.step(-2 * HOUR_MS);
    await send({ power: 2 });
    await bench.restart();
    assert.equal(value(), 2, 'from the journal');
    await seal();
    await bench.restart();
    assert.equal(value(), 2, 'from the sealed parts');
  });

  test('a clock that was ahead and is put back while the gateway was down: the value of then is not fresh, and whatever comes replaces it', async (t) => {
    const { bench, clock, value, ageMs, shown, send, seal } = await startMeter(t);
    clock.step(2 * HOUR_MS);
    await send({ power: 1 });
    await bench.telemetry.stop();
    clock.step(-2 * HOUR_MS);
    await bench.restart();
    assert.equal(ageMs(), Number.POSITIVE_INFINITY);
    assert.deepEqual(shown(DAY_MS), { warning: 'No value within the relevance interval.' });
    await send({ power: 2 });
    assert.equal(value(), 2);
    assert.ok(ageMs() < 5 * SECOND_MS);
    await seal();
    await bench.restart();
    assert.equal(value(), 2);
  });
});

describe('a clock that is behind and is put forward', () => {
  test('a clock put forward takes what arrives as the latest, and makes earlier fresh values as old as they are', async (t) => {
    const { bench, clock, value, ageMs, send } = await startMeter(t);
    await send({ power: 1 });
    await bench.telemetry.stop();
    await clock.advance(HOUR_MS);
    clock.step(-HOUR_MS + 10 * SECOND_MS);
    await bench.restart();
    clock.step(HOUR_MS - 10 * SECOND_MS);
    assert.ok(ageMs() >= HOUR_MS - SECOND_MS, `${ageMs()}`);
    await send({ power: 2 });
    assert.equal(value(), 2);
  });

  test('a clock put forward gives values that arrived in between their true age', async (t) => {
    const { clock, latest, ageMs, send } = await startMeter(t);
    clock.step(-3 * DAY_MS);
    await send({ power: 1 });
    await clock.advance(60 * SECOND_MS);
    clock.step(3 * DAY_MS);
    assert.ok(ageMs() >= 60 * SECOND_MS && ageMs() < 62 * SECOND_MS, `${ageMs()}`);
    assert.ok(clock.wallMs() - (latest()?.timestampS ?? 0) * SECOND_MS < 62 * SECOND_MS);
  });

  test('a clock set for the first time gives a value with a time of its own its age', async (t) => {
    const { clock, ageMs, send } = await startMeter(t);
    const nowMs: number = clock.wallMs();
    clock.step(-nowMs);
    await send({ power: 1, timestamp: nowMs / SECOND_MS - 600 });
    clock.step(nowMs);
    assert.ok(ageMs() >= 600 * SECOND_MS && ageMs() < 602 * SECOND_MS, `${ageMs()}`);
  });
});

describe('a box that does not know the time', () => {
  test('a box without a clock gives its own time, once set, to messages dated beyond all times', async (t) => {
    const { bench, clock, latest } = await startMeter(t);
    const nowMs: number = clock.wallMs();
    clock.step(-nowMs);
    const body = { power: 1, timestamp: 2 ** 32 + nowMs / SECOND_MS };
    const sent = bench.send(bench.devices.require('meter'), body);
    clock.step(nowMs);
    await sent;
    assert.equal(latest()?.timestampS, nowMs / SECOND_MS);
  });
});

describe('data with a time of the device', () => {
  test('a message with a time of its own is not late because of a clock that is years ahead', async (t) => {
    const { bench, clock, send } = await startMeter(t);
    const nowS = clock.wallMs() / SECOND_MS;
    clock.step(365 * DAY_MS);
    await send({ power: 1, timestamp: nowS });
    assert.deepEqual(bench.rejected, []);
  });

  test('imported samples may lie in the future, but are not the latest values', async (t) => {
    const { bench, clock, value, send } = await startMeter(t);
    await send({ power: 1 });
    const futureS = Math.floor(clock.wallMs() / SECOND_MS) + 86_400;
    const csv = `ts,telemetry=power device=meter\n${futureS},9\n`;
    const report = bench.telemetry.importCsv(chunksOf(csv));
    await acknowledged(
      clock,
      report.then(() => undefined),
    );
    assert.equal(value(), 1);
    await send({ power: 2 });
    await bench.restart();
    assert.equal(value(), 2);
  });
});

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
