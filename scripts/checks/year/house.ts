/** A house of the simulation: box, devices, owners, and what they know; and what can happen to them. */
import type { Problem } from '../world/journal.ts';
import { judgeList } from '../world/journal.ts';
import { People } from '../world/people.ts';
import { parseCsv } from '../../../src/lib/csv.ts';
import {
  assignBlueprint,
  batteryInverterBlueprint,
  type GatewayClient,
  GatewayRefusal,
  provisionDevice,
} from '../../support/gateway-client.ts';
import type { Random } from '../../support/random.ts';
import type { SimulationClock } from './clock.ts';
import { SimulatedDevice } from './device.ts';
import type { SimulatedDisk } from './disk.ts';
import { SimulatedGateway } from './gateway.ts';

const DEVICES = 2;
/** A device's stamp that far from the clock of the box counts as it is. */
const STAMP_TOLERANCE_MS = 20_000;
const SAMPLE_GAP_S = 7;
const COMMANDS_KEPT = 200;
const LOG_PAGE = 50;

interface Command {
  tag: number;
  id: string;
  deviceId: string;
  state: string;
}

export class SimulatedHouse {
  readonly clock: SimulationClock;
  readonly random: Random;
  readonly gateway: SimulatedGateway;
  readonly people: People;
  readonly devices: readonly SimulatedDevice[];
  readonly counts = { samples: 0, logs: 0, commands: 0, logins: 0 };
  readonly #disk: SimulatedDisk;
  /** Problems that were seen while something was done. */
  readonly #seen: Problem[] = [];
  /** Commands whose end was reported. */
  #commands: Command[] = [];
  /** Set when acknowledged history may be gone, because a file of it was damaged. */
  #isHistoryDoubtful = false;
  #judgedFromS: number;

  private constructor(parts: {
    clock: SimulationClock;
    random: Random;
    disk: SimulatedDisk;
    gateway: SimulatedGateway;
    devices: readonly SimulatedDevice[];
  }) {
    this.clock = parts.clock;
    this.random = parts.random;
    this.#disk = parts.disk;
    this.gateway = parts.gateway;
    this.devices = parts.devices;
    this.#judgedFromS = Math.floor(parts.clock.trueMs / 1_000);
    this.people = new People({
      client: parts.gateway.client,
      clock: parts.clock,
      random: parts.random.fork(1),
      deviceId: parts.devices[0]?.id ?? '',
      statusWith: (token) => parts.gateway.statusWith(token),
    });
  }

  static async open(clock: SimulationClock, random: Random, disk: SimulatedDisk): Promise<SimulatedHouse> {
    const gateway = new SimulatedGateway(clock, disk);
    await gateway.start();
    const blueprintId = await batteryInverterBlueprint(gateway.client);
    const devices: SimulatedDevice[] = [];
    for (let index = 0; index < DEVICES; index++) {
      const device = await provisionDevice(gateway.client, `Device ${index}`);
      await assignBlueprint(gateway.client, device.id, blueprintId);
      devices.push(new SimulatedDevice(device, gateway));
    }
    return new SimulatedHouse({ clock, random, disk, gateway, devices });
  }

  get client(): GatewayClient {
    return this.gateway.client;
  }

  /** What was seen going wrong since the last call. */
  takeProblems(): Problem[] {
    return this.#seen.splice(0);
  }

  /** A few messages, changes and a command: what an hour has. */
  async live(): Promise<void> {
    for (const device of this.devices) {
      await device.connect();
      await this.clock.advance(SAMPLE_GAP_S * 1_000);
      const isRight = Math.abs(this.clock.offsetMs) < STAMP_TOLERANCE_MS;
      const stampS = isRight ? Math.floor(this.clock.trueMs / 1_000) : undefined;
      if (await device.measure(stampS, this.clock.isSet())) this.counts.samples += 1;
      if (this.random.chance(0.3)) {
        await device.log();
        this.counts.logs += 1;
      }
    }
    await this.people.act();
    await this.#command(this.random.pick(this.devices));
  }

  async #command(device: SimulatedDevice): Promise<void> {
    this.counts.commands += 1;
    const tag = this.counts.commands / 100;
    const answer = await this.#tried(() =>
      this.client.json({
        method: 'POST',
        path: `/devices/${device.id}/commands/execute`,
        body: { name: 'set_charge_limit', arguments: { limit_w: tag } },
      }),
    );
    const { id, state } = (answer?.['execution'] ?? {}) as { id?: string; state?: string };
    if (id === undefined || state === undefined) return;
    if (state !== 'SUCCESS') this.#note('wrong', `command ${tag} ended as ${state}`);
    if (device.deliveries.get(tag) !== 1)
      this.#note('doubled', `command ${tag} reached the device ${device.deliveries.get(tag) ?? 0} times`);
    this.#commands = [...this.#commands, { tag, id, deviceId: device.id, state }].slice(-COMMANDS_KEPT);
  }

  async login(): Promise<void> {
    this.counts.logins += 1;
    const status = await this.gateway.login();
    if (status !== 200) this.#note('wrong', `a login was answered ${status}`);
  }

  #note(kind: Problem['kind'], item: string): void {
    this.#seen.push({ kind, item });
  }

  /** Undefined when the call was refused, which is logged. */
  async #tried<Result>(call: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof GatewayRefusal)) throw error;
      this.#note('wrong', `refused: ${error.message}`);
      return undefined;
    }
  }

  async restart(): Promise<void> {
    await this.#devicesLeave();
    await this.gateway.stop();
    this.clock.boot(this.clock.offsetMs);
    await this.gateway.start();
  }

  async kill(spoil?: (dataDir: string) => void): Promise<void> {
    await this.gateway.kill(spoil);
    await this.#devicesLeave();
    if (spoil) this.#isHistoryDoubtful = true;
    this.clock.boot(this.clock.offsetMs);
    await this.gateway.start();
  }

  /** The power was gone for a while; the clock of the box starts somewhere. */
  async reboot(offsetMs: number): Promise<void> {
    this.#forgetLatest();
    await this.gateway.kill();
    await this.#devicesLeave();
    await this.clock.stride(this.random.integer(1, 600) * 1_000);
    this.clock.boot(offsetMs);
    await this.gateway.start();
  }

  setClock(offsetMs: number): void {
    this.#forgetLatest();
    this.clock.setOffset(offsetMs);
  }

  /** A value that came by another clock has no age any more. */
  #forgetLatest(): void {
    for (const device of this.devices) device.latest = undefined;
  }

  cutDevices(): void {
    for (const device of this.devices) device.cut();
  }

  /** Control works throughout; telemetry waits for room. */
  async withFullDisk(): Promise<void> {
    this.#disk.isFull = true;
    try {
      await this.clock.stride(5_000);
      for (let change = 0; change < 3; change++) await this.people.act();
      const refused = this.people.refusals.splice(0);
      for (const refusal of refused) this.#note('wrong', `on a full disk, ${refusal}`);
    } finally {
      this.#disk.isFull = false;
      await this.clock.stride(5_000);
    }
  }

  /** What is answered with success is there afterwards; the rest may be refused. The gateway is killed in the end. */
  async withFailingSyncs(): Promise<void> {
    this.#disk.isFailing = true;
    try {
      for (let change = 0; change < 3; change++) await this.people.act();
    } finally {
      this.#disk.isFailing = false;
    }
    this.people.refusals.length = 0;
    await this.kill();
  }

  async #devicesLeave(): Promise<void> {
    for (const device of this.devices) await device.leave();
  }

  async close(): Promise<void> {
    await this.#devicesLeave();
    await this.gateway.stop();
    this.gateway.remove();
  }

  /** Cheap enough for every hour: state, the last commands, the latest values. */
  async verifyState(): Promise<Problem[]> {
    const problems = [...(await this.people.verify()), ...this.takeProblems()];
    problems.push(
      ...this.people.refusals.splice(0).map((item): Problem => ({ kind: 'wrong', item: `refused: ${item}` })),
    );
    const last = this.#commands.at(-1);
    if (last) problems.push(...(await this.#verifyCommand(last)));
    for (const device of this.devices) problems.push(...(await this.#verifyLatest(device)));
    return problems;
  }

  async #verifyCommand({ id, deviceId, tag, state }: Command): Promise<Problem[]> {
    const answer = await this.#tried(() =>
      this.client.json({ path: `/devices/${deviceId}/commands/executions/${id}` }),
    );
    const found = (answer?.['execution'] as { state: string } | undefined)?.state;
    return found === state ? [] : [{ kind: 'lost', item: `execution of ${tag} is ${found}, was ${state}` }];
  }

  async #verifyLatest(device: SimulatedDevice): Promise<Problem[]> {
    if (device.latest === undefined || this.#isHistoryDoubtful) return [];
    const path = `/telemetry/latest?relevance_interval=1d&devices[${device.id}]=battery_power`;
    const { telemetry } = (await this.client.json({ path })) as {
      telemetry: Record<string, { battery_power?: { value: number } }>;
    };
    const value = telemetry[device.id]?.battery_power?.value;
    return value === device.latest
      ? []
      : [
          {
            kind: 'lost',
            item: `latest value of ${device.id} is ${value}, acknowledged was ${device.latest}`,
          },
        ];
  }

  /** Samples since the last time, log entries of the last days, and the commands of the last days. */
  async verifyHistory(): Promise<Problem[]> {
    const problems: Problem[] = [];
    const toS = Math.floor(this.clock.trueMs / 1_000) + 1;
    for (const command of this.#commands) problems.push(...(await this.#verifyCommand(command)));
    for (const device of this.devices)
      if (!this.#isHistoryDoubtful)
        problems.push(...(await this.#verifySamples(device, toS)), ...(await this.#verifyLogs(device)));
    this.#judgedFromS = toS;
    this.#isHistoryDoubtful = false;
    return [...problems, ...this.takeProblems()];
  }

  async #verifySamples(device: SimulatedDevice, toS: number): Promise<Problem[]> {
    const isDue = (second: number): boolean => second >= this.#judgedFromS && second < toS;
    const text = await this.client.text({
      method: 'POST',
      path: '/telemetry/query_timeseries',
      accept: 'text/csv',
      body: {
        from: this.#judgedFromS,
        to: toS,
        granularity: '1s',
        aggregation: 'last',
        telemetry: [{ device: device.id, attribute: 'battery_power' }],
      },
    });
    const problems: Problem[] = [];
    const found = new Map(
      parseCsv(text)
        .slice(1)
        .map(([second, value]) => [Number(second), Number(value)]),
    );
    for (const second of device.samples.acknowledged().filter(isDue))
      if (found.get(second) !== second % 1_000_000)
        problems.push({ kind: 'lost', item: `sample of ${device.id} at ${second} is ${found.get(second)}` });
    return problems;
  }

  async #verifyLogs(device: SimulatedDevice): Promise<Problem[]> {
    const { logs } = (await this.client.json({
      path: `/devices/${device.id}/logs?retention=PERSISTENT&limit=${LOG_PAGE}`,
    })) as { logs: { message: string }[] };
    const found = logs.map(({ message }) => message).filter((message) => message.startsWith('entry '));
    // The page may begin with any of them, by the clocks of then; none may be there twice, and none made up.
    return judgeList((message) => `log entry ${message}`, device.logs, [], found);
  }
}
