/** The crash check: real devices and callers on a real gateway that is killed again and again. */
import type { CompiledManifest } from '../../src/capabilities/blueprints/index.ts';
import type { Clock } from '../../src/platform/clock/index.ts';
import {
  assignBlueprint,
  batteryInverterBlueprint,
  createGatewayClient,
  type GatewayClient,
  inParallel,
  provisionDevice,
} from '../support/gateway-client.ts';
import { createRandom, type Random } from '../support/random.ts';
import {
  createGatewayHome,
  createTokens,
  type GatewayExit,
  type GatewayHome,
  type GatewayProcess,
  startGateway,
} from '../support/gateway-process.ts';
import { startCallers } from './callers.ts';
import { DeviceActor } from './device-actor.ts';
import { ExecutionJournal } from './execution-journal.ts';
import type { Problem } from './journal.ts';
import { attributesOf } from './samples.ts';
import { type Verdict, verify, type World } from './verify.ts';

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

const TOKENS = 8;
const PROVISIONED_AT_ONCE = 8;
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
  #actors: DeviceActor[] = [];
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

  async #populate(): Promise<World & { commandName: string }> {
    const { clock, devices, say } = this.#options;
    const beganAtMs = clock.wallMs();
    const tokens = await createTokens(this.#home, 'INSTALLER', TOKENS);
    const client = createGatewayClient({ baseUrl: this.#home.baseUrl, tokens, clock });
    const blueprintId = await batteryInverterBlueprint(client);
    const numbers = Array.from({ length: devices }, (_, index) => index);
    const provisioned = await inParallel(numbers, PROVISIONED_AT_ONCE, async (index) => {
      const device = await provisionDevice(client, `Device ${index}`);
      await assignBlueprint(client, device.id, blueprintId);
      return device;
    });
    const manifest = await manifestOf(client, provisioned[0]?.id ?? '');
    const attributes = attributesOf(manifest, this.#options.attributes);
    const property = propertyOf(manifest);
    const { commandName, tagArgument } = commandOf(manifest);
    const executions = new ExecutionJournal();
    say(
      `${devices} devices with ${attributes.length} attributes, property ${property}, command ${commandName}`,
    );
    this.#actors = provisioned.map(
      (device, index) =>
        new DeviceActor({
          index,
          device,
          attributes,
          property,
          tagArgument,
          executions,
          clock,
          random: this.#random.fork(100 + index),
          run: () => this.#run,
        }),
    );
    const actors = this.#actors;
    return { client, actors, attributes, property, commandName, tagArgument, executions, clock, beganAtMs };
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

async function manifestOf(client: GatewayClient, deviceId: string): Promise<CompiledManifest> {
  const answer = await client.json({ path: `/devices/${deviceId}?expand=manifest` });
  return (answer['device'] as { manifest: CompiledManifest }).manifest;
}

/** A property that any text fits. */
function propertyOf(manifest: CompiledManifest): string {
  const found = Object.entries(manifest.properties).find(
    ([, { type, enum: choices }]) => type === 'string' && !choices,
  );
  if (!found) throw new Error('the blueprint declares no free text property');
  return found[0];
}

/** A command with one required number, which carries the tag. */
function commandOf(manifest: CompiledManifest): { commandName: string; tagArgument: string } {
  for (const [commandName, { arguments: declared = {} }] of Object.entries(manifest.commands))
    for (const [tagArgument, { type }] of Object.entries(declared))
      if (type === 'float') return { commandName, tagArgument };
  throw new Error('the blueprint declares no command with a number argument');
}
