/** A target at work against servers that take, refuse, stumble and vanish. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { InfluxdbSink } from '../../../src/capabilities/targets/influxdb/influxdb-sink.ts';
import { NO_TOTALS, type Selection } from '../../../src/capabilities/targets/model.ts';
import { Sender } from '../../../src/capabilities/targets/sender.ts';
import type { ChangePosition, Changes } from '../../../src/capabilities/telemetry/index.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { createSystemClock, nextTurn } from '../../../src/platform/clock/index.ts';
import { HttpClient } from '../../../src/platform/http-client/index.ts';
import { until } from '../../support/until.ts';
import { recordingLog } from '../../support/workspace.ts';

const ALL: Selection = {
  devices: null,
  attributes: null,
  intervalS: 0,
  isOnChange: false,
  bytesPerSecondMax: 10_000_000,
  processorPercentMax: 100,
  fromMs: 0,
};

/** The requests to a server, and its next answers. */
class FakeEngine {
  readonly lines: string[] = [];
  requests = 0;
  #socket: Socket | undefined;
  authorization: string | undefined;
  /** Decides on the lines of one request; undefined: the connection is cut. */
  judge: (
    lines: string[],
  ) => { status: number; text?: string; headers?: Record<string, string> } | 'never' | undefined = () => ({
    status: 204,
  });

  async listen(t: TestContext): Promise<string> {
    const server = createServer((request, response) => void this.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.closeAllConnections());
    t.after(() => server.close());
    return `http://127.0.0.1:${(server.address() as { port: number }).port}/write?db=site`;
  }

  /** Resolves once the client has seen it. */
  async endConnection(): Promise<void> {
    if (!this.#socket || this.#socket.closed) return;
    const closed = new Promise((resolve) => this.#socket?.once('close', resolve));
    this.#socket.end();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#socket = request.socket;
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    this.requests++;
    this.authorization = request.headers.authorization;
    const lines = gunzipSync(Buffer.concat(pieces)).toString().trimEnd().split('\n');
    const judged = this.judge(lines);
    if (judged === 'never') return;
    if (!judged) return void response.destroy();
    if (judged.status < 300) this.lines.push(...lines.filter((line) => line.startsWith('telemetry,')));
    response.writeHead(judged.status, judged.headers).end(judged.text);
  }
}

interface ReadPlan {
  after: ChangePosition | undefined;
  samplesMax: number;
}

/** A store of one series: `count` samples, in steps of ten. */
function storeOf(
  all: number | { count: number; sinceS?: number },
  value: (index: number) => number = (index) => index,
) {
  return {
    changes: async ({ after, samplesMax }: ReadPlan): Promise<Changes> => {
      const count = typeof all === 'number' ? all : all.count;
      const from = after?.sequence ?? 0;
      const to = Math.min(count, from + Math.min(10, samplesMax));
      const indexes = Array.from({ length: to - from }, (_, index) => from + index);
      return {
        series:
          indexes.length === 0
            ? []
            : [
                {
                  deviceId: 'a',
                  attribute: 'power',
                  type: 'float',
                  times: Uint32Array.from(indexes, (index) => 1_000 + index),
                  numbers: Float64Array.from(indexes, value),
                  integers: undefined,
                  texts: [],
                },
              ],
        position: { sequence: to },
        pendingSamples: count - to,
        pendingSinceS: count > to && typeof all === 'object' ? all.sinceS : undefined,
        lostSamples: 0,
        hasSkipped: false,
      };
    },
  };
}

async function started(
  t: TestContext,
  engine: FakeEngine,
  {
    selection = {},
    store = storeOf(25),
  }: { selection?: Partial<Selection>; store?: ReturnType<typeof storeOf> } = {},
) {
  const clock = createSystemClock();
  const { log, lines } = recordingLog(clock);
  const limits = {
    ...LIMITS.targets,
    intervalMs: 10,
    lagIntervalMs: 10,
    retryFirstMs: 10,
    retryMaxMs: 40,
    timeoutMs: 2_000,
  };
  const settings = {
    kind: 'INFLUXDB' as const,
    url: await engine.listen(t),
    measurement: 'telemetry',
    username: null,
    tokenScheme: 'Token' as const,
    caPem: null,
    isCompressed: true,
  };
  const sender = new Sender({
    record: {
      id: 'id',
      name: 'engine',
      kind: 'INFLUXDB',
      isEnabled: true,
      settings,
      secrets: {},
      selection: { ...ALL, ...selection },
      createdAtMs: 0,
      updatedAtMs: 0,
    },
    cursor: { position: { sequence: 0 }, records: {}, totals: NO_TOTALS },
    sink: new InfluxdbSink({
      settings,
      secret: 'shibboleth',
      http: new HttpClient({ clock, timeoutMs: limits.timeoutMs, answerMaxBytes: limits.answerBytes }),
      bodyMaxBytes: 100_000,
      nowS: () => 5,
      pause: nextTurn,
    }),
    telemetry: store,
    records: { read: (cursor) => ({ records: [], cursor, lost: 0, pending: 0 }) },
    site: () => ({ name: 'My site' }),
    saveCursor: async () => undefined,
    labelsOf: () => ({
      slug: 'meter',
      labels: { site: 'My site', device: 'meter', blueprint: 'M=1', profile: undefined },
    }),
    clock,
    log,
    limits,
  });
  t.after(async () => {
    await sender.stop();
    clock.close();
  });
  sender.start();
  return { sender, lines };
}

const arrived = (engine: FakeEngine): string[] =>
  engine.lines.map((line) => line.split(' ').slice(-2).join(' '));
const EVERYTHING = Array.from({ length: 25 }, (_, index) => `power=${index} ${1_000 + index}`);

describe('a target', () => {
  test('a target gets every sample once and in order, with the tags of the device and the token', async (t) => {
    const engine = new FakeEngine();
    const { sender } = await started(t, engine);
    await until(() => engine.lines.length === 25);
    assert.deepEqual(arrived(engine), EVERYTHING);
    assert.equal(
      engine.lines[0],
      String.raw`telemetry,blueprint=M\=1,device=meter,site=My\ site power=0 1000`,
    );
    assert.equal(engine.authorization, 'Token shibboleth');
    await until(() => sender.status().samples === 25);
    assert.equal(sender.status().state, 'CURRENT');
    assert.equal(sender.cursor.position.sequence, 25);
  });

  const stumbles: [title: string, answer: ReturnType<FakeEngine['judge']>, sentence: RegExp][] = [
    [
      'has a failure of its own',
      { status: 500, text: 'out of\nluck' },
      /has a failure of its own: HTTP 500, "out of luck"$/,
    ],
    ['asks for a pause', { status: 429, headers: { 'retry-after': '0' } }, /asks for a pause: HTTP 429\.$/],
    ['does not know the token', { status: 401 }, /does not accept the token or the login: HTTP 401\.$/],
    ['does not know the database', { status: 404 }, /does not know the address, the database or the bucket/],
    ['is somewhere else', { status: 302 }, /points to another address, give that one: HTTP 302\.$/],
    ['cuts the connection', undefined, /ended the connection before it had answered\.$/],
    ['refuses all it gets', { status: 400, text: 'no' }, /does not take the request: HTTP 400, "no"$/],
  ];
  for (const [title, answer, sentence] of stumbles)
    test(`a target is retried when it ${title}, says so, and misses nothing`, async (t) => {
      const engine = new FakeEngine();
      // As many as it takes to see that not even one line is taken.
      let stumblesLeft = 6;
      engine.judge = () => (stumblesLeft-- > 0 ? answer : { status: 204 });
      const { sender, lines } = await started(t, engine);
      await until(() => engine.lines.length >= 25);
      assert.deepEqual([...new Set(arrived(engine))], EVERYTHING);
      assert.match(sender.status().lastError?.message ?? '', sentence);
      const told = lines.map(({ message }) => message);
      assert.deepEqual(told, ['target takes no telemetry', 'target takes telemetry again']);
    });

  test('a target does not reveal the token by repeating it', async (t) => {
    const engine = new FakeEngine();
    engine.judge = () => ({ status: 401, text: 'unknown: ["Token shibboleth"]' });
    const { sender, lines } = await started(t, engine);
    await until(() => sender.status().state === 'FAILING');
    assert.match(sender.status().lastError?.message ?? '', /HTTP 401, "unknown: \["Token …"\]"$/);
    assert.ok(!JSON.stringify(lines).includes('shibboleth'));
  });

  test('samples read for a target count as lag while it takes nothing', async (t) => {
    const engine = new FakeEngine();
    engine.judge = () => ({ status: 401 });
    const { sender } = await started(t, engine, { store: storeOf(7) });
    await until(() => Promise.resolve(sender.status().state === 'FAILING'));
    assert.equal(sender.status().lagSamples, 7);
    engine.judge = () => ({ status: 204 });
    await until(() => Promise.resolve(sender.status().state === 'CURRENT'));
    assert.deepEqual([sender.status().lagSamples, sender.status().lagS], [0, 0]);
  });

  const failing: [name: string, answer: FakeEngine['judge']][] = [
    ['refuses everything', () => ({ status: 401 })],
    ['never answers', () => 'never'],
  ];
  for (const [name, answer] of failing)
    test(`samples that arrive meanwhile count as lag when a target ${name}`, async (t) => {
      const engine = new FakeEngine();
      engine.judge = answer;
      const stored = { count: 7 };
      const { sender } = await started(t, engine, { store: storeOf(stored) });
      await until(() => sender.status().lagSamples === 7);
      stored.count = 30_921;
      await until(() => sender.status().lagSamples === 30_921);
      assert.ok(sender.status().lagS >= 0);
    });

  test('the lag of samples from before the start counts from when they came', async (t) => {
    const engine = new FakeEngine();
    engine.judge = () => ({ status: 401 });
    const waitedS = 1_020;
    const store = storeOf({ count: 7, sinceS: Math.floor(Date.now() / 1_000) - waitedS });
    const { sender } = await started(t, engine, { store });
    await until(() => sender.status().state === 'FAILING');
    assert.equal(sender.status().lagSamples, 7);
    assert.ok(sender.status().lagS >= waitedS, `${sender.status().lagS} s`);
    engine.judge = () => ({ status: 204 });
    await until(() => sender.status().state === 'CURRENT');
    assert.equal(sender.status().lagS, 0);
  });

  test('a target loses only the lines that it refuses while it takes others, and they are counted', async (t) => {
    const engine = new FakeEngine();
    engine.judge = (lines) =>
      lines.some((line) => line.includes('power=7 ')) ? { status: 400, text: 'conflict' } : { status: 204 };
    const { sender } = await started(t, engine);
    await until(() => new Set(arrived(engine)).size === 24);
    assert.deepEqual(
      [...new Set(arrived(engine))],
      EVERYTHING.filter((line) => !line.startsWith('power=7 ')),
    );
    assert.equal(sender.status().refusedSamples, 1);
    assert.equal(sender.status().lastError?.message, 'The target does not take a line: HTTP 400, "conflict"');
  });

  test('a target loses only the attribute that it refuses, and is not sent it for each sample', async (t) => {
    const engine = new FakeEngine();
    engine.judge = (lines) => ({ status: lines.some((line) => line.includes('state=')) ? 400 : 204 });
    const { changes } = storeOf(25);
    const store: ReturnType<typeof storeOf> = {
      changes: async (asked) => {
        const found = await changes(asked);
        const states = found.series.map((series) => ({
          ...series,
          attribute: 'state',
          type: 'string' as const,
          numbers: series.numbers.map(() => 0),
          texts: ['on'],
        }));
        return { ...found, series: [...found.series, ...states] };
      },
    };
    const { sender } = await started(t, engine, { store });
    await until(() => sender.cursor.position.sequence === 25);
    assert.deepEqual(arrived(engine), EVERYTHING);
    const { samples, refusedSamples } = sender.status();
    assert.deepEqual([samples, refusedSamples], [25, 25]);
    assert.ok(engine.requests < 25, `${engine.requests} requests`);
  });

  test('a target gets shorter requests when it says that they are too long', async (t) => {
    const engine = new FakeEngine();
    engine.judge = (lines) => ({ status: lines.length > 3 ? 413 : 204 });
    await started(t, engine);
    await until(() => engine.lines.length === 25);
    assert.deepEqual(arrived(engine), EVERYTHING);
  });

  test('a target gets one sample in each stretch of time, and no value twice, where that was asked', async (t) => {
    const engine = new FakeEngine();
    const store = storeOf(25, (index) => Math.floor(index / 10));
    await started(t, engine, { selection: { isOnChange: true }, store });
    await until(() => engine.lines.length === 3);
    assert.deepEqual(arrived(engine), ['power=0 1000', 'power=1 1010', 'power=2 1020']);
    const slow = new FakeEngine();
    await started(t, slow, { selection: { intervalS: 10 } });
    await until(() => slow.lines.length === 3);
    assert.deepEqual(arrived(slow), ['power=0 1000', 'power=10 1010', 'power=20 1020']);
  });

  test('a target gets its last acknowledged samples again after an outage: it may have lost them', async (t) => {
    const engine = new FakeEngine();
    const store = storeOf(25);
    engine.judge = () => (engine.requests === 3 ? undefined : { status: 204 });
    const { sender } = await started(t, engine, { store });
    await until(() => sender.cursor.position.sequence === 25);
    assert.deepEqual(arrived(engine), [...EVERYTHING.slice(0, 20), ...EVERYTHING]);
  });

  test('a target behind a proxy gets its last acknowledged samples again after an outage', async (t) => {
    const engine = new FakeEngine();
    engine.judge = () => ({ status: engine.requests === 3 ? 502 : 204 });
    const { sender } = await started(t, engine);
    await until(() => sender.cursor.position.sequence === 25);
    assert.deepEqual(arrived(engine), [...EVERYTHING.slice(0, 20), ...EVERYTHING]);
  });

  test('a target that answers over another connection gets its last acknowledged samples again', async (t) => {
    const engine = new FakeEngine();
    const { changes } = storeOf(25);
    const store: ReturnType<typeof storeOf> = {
      // As a server that starts again between two requests.
      changes: async (asked) => {
        if (asked.after?.sequence === 20 && engine.requests === 2) await engine.endConnection();
        return changes(asked);
      },
    };
    const { sender } = await started(t, engine, { store });
    await until(() => sender.cursor.position.sequence === 25);
    assert.deepEqual(arrived(engine), [...EVERYTHING, ...EVERYTHING]);
    assert.equal(sender.status().lastError, undefined);
  });

  test('a target that closes each connection after its answer is not sent the same for ever', async (t) => {
    const engine = new FakeEngine();
    let count = 10;
    const store: ReturnType<typeof storeOf> = { changes: async (asked) => storeOf(count).changes(asked) };
    const { sender } = await started(t, engine, { store });
    await until(() => sender.cursor.position.sequence === 10);
    const sentAgain: number[] = [];
    for (let round = 0; round < 12; round++) {
      await engine.endConnection();
      const before = engine.lines.length;
      count += 10;
      await until(() => sender.cursor.position.sequence === count && sender.status().state === 'CURRENT');
      sentAgain.push(engine.lines.length - before - 10);
    }
    assert.equal(new Set(arrived(engine)).size, count);
    // The first of them comes no more.
    assert.ok(Math.max(...sentAgain) <= 60, `${sentAgain.join()} lines again`);
    assert.ok(sentAgain.slice(0, 2).every((lines) => lines > 0));
  });

  test('the next run sends again what a target acknowledged last before the gateway ended', async (t) => {
    const { sender } = await started(t, new FakeEngine());
    await until(() => sender.cursor.position.sequence === 25);
    assert.equal(sender.resumption.position.sequence, 0);
  });

  test('a target gets thinned samples only once, also when it is tried again', async (t) => {
    const engine = new FakeEngine();
    let stumblesLeft = 2;
    engine.judge = () => ({ status: stumblesLeft-- > 0 ? 503 : 204 });
    await started(t, engine, { selection: { intervalS: 10 } });
    await until(() => engine.lines.length === 3);
    assert.deepEqual(arrived(engine), ['power=0 1000', 'power=10 1010', 'power=20 1020']);
  });

  test('a target gets everything when the lists of devices and attributes are empty', async (t) => {
    const engine = new FakeEngine();
    await started(t, engine, { selection: { devices: [], attributes: [] } });
    await until(() => engine.lines.length === 25);
  });

  test('a target gets nothing of attributes and devices that were not chosen', async (t) => {
    const engine = new FakeEngine();
    const { sender } = await started(t, engine, { selection: { attributes: ['volt*'] } });
    await until(() => sender.cursor.position.sequence === 25);
    assert.deepEqual(engine.lines, []);
  });
});
