/** Where lines go, whatever stands in the address that a person copied, and what becomes of those that are refused. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test, type TestContext } from 'node:test';
import { InfluxdbSink } from '../../../src/capabilities/targets/influxdb/influxdb-sink.ts';
import { createSystemClock, nextTurn } from '../../../src/platform/clock/index.ts';
import { HttpClient } from '../../../src/platform/http-client/index.ts';

const NEVER = new AbortController().signal;
const LABELS = { site: 'Depot', device: 'meter', blueprint: 'Meter', profile: undefined };

const pace = async (): Promise<void> => undefined;

/** Of a server that answers each request with the status that `answer` gives it. */
async function sinkTo(
  t: TestContext,
  query: string,
  answer: (search: string, body: string) => number,
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
    bodyMaxBytes: 10_000,
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
  test(`an address with "${given}" is told the precision of what is sent`, async (t) =>
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
