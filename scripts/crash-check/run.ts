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
import { createHistorian, type Historian, HISTORY_OPTIONS } from './historian.ts';
import { HOUSEWORK, type Housework, HouseworkWatch } from './housework.ts';
import type { Problem } from './journal.ts';
import { type Verdict, verify } from './verify.ts';
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

/** What the gateway was at: starting, serving and nothing else, or keeping house besides. */
export type Phase = 'starting' | 'serving' | Housework;

export interface KillReport extends Verdict {
  number: number;
  phase: Phase;
  /** Since it served, since its start, or since the housework was seen. */
  afterMs: number;
  exit: GatewayExit;
  /** From the start of the process to the first good answer of /healthz. */
  restartMs: number;
  verifyMs: number;
}

const CONNECT_TIMEOUT_MS = 30_000;
/** In turn, so that few kills reach each of them. */
const AIMS: readonly Phase[] = ['serving', 'sealing', 'roll-up', 'retention', 'starting'];
const START_KILL_MS_MAX = 1_500;
/** Housework is a matter of a tenth of a second here. */
const HOUSEWORK_KILL_MS_MAX = 40;
const HOUSEWORK_TIMEOUT_MS = 20_000;
const HOUSEWORK_POLL_MS = 2;
/** The promise of the issue for a graceful stop. */
const STOP_MS_MAX = 10_000;
/** Time for every device to have something acknowledged before the first kill. */
const WARM_UP_MS = 1_500;

/** @returns every problem found, empty when nothing acknowledged was lost or doubled */
export async function crashCheck(options: CrashCheckOptions): Promise<Problem[]> {
  const made = await createGatewayHome(options.program);
  // The log says at this level what the store is at.
  const environment = { ...made.environment, ...HISTORY_OPTIONS, GATEWAY_LOG_LEVEL: 'debug' };
  const home = { ...made, environment };
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
  #housework: HouseworkWatch;
  #stopCallers: (() => Promise<void>) | undefined;

  constructor(options: CrashCheckOptions, home: GatewayHome) {
    this.#options = options;
    this.#home = home;
    this.#random = createRandom(options.seed);
    this.#gateway = startGateway(home, options.clock);
    this.#housework = new HouseworkWatch(home.logFile);
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
    const phases: Phase[] = [];
    for (let number = 1; number <= kills; number += 1) {
      const report = await this.#killAndVerify(world, number);
      problems.push(...report.problems);
      phases.push(report.phase);
      this.#options.onKill(report);
    }
    say(`killed while ${AIMS.map((aim) => `${aim}: ${countOf(phases, aim)}`).join(', ')}`);
    return [...problems, ...missedPhases(phases)];
  }

  async close(): Promise<void> {
    const stopped = this.#stopCallers?.();
    await Promise.all(this.#actors.map((actor) => actor.stop()));
    await this.#gateway.end('SIGKILL');
    await stopped;
  }

  async #killAndVerify(world: CheckedWorld, number: number): Promise<KillReport> {
    const { clock, signal } = this.#options;
    const { phase, afterMs } = await this.#reach(world, AIMS[(number - 1) % AIMS.length] ?? 'serving');
    const exit = await this.#gateway.end(signal);
    // The last line of its log counts: it may have come to another piece of work meanwhile.
    const last = phase === 'starting' ? phase : (this.#housework.present() ?? 'serving');
    this.#restart();
    const restartMs = await this.#gateway.healthy();
    const beganMs = clock.monotonicMs();
    const verdict = await verify(world, this.#gateway.startedAtMs);
    const history = await world.historian.verify();
    await this.#allConnected();
    return {
      ...verdict,
      samples: verdict.samples + world.historian.valueCount,
      problems: [...this.#judgeExit(exit, phase === 'starting'), ...verdict.problems, ...history],
      number,
      phase: last,
      afterMs,
      exit,
      restartMs,
      verifyMs: clock.monotonicMs() - beganMs,
    };
  }

  /** Resolves when it is time to kill. */
  async #reach(world: CheckedWorld, aim: Phase): Promise<{ phase: Phase; afterMs: number }> {
    const { clock, serveMsMax } = this.#options;
    const atMost =
      aim === 'serving' ? serveMsMax : aim === 'starting' ? START_KILL_MS_MAX : HOUSEWORK_KILL_MS_MAX;
    const afterMs = this.#random.between(aim === 'serving' || aim === 'starting' ? 50 : 0, atMost);
    if (aim === 'starting') await this.#killAndRestart();
    else if (aim === 'retention') {
      // It is due once an hour, and at the start.
      await this.#writeHistoryUntil(world.historian, 'roll-up');
      await this.#until(() => this.#housework.present() === undefined);
      await this.#killAndRestart();
      await this.#until(() => this.#housework.present() === aim);
    } else if (aim !== 'serving') await this.#writeHistoryUntil(world.historian, aim);
    await clock.sleep(afterMs);
    return { phase: aim, afterMs };
  }

  /** One kill while it serves, so that the next one meets the start and what is done there. */
  async #killAndRestart(): Promise<void> {
    await this.#gateway.end('SIGKILL');
    this.#restart();
  }

  /** Goes on writing afterwards: the next kill ends it. */
  async #writeHistoryUntil(historian: Historian, housework: Housework): Promise<void> {
    const enough = new AbortController();
    const written = historian.write(enough.signal);
    await this.#until(() => this.#housework.present() === housework);
    enough.abort();
    // A refusal is a fault of the check; a gateway that is killed is none.
    written.catch((error: unknown) => this.#options.say(String(error)));
  }

  /** Resolves when it is so, or does not come to be. */
  async #until(isSo: () => boolean): Promise<void> {
    const { clock } = this.#options;
    const deadlineMs = clock.monotonicMs() + HOUSEWORK_TIMEOUT_MS;
    while (!isSo() && clock.monotonicMs() < deadlineMs) await clock.sleep(HOUSEWORK_POLL_MS);
  }

  #restart(): void {
    this.#run += 1;
    this.#housework = new HouseworkWatch(this.#home.logFile);
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

  async #populate(): Promise<CheckedWorld> {
    const world = await populate({
      ...this.#options,
      home: this.#home,
      random: this.#random,
      run: () => this.#run,
    });
    this.#actors = world.actors;
    const historian = await createHistorian(world, this.#options.devices);
    return { ...world, historian };
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

type CheckedWorld = PopulatedWorld & { historian: Historian };

function countOf(phases: readonly Phase[], phase: Phase): number {
  return phases.filter((each) => each === phase).length;
}

/** A check that aimed at something three times and never met it says nothing about it. */
function missedPhases(phases: readonly Phase[]): Problem[] {
  if (phases.length < 3 * AIMS.length) return [];
  return HOUSEWORK.filter((each) => countOf(phases, each) === 0).map((housework) => ({
    kind: 'missed',
    item: `no kill fell into ${housework}`,
  }));
}
