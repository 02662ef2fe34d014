/** The real servers of a check, each in a folder of its own, which end, stand still and start again. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import mqtt from 'mqtt';
import type { Clock } from '../../../src/platform/clock/index.ts';
import { LINE_ENGINE_PROGRAMS } from '../../support/line-engine-programs.ts';

/** How one goes away: killed, asked to end, or stopped where it stands. */
export type Absence = 'kill' | 'end' | 'freeze';

export interface ServerProgram {
  readonly name: 'VictoriaMetrics' | 'InfluxDB' | 'Mosquitto';
  readonly program: string;
  readonly debianPackage: string;
  arguments(at: { folder: string; port: number }): string[];
  isReady(port: number): Promise<boolean>;
  prepare?(origin: string): Promise<void>;
}

const START_MS_MAX = 60_000;
const POLL_MS = 25;

const MOSQUITTO: ServerProgram = {
  name: 'Mosquitto',
  program: 'mosquitto',
  debianPackage: 'mosquitto',
  arguments: ({ folder, port }) => {
    const path = join(folder, 'mosquitto.conf');
    // The broker writes sessions to the disk on a signal, and when it ends.
    const lines = [
      `listener ${port} 127.0.0.1`,
      'allow_anonymous true',
      'user root',
      'persistence true',
      `persistence_location ${folder}/`,
      'autosave_interval 0',
      'max_queued_messages 0',
      'max_inflight_messages 1000',
    ];
    writeFileSync(path, `${lines.join('\n')}\n`);
    return ['-c', path];
  },
  isReady: answersClients,
};

export const SERVER_PROGRAMS: readonly ServerProgram[] = [
  ...(['VictoriaMetrics', 'InfluxDB'] as const).map((name): ServerProgram => {
    const recipe = LINE_ENGINE_PROGRAMS[name];
    return { name, ...recipe, isReady: (port) => answers(`http://127.0.0.1:${port}${recipe.readyPath}`) };
  }),
  MOSQUITTO,
];

export function isInstalled({ program }: ServerProgram): boolean {
  const folders = `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`.split(':');
  return folders.some((folder) => existsSync(join(folder, program)));
}

export class Server {
  readonly recipe: ServerProgram;
  readonly port: number;
  readonly #folder: string;
  readonly #clock: Clock;
  #child: ReturnType<typeof spawn> | undefined;
  #isFrozen = false;
  /** What is done to it, one after the other. */
  #turn: Promise<void> = Promise.resolve();

  constructor(recipe: ServerProgram, folder: string, port: number, clock: Clock) {
    this.recipe = recipe;
    this.port = port;
    this.#folder = join(folder, recipe.program);
    this.#clock = clock;
    mkdirSync(this.#folder, { recursive: true });
  }

  /** @throws Error while it does not run */
  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error(`${this.recipe.program} does not run`);
    return this.#child.pid;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Resolves once what was asked before is done, and this. */
  settled(): Promise<void> {
    return this.#turn;
  }

  come(): Promise<void> {
    return (this.#turn = this.#turn.then(() => this.#come()));
  }

  go(absence: Absence): Promise<void> {
    return (this.#turn = this.#turn.then(() => this.#go(absence)));
  }

  /** Mosquitto alone: what it has of sessions is on the disk. */
  async save(): Promise<void> {
    const file = join(this.#folder, 'mosquitto.db');
    rmSync(file, { force: true });
    this.#child?.kill('SIGUSR1');
    while (!existsSync(file)) await this.#clock.sleep(POLL_MS);
  }

  async #come(): Promise<void> {
    if (this.#isFrozen) {
      this.#isFrozen = false;
      this.#child?.kill('SIGCONT');
      return;
    }
    const { recipe, port, origin } = this;
    const path = `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`;
    this.#child = spawn(recipe.program, recipe.arguments({ folder: this.#folder, port }), {
      stdio: 'ignore',
      env: { ...process.env, PATH: path },
    });
    const deadlineMs = this.#clock.monotonicMs() + START_MS_MAX;
    while (!(await recipe.isReady(port))) {
      if (this.#clock.monotonicMs() > deadlineMs) throw new Error(`${recipe.program} does not serve`);
      await this.#clock.sleep(POLL_MS);
    }
    await recipe.prepare?.(origin);
  }

  async #go(absence: Absence): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    if (absence === 'freeze') {
      this.#isFrozen = true;
      child.kill('SIGSTOP');
      return;
    }
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill(absence === 'kill' ? 'SIGKILL' : 'SIGTERM');
    this.#isFrozen = false;
    await ended;
    this.#child = undefined;
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const answer = await fetch(url);
    await answer.arrayBuffer();
    return answer.ok;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

/** A broker that only listens yet may lose the signal that ends it: it is ready once it answers. */
function answersClients(port: number): Promise<boolean> {
  const connecting = mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 0 }, false);
  return connecting
    .then((client) => client.endAsync())
    .then(
      () => true,
      () => false,
    );
}
