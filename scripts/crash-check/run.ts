/** The crash check: real devices and callers on a real gateway that is killed again and again. */
import type { Clock } from '../../src/platform/clock/index.ts';
import { createRandom, type Random } from '../support/random.ts';
import {
  createGatewayHome,
  type GatewayExit,
  type GatewayHome,
  type GatewayProcess,
  startGateway,
} from '../support/gateway-process.ts';
import { startCallers } from './callers.ts';
import type { DeviceActor } from './device-actor.ts';
import type { Problem } from './journal.ts';
import { type Verdict, verify, type World } from './verify.ts';
import { populate, type PopulatedWorld } from './world.ts';

export interface CrashCheckOptions {
  kills: number;
  devices: number;
  attributes: number;
  /** Longest time between a verification and the next kill. */
  serveMsMax: number;
  seed: number;
  /** SIGKILL, or SIGTERM for the graceful stop. */
  signal: 'SIGKILL' | 'SIGTERM';
  program: 'source' | 'bundle';
  clock: Clock;
  /** Called after every kill and its verification. */
  onKill: (report: KillReport) => void;
  /** A word on what is going on. */
  say: (text: string) => void;
}

export interface KillReport extends Verdict {
  number: number;
  /** The gateway was killed while starting, before it served. */
  whileStarting: boolean;
  /** Since it served, or since its start. */
  afterMs: number;
  exit: GatewayExit;
  /** From the start of the process to the first good answer of /healthz. */
  restartMs: number;
  verifyMs: number;
}

const CONNECT_TIMEOUT_MS = 30_000;
const START_KILL_PROBABILITY = 0.2;
const START_KILL_MS_MAX = 1_500;
/** The promise of the issue for a graceful stop. */
const STOP_MS_MAX = 10_000;
/** Time for every device to have something acknowledged before the first kill. */
const WARM_UP_MS = 1_500;

/** @returns every problem found, empty when nothing acknowledged was lost or doubled */
export async function crashCheck(options: CrashCheckOptions): Promise<Problem[]> {
  const home = await createGatewayHome(options.program);
  const check = new CrashCheck(options, home);
  try {
    return await check.run();
  } finally {
    await check.close();
    home.remove();
  }
}

class CrashCheck {
  readonly #options: CrashCheckOptions;
  readonly #home: GatewayHome;
  readonly #random: Random;
  #gateway: GatewayProcess;
  #run = 1;
  #actors: readonly DeviceActor[] = [];
  #stopCallers: (() => Promise<void>) | undefined;

  constructor(options: CrashCheckOptions, home: GatewayHome) {
    this.#options = options;
    this.#home = home;
    this.#random = createRandom(options.seed);
    this.#gateway = startGateway(home, options.clock);
  }

  async run(): Promise<Problem[]> {
    const { clock, kills, say } = this.#options;
    const startMs = await this.#gateway.healthy();
    say(`gateway ${this.#gateway.pid} serves after ${startMs.toFixed(0)} ms`);
    const world = await this.#populate();
    await this.#allConnected();
    this.#stopCallers = startCallers({
      ...world,
      command: { name: world.commandName, tagArgument: world.tagArgument },
      random: this.#random.fork(2),
      run: () => this.#run,
    });
    await clock.sleep(WARM_UP_MS);
    const problems: Problem[] = [];
    for (let number = 1; number <= kills; number += 1) {
      const report = await this.#killAndVerify(world, number);
      problems.push(...report.problems);
      this.#options.onKill(report);
    }
    return problems;
  }

  async close(): Promise<void> {
    const stopped = this.#stopCallers?.();
    await Promise.all(this.#actors.map((actor) => actor.stop()));
    await this.#gateway.end('SIGKILL');
    await stopped;
  }

  async #killAndVerify(world: World, number: number): Promise<KillReport> {
    const { clock, signal } = this.#options;
    const whileStarting = number > 1 && this.#random.chance(START_KILL_PROBABILITY);
    const afterMs = this.#random.between(50, whileStarting ? START_KILL_MS_MAX : this.#options.serveMsMax);
    const exits: GatewayExit[] = [];
    if (whileStarting) {
      // One kill while it serves, and one more before it serves again.
      exits.push(await this.#gateway.end('SIGKILL'));
      this.#restart();
    }
    await clock.sleep(afterMs);
    const exit = await this.#gateway.end(signal);
    exits.push(exit);
    this.#restart();
    const restartMs = await this.#gateway.healthy();
    const beganMs = clock.monotonicMs();
    const verdict = await verify(world, this.#gateway.startedAtMs);
    await this.#allConnected();
    return {
      ...verdict,
      problems: [...this.#judgeExit(exit, whileStarting), ...verdict.problems],
      number,
      whileStarting,
      afterMs,
      exit,
      restartMs,
      verifyMs: clock.monotonicMs() - beganMs,
    };
  }

  #restart(): void {
    this.#run += 1;
    this.#gateway = startGateway(this.#home, this.#options.clock);
  }

  /** The gateway must not end by itself; a graceful stop is quick and says success. */
  #judgeExit(exit: GatewayExit, whileStarting: boolean): Problem[] {
    const { signal } = this.#options;
    if (signal === 'SIGKILL') {
      if (exit.signal === 'SIGKILL') return [];
      return [{ kind: 'stop', item: `the gateway ended by itself with code ${exit.code}` }];
    }
    const problems: Problem[] = [];
    if (exit.tookMs > STOP_MS_MAX)
      problems.push({ kind: 'stop', item: `the stop took ${exit.tookMs.toFixed(0)} ms` });
    // Before its handlers are in place a process ends by the signal itself.
    if (exit.code !== 0 && !(whileStarting && exit.signal === 'SIGTERM'))
      problems.push({ kind: 'stop', item: `the stop ended with code ${exit.code}, signal ${exit.signal}` });
    return problems;
  }

  async #populate(): Promise<PopulatedWorld> {
    const world = await populate({
      ...this.#options,
      home: this.#home,
      random: this.#random,
      run: () => this.#run,
    });
    this.#actors = world.actors;
    return world;
  }

  async #allConnected(): Promise<void> {
    const { clock } = this.#options;
    const deadlineMs = clock.monotonicMs() + CONNECT_TIMEOUT_MS;
    while (!this.#actors.every((actor) => actor.isConnected)) {
      if (clock.monotonicMs() > deadlineMs) {
        const missing = this.#actors.filter((actor) => !actor.isConnected).length;
        throw new Error(`${missing} devices could not connect within ${CONNECT_TIMEOUT_MS / 1_000} s`);
      }
      await clock.sleep(20);
    }
  }
}
