/**
 * What the log of a device says about messages that were not taken and sessions that the gateway closed. Each kind of
 * notice comes at most once in its interval, because clients repeat themselves.
 */
import { LIMITS } from '../../lib/limits.ts';
import { ReportThrottle } from '../../lib/report-throttle.ts';
import { cutToBytes } from '../../lib/text.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import { ownTrees } from '../../protocol/device-topic.ts';
import type { Device } from '../devices/index.ts';

/** An entry for the log of a device. */
export interface DeviceNotice {
  message: string;
  severity: 'warning' | 'error';
}

export const MINUTE_MS: DurationMs = 60_000;
const HOUR_MS: DurationMs = 3_600_000;
/** A device that lost its power takes over the session that it left behind; two clients take over from each other for ever. */
const TAKE_OVERS = { count: 5, withinMs: 5 * MINUTE_MS };
/** A topic may be longer than a person wants to read. */
const TOPIC_BYTES = 200;

const TOO_FAST = {
  dropped: 'Messages come too fast: some at QoS 0 are dropped.',
  slowed_down: 'Messages come too fast: the gateway reads them more slowly.',
};

const FOREIGN_TOPIC = {
  publish: (topic: string, own: OwnTrees) =>
    `Messages on "${topic}" are dropped: this device may publish below "${own.publish}" only.`,
  will: (topic: string, own: OwnTrees) =>
    `The will on "${topic}" is dropped: this device may publish below "${own.publish}" only.`,
  subscribe: (topic: string, own: OwnTrees) =>
    `The subscription to "${topic}" is refused: this device may subscribe below "${own.subscribe}" only.`,
};
type OwnTrees = ReturnType<typeof ownTrees>;

/** Sessions that ended because of what the client did, by the reason of the broker. */
const CLOSED: Readonly<Record<string, string>> = {
  identity_sessions: 'it has too many open sessions, and this one was silent the longest',
  packet_too_large: 'a packet was larger than the limit',
  payload_too_large: 'a message was larger than the limit',
  slow_consumer: 'it does not read what it subscribed to',
  topic_too_long: 'a topic had too many bytes or levels',
  unacknowledged_deliveries: 'it does not acknowledge what it receives',
  unreleased_messages: 'too many of its messages at QoS 2 are not released',
  violation: 'it broke the protocol',
};

export class DeviceNotices {
  readonly #clock: Clock;
  readonly #emit: (device: Device, notice: DeviceNotice) => void;
  /** Device → kind of notice → when it came last. */
  readonly #atMs = new Map<string, Map<string, number>>();
  readonly #leftOut: ReportThrottle;
  /** Device → when its sessions were taken over last, oldest first. */
  readonly #takeOversMs = new Map<string, number[]>();

  constructor(clock: Clock, emit: (device: Device, notice: DeviceNotice) => void) {
    this.#clock = clock;
    this.#emit = emit;
    const {
      reportIntervalMs: intervalMs,
      reportsPerDevice: perOwner,
      reportedDevices: owners,
    } = LIMITS.devices;
    this.#leftOut = new ReportThrottle({ intervalMs, perOwner, owners });
  }

  /** At most once in the interval for each device and kind; nothing for a device that is gone. */
  report(device: Device | undefined, kind: string, intervalMs: DurationMs, notice: DeviceNotice): void {
    if (!device) return;
    const nowMs = this.#clock.monotonicMs();
    const byKind = this.#atMs.getOrInsertComputed(device.id, () => new Map());
    if (nowMs - (byKind.get(kind) ?? Number.NEGATIVE_INFINITY) < intervalMs) return;
    byKind.set(kind, nowMs);
    this.#emit(device, notice);
  }

  tooFast(device: Device | undefined, effect: keyof typeof TOO_FAST): void {
    // A device that sends what it kept while it was away is slowed down as well, which costs nothing.
    const intervalMs = effect === 'dropped' ? MINUTE_MS : HOUR_MS;
    this.report(device, `rate ${effect}`, intervalMs, { message: TOO_FAST[effect], severity: 'warning' });
  }

  /** A topic or filter outside the device's own tree. */
  foreignTopic(device: Device | undefined, what: keyof typeof FOREIGN_TOPIC, topic: string): void {
    const message = FOREIGN_TOPIC[what](shown(topic), ownTrees(device?.communication.hardwareId ?? ''));
    this.report(device, `foreign ${what}`, HOUR_MS, { message, severity: 'warning' });
  }

  /** A topic within the tree that means nothing. */
  unknownTopic(device: Device | undefined, topic: string): void {
    const message = `Messages on "${shown(topic)}" are dropped: the gateway knows no such topic.`;
    this.report(device, 'topic', HOUR_MS, { message, severity: 'warning' });
  }

  unknownChannel(device: Device | undefined, channelId: string): void {
    const message = `Messages on channel "${channelId}" are dropped: no device has it.`;
    this.report(device, 'channel', HOUR_MS, { message, severity: 'warning' });
  }

  /** A value that is no JSON, such as `nan`; each name once an hour. */
  leftOut(device: Device, name: string): void {
    const message = `The value of "${shown(name)}" is no JSON and was left out.`;
    const sentence = this.#leftOut.report(device.id, name, message, this.#clock.monotonicMs());
    if (sentence !== undefined) this.#emit(device, { message: sentence, severity: 'warning' });
  }

  /** The gateway ended a session for what the client did; other ends are shown by the status of the device. */
  sessionClosed(device: Device | undefined, reason: string, problem: string | undefined): void {
    const why = CLOSED[reason];
    if (why === undefined) return;
    const message = `The connection was closed: ${why}${problem === undefined ? '' : ` (${problem})`}.`;
    this.report(device, `closed ${reason}`, MINUTE_MS, { message, severity: 'error' });
  }

  /** Another connection of the device has the client id of this one, which ended for it. */
  sessionTakenOver(device: Device | undefined, clientId: string): void {
    if (!device) return;
    const times = this.#takeOversMs.getOrInsertComputed(device.id, () => []);
    const nowMs = this.#clock.monotonicMs();
    times.push(nowMs);
    if (times.length < TAKE_OVERS.count) return;
    const firstMs = times.shift() ?? nowMs;
    if (nowMs - firstMs > TAKE_OVERS.withinMs) return;
    const message = `Connections with the client id "${shown(clientId)}" keep ending each other: give each client of this device a client id of its own.`;
    this.report(device, 'client id', HOUR_MS, { message, severity: 'warning' });
  }

  forget(device: Device): void {
    this.#atMs.delete(device.id);
    this.#takeOversMs.delete(device.id);
    this.#leftOut.forget(device.id);
  }
}

function shown(topic: string): string {
  return cutToBytes(topic.toWellFormed(), TOPIC_BYTES);
}

// Messages that a failing disk kept from devices. A change must be synced before it takes effect outside; if the sync fails,
// the caller gets an error, but the change remains. As soon as a sync succeeds, each device concerned gets its whole state.

const RETRY_MS = LIMITS.commits.retryMs;

interface DeferredNoticesOptions {
  clock: Clock;
  log: Log;
  /** As the option of `Connectivity`. */
  durable: () => Promise<void>;
}

export class DeferredNotices {
  readonly #options: DeferredNoticesOptions;
  readonly #resend = new Map<string, () => void>();
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: DeferredNoticesOptions) {
    this.#options = options;
  }

  /** Whether everything under this key will be sent again, so that later messages go with that, and not before it. */
  has(key: string): boolean {
    return this.#resend.has(key);
  }

  /** Calls `resend` once everything committed by then is on the disk; of several under one key only the last one. */
  add(key: string, resend: () => void): void {
    if (this.#isStopped) return;
    this.#resend.set(key, resend);
    this.#timer ??= this.#options.clock.setTimer(RETRY_MS, () => void this.#try());
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  async #try(): Promise<void> {
    const { clock, log, durable } = this.#options;
    try {
      await durable();
    } catch (error) {
      log.warnLimited('deferred notices', 60_000, 'devices are told of changes later: the disk fails', {
        devices: this.#resend.size,
        error,
      });
      if (!this.#isStopped) this.#timer = clock.setTimer(RETRY_MS, () => void this.#try());
      return;
    }
    this.#timer = undefined;
    const all = [...this.#resend.values()];
    this.#resend.clear();
    if (this.#isStopped) return;
    log.info('devices are told of changes that a failing disk kept from them', { devices: all.length });
    for (const resend of all) resend();
  }
}
