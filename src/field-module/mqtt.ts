/**
 * The module's one connection to the gateway's broker, opened again and again. What must not be lost,
 * responses and persistent log entries, is kept until the broker has acknowledged it and sent again after a
 * loss, entries no faster than the gateway takes them. Everything else is measured anew anyway.
 */
import { DoublingPause } from '../lib/doubling-pause.ts';
import type { MqttClient } from 'mqtt';
import { messageOf } from '../lib/errors.ts';
import type { Limits } from '../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../lib/time.ts';
import type { Clock, Timer } from '../platform/clock/index.ts';
import { addressOf } from '../platform/mdns/index.ts';
import { loadLine } from '../platform/mqtt-client/index.ts';
import { commandRequestTopic, deviceSource } from '../protocol/device-topic.ts';
import { MODULE_CHANNEL, moduleTopic } from '../protocol/module.ts';
import { clientOptions, type ConnectionConfiguration } from './connection-configuration.ts';

/** Last part of a topic below the address of a channel. */
const SUBJECTS = {
  telemetry: 'v1/telemetry',
  properties: 'v1/register',
  log: 'v3/logs',
  commandResponse: 'v1/command/responses',
  module: 'v1/module',
} as const;
type Subject = keyof typeof SUBJECTS;

interface GatewayLinkOptions {
  connection: ConnectionConfiguration;
  clock: Clock;
  limits: Limits['module'];
  /** Connected and subscribed. */
  onConnected: () => void;
  /** The connection ended or could not be opened; another attempt follows. */
  onLost: (reason: string) => void;
  /** A message of the gateway for the module. */
  onModuleMessage: (payload: Buffer) => void;
  /** A command for the device on this channel; `ucm` is the module itself. */
  onCommand: (channelId: string, payload: Buffer) => void;
}

interface Kept {
  topic: string;
  text: string;
  /** A response, for which somebody waits. */
  isResponse: boolean;
  /** It was sent on the present connection. */
  isSent: boolean;
}

const DRAIN_MS = 1_000;

export class GatewayLink {
  readonly #options: GatewayLinkOptions;
  readonly #moduleMessages: string;
  readonly #commandFilter: string;
  readonly #kept = new Set<Kept>();
  #keptBytes = 0;
  /** Runs while kept log entries wait for their turn. */
  #drain: Timer | undefined;
  #client: MqttClient | undefined;
  /** Monotonic time since when; undefined: not now. */
  #connectedAtMs: MonotonicMs | undefined;
  #isClosed = false;
  #unacknowledged = 0;
  readonly #pause: DoublingPause;
  #retry: Timer | undefined;

  constructor(options: GatewayLinkOptions) {
    this.#options = options;
    const { hardwareId } = options.connection;
    this.#moduleMessages = moduleTopic(hardwareId);
    this.#commandFilter = commandRequestTopic({ hardwareId, channelId: '+' });
    const { reconnectFirstMs: firstMs, reconnectMaxMs: maxMs } = options.limits;
    this.#pause = new DoublingPause({ firstMs, maxMs });
    this.#open();
  }

  /** Connected, and the broker keeps up. */
  get isReady(): boolean {
    return this.#connectedAtMs !== undefined && this.#unacknowledged < this.#options.limits.unacknowledged;
  }

  /**
   * False: not sent, because there is no connection or the broker does not keep up. The conversation with the
   * gateway is small and is not measured anew, so it needs no room.
   */
  send(channelId: string, subject: Subject, text: string, qos: 0 | 1 = 1): boolean {
    if (subject === 'module' ? this.#connectedAtMs === undefined : !this.isReady) return false;
    this.#publish(this.#topicOf(channelId, subject), text, qos, () => undefined);
    return true;
  }

  /** Sends it until it is acknowledged. False: too much waits already; responses have as much room again. */
  keep(channelId: string, subject: 'log' | 'commandResponse', text: string): boolean {
    const isResponse = subject === 'commandResponse';
    if (this.#keptBytes + text.length > this.#options.limits.keptBytes * (isResponse ? 2 : 1)) return false;
    const message: Kept = { topic: this.#topicOf(channelId, subject), text, isResponse, isSent: false };
    this.#kept.add(message);
    this.#keptBytes += text.length;
    // Entries wait behind earlier ones.
    const isNext = isResponse || this.#drain === undefined;
    if (this.#connectedAtMs !== undefined && isNext) this.#sendKept(message);
    return true;
  }

  /** Says goodbye; resolves when the socket is closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#connectedAtMs = undefined;
    this.#retry?.cancel();
    this.#drain?.cancel();
    const last = this.#client;
    this.#client = undefined;
    if (last) await endWithin(last, this.#options.limits.goodbyeMs, this.#options.clock);
  }

  #lose(reason: string): void {
    if (this.#isClosed) return;
    const lost = this.#client;
    const nowMs = this.#options.clock.monotonicMs();
    const connectedMs = nowMs - (this.#connectedAtMs ?? nowMs);
    this.#client = undefined;
    this.#connectedAtMs = undefined;
    this.#unacknowledged = 0;
    this.#drain?.cancel();
    this.#drain = undefined;
    for (const message of this.#kept) message.isSent = false;
    lost?.end(true);
    // A client that is thrown out at once must not come back without a pause.
    const pauseMs = this.#pause.nextAfter(connectedMs, this.#options.limits.reconnectMaxMs);
    this.#retry = this.#options.clock.setTimer(pauseMs, () => this.#open());
    this.#options.onLost(reason);
  }

  /** The address may be another one at each attempt: boxes get theirs from a router. */
  #open(): void {
    Promise.all([
      addressOf(this.#options.connection.mqttHost, {
        clock: this.#options.clock,
        limits: this.#options.limits,
      }),
      loadLine(),
    ]).then(
      ([host, { openLine }]) => {
        if (!this.#isClosed) this.#connect(openLine(clientOptions(this.#options.connection, host)));
      },
      (error: unknown) => this.#lose(messageOf(error)),
    );
  }

  /** A client that was given up keeps its listeners: its own clean-up needs some, ours look at `client`. */
  #connect(opening: MqttClient): void {
    this.#client = opening;
    let reason = 'connection closed';
    opening.on('error', (error) => {
      reason = wordsOf(error);
      if (this.#connectedAtMs === undefined && this.#client === opening) this.#lose(reason);
    });
    opening.on('close', () => {
      if (this.#client === opening) this.#lose(reason);
    });
    opening.on('message', (topic, payload) => {
      if (this.#client === opening) this.#receive(topic, payload);
    });
    opening.on('connect', () => {
      opening.subscribe([this.#moduleMessages, this.#commandFilter], { qos: 1 }, (error, granted) => {
        if (this.#client !== opening) return;
        const isRefused = granted?.some((grant) => grant.qos === 128);
        if (error || isRefused) return this.#lose(error ? messageOf(error) : 'the subscription is refused');
        this.#connectedAtMs = this.#options.clock.monotonicMs();
        this.#options.onConnected();
        this.#sendWaiting();
      });
    });
  }

  #receive(topic: string, payload: Buffer): void {
    if (topic === this.#moduleMessages) this.#options.onModuleMessage(payload);
    else this.#options.onCommand(channelOf(topic), payload);
  }

  #publish(topic: string, text: string, qos: 0 | 1, onAcknowledged: () => void): void {
    const sending = this.#client;
    if (!sending) return;
    this.#unacknowledged += 1;
    sending.publish(topic, text, { qos }, (error) => {
      if (this.#client !== sending) return;
      this.#unacknowledged -= 1;
      if (!error) onAcknowledged();
    });
  }

  /** The gateway drops what a device logs too fast, and hours of entries would keep back everything else. */
  #sendWaiting(): void {
    this.#drain = undefined;
    const counts = new Map<string, number>();
    let isWaiting = false;
    for (const message of this.#kept) {
      if (message.isSent) continue;
      const count = (counts.get(message.topic) ?? 0) + 1;
      counts.set(message.topic, count);
      if (message.isResponse || (count <= this.#options.limits.keptLogsPerSecond && this.isReady))
        this.#sendKept(message);
      else isWaiting = true;
    }
    if (isWaiting) this.#drain = this.#options.clock.setTimer(DRAIN_MS, () => this.#sendWaiting());
  }

  #sendKept(message: Kept): void {
    message.isSent = true;
    this.#publish(message.topic, message.text, 1, () => {
      if (this.#kept.delete(message)) this.#keptBytes -= message.text.length;
    });
  }

  #topicOf(channelId: string, subject: Subject): string {
    return deviceSource({ hardwareId: this.#options.connection.hardwareId, channelId }, SUBJECTS[subject]);
  }
}

/** Codes of CONNACK: bad user name or password, and not authorized. */
const REFUSALS: ReadonlySet<unknown> = new Set([4, 5]);

/** For people who read the log of a board. */
function wordsOf(error: Error): string {
  const message = messageOf(error);
  if (!('code' in error) || !REFUSALS.has(error.code)) return message;
  return (
    `${message}: the gateway does not know these credentials any more. ` +
    "Let it make a connection configuration for the module's device anew, and give that to the module."
  );
}

/** The channel of a topic that our own filter let through. */
function channelOf(topic: string): string {
  return topic.split('/')[3] ?? MODULE_CHANNEL;
}

/** Waits for acknowledgements; a broker that is away never sends them. */
function endWithin(client: MqttClient, withinMs: DurationMs, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const force = clock.setTimer(withinMs, () => {
      client.stream?.destroy();
      resolve();
    });
    client.end(false, () => {
      force.cancel();
      resolve();
    });
  });
}
