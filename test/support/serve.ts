/** Routes and streams of a capability behind the real HTTP server, with a token per role. */
import type { TestContext } from 'node:test';
import { WebSocket } from 'ws';
import type { Devices } from '../../src/capabilities/devices/index.ts';
import { notFound } from '../../src/lib/errors.ts';
import { Http, type Route, type Stream } from '../../src/platform/http/index.ts';
import { ROLES, type Role } from '../../src/lib/role.ts';
import { createMetrics } from '../../src/platform/metrics/index.ts';
import type { TestClock } from './test-clock.ts';
import { trace } from './trace.ts';
import { recordingLog } from './workspace.ts';

export const SITE_ID = '5f0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a11';

export interface Answer {
  status: number;
  body: unknown;
  headers: Headers;
}

export interface Served {
  /** `http://127.0.0.1:port` */
  origin: string;
  /** One request; the role is its token, `null` sends none. `body` is sent as JSON, text as it is. */
  ask: (role: Role | 'unknown' | null, method: string, path: string, body?: unknown) => Promise<Answer>;
  /** A raw answer, to look at while it arrives. */
  open: (role: Role, method: string, path: string, body?: unknown, signal?: AbortSignal) => Promise<Response>;
  /** A WebSocket; resolves when it is open, rejects with the status and body of a refusal. */
  watch: (role: Role | null, path: string, headers?: Record<string, string>) => Promise<Watched>;
  stop: () => Promise<void>;
}

export interface Watched {
  messages: unknown[];
  closed: Promise<{ code: number; reason: string }>;
  close(): void;
}

export async function serve(
  test: Pick<TestContext, 'after'>,
  options: { clock: TestClock; devices: Devices; routes: readonly Route[]; streams?: readonly Stream[] },
): Promise<Served> {
  const { clock, devices } = options;
  let number = 0;
  const http = new Http({
    host: '127.0.0.1',
    port: 0,
    clock,
    log: recordingLog(clock).log,
    metrics: createMetrics(),
    newId: () => `request-${++number}`,
    authenticate: (token) => {
      const role = ROLES.find((name) => name === token);
      return role && { role, origin: { kind: 'token', id: role, name: role }, rateKey: role };
    },
    resolvers: {
      device_id: (value) => devices.require(value).id,
      site_id: (value) => {
        if (value !== SITE_ID) throw notFound('site_not_found', 'There is no such site.');
        return value;
      },
    },
    routes: options.routes,
    streams: options.streams ?? [],
    requestBurst: 10_000,
    requestsPerSecond: 10_000,
  });
  const { port } = await http.start();
  test.after(async () => {
    const stopped = http.stop(0);
    await clock.advance(0);
    await stopped;
  });
  const origin = `http://127.0.0.1:${port}`;

  const open = async (
    role: string | null,
    method: string,
    path: string,
    body?: unknown,
    signal?: AbortSignal,
  ): Promise<Response> => {
    const headers = { ...tokenHeader(role), Connection: 'close' };
    const response = await fetch(origin + path, {
      method,
      headers,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
    });
    trace({ method, path, headers, body, status: response.status });
    return response;
  };

  return {
    origin,
    open,
    ask: async (role, method, path, body) => {
      const response = await open(role, method, path, body);
      return {
        status: response.status,
        body: JSON.parse(await response.text()) as unknown,
        headers: response.headers,
      };
    },
    watch: (role, path, headers = {}) => watch(origin + path, { ...tokenHeader(role), ...headers }),
    stop: () => http.stop(1_000),
  };
}

function tokenHeader(role: string | null): Record<string, string> {
  return role === null ? {} : { 'X-Service-Auth-Token': role };
}

/** Opens a WebSocket; rejects with a `Refusal` when the upgrade is refused. `caller`: see `Traced`. */
export function watch(url: string, headers: Record<string, string>, caller?: string): Promise<Watched> {
  const socket = new WebSocket(url.replace('http:', 'ws:'), { headers });
  const messages: unknown[] = [];
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  socket.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString('utf8'))));
  return new Promise((resolve, reject) => {
    const traceStatus = (status: number): void => {
      const { pathname, search } = new URL(url);
      trace({ method: 'WS', path: pathname + search, headers, body: undefined, status, caller });
    };
    socket.on('open', () => {
      traceStatus(200);
      resolve({ messages, closed, close: () => socket.close() });
    });
    socket.on('error', reject);
    socket.on('unexpected-response', (_request, response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        traceStatus(response.statusCode ?? 0);
        reject(new Refusal(response.statusCode ?? 0, Buffer.concat(chunks).toString()));
      });
    });
  });
}

/** A WebSocket that was refused before the upgrade. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, text: string) {
    super(`refused with ${status}`);
    this.status = status;
    this.body = JSON.parse(text) as unknown;
  }
}
