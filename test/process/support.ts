/** The real program as a process: started with a broken surrounding, or on a folder that the test prepared. */
import { spawn } from 'node:child_process';
import type { TestContext } from 'node:test';
import {
  createGatewayHome,
  createTokens,
  type GatewayHome,
  type GatewayProcess,
  startGateway,
} from '../../scripts/support/gateway-process.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A data folder with addresses of its own, removed after the test. */
export async function temporaryHome(test: Pick<TestContext, 'after'>): Promise<GatewayHome> {
  const home = await createGatewayHome('bundle');
  test.after(() => home.remove());
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

export interface Running {
  gateway: GatewayProcess;
  /** One request with an owner's token; bytes are sent as they are, text that is no JSON is answered as it is. */
  call: (method: string, path: string, body?: unknown) => Promise<{ status: number; body: unknown }>;
  token: string;
}

/** Starts the gateway and waits until it serves; whatever happens, it is ended with the test. */
export async function startHealthy(
  test: Pick<TestContext, 'after'>,
  home: GatewayHome,
  environment: Record<string, string> = {},
): Promise<Running> {
  const clock = createSystemClock();
  const gateway = startGateway({ ...home, environment: { ...home.environment, ...environment } }, clock);
  test.after(async () => {
    await gateway.end('SIGKILL');
    clock.close();
  });
  await gateway.healthy();
  const [token = ''] = await createTokens(home, 'OWNER', 1);
  return {
    gateway,
    token,
    call: async (method, path, body) => {
      const response = await fetch(home.baseUrl + path, {
        method,
        headers: { 'X-Service-Auth-Token': token, Connection: 'close' },
        ...(body !== undefined && { body: body instanceof Uint8Array ? body : JSON.stringify(body) }),
      });
      const isJson = response.headers.get('Content-Type')?.includes('json');
      return { status: response.status, body: isJson ? await response.json() : await response.text() };
    },
  };
}
