/** A device of the fault check: sends what can be judged later and keeps the journal of what was acknowledged. */
import type { Clock } from '../../../src/platform/clock/index.ts';
import {
  type Channel,
  type CommandRequest,
  type DeviceLink,
  LinkLost,
  openDeviceLink,
} from '../../support/device-link.ts';
import type { ProvisionedDevice } from '../../support/gateway-client.ts';
import type { Random } from '../../support/random.ts';
import type { ExecutionJournal } from './execution-journal.ts';
import { Attempts, Register } from './journal.ts';
import { type Attribute, sampleMessage } from './samples.ts';

export interface DeviceActorOptions {
  index: number;
  device: ProvisionedDevice;
  attributes: readonly Attribute[];
  /** A declared property of type string. */
  property: string;
  /** The argument that carries a command's tag. */
  tagArgument: string;
  executions: ExecutionJournal;
  clock: Clock;
  random: Random;
  /** Number of the present run of the gateway. */
  run: () => number;
  /** Told how long each acknowledgement of telemetry took. */
  onLatency?: ((latencyMs: number) => void) | undefined;
}

const RECONNECT_DELAY_MS = 250;
const SAMPLE_INTERVAL_MS = 1_000;
const LOG_PROBABILITY = 0.3;
const PROPERTY_PROBABILITY = 0.2;
const ANSWER_DELAY_MS_MAX = 400;
/** Share of unacknowledged samples that is sent again; the rest stays in doubt. */
const RESEND_PROBABILITY = 0.5;

export class DeviceActor {
  readonly index: number;
  readonly device: ProvisionedDevice;
  readonly samples = new Attempts<number>();
  readonly logs = new Attempts<string>();
  readonly property = new Register();
  readonly name = new Register();
  /** How often its connection ended or could not be opened. */
  lossCount = 0;
  /** Measures and says nothing; it goes on to answer commands. */
  isMute = false;
  readonly #options: DeviceActorOptions;
  readonly #link: DeviceLink;
  readonly #stopping = new AbortController();
  /** To be sent again after a loss. */
  #again: { channel: Channel; body: Record<string, unknown>; onAcknowledged: () => void }[] = [];
  #stopped = false;

  constructor(options: DeviceActorOptions) {
    this.#options = options;
    this.index = options.index;
    this.device = options.device;
    this.#link = openDeviceLink({
      config: options.device.config,
      clock: options.clock,
      qos: 1,
      reconnectDelayMs: RECONNECT_DELAY_MS,
      onConnected: () => this.#resend(),
      onLost: () => (this.lossCount += 1),
      onCommand: (request) => void this.#answer(request),
      onUnreadable: (topic, reason) => {
        throw new Error(`unreadable message on ${topic}: ${reason}`);
      },
    });
    this.#armSample();
  }

  get isConnected(): boolean {
    return this.#link.isConnected;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopping.abort(new Error('the fault check ends'));
    await this.#link.close(0);
  }

  #armSample(): void {
    const { clock, index } = this.#options;
    const phaseMs = (index * 37) % SAMPLE_INTERVAL_MS;
    const dueMs = SAMPLE_INTERVAL_MS - ((clock.wallMs() - phaseMs) % SAMPLE_INTERVAL_MS);
    clock.setTimer(dueMs, () => {
      if (this.#stopped) return;
      this.#armSample();
      this.#speak();
    });
  }

  #speak(): void {
    // An unconnected device measures nothing here: a sample that was never sent cannot be judged.
    if (!this.#link.isConnected || this.isMute) return;
    const { attributes, clock, index, random, onLatency } = this.#options;
    const sentMs = clock.monotonicMs();
    const timestampS = Math.floor(clock.wallMs() / 1_000);
    const resend = random.chance(RESEND_PROBABILITY);
    this.samples.attempt(timestampS);
    this.#send('telemetry', sampleMessage(index, timestampS, attributes), resend, () => {
      this.samples.acknowledge(timestampS);
      onLatency?.(clock.monotonicMs() - sentMs);
    });
    if (random.chance(LOG_PROBABILITY)) this.#log(timestampS);
    if (random.chance(PROPERTY_PROBABILITY)) {
      const value = `value ${timestampS}`;
      const attempt = this.property.attempt(value);
      this.#send('properties', { timestamp: timestampS, [this.#options.property]: value }, false, () =>
        this.property.acknowledge(attempt),
      );
    }
  }

  /** Never sent again: QoS 1 allows the gateway to keep both, and then "once" could not be judged. */
  #log(timestampS: number): void {
    const message = `fault check, device ${this.index}, entry ${this.logs.count}`;
    this.logs.attempt(message);
    this.#send('log', { timestamp: timestampS, message, severity: 'info', persist: true }, false, () =>
      this.logs.acknowledge(message),
    );
  }

  async #answer(request: CommandRequest): Promise<void> {
    const { clock, executions, random, run, tagArgument } = this.#options;
    const tag = Number(request.arguments[tagArgument]);
    executions.delivered(request.id, tag, run());
    this.#send('commandResponse', { id: request.id, state: 'log', payload: { message: 'started' } }, false);
    try {
      await clock.sleep(random.integer(0, ANSWER_DELAY_MS_MAX), this.#stopping.signal);
    } catch (error) {
      if (this.#stopped) return;
      throw error;
    }
    const body = { id: request.id, state: 'completed', payload: { result: tag } };
    this.#send('commandResponse', body, true, () => executions.completed(request.id, run()));
  }

  #send(
    channel: Channel,
    body: Record<string, unknown>,
    resend: boolean,
    onAcknowledged: () => void = () => undefined,
  ): void {
    this.#link.publish(channel, body).then(onAcknowledged, (error: unknown) => {
      if (!(error instanceof LinkLost)) throw error;
      if (resend && !this.#stopped) this.#again.push({ channel, body, onAcknowledged });
    });
  }

  #resend(): void {
    const again = this.#again;
    this.#again = [];
    for (const { channel, body, onAcknowledged } of again) this.#send(channel, body, true, onAcknowledged);
  }
}
