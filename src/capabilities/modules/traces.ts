/**
 * Field traces: what a device was asked and answered, as its module sends it. In memory only, one per device, bounded,
 * and over by itself.
 */
import { Buffer, isUtf8 } from 'node:buffer';
import { notFound, unprocessable } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { withoutSecrets } from '../../lib/redaction.ts';
import type { DurationMs, EpochMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { FromModule, ToModule, TraceEntry } from '../../protocol/module.ts';
import type { Device } from '../devices/index.ts';

/** One request and its answer, or one of the two, as people see it. */
export interface TracedExchange extends Omit<TraceEntry, 'at_ms'> {
  /** Counts from 1 in each trace. */
  number: number;
  atMs: EpochMs;
  /** Format of `sent` and `received`. */
  format: 'HEX' | 'TEXT';
}

/** The newest trace of a device. */
export interface DeviceTrace {
  readonly state: 'STARTING' | 'RUNNING' | 'ENDED';
  readonly startedAtMs: EpochMs;
  /** When it ends by itself, or ended. */
  readonly endsAtMs: EpochMs;
  readonly exchanges: readonly TracedExchange[];
  /** Left out, because there were too many, and removed, because newer ones came. */
  readonly dropped: number;
}

interface Held {
  device: Device;
  state: DeviceTrace['state'];
  startedAtMs: EpochMs;
  endsAtMs: EpochMs;
  untilMs: MonotonicMs;
  end: Timer;
  exchanges: TracedExchange[];
  bytes: number;
  lastNumber: number;
  dropped: number;
}

interface TracesOptions {
  clock: Clock;
  limits?: Limits;
  /** Undefined: no communication module runs the device. */
  moduleOf: (device: Device) => Device | undefined;
  send: (module: Device, message: ToModule) => void;
  /** Sensitive values in the configuration of the device. */
  secretsOf: (device: Device) => readonly string[];
}

/** A shorter secret would be found where it is none, in bytes that are no text most of all. */
const SECRET_LENGTH_MIN = 3;
const SECRET_BYTES_MIN = 4;
/** Protocols whose messages people can read. */
const TEXTUAL: ReadonlySet<TraceEntry['transport']> = new Set(['http', 'websocket', 'mqtt']);

export class DeviceTraces {
  readonly #options: TracesOptions;
  readonly #limits: Limits;
  readonly #held = new Map<string, Held>();

  constructor(options: TracesOptions) {
    this.#options = options;
    this.#limits = options.limits ?? LIMITS;
  }

  /**
   * Begins a trace; that of before is forgotten. @throws GatewayError device_not_traceable (422), trace_limit_reached (422)
   */
  start(device: Device, durationMs: DurationMs): DeviceTrace {
    const { clock } = this.#options;
    this.#requireModule(device);
    const { devices } = this.#limits.trace;
    const running = [...this.#held.values()].filter(({ state }) => state !== 'ENDED');
    if (running.filter((one) => one.device.id !== device.id).length >= devices)
      throw unprocessable('trace_limit_reached', `At most ${devices} devices are traced at once.`, {
        limit: devices,
      });
    this.forget(device);
    this.#makeRoom();
    const held: Held = {
      device,
      state: 'STARTING',
      startedAtMs: clock.wallMs(),
      endsAtMs: clock.wallMs() + durationMs,
      untilMs: clock.monotonicMs() + durationMs,
      end: clock.setTimer(durationMs, () => (held.state = 'ENDED')),
      exchanges: [],
      bytes: 0,
      lastNumber: 0,
      dropped: 0,
    };
    this.#held.set(device.id, held);
    this.#order(device, durationMs);
    return held;
  }

  /** Ends the trace; what it has stays. @throws GatewayError trace_not_found (404) */
  stop(device: Device): DeviceTrace {
    const held = this.#held.get(device.id);
    if (!held) throw notFound('trace_not_found', `"${device.name}" has not been traced.`);
    if (held.state !== 'ENDED') {
      held.end.cancel();
      held.state = 'ENDED';
      held.endsAtMs = this.#options.clock.wallMs();
      this.#order(device, 0);
    }
    return held;
  }

  /** Undefined: it was not traced since the gateway started. */
  of(device: Device): DeviceTrace | undefined {
    return this.#held.get(device.id);
  }

  /** All that are kept, for the problem report. */
  all(): { device: Device; trace: DeviceTrace }[] {
    return [...this.#held.values()].map((held) => ({ device: held.device, trace: held }));
  }

  receive(device: Device, { entries, dropped }: FromModule & { type: 'trace_entries' }): void {
    const held = this.#held.get(device.id);
    if (!held) return;
    // Exchanges that the module still held arrive after the end.
    const { clock } = this.#options;
    const isLate = clock.monotonicMs() > held.untilMs + this.#limits.module.answerMs;
    if (isLate) return;
    if (held.state === 'STARTING') held.state = 'RUNNING';
    held.dropped += dropped;
    const secrets = this.#options.secretsOf(device).filter(({ length }) => length >= SECRET_LENGTH_MIN);
    for (const entry of entries) {
      held.lastNumber += 1;
      const shown = shownExchange(entry, secrets);
      held.exchanges.push({ ...shown, number: held.lastNumber, atMs: entry.at_ms ?? clock.wallMs() });
      held.bytes += sizeOf(shown);
    }
    const { entries: entriesMax, bytes } = this.#limits.trace;
    while (held.exchanges.length > entriesMax || held.bytes > bytes) {
      const oldest = held.exchanges.shift();
      if (!oldest) break;
      held.bytes -= sizeOf(oldest);
      held.dropped += 1;
    }
  }

  /** The module of these devices has started: it knows nothing of traces of before. */
  resume(devices: readonly Device[]): void {
    for (const { id } of devices) {
      const held = this.#held.get(id);
      if (!held || held.state === 'ENDED') continue;
      this.#order(held.device, held.untilMs - this.#options.clock.monotonicMs());
    }
  }

  forget(device: Device): void {
    this.#held.get(device.id)?.end.cancel();
    this.#held.delete(device.id);
  }

  stopAll(): void {
    for (const { end } of this.#held.values()) end.cancel();
  }

  #requireModule(device: Device): Device {
    const module = this.#options.moduleOf(device);
    if (module && device.communication.channelId !== undefined) return module;
    throw unprocessable(
      'device_not_traceable',
      `"${device.name}" is run by no communication module: only what scripts of devices exchange is traced.`,
    );
  }

  #order(device: Device, durationMs: DurationMs): void {
    const module = this.#options.moduleOf(device);
    const { channelId: channel_id } = device.communication;
    if (module && channel_id !== undefined)
      this.#options.send(module, { type: 'trace', channel_id, duration_ms: Math.max(0, durationMs) });
  }

  /** Keeps as many finished traces as may run. */
  #makeRoom(): void {
    const over = [...this.#held.values()].filter(({ state }) => state === 'ENDED');
    for (const { device } of over.slice(0, Math.max(0, over.length + 1 - this.#limits.trace.devices)))
      this.forget(device);
  }
}

const sizeOf = ({ format, sent = '', received = '' }: Pick<TracedExchange, 'format' | 'sent' | 'received'>) =>
  (sent.length + received.length) / (format === 'HEX' ? 2 : 1);

function shownExchange(
  entry: TraceEntry,
  secrets: readonly string[],
): Omit<TracedExchange, 'number' | 'atMs'> {
  const { at_ms: _, sent, received, address, error, ...about } = entry;
  const sides = [sent, received].flatMap((side) => (side === undefined ? [] : [Buffer.from(side, 'hex')]));
  const isText = TEXTUAL.has(entry.transport) && sides.every((bytes) => isUtf8(bytes) || entry.is_cut);
  const shown = (side: string): string =>
    isText
      ? withoutSecrets(Buffer.from(side, 'hex').toString('utf8'), secrets)
      : withoutSecretBytes(side, secrets);
  return {
    ...about,
    address: withoutSecrets(address, secrets),
    format: isText ? 'TEXT' : 'HEX',
    ...(sent !== undefined && { sent: shown(sent) }),
    ...(received !== undefined && { received: shown(received) }),
    ...(error !== undefined && { error: withoutSecrets(error, secrets) }),
  };
}

/** Bytes in hex, with an asterisk in place of each byte of a secret. */
function withoutSecretBytes(hex: string, secrets: readonly string[]): string {
  let clean = hex;
  for (const secret of secrets) {
    const wanted = Buffer.from(secret);
    if (wanted.length >= SECRET_BYTES_MIN)
      clean = clean.replaceAll(wanted.toString('hex'), '2a'.repeat(wanted.length));
  }
  return clean;
}
