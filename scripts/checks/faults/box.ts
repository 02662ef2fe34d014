/** A gateway under test with everything around it: its disk, its clock, its devices, callers and owners. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../src/platform/clock/index.ts';
import { startCallers } from '../world/callers.ts';
import { createHistoryImport, type HistoryImport, HISTORY_OPTIONS } from '../world/history-import.ts';
import { StoreActivityWatch } from '../world/store-activity.ts';
import type { Problem } from '../world/journal.ts';
import { People } from '../world/people.ts';
import { type Verdict, verify } from '../world/verify.ts';
import { populate, type PopulatedWorld } from '../world/world.ts';
import {
  assignBlueprint,
  batteryInverterBlueprint,
  createGatewayClient,
  type GatewayClient,
  provisionDevice,
} from '../../support/gateway-client.ts';
import {
  createGatewayHome,
  createTokens,
  type GatewayExit,
  type GatewayHome,
  type GatewayProcess,
  type Program,
  startGateway,
} from '../../support/gateway-process.ts';
import type { Random } from '../../support/random.ts';
import { controlFlags, type FaultControl, type Plant, writeControl } from './control.ts';
import { createDataDisk, type DataDisk, missingForDisks } from './disk.ts';

export interface BoxOptions {
  devices: number;
  attributes: number;
  program: Program;
  plants: readonly Plant[];
  clock: Clock;
  random: Random;
  say: (text: string) => void;
}

/** The gateway of a check takes few messages, so that who sends more than his share is seen soon. */
export const MESSAGES_PER_SECOND = 20;
export const MESSAGE_BURST = 60;

const ENVIRONMENT = {
  ...HISTORY_OPTIONS,
  // The log says at this level what the store is at.
  GATEWAY_LOG_LEVEL: 'debug',
  GATEWAY_MDNS: 'false',
  GATEWAY_MQTT_MESSAGES_PER_SECOND: String(MESSAGES_PER_SECOND),
  GATEWAY_MQTT_MESSAGE_BURST: String(MESSAGE_BURST),
};
/** What takes the budget of a device out: one that nobody can use up. */
const WITHOUT_BUDGET = {
  GATEWAY_MQTT_MESSAGES_PER_SECOND: '1000000',
  GATEWAY_MQTT_MESSAGE_BURST: '1000000',
};
const CONNECT_TIMEOUT_MS = 30_000;
/** Child programs of a gateway that is gone leave its folder. */
export const RELEASE_MS = 500;
const PEOPLE_PAUSE_MS = 40;

export class Box {
  readonly clock: Clock;
  readonly random: Random;
  readonly home: GatewayHome;
  readonly #options: BoxOptions;
  readonly #controlFile: string;
  #disk: DataDisk | undefined;
  #control: FaultControl;
  #gateway: GatewayProcess | undefined;
  #run = 1;
  #isLost = false;
  #world: PopulatedWorld | undefined;
  #people: People | undefined;
  #historyImport: HistoryImport | undefined;
  #storeActivity: StoreActivityWatch | undefined;
  #stopCallers: (() => Promise<void>) | undefined;

  private constructor(options: BoxOptions, home: GatewayHome) {
    this.#options = options;
    this.clock = options.clock;
    this.random = options.random;
    const budget = options.plants.includes('byte-budget') ? WITHOUT_BUDGET : {};
    this.home = { ...home, environment: { ...home.environment, ...ENVIRONMENT, ...budget } };
    this.#controlFile = join(home.folder, 'control.json');
    this.#control = { clockOffsetMs: 0, syncDelayMs: 0, plants: options.plants };
  }

  /** Serves, with devices connected and people at work. */
  static async open(options: BoxOptions): Promise<Box> {
    const box = new Box(options, await createGatewayHome(options.program));
    try {
      await box.#prepare();
      return box;
    } catch (error) {
      await box.close();
      throw error;
    }
  }

  async #prepare(): Promise<void> {
    const { home } = this;
    if (missingForDisks().length === 0) this.#disk = createDataDisk(home.folder, this.dataDir);
    writeControl(this.#controlFile, this.#control);
    this.#start();
    await this.gateway.healthy();
    const world = await populate({ ...this.#options, home, run: () => this.#run });
    this.#world = world;
    this.#historyImport = await createHistoryImport(world, this.#options.devices);
    const { id } = await provisionDevice(world.client, 'Configured');
    await assignBlueprint(world.client, id, await batteryInverterBlueprint(world.client));
    const client = await this.installer(home);
    this.#people = new People({
      client,
      clock: this.clock,
      random: this.random.fork(3),
      deviceId: id,
      statusWith: (token) => statusWith(home.baseUrl, token),
    });
    await this.allConnected();
    this.resume();
  }

  /** What is run. */
  get program(): Program {
    return this.#options.program;
  }

  /** A client with rights of its own, of this gateway or of another one. */
  async installer(home: GatewayHome) {
    const tokens = await createTokens(home, 'INSTALLER', 2);
    return createGatewayClient({ baseUrl: home.baseUrl, tokens, clock: this.clock });
  }

  get dataDir(): string {
    return join(this.home.folder, 'data');
  }

  /** @throws Error on a machine that has none */
  get disk(): DataDisk {
    if (!this.#disk) throw new Error('there is no disk of its own here');
    return this.#disk;
  }

  get gateway(): GatewayProcess {
    if (!this.#gateway) throw new Error('no gateway was started');
    return this.#gateway;
  }

  get world(): PopulatedWorld {
    if (!this.#world) throw new Error('nobody is there yet');
    return this.#world;
  }

  get people(): People {
    if (!this.#people) throw new Error('nobody is there yet');
    return this.#people;
  }

  get historyImport(): HistoryImport {
    if (!this.#historyImport) throw new Error('nobody is there yet');
    return this.#historyImport;
  }

  get storeActivity(): StoreActivityWatch {
    if (!this.#storeActivity) throw new Error('no gateway was started');
    return this.#storeActivity;
  }

  /** Starts a process on the folder; does not wait until it serves. */
  #start(flags: readonly string[] = [], environment: Record<string, string> = {}): void {
    const home = { ...this.home, environment: { ...this.home.environment, ...environment } };
    this.#gateway = startGateway(home, this.clock, [...this.flags(), ...flags]);
    this.#storeActivity = new StoreActivityWatch(this.home.logFile);
  }

  /** After an end: the next run. Resolves with the time until it serves. */
  async restart(flags: readonly string[] = [], environment: Record<string, string> = {}): Promise<number> {
    this.begin(flags, environment);
    return this.gateway.healthy();
  }

  /** The next run, which may not come to serve. */
  begin(flags: readonly string[] = [], environment: Record<string, string> = {}): void {
    this.#run += 1;
    // A fault changes files and syncs nothing; what a gateway finds at its start is no longer on its way.
    this.#disk?.settle();
    this.#start(flags, environment);
  }

  /** Flags of the runtime, for a gateway that is started by hand. */
  flags(): string[] {
    return controlFlags(this.#controlFile);
  }

  kill(): Promise<GatewayExit> {
    return this.gateway.end('SIGKILL');
  }

  /** True when its gateway cannot serve any more. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** After a fault that could not be brought to its end: everything as usual, and a gateway that serves. */
  async recover(): Promise<void> {
    this.#isLost = true;
    await this.kill();
    this.mute(false);
    await this.clock.sleep(RELEASE_MS);
    this.#disk?.restore();
    await this.set({ clockOffsetMs: 0, syncDelayMs: 0, refusedPath: undefined });
    await this.restart();
    this.#isLost = false;
  }

  /** Another clock, a slow disk; within a moment. */
  async set(change: Partial<Omit<FaultControl, 'plants'>>): Promise<void> {
    this.#control = { ...this.#control, ...change };
    writeControl(this.#controlFile, this.#control);
    // Longer than the other side takes to look.
    await this.clock.sleep(200);
  }

  /** Callers rename and command, owners change things, each at once. */
  resume(): void {
    const { world } = this;
    this.#stopCallers ??= startCallers({
      ...world,
      command: { name: world.commandName, tagArgument: world.tagArgument },
      random: this.random.fork(2),
      run: () => this.#run,
    });
    this.people.work(PEOPLE_PAUSE_MS);
  }

  /** Resolves when no action of a person is under way. Devices go on. */
  async rest(): Promise<void> {
    const stop = this.#stopCallers;
    this.#stopCallers = undefined;
    await Promise.all([this.people.rest(), stop?.()]);
  }

  /** Devices send nothing, so that their stamps need not fit the clock of the gateway. */
  mute(isMute: boolean): void {
    for (const actor of this.world.actors) actor.isMute = isMute;
  }

  async allConnected(): Promise<void> {
    const deadlineMs = this.clock.monotonicMs() + CONNECT_TIMEOUT_MS;
    const { actors } = this.world;
    while (!actors.every(({ isConnected }) => isConnected)) {
      if (this.clock.monotonicMs() > deadlineMs) throw new Error('the devices could not connect in time');
      await this.clock.sleep(20);
    }
  }

  /** Everything acknowledged, read back from the gateway that runs. People must rest. */
  async verify(): Promise<Verdict> {
    const verdict = await verify(this.world, this.gateway.startedAtMs);
    const history = await this.historyImport.verify();
    const control = await this.people.verify();
    await this.allConnected();
    return {
      ...verdict,
      samples: verdict.samples + this.historyImport.valueCount,
      problems: [...verdict.problems, ...history, ...control],
    };
  }

  /** State, as it was acknowledged, must be at another gateway too that has a copy of the data. */
  async verifyControlOf(home: GatewayHome, client: GatewayClient): Promise<Problem[]> {
    return this.people.verify({
      client,
      statusWith: (token) => statusWith(home.baseUrl, token),
    });
  }

  logSize(): number {
    return statSync(this.home.logFile).size;
  }

  /** Lines of the service log from an offset on; lines that are none are left out. */
  logSince(offset: number, logFile = this.home.logFile): LogLine[] {
    return readFileSync(logFile)
      .subarray(offset)
      .toString('utf8')
      .split('\n')
      .flatMap((line) => {
        try {
          return [JSON.parse(line) as LogLine];
        } catch (error) {
          if (error instanceof SyntaxError) return [];
          throw error;
        }
      });
  }

  async close(): Promise<void> {
    const stopped = this.#world && this.#people && this.rest();
    await Promise.all((this.#world?.actors ?? []).map((actor) => actor.stop()));
    await this.#gateway?.end('SIGKILL');
    await stopped;
    this.#disk?.remove();
    this.#disk = undefined;
    this.home.remove();
  }
}

export interface LogLine {
  level: string;
  message: string;
  [field: string]: unknown;
}

async function statusWith(baseUrl: string, token: string): Promise<number> {
  const answer = await fetch(`${baseUrl}/v3/site`, { headers: { 'X-Service-Auth-Token': token } });
  await answer.arrayBuffer();
  return answer.status;
}
