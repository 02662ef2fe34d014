/** The real program as a process: started with a broken surrounding, or on a folder that the test prepared. */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  createGatewayHome,
  type GatewayHome,
  type GatewayProcess,
  logTail,
  startGateway,
} from '../../scripts/support/gateway-process.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { localCopies } from '../../src/platform/sqlite/index.ts';
import { runEntries } from '../support/entries.ts';
import { createTokens, type Tokens } from '../support/tokens.ts';
import { until } from '../support/until.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

let usedData: Promise<string> | undefined;

/**
 * As `temporaryHome`, with the data of a gateway that was started once, got the device `battery` and was stopped. The first
 * one who asks makes it.
 */
export async function usedHome(test: Pick<TestContext, 'after'>): Promise<GatewayHome> {
  const home = await temporaryHome(test);
  cpSync(await (usedData ??= useOnce()), join(home.folder, 'data'), {
    recursive: true,
    preserveTimestamps: true,
  });
  return home;
}

/** A folder of the whole process, removed with it. */
async function useOnce(): Promise<string> {
  const home = await newHome();
  process.once('exit', () => home.remove());
  const dataDir = join(home.folder, 'data');
  const ends: (() => unknown)[] = [];
  try {
    const { gateway, call } = await startHealthy(
      { after: (end) => void ends.push(end as () => unknown) },
      home,
    );
    await call('POST', '/v3/provisioning/standalone', { name: 'Battery' });
    // Made beside the work of a gateway that is ready.
    await until(() => localCopies(join(dataDir, 'backups')).length > 0);
    await gateway.end('SIGTERM');
  } finally {
    for (const end of ends) await end();
  }
  return dataDir;
}

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The child programs cost as much processor time as the gateway itself: only tests about them start them. */
export const WITHOUT_CHILD_PROGRAMS = { GATEWAY_RULE_SANDBOX: 'false', GATEWAY_BUILT_IN_MODULE: 'false' };

/** Environment of a gateway with its child programs, as on a board. */
export const WITH_CHILD_PROGRAMS = { GATEWAY_RULE_SANDBOX: 'true', GATEWAY_BUILT_IN_MODULE: 'true' };

/** A data folder with addresses of its own, whose gateway starts no child programs; the caller removes it. */
export async function newHome(): Promise<GatewayHome> {
  const home = await createGatewayHome('bundle');
  return { ...home, environment: { ...home.environment, ...WITHOUT_CHILD_PROGRAMS } };
}

/** Gateways that run in a folder; what they still write would be in the way of who removes it. */
const gatewaysIn = new Map<string, GatewayProcess[]>();

/** The same, removed after the test, with its gateways ended before. */
export async function temporaryHome(test: Pick<TestContext, 'after'>): Promise<GatewayHome> {
  const home = await newHome();
  const gateways: GatewayProcess[] = [];
  gatewaysIn.set(home.folder, gateways);
  test.after(async () => {
    for (const gateway of gateways) await gateway.end('SIGKILL');
    gatewaysIn.delete(home.folder);
    home.remove();
  });
  return home;
}

/** Runs the gateway until it ends by itself. */
export function runToEnd(home: GatewayHome, environment: Record<string, string> = {}): Promise<Ended> {
  const child = spawn(process.execPath, [home.entries.main], {
    cwd: PROJECT_ROOT,
    env: { ...home.environment, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (part: Buffer) => (stdout += part.toString('utf8')));
  child.stderr.on('data', (part: Buffer) => (stderr += part.toString('utf8')));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

type AdminHome = Pick<GatewayHome, 'entries' | 'environment'>;

/** Runs a local command. */
export function admin(
  home: AdminHome,
  ...words: string[]
): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [home.entries.admin, ...words], {
    cwd: PROJECT_ROOT,
    env: home.environment,
    encoding: 'utf8',
    // A child that does not end by itself fails, and does not hold up the others.
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
}

/** Runs local commands one after another in one process. */
export function adminLines(home: AdminHome, ...lines: string[][]) {
  return runEntries(
    lines.map((words) => [home.entries.admin, ...words]),
    home.environment,
  );
}

export interface Running {
  gateway: GatewayProcess;
  /** One request with an owner's token; bytes are sent as they are, text that is no JSON is answered as it is. */
  call: (method: string, path: string, body?: unknown) => Promise<{ status: number; body: unknown }>;
  tokens: Tokens;
}

/** Starts the gateway and waits until it serves; whatever happens, it is ended with the test. */
export async function startHealthy(
  test: Pick<TestContext, 'after'>,
  home: GatewayHome,
  environment: Record<string, string> = {},
): Promise<Running> {
  const clock = createSystemClock();
  const gateway = startGateway({ ...home, environment: { ...home.environment, ...environment } }, clock);
  gatewaysIn.get(home.folder)?.push(gateway);
  test.after(async () => {
    await gateway.end('SIGKILL');
    clock.close();
  });
  await gateway.healthy();
  const tokens = createTokens(home.environment['GATEWAY_DATA_DIR'] ?? '', clock);
  return {
    gateway,
    tokens,
    call: async (method, path, body) => {
      const response = await fetch(home.baseUrl + path, {
        method,
        headers: { 'X-Service-Auth-Token': tokens.OWNER, Connection: 'close' },
        ...(body !== undefined && { body: body instanceof Uint8Array ? body : JSON.stringify(body) }),
      }).catch((cause: unknown) => {
        throw new Error(`${method} ${path} has no answer; end of the log:\n${logTail(home)}`, { cause });
      });
      const isJson = response.headers.get('Content-Type')?.includes('json');
      return { status: response.status, body: isJson ? await response.json() : await response.text() };
    },
  };
}
