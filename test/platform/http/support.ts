/** A listening server with a few routes that show what the platform adds, and raw sockets towards it. */
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import * as v from 'valibot';
import { notFound } from '../../../src/lib/errors.ts';
import { type Limits, LIMITS } from '../../../src/lib/limits.ts';
import {
  type Call,
  Http,
  type HttpOptions,
  JSON_HEADERS,
  query,
  type Route,
  route,
  type Stream,
  stream,
  type StreamSocket,
} from '../../../src/platform/http/index.ts';
import { ROLES } from '../../../src/lib/role.ts';
import { createMetrics, type Metrics } from '../../../src/platform/metrics/index.ts';
import { readUpload } from '../../../src/platform/upload/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { type LogLine, recordingLog } from '../../support/workspace.ts';

export interface Served {
  http: Http;
  clock: TestClock;
  metrics: Metrics;
  lines: LogLine[];
  port: number;
  httpsPort: number | undefined;
  origin: string;
  /** Calls of the routes below, newest last. */
  calls: Call[];
  /** Open streams of `/v3/things/{thing_id}/feed`. */
  sockets: StreamSocket[];
  /** Streams that were ended. */
  ended: Set<StreamSocket>;
  /** Lets `POST /v3/wait` answer. */
  release: () => void;
  ask: (method: string, path: string, more?: Asked) => Promise<Answer>;
}

export interface Asked {
  token?: string | null;
  headers?: Record<string, string>;
  body?: string | Uint8Array | ReadableStream<Uint8Array>;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The first error's code, if the body is the envelope. */
  code: string | undefined;
  json: unknown;
}

export type More = Partial<Omit<HttpOptions, 'limits'>> & {
  http?: Partial<Limits['http']>;
  webSocket?: Partial<Limits['webSocket']>;
};

const PRINCIPALS = new Map(
  ROLES.map((role) => [
    role.toLowerCase(),
    { role, origin: { kind: 'token' as const, id: role, name: role }, rateKey: role },
  ]),
);

/** Tokens are the roles in lower case. */
export async function serve(test: Pick<TestContext, 'after'>, more: More = {}): Promise<Served> {
  const { http: httpLimits, webSocket, ...options } = more;
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const metrics = createMetrics();
  const calls: Call[] = [];
  const sockets: StreamSocket[] = [];
  const ended = new Set<StreamSocket>();
  const waiting = Promise.withResolvers<void>();
  const http = new Http({
    host: '127.0.0.1',
    port: 0,
    clock,
    log,
    metrics,
    limits: {
      ...LIMITS,
      http: { ...LIMITS.http, ...httpLimits },
      webSocket: { ...LIMITS.webSocket, ...webSocket },
    },
    authenticate: (token) => PRINCIPALS.get(token),
    resolvers: { thing_id: thingId },
    routes: routes(calls, waiting.promise),
    streams: streams(sockets, ended),
    ...options,
  });
  const { port, httpsPort } = await http.start();
  test.after(async () => {
    const stopped = http.stop(0);
    await clock.advance(0);
    await stopped;
  });
  const origin = `http://127.0.0.1:${port}`;
  return {
    http,
    clock,
    metrics,
    lines,
    port,
    httpsPort,
    origin,
    calls,
    sockets,
    ended,
    release: waiting.resolve,
    ask: (method, path, asked) => ask(origin, method, path, asked),
  };
}

function thingId(value: string): string {
  if (value === 'slug' || value === 'id') return 'id';
  throw notFound('device_not_found', `There is no thing ${value}.`);
}

function routes(calls: Call[], waiting: Promise<void>): Route[] {
  const noted =
    <Result>(result: (call: Call) => Result) =>
    (call: Call): Result => {
      calls.push(call);
      return result(call);
    };
  return [
    ...readingRoutes(noted),
    route({
      operation: 'make_thing',
      POST: ['/v3/things'],
      role: 'OWNER',
      body: v.object({ name: v.string(), size: v.optional(v.number(), 1) }),
      handle: noted(({ body }) => ({ thing: body })),
    }),
    route({
      operation: 'touch_thing',
      POST: ['/v3/things/{thing_id}/touch'],
      role: 'USER',
      body: v.object({ note: v.optional(v.string()) }),
      handle: noted(() => ({})),
    }),
    route({
      operation: 'nudge_thing',
      POST: ['/v3/things/{thing_id}/nudge'],
      role: 'USER',
      handle: noted(() => undefined),
    }),
    route({
      operation: 'upload_thing',
      POST: ['/v3/upload'],
      role: null,
      body: 'stream',
      bodyBytes: 2_000,
      anonymousPerMinute: 2,
      handle: noted(async (call) => ({ size: (await readUpload(call, 'data', 2_000)).length })),
    }),
    route({
      operation: 'wait',
      POST: ['/v3/wait'],
      role: 'READONLY',
      handle: noted(async () => {
        await waiting;
        return { waited: true };
      }),
    }),
  ];
}

function readingRoutes(noted: <Result>(result: (call: Call) => Result) => (call: Call) => Result): Route[] {
  return [
    route({
      operation: 'get_thing',
      GET: ['/v3/things/{thing_id}'],
      role: 'READONLY',
      handle: noted((call) => ({ thing: call.param('thing_id') })),
    }),
    route({
      operation: 'get_special_thing',
      GET: ['/v3/things/special'],
      role: 'READONLY',
      handle: noted(() => ({ special: true })),
    }),
    route({
      operation: 'list_things',
      GET: ['/v3/things'],
      role: 'READONLY',
      query: v.object({
        limit: query.limit(5, 10),
        kind: query.list(),
        order: query.choice(['ASC', 'DESC'], 'ASC'),
        is_new: query.flag(false),
      }),
      handle: noted(({ query: asked }) => ({ asked, padding: 'x'.repeat(3_000) })),
    }),
    route({
      operation: 'get_table',
      GET: ['/v3/table'],
      role: 'READONLY',
      handle: noted((call) => {
        call.repeatHeader('X-Types', ['integer', 'float']);
        const headers = { 'content-type': 'text/csv', 'cache-control': 'no-store' };
        return call.streamed(['ts,a\n', '1,2\n'.repeat(1_000)], headers);
      }),
    }),
    route({
      operation: 'break',
      GET: ['/v3/break/{how}'],
      role: 'READONLY',
      handle: noted((call) => {
        if (call.param('how') === 'now') throw new TypeError('the secret is 4711');
        return call.streamed(failing(), JSON_HEADERS);
      }),
    }),
  ];
}

async function* failing(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('{"first":');
  await Promise.resolve();
  throw new TypeError('the disk is gone');
}

function streams(sockets: StreamSocket[], ended: Set<StreamSocket>): Stream[] {
  return [
    stream({
      operation: 'stream_thing',
      paths: ['/v3/things/{thing_id}/feed', '/v3/things/{thing_id}'],
      role: 'USER',
      query: v.object({ order: query.choice(['ASC', 'DESC'], 'ASC') }),
      open: (call) => {
        if (call.query.order === 'DESC') throw notFound('device_not_found', 'Nothing in this order.');
        return (socket) => {
          sockets.push(socket);
          socket.send({ thing: call.param('thing_id') });
          return [() => ended.add(socket)];
        };
      },
    }),
  ];
}

export async function ask(origin: string, method: string, path: string, asked: Asked = {}): Promise<Answer> {
  const { token = 'owner', headers = {}, body } = asked;
  const response = await fetch(origin + path, {
    method,
    headers: { ...(token !== null && { 'X-Service-Auth-Token': token }), ...headers },
    ...(body !== undefined && { body, duplex: 'half' }),
  });
  return answerOf(response.status, response.headers, await response.text());
}

function answerOf(status: number, headers: Headers, text: string): Answer {
  const isJson = headers.get('content-type') === 'application/json' && text !== '';
  const json: unknown = isJson ? JSON.parse(text) : undefined;
  return { status, headers, text, json, code: (json as Envelope | undefined)?.errors?.[0]?.code };
}

interface Envelope {
  errors?: { code: string; message: string; details?: Record<string, unknown> }[];
}

export function firstError(answer: Answer): { code: string; message: string; details?: object } | undefined {
  return (answer.json as Envelope | undefined)?.errors?.[0];
}

/** A socket on which a test writes bytes itself. */
export interface RawSocket {
  socket: Socket;
  /** Everything received so far. */
  received: () => string;
  /** Resolves when the other side closed, with everything received. */
  closed: Promise<string>;
}

export function raw(test: Pick<TestContext, 'after'>, port: number, bytes: string): Promise<RawSocket> {
  const chunks: Buffer[] = [];
  const received = (): string => Buffer.concat(chunks).toString('latin1');
  const socket = connect(port, '127.0.0.1');
  test.after(() => socket.destroy());
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const closed = new Promise<string>((resolve) => {
    socket.on('close', () => resolve(received()));
    // A reset is one way of closing.
    socket.on('error', () => resolve(received()));
  });
  return new Promise((resolve) => {
    socket.on('connect', () => {
      socket.write(bytes, 'latin1');
      resolve({ socket, received, closed });
    });
  });
}

/** What one request on a raw socket is answered, until the server closes. */
export async function rawAnswer(
  test: Pick<TestContext, 'after'>,
  port: number,
  bytes: string,
): Promise<Answer> {
  return parseAnswer(await (await raw(test, port, bytes)).closed);
}

export function parseAnswer(text: string): Answer {
  const [head = '', body = ''] = text.split('\r\n\r\n', 2);
  const [first = '', ...lines] = head.split('\r\n');
  const headers = new Headers();
  for (const line of lines)
    headers.append(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim());
  // Another answer may follow.
  const length = Number(headers.get('content-length') ?? body.length);
  return answerOf(Number(first.split(' ')[1]), headers, body.slice(0, length));
}
