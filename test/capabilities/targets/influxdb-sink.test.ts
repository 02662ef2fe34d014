/** Where lines go, whatever stands in the address that a person copied, and what becomes of those that are refused. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test, type TestContext } from 'node:test';
import type { LabelledSamples } from '../../../src/capabilities/targets/model.ts';
import { InfluxdbSink } from '../../../src/capabilities/targets/influxdb/influxdb-sink.ts';
import { createSystemClock, nextTurn } from '../../../src/platform/clock/index.ts';
import { HttpClient } from '../../../src/platform/http-client/index.ts';

const NEVER = new AbortController().signal;
const LABELS = { site: 'Depot', device: 'meter', blueprint: 'Meter', profile: undefined };

const pace = async (): Promise<void> => undefined;

/** A sink whose server answers each request with the status that `answer` gives. */
async function sinkTo(
  t: TestContext,
  query: string,
  answer: (search: string, body: string) => number,
  bodyMaxBytes = 10_000,
): Promise<InfluxdbSink> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text) => (body += text));
    request.on('end', () =>
      response.writeHead(answer(new URL(request.url ?? '', 'http://host').search, body)).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const clock = createSystemClock();
  const sink = new InfluxdbSink({
    settings: {
      kind: 'INFLUXDB',
      url: `http://127.0.0.1:${(server.address() as { port: number }).port}/write${query}`,
      measurement: 'telemetry',
      username: null,
      tokenScheme: 'Token',
      caPem: null,
      isCompressed: false,
    },
    secret: undefined,
    http: new HttpClient({ clock, timeoutMs: 60_000, answerMaxBytes: 1_000 }),
    bodyMaxBytes,
    nowS: () => 5,
    pause: nextTurn,
  });
  t.after(() => {
    sink.close();
    clock.close();
    server.closeAllConnections();
    server.close();
  });
  return sink;
}

/** Queries of what is written to an address with the one that is given. */
async function queriesOf(t: TestContext, query: string): Promise<string[]> {
  const queries: string[] = [];
  const sink = await sinkTo(t, query, (search) => {
    queries.push(search);
    return 204;
  });
  const samples = {
    deviceId: 'id',
    attribute: 'power',
    type: 'float',
    times: Uint32Array.of(1),
    numbers: Float64Array.of(1),
    integers: undefined,
    texts: [],
    labels: LABELS,
  } as const;
  await sink.send([{ ...samples, texts: [] }], pace, NEVER);
  const record = { content: 'ALERTS', number: 1, atMs: 1, tags: {}, body: {}, labels: LABELS } as const;
  await sink.sendRecords([record], pace, NEVER);
  return queries;
}

const rows = [
  ['', '?precision=s', '?precision=ns'],
  ['?db=a', '?db=a&precision=s', '?db=a&precision=ns'],
  ['?bucket=a&precision=ns', '?bucket=a&precision=s', '?bucket=a&precision=ns'],
  ['?db=a&precision=second', '?db=a&precision=second', '?db=a&precision=nanosecond'],
] as const;
for (const [given, ofSamples, ofRecords] of rows)
  test(`the address "${given}" gets the precision of what is sent`, async (t) =>
    assert.deepEqual(await queriesOf(t, given), [ofSamples, ofRecords]));

test('a record with a field of another type loses that field alone, which is counted', async (t) => {
  const taken = new Set<string>();
  const sink = await sinkTo(t, '?db=a', (_search, body) => {
    if (body.includes('mode="')) return 400;
    for (const line of body.trimEnd().split('\n')) taken.add(line);
    return 204;
  });
  const common = { content: 'PROPERTIES', atMs: 1, tags: {}, labels: LABELS } as const;
  const records = [
    { ...common, number: 1, body: { model: 'X', mode: 'eco' } },
    { ...common, number: 2, body: { model: 'Y', mode: 2 } },
  ];
  const { samples, refusedSamples, refusal } = await sink.sendRecords(records, pace, NEVER);
  assert.deepEqual([samples, refusedSamples], [2, 1]);
  assert.match(refusal ?? '', /does not take a line: HTTP 400/);
  const fields = [...taken]
    .filter((line) => line.startsWith('gateway_properties'))
    .map((line) => line.split(' ')[1] ?? '');
  assert.deepEqual(fields.toSorted(), ['count=1', 'count=1', 'mode=2', 'model="X"', 'model="Y"']);
});

/** Values of one attribute, a second each. */
const seriesOf = (attribute: string, count: number, text?: string): LabelledSamples => ({
  deviceId: 'id',
  attribute,
  type: text === undefined ? 'float' : 'string',
  times: Uint32Array.from({ length: count }, (_, index) => index + 1),
  numbers: new Float64Array(count),
  integers: undefined,
  texts: text === undefined ? [] : [text],
  labels: LABELS,
});

test('a server that takes small requests only gets them as large as it takes', async (t) => {
  const takenBytes: number[] = [];
  const sink = await sinkTo(
    t,
    '',
    (_search, body) => {
      if (body.length > 40_000) return 413;
      takenBytes.push(body.length);
      return 204;
    },
    400_000,
  );
  const { samples } = await sink.send([seriesOf('power', 10_000)], pace, NEVER);
  assert.equal(samples, 10_000);
  takenBytes.length = 0;
  await sink.send([seriesOf('power', 10_000)], pace, NEVER);
  // The last one is what is left.
  assert.ok(takenBytes.length > 5);
  assert.ok(Math.min(...takenBytes.slice(0, -1)) >= 20_000, takenBytes.join());
});

test('a value too large for a server is dropped alone', async (t) => {
  const taken = new Set<string>();
  const sizes: number[] = [];
  const sink = await sinkTo(t, '', (_search, body) => {
    if (body.length > 8_000) return 413;
    sizes.push(body.length);
    for (const line of body.trimEnd().split('\n')) taken.add(line);
    return 204;
  });
  const all = [seriesOf('power', 3), seriesOf('report', 3, 'x'.repeat(9_000)), seriesOf('voltage', 3)];
  const { samples, refusedSamples, refusal } = await sink.send(all, pace, NEVER);
  assert.deepEqual([samples, refusedSamples], [6, 3]);
  assert.match(refusal ?? '', /HTTP 413/);
  const fields = [...taken].filter((line) => line.startsWith('telemetry')).map((line) => line.split(' ')[1]);
  assert.deepEqual(
    [
      fields.filter((field) => field === 'power=0').length,
      fields.filter((field) => field === 'voltage=0').length,
    ],
    [3, 3],
  );
  // What comes later is not cut up for it.
  sizes.length = 0;
  await sink.send([seriesOf('power', 100)], pace, NEVER);
  assert.equal(sizes.length, 1);
});
