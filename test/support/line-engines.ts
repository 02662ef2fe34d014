/** Real servers that take InfluxDB line protocol, each in a folder of its own: VictoriaMetrics and InfluxDB 1. */
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import type { TestContext } from 'node:test';
import { LINE_ENGINE_PROGRAMS } from '../../scripts/support/line-engine-programs.ts';
import { temporaryFolder } from './workspace.ts';
import { until } from './until.ts';

export interface LineEngine {
  readonly name: string;
  /** Address of the write call. */
  readonly writeUrl: string;
  /** Values of one attribute of one device, by second, however often they were sent. */
  values(device: string, attribute: string): Promise<Map<number, number>>;
  /** Ends it without a word. */
  kill(): Promise<void>;
  /** Starts it again on the same folder and port. */
  start(): Promise<void>;
}

export const LINE_ENGINES = Object.keys(LINE_ENGINE_PROGRAMS) as (keyof typeof LINE_ENGINE_PROGRAMS)[];

/** Undefined, and said so, where the program is not installed. */
export async function startLineEngine(
  t: TestContext,
  name: keyof typeof LINE_ENGINE_PROGRAMS,
): Promise<LineEngine | undefined> {
  const recipe = LINE_ENGINE_PROGRAMS[name];
  const port = await freePort();
  const folder = temporaryFolder(t);
  const origin = `http://127.0.0.1:${port}`;
  let child: ReturnType<typeof spawn> | undefined;

  async function kill(): Promise<void> {
    const running = child;
    child = undefined;
    if (!running || running.exitCode !== null) return;
    const ended = new Promise((resolve) => running.once('close', resolve));
    running.kill('SIGKILL');
    await ended;
  }

  async function start(): Promise<boolean> {
    const started = spawn(recipe.program, recipe.arguments({ folder, port }), { stdio: 'ignore' });
    const isMissing = await new Promise<boolean>((resolve, reject) => {
      started.once('spawn', () => resolve(false));
      started.once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'ENOENT' ? resolve(true) : reject(error),
      );
    });
    if (isMissing) return false;
    child = started;
    await until(() =>
      fetch(origin + recipe.readyPath).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    await recipe.prepare?.(origin);
    return true;
  }

  t.after(kill);
  if (!(await start())) {
    t.diagnostic(`${recipe.program} is not installed (package ${recipe.debianPackage}): not asked`);
    return undefined;
  }
  return {
    name,
    writeUrl: origin + recipe.writePath,
    values: async (device, attribute) =>
      new Map(
        [...(await recipe.values(origin, device, attribute))].map(([atS, value]) => [atS, Number(value)]),
      ),
    kill,
    start: async () => void (await start()),
  };
}

/** A port of the loopback that nobody listens at now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
