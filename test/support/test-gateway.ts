/**
 * The whole gateway in process: real databases in a temporary folder, real broker and HTTP server on ports
 * of their own, a token per role. What is outside (devices, people) is played by the test.
 */
import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { IssuableRole } from '../../src/capabilities/auth/index.ts';
import { Gateway, type Started } from '../../src/gateway.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { type Config, loadConfig } from '../../src/platform/config/index.ts';
import type { SyncFile } from '../../src/platform/sqlite/index.ts';
import { fillBuiltIn, TEST_VERSION } from '../capabilities/blueprints/support.ts';
import { databaseImage } from './databases.ts';
import { MockDevice } from './mock-device.ts';
import { type Watched, watch } from './serve.ts';
import { trace } from './trace.ts';
import { settle, TestClock } from './test-clock.ts';
import { createTokens, type Tokens, tokensIn } from './tokens.ts';
import { type LogLine, recordingLog } from './workspace.ts';

/** Whose token a call carries: a role, an exact token text, or `null` for none. */
export type Caller = IssuableRole | { token: string } | null;

export interface Answer {
  status: number;
  /** Parsed JSON; the text when the answer is something else. */
  body: unknown;
  headers: Headers;
}

export interface TestGatewayOptions {
  /** Absent: the system's clock. A test clock also paces the group commits: see `settled`. */
  clock?: TestClock;
  /** Options as environment variables, beyond folder, addresses and high rate limits; and what a site file reads there. */
  environment?: Record<string, string>;
  /** A folder of an earlier gateway; absent: a new one. */
  dataDir?: string;
  /** Folder of the built console. */
  consoleDir?: string;
  /** Syncs a file of state.db in place of the system. */
  syncFile?: SyncFile;
  /** Whether it copies and looks through state.db, a third of a start; absent: it does not. */
  tendsState?: boolean;
  /** What a problem report finds as the newest lines of the log. */
  recentLog?: () => readonly string[];
}

export interface TestGateway {
  readonly gateway: Gateway;
  readonly dataDir: string;
  readonly config: Config;
  readonly lines: LogLine[];
  /** Ports of the present start; they change with `restart`. */
  readonly ports: Started;
  readonly origin: string;
  token: (role: IssuableRole) => string;
  /** One request, without a socket. `body` is sent as JSON, a text or bytes as they are. */
  call: (
    caller: Caller,
    method: string,
    path: string,
    body?: unknown,
    headers?: HeadersOf,
  ) => Promise<Answer>;
  /** The body of a call that must succeed. */
  ok: (
    caller: Caller,
    method: string,
    path: string,
    body?: unknown,
    headers?: HeadersOf,
  ) => Promise<Record<string, unknown>>;
  /** The raw answer over a real connection. */
  request: (
    caller: Caller,
    method: string,
    path: string,
    body?: unknown,
    headers?: HeadersOf,
  ) => Promise<Response>;
  /** A WebSocket; rejects with a `Refusal` when the upgrade is refused. */
  watch: (caller: Caller, path: string, headers?: HeadersOf) => Promise<Watched>;
  /** A new standalone device with the blueprint, not connected yet. Default: the sample battery inverter. */
  provision: (name?: string, blueprintId?: string | null) => Promise<MockDevice>;
  /** A device by the answer of its provisioning, not connected yet. */
  deviceOf: (provisioned: Record<string, unknown>) => MockDevice;
  /** The sample blueprint that is built in. */
  sampleBlueprintId: () => Promise<string>;
  /** Waits for the promise while a test clock moves on by small steps; with the system's clock just waits. */
  settled: <Result>(promise: Promise<Result>) => Promise<Result>;
  stop: () => Promise<void>;
  /** Starts again on the same folder after `stop`; ports are others. */
  start: () => Promise<void>;
  /** Stops and starts again on the same folder. Ports change, so devices must connect to the new ones. */
  restart: () => Promise<void>;
}

export type HeadersOf = Record<string, string>;

const STEP_MS = 5;
const PAUSE_TURNS = 16;
/** Most that a client can ask for. A real client pings by the system's time, and a test clock runs ahead of that. */
const KEEP_ALIVE_MAX_S = 65_535;
/** Programs and `test/platform/backup` take what the password of a backup costs on purpose. */
const CHEAP_BACKUPS = { ...LIMITS.backup, workFactor: 2 };

/** One gateway for all tests of a file, started and prepared before the first. */
export function useTestGateway(
  options: TestGatewayOptions = {},
  prepare: (gateway: TestGateway) => Promise<void> = async () => undefined,
): () => TestGateway {
  const ends: (() => unknown)[] = [];
  let gateway: TestGateway | undefined;
  before(async () => {
    gateway = await startTestGateway({ after: (end) => void ends.push(end as () => unknown) }, options);
    await prepare(gateway);
  });
  after(async () => {
    for (const end of ends) await end();
  });
  return () => {
    if (!gateway) throw new Error('the gateway has not been started');
    return gateway;
  };
}

export async function startTestGateway(
  test: Pick<TestContext, 'after'>,
  options: TestGatewayOptions = {},
): Promise<TestGateway> {
  const systemClock = options.clock ? undefined : createSystemClock();
  const clock = options.clock ?? systemClock ?? createSystemClock();
  const dataDir = options.dataDir ?? newDataDir(clock.wallMs());
  const { log, lines } = recordingLog(clock);
  const config = loadConfig({ environment: { ...environmentOf(dataDir), ...options.environment } });
  let gateway: Gateway;
  let ports: Started;
  const devices: MockDevice[] = [];

  async function settled<Result>(promise: Promise<Result>): Promise<Result> {
    const { clock: testClock } = options;
    if (!testClock) return promise;
    const state = { isSettled: false };
    void Promise.allSettled([promise]).then(() => (state.isSettled = true));
    // Sockets need turns of the event loop, timers need the clock: both get theirs.
    for (let turn = 1; !state.isSettled; turn++) {
      await settle();
      if (turn % 4 === 0 && !state.isSettled) await testClock.advance(STEP_MS);
      // What takes longer waits for the network or a thread, which get the processor, and little of the clock.
      if (turn % PAUSE_TURNS === 0 && !state.isSettled) await pause(1);
    }
    return promise;
  }

  async function start(): Promise<void> {
    gateway = new Gateway({
      config,
      clock,
      log,
      version: TEST_VERSION,
      environment: { ...options.environment },
      backupLimits: CHEAP_BACKUPS,
      // Mostly real programs are asked about it, in test/process and test/faults.
      tendsState: options.tendsState ?? false,
      // A test looks for no devices on the networks of who runs it.
      networks: () => [{ address: '127.0.0.1', prefix: 8, isLoopback: true }],
      ...(options.consoleDir !== undefined && { consoleDir: options.consoleDir }),
      ...(options.syncFile && { syncFile: options.syncFile }),
      ...(options.recentLog && { recentLog: options.recentLog }),
    });
    ports = await settled(gateway.start());
  }

  async function stop(): Promise<void> {
    for (const device of devices) await device.leave();
    await settled(gateway.stop());
  }

  await start();
  test.after(async () => {
    await stop();
    systemClock?.close();
    // Removed after the stop: a running gateway writes there.
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  });
  const tokens = options.dataDir === undefined ? imageTokens : createTokens(dataDir, clock);

  const tokenHeader = (caller: Caller): HeadersOf => {
    if (caller === null) return {};
    return { 'X-Service-Auth-Token': typeof caller === 'string' ? tokens[caller] : caller.token };
  };

  function deviceOf(provisioned: Record<string, unknown>): MockDevice {
    const device = new MockDevice(provisioned, {
      settled,
      port: () => ports.mqttPort,
      ...(options.clock && { keepAliveS: KEEP_ALIVE_MAX_S }),
    });
    devices.push(device);
    return device;
  }

  const call: TestGateway['call'] = async (caller, method, path, body, headers = {}) => {
    const request = new Request(new URL(path, 'http://gateway.test'), {
      method,
      headers: { ...tokenHeader(caller), ...headers },
      ...(body !== undefined && { body: bodyOf(body) }),
    });
    const response = await gateway.fetch(request);
    trace({
      method,
      path,
      headers: request.headers,
      body,
      status: response.status,
      caller: callerName(caller),
    });
    return answerOf(response);
  };

  const ok: TestGateway['ok'] = async (...parameters) => {
    const { status, body } = await call(...parameters);
    if (status !== 200)
      throw new Error(`${parameters[1]} ${parameters[2]}: ${status} ${JSON.stringify(body)}`);
    return body as Record<string, unknown>;
  };

  const sampleBlueprintId = async (): Promise<string> => {
    const { blueprint } = await ok('READONLY', 'GET', '/v3/blueprints/enapter/battery-inverter/latest');
    return (blueprint as { id: string }).id;
  };

  return {
    get gateway() {
      return gateway;
    },
    dataDir,
    config,
    lines,
    get ports() {
      return ports;
    },
    get origin() {
      return `http://127.0.0.1:${ports.httpPort}`;
    },
    token: (role) => tokens[role],
    call,
    ok,
    request: async (caller, method, path, body, headers = {}) => {
      const request = new Request(`http://127.0.0.1:${ports.httpPort}${path}`, {
        method,
        headers: { ...tokenHeader(caller), Connection: 'close', ...headers },
        ...(body !== undefined && { body: bodyOf(body) }),
      });
      const response = await fetch(request);
      trace({
        method,
        path,
        headers: request.headers,
        body,
        status: response.status,
        caller: callerName(caller),
      });
      return response;
    },
    watch: (caller, path, headers = {}) =>
      watch(
        `http://127.0.0.1:${ports.httpPort}${path}`,
        { ...tokenHeader(caller), ...headers },
        callerName(caller),
      ),
    provision: async (name = 'Battery', blueprintId) => {
      const answer = await ok('OWNER', 'POST', '/v3/provisioning/standalone', { name });
      const device = deviceOf(answer);
      const assigned = blueprintId === undefined ? await sampleBlueprintId() : blueprintId;
      if (assigned !== null)
        await ok('OWNER', 'POST', `/v3/devices/${device.id}/assign_blueprint`, { blueprint_id: assigned });
      return device;
    },
    deviceOf,
    sampleBlueprintId,
    settled,
    stop,
    start,
    restart: async () => {
      await stop();
      await start();
    },
  };
}

const withHistory = databaseImage('history');

/** Shared by new folders: gateways of tests do not depend on each other. */
let imageTokens: Tokens;

const withBuiltInAndTokens = databaseImage('state', (database) => {
  fillBuiltIn(database);
  imageTokens = tokensIn(database, new TestClock());
});

/** A folder with what a first start makes for all alike: the tables, the built-in blueprints, and a token of each role. */
function newDataDir(nowMs: number): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  for (const [name, image] of [
    ['state.db', withBuiltInAndTokens],
    ['history.db', withHistory],
  ] as const) {
    const path = join(dataDir, name);
    image(path);
    // When a state was written last tells a gateway what the time is at least.
    utimesSync(path, nowMs / 1_000, nowMs / 1_000);
  }
  return dataDir;
}

function callerName(caller: Caller): string | undefined {
  if (caller === null) return 'nobody';
  return typeof caller === 'string' ? caller : undefined;
}

function environmentOf(dataDir: string): Record<string, string> {
  return {
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_HTTP_HOST: '127.0.0.1',
    GATEWAY_HTTP_PORT: '0',
    // Making keys takes time; tests of TLS switch them on.
    GATEWAY_HTTPS: 'false',
    // Child programs keep real time; tests of them switch them on.
    GATEWAY_BUILT_IN_MODULE: 'false',
    GATEWAY_RULE_SANDBOX: 'false',
    GATEWAY_HTTPS_PORT: '0',
    GATEWAY_MQTTS: 'false',
    GATEWAY_MQTTS_PORT: '0',
    GATEWAY_MQTT_HOST: '127.0.0.1',
    GATEWAY_MQTT_PORT: '0',
    GATEWAY_HTTP_REQUESTS_PER_SECOND: '100000',
    GATEWAY_HTTP_REQUEST_BURST: '100000',
    GATEWAY_MQTT_MESSAGES_PER_SECOND: '100000',
    GATEWAY_MQTT_MESSAGE_BURST: '100000',
    GATEWAY_SITE_NAME: 'Depot',
  };
}

function bodyOf(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return body;
  return body instanceof Uint8Array ? Uint8Array.from(body) : JSON.stringify(body);
}

async function answerOf(response: Response): Promise<Answer> {
  const isJson = response.headers.get('content-type') === 'application/json';
  const text = await response.text();
  return {
    status: response.status,
    body: isJson ? (JSON.parse(text) as unknown) : text,
    headers: response.headers,
  };
}

/** `status code …` of a refusal, one code per problem. */
export function refusal({ status, body }: Answer): string {
  const { errors = [] } = body as { errors?: { code: string }[] };
  return [status, ...errors.map(({ code }) => code)].join(' ');
}
