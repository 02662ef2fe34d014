/** The real gateway as a child process, for programs that start, measure and kill it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../src/lib/errors.ts';
import type { Clock } from '../../src/platform/clock/index.ts';
import { ontoBoard } from './small-board.ts';

const PROJECT_ROOT = join(import.meta.dirname, '..', '..');
/** As `npm start` and the systemd unit start it. */
export const RUNTIME_FLAGS = ['--max-semi-space-size=2', '--disable-warning=ExperimentalWarning'];
const RUNTIME_ENVIRONMENT = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
};
/** For loads that no single client of a site makes. */
export const NO_RATE_LIMITS = {
  GATEWAY_MQTT_MESSAGES_PER_SECOND: '1000000',
  GATEWAY_MQTT_MESSAGE_BURST: '1000000',
  GATEWAY_HTTP_REQUESTS_PER_SECOND: '1000000',
  GATEWAY_HTTP_REQUEST_BURST: '1000000',
};
/** Programs are compiled once, as those of the package. */
const COMPILED = join(PROJECT_ROOT, 'node_modules', '.cache', 'programs');
/** From one look to the next: of a long start a part, since every look takes processor time from it. */
const HEALTH_POLL = { leastMs: 10, part: 0.05 };
/** A start takes seconds; on a machine with ten times as much to do as it can, still less than this. */
const HEALTHY_TIMEOUT_MS = 90_000;
const LOG_TAIL_LINES = 30;

/** A data folder with fixed addresses, so that clients find the gateway again after a restart. */
export interface GatewayHome {
  readonly folder: string;
  readonly baseUrl: string;
  readonly httpsPort: number;
  readonly mqttPort: number;
  readonly mqttsPort: number;
  readonly logFile: string;
  /** Files of the gateway and of its local commands. */
  readonly entries: { main: string; admin: string };
  readonly environment: Readonly<Record<string, string>>;
  remove(): void;
}

export interface GatewayExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  tookMs: number;
}

export interface GatewayProcess {
  readonly pid: number;
  /** Wall clock at the start. */
  readonly startedAtMs: number;
  readonly hasExited: boolean;
  /** Resolves with the time from start to the first good answer of /healthz. @throws Error with the end of the log */
  healthy(): Promise<number>;
  /** Sends the signal and waits for the end. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<GatewayExit>;
}

/** True when `npm run build` has made the production bundle. */
export function hasBundle(): boolean {
  return existsSync(join(PROJECT_ROOT, 'dist', 'main.js'));
}

/** The sources, the bundle of `npm run build`, or one in a folder of its own. */
export type Program = 'source' | 'bundle' | { folder: string };

/** A new temporary folder and ports that are free now. */
export async function createGatewayHome(program: Program = 'source'): Promise<GatewayHome> {
  const root = typeof program === 'object' ? program.folder : PROJECT_ROOT;
  const entry = (name: string): string =>
    program === 'source' ? join(root, 'src', `${name}.ts`) : join(root, 'dist', `${name}.js`);
  const folder = mkdtempSync(join(tmpdir(), 'gateway-'));
  const [httpPort = 0, httpsPort = 0, mqttPort = 0, mqttsPort = 0] = await freePorts(4);
  return {
    folder,
    baseUrl: `http://127.0.0.1:${httpPort}`,
    httpsPort,
    mqttPort,
    mqttsPort,
    logFile: join(folder, 'gateway.log'),
    entries: { main: entry('main'), admin: entry('admin') },
    environment: {
      NODE_COMPILE_CACHE: COMPILED,
      GATEWAY_DATA_DIR: join(folder, 'data'),
      GATEWAY_HTTP_HOST: '127.0.0.1',
      GATEWAY_HTTP_PORT: String(httpPort),
      GATEWAY_MQTT_HOST: '127.0.0.1',
      GATEWAY_MQTT_PORT: String(mqttPort),
      GATEWAY_HTTPS_PORT: String(httpsPort),
      GATEWAY_MQTTS_PORT: String(mqttsPort),
      GATEWAY_LOG_FORMAT: 'json',
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Starts the gateway, without a shell or a wrapper in between: the pid is its own. `flags` are for the runtime. */
export function startGateway(home: GatewayHome, clock: Clock, flags: readonly string[] = []): GatewayProcess {
  const log = openSync(home.logFile, 'a');
  const startedMs = clock.monotonicMs();
  const startedAtMs = clock.wallMs();
  const child = spawn(process.execPath, [...RUNTIME_FLAGS, ...flags, home.entries.main], {
    cwd: PROJECT_ROOT,
    env: { ...RUNTIME_ENVIRONMENT, ...home.environment },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const { pid } = child;
  ontoBoard(pid);
  if (pid === undefined) throw new Error(`${process.execPath} could not be started`);
  const exit = exitOf(child);
  let hasExited = false;
  void exit.then(() => (hasExited = true));
  return {
    pid,
    startedAtMs,
    get hasExited() {
      return hasExited;
    },
    healthy: async () => {
      for (;;) {
        if (await answersHealth(home.baseUrl)) return clock.monotonicMs() - startedMs;
        const waitedMs = clock.monotonicMs() - startedMs;
        if (hasExited || waitedMs > HEALTHY_TIMEOUT_MS)
          throw new Error(
            `the gateway ${hasExited ? 'ended' : 'did not serve in time'}; end of its log:\n${logTail(home)}`,
          );
        await clock.sleep(Math.max(HEALTH_POLL.leastMs, waitedMs * HEALTH_POLL.part));
      }
    },
    end: async (signal) => {
      const sentMs = clock.monotonicMs();
      if (!hasExited) process.kill(pid, signal);
      const { code, signal: by } = await exit;
      return { code, signal: by, tookMs: clock.monotonicMs() - sentMs };
    },
  };
}

interface GatewayTerms {
  clock: Clock;
  /** Default: the bundle when `npm run build` has made one. */
  program?: Program | undefined;
  environment?: Readonly<Record<string, string>>;
  /** Flags of the runtime. */
  flags?: (home: GatewayHome) => readonly string[];
}

/** Does `work` beside a gateway that serves, in a folder of its own, and ends both. */
export async function withGateway<Result>(
  { clock, program = hasBundle() ? 'bundle' : 'source', environment, flags }: GatewayTerms,
  work: (home: GatewayHome, gateway: GatewayProcess) => Promise<Result>,
): Promise<Result> {
  const made = await createGatewayHome(program);
  const home = { ...made, environment: { ...made.environment, ...environment } };
  const gateway = startGateway(home, clock, flags?.(home));
  try {
    await gateway.healthy();
    return await work(home, gateway);
  } finally {
    await gateway.end('SIGTERM');
    home.remove();
  }
}

/** Makes access tokens with the local command; works with the gateway running or stopped. */
export async function createTokens(home: GatewayHome, role: string, count: number): Promise<string[]> {
  const words = [home.entries.admin, 'create-token', '--role', role, '--count', String(count)];
  const child = spawn(process.execPath, words, {
    cwd: PROJECT_ROOT,
    env: home.environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let complaint = '';
  child.stdout.on('data', (part: Buffer) => (output += part.toString('utf8')));
  child.stderr.on('data', (part: Buffer) => (complaint += part.toString('utf8')));
  const { code } = await exitOf(child);
  if (code !== 0) throw new Error(`create-token failed: ${complaint || output}`);
  return output.trim().split('\n');
}

/** Memory that no file backs and that the board must hold (Pss_Anon of proc_pid_smaps_rollup(5)). */
export function anonymousBytes(pid: number): number {
  const line = /^Pss_Anon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
  if (!line) throw new Error(`no Pss_Anon for process ${pid}`);
  return Number(line[1]) * 1_024;
}

/** Bytes that the process caused to be written to disks (proc_pid_io(5)). */
export function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0);
}

/** Processor time of the process so far, by /proc/<pid>/stat in hundredths of a second (proc_pid_stat(5)). */
export function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const REST_POLL_MS = 1_000;
/** Of one core: less is rest. */
const REST_SHARE = 0.08;
const REST_TIMEOUT_MS = 90_000;

/**
 * Resolves once what was left to do is done: samples of past days are moved into blocks, for example. Then, or after a
 * while without rest, only what is asked for takes time.
 */
export async function untilRested(clock: Clock, usedMs: () => number): Promise<void> {
  const endMs = clock.monotonicMs() + REST_TIMEOUT_MS;
  for (let restsMs = 0; restsMs < 2 * REST_POLL_MS && clock.monotonicMs() < endMs;) {
    const beforeMs = usedMs();
    await clock.sleep(REST_POLL_MS);
    restsMs = usedMs() - beforeMs < REST_SHARE * REST_POLL_MS ? restsMs + REST_POLL_MS : 0;
  }
}

/** The processes that a gateway runs beside itself. */
export function programsOf(gatewayPid: number): number[] {
  return readdirSync(`/proc/${gatewayPid}/task`)
    .flatMap((thread) => readFileSync(`/proc/${gatewayPid}/task/${thread}/children`, 'utf8').split(' '))
    .filter((child) => child !== '')
    .map(Number);
}

/**
 * The process of a program that the gateway runs beside itself, for example `rule-sandbox`.
 * @throws Error while it does not run
 */
export function programOf(gatewayPid: number, program: string): number {
  const pid = programsOf(gatewayPid).find((child) => commandLine(child).includes(`${program}/`));
  if (pid === undefined) throw new Error(`the gateway runs no ${program}`);
  return pid;
}

/** Empty when the process has ended meanwhile. */
function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

export function logTail(home: GatewayHome): string {
  try {
    return readFileSync(home.logFile, 'utf8').trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n');
  } catch (error) {
    return messageOf(error);
  }
}

async function answersHealth(baseUrl: string): Promise<boolean> {
  // Most of the start nobody listens: an attempt to connect takes a tenth of the processor time of a request.
  if (!(await isListening(Number(new URL(baseUrl).port)))) return false;
  try {
    const response = await fetch(`${baseUrl}/healthz`);
    await response.arrayBuffer();
    return response.status === 200;
  } catch (error) {
    // No connection yet; anything else is a fault of this program.
    if (error instanceof TypeError) return false;
    throw error;
  }
}

function isListening(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ port, host: '127.0.0.1' });
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}

function exitOf(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
}

/** Below the range from which systems take ports for outgoing connections, on which a restart would meet them. */
const FIRST_PORT = 12_000;
const PORTS = 20_000;

/** Ports that nothing listens on, and that stay free while the gateway restarts; all are held until all are found. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, holdPort));
  return Promise.all(
    servers.map(async (server) => {
      const address = server.address();
      await new Promise((resolve) => server.close(resolve));
      return typeof address === 'object' && address ? address.port : 0;
    }),
  );
}

/** Each process goes through a range of its own: a port that its gateway does not hold yet is taken by nobody else. */
const PORTS_OF_PROCESS = 100;
let portsTaken = 0;

/** Listens on the next port, or on the one after it when it is taken. */
async function holdPort(): Promise<Server> {
  const server = createServer();
  for (;;) {
    const offset = (process.pid * PORTS_OF_PROCESS + portsTaken++) % PORTS;
    server.listen(FIRST_PORT + offset, '127.0.0.1');
    try {
      await once(server, 'listening');
      return server;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    }
  }
}
