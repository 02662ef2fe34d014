/** Where lines go, whatever stands in the address that a person copied. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test, type TestContext } from 'node:test';
import { InfluxdbSink } from '../../../src/capabilities/targets/influxdb/influxdb-sink.ts';
import { createSystemClock, nextTurn } from '../../../src/platform/clock/index.ts';
import { HttpClient } from '../../../src/platform/http-client/index.ts';

const NEVER = new AbortController().signal;
const LABELS = { site: 'Depot', device: 'meter', blueprint: 'Meter', profile: undefined };

/** Queries of what is written to an address with the one that is given. */
async function queriesOf(t: TestContext, query: string): Promise<string[]> {
  const queries: string[] = [];
  const server = createServer((request, response) => {
    queries.push(new URL(request.url ?? '', 'http://host').search);
    request.resume().on('end', () => response.writeHead(204).end());
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
  const pace = async (): Promise<void> => undefined;
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
