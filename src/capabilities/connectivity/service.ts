import { Emitter } from '../../lib/emitter.ts';
import { GatewayError } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import type { MqttBroker, MqttHooks, MqttIdentity, MqttSession } from '../../platform/mqtt/index.ts';
import { decodeMessage } from '../../protocol/device-message.ts';
import type { JsonLimits } from '../../lib/json-reader.ts';
import type { DurationMs } from '../../lib/time.ts';
import {
  DEVICE_SUBJECTS,
  commandRequestTopic,
  deviceSource,
  deviceTopic,
  isOwnFilter,
  isOwnTopic,
  parseDeviceTopic,
} from '../../protocol/device-topic.ts';
import { MODULE_CHANNEL, MODULE_SUBJECT } from '../../protocol/module.ts';
import type { Device, Devices } from '../devices/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import type {
  CommandRequest,
  Delivered,
  DeviceMessageHandler,
  DeviceMessageKind,
  LocalSession,
} from './model.ts';
import { DeferredNotices } from './deferred-notices.ts';
import { Presence, isCarried } from './presence.ts';

interface ConnectivityEvents {
  /** A message of the device was not usable; at most once a minute and device, of a channel of nobody once an hour. */
  message_rejected: { device: Device; message: string; severity: 'warning' | 'error' };
  /** What was sent to it until then is not sent again. */
  module_session_closed: { module: Device };
}

interface ConnectivityOptions extends Instruments {
  devices: Devices;
  provisioning: Provisioning;
  limits?: Limits;
  /**
   * Resolves once everything that was stored so far is synced to the disk: nothing is sent to a device before.
   * Rejects when the disk refuses. Default: at once.
   */
  durable?: () => Promise<void>;
}

const KIND_OF_SUBJECT: ReadonlyMap<string, DeviceMessageKind> = new Map<string, DeviceMessageKind>([
  ...DEVICE_SUBJECTS,
  [MODULE_SUBJECT, 'module'],
]);

/** Kinds that show a carried device alive. */
const SIGNS_OF_LIFE: ReadonlySet<DeviceMessageKind> = new Set(['telemetry', 'properties']);

/** Types of devices that carry others. */
const MODULES: ReadonlySet<Device['type']> = new Set(['VIRTUAL_UCM', 'HARDWARE_UCM']);

/** Kinds whose integers beyond 2^53 are not rounded on their way. */
const EXACT: ReadonlySet<DeviceMessageKind> = new Set([
  'telemetry',
  'properties',
  'command_responses',
  'module',
]);

/** Kinds of which a message says something without a body. */
const MAY_BE_EMPTY: ReadonlySet<DeviceMessageKind> = new Set([
  'telemetry',
  'properties',
  'configuration_read',
]);

const REJECTION_INTERVAL_MS = 60_000;
const UNKNOWN_CHANNEL_INTERVAL_MS = 3_600_000;

/**
 * The way between MQTT and devices: who may connect and say what, which device a message is from, which
 * capability takes it, and who is ONLINE. Source: docs/interface/mqtt-devices.md.
 */
export class Connectivity {
  readonly #options: ConnectivityOptions;
  readonly #devices: Devices;
  readonly #provisioning: Provisioning;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #limits: Limits;
  readonly events: Emitter<ConnectivityEvents>;
  /** Carries requests to devices; whoever has started it says it here. */
  broker: MqttBroker | undefined;
  readonly #deferred: DeferredNotices;
  readonly #presence: Presence;
  readonly #handlers = new Map<DeviceMessageKind, DeviceMessageHandler>();
  readonly #observers = new Map<DeviceMessageKind, ((device: Device) => void)[]>();
  /** Device → kind of report → when it was reported last. */
  readonly #reportedAtMs = new Map<string, Map<string, number>>();
  /** Carried device → whether its script runs, as its module said. */
  readonly #scripts = new Map<string, boolean>();
  /** Devices that the gateway itself speaks for. */
  readonly #localSessions = new Map<string, (request: CommandRequest) => void>();
  readonly #messages;
  readonly #dropped;
  readonly #messageLimits: JsonLimits;
  readonly #unsubscribe: (() => void)[];
  /** Answers the broker; every hook is ready before `attach`. */
  readonly hooks: MqttHooks = {
    authenticate: async ({ username, password }) => {
      if (username === undefined || password === undefined) return 'not_authorized';
      const hardwareId = this.#provisioning.verifyPassword(username, password);
      return hardwareId === undefined ? 'bad_credentials' : this.#identityOf(hardwareId);
    },
    authenticateCertificate: async ({ commonName, fingerprint }) => {
      const hardwareId = this.#provisioning.verifyCertificate(fingerprint);
      return hardwareId !== undefined && hardwareId === commonName
        ? this.#identityOf(hardwareId)
        : 'not_authorized';
    },
    mayPublish: (identity, topic) => isOwnTopic(identity.key, topic),
    nameOf: (hardwareId) => this.#devices.atHardware(hardwareId)[0]?.slug,
    maySubscribe: (identity, topicFilter) => isOwnFilter(identity.key, topicFilter),
    onMessage: (message) => this.#dispatch(message),
    onTooFast: ({ key }) => {
      const device = this.#ownerOf(key);
      const message = 'Messages come too fast: some at QoS 0 are dropped.';
      if (device) this.#report(device, 'rate', REJECTION_INTERVAL_MS, { message, severity: 'warning' });
    },
    onSessionOpened: ({ identity }) => this.#presence.sessionOpened(identity.key),
    onSessionClosed: ({ identity }) => {
      this.#presence.sessionClosed(identity.key);
      const module = this.#ownerOf(identity.key);
      if (module && MODULES.has(module.type)) this.events.emit('module_session_closed', { module });
    },
  };

  constructor(options: ConnectivityOptions) {
    this.#options = options;
    this.#devices = options.devices;
    this.#provisioning = options.provisioning;
    this.#clock = options.clock;
    this.#log = options.log.child({ component: 'connectivity' });
    this.#limits = options.limits ?? LIMITS;
    this.events = new Emitter<ConnectivityEvents>(this.#log);
    this.#deferred = new DeferredNotices({
      clock: this.#clock,
      log: this.#log,
      durable: options.durable ?? (async () => undefined),
    });
    this.#presence = new Presence({
      devices: this.#devices,
      clock: this.#clock,
      limits: this.#limits.connectivity,
    });
    this.#messages = options.metrics.counter('device_messages_total', 'Messages of devices by kind.', [
      'kind',
    ]);
    this.#dropped = options.metrics.counter(
      'device_messages_dropped_total',
      'Messages of devices that were dropped.',
      ['reason'],
    );
    this.#messageLimits = jsonLimitsOf(this.#limits);
    this.#unsubscribe = [
      this.#provisioning.events.on('credentials_revoked', 'connectivity', ({ hardwareId }) =>
        this.broker?.closeSessions(hardwareId),
      ),
      this.#devices.events.on('device_deleted', 'connectivity', ({ device }) => {
        this.#presence.forget(device);
        this.#scripts.delete(device.id);
        this.#reportedAtMs.delete(device.id);
      }),
    ];
  }

  /**
   * Opens a session of the gateway itself for a device: it is ONLINE, and command requests come to `onCommand`.
   */
  openLocalSession(device: Device, onCommand: (request: CommandRequest) => void): LocalSession {
    const { hardwareId = '', channelId = '' } = device.communication;
    this.#localSessions.set(device.id, onCommand);
    this.#presence.sessionOpened(hardwareId);
    return {
      send: (subject, body) => {
        const dispatched = this.#dispatch({
          topic: deviceSource({ hardwareId, channelId }, subject),
          payload: Buffer.from(JSON.stringify(body)),
          qos: 0,
          duplicate: false,
          receivedAtMs: this.#clock.wallMs(),
          isOwn: true,
        });
        dispatched?.catch((error: unknown) =>
          this.#log.warnLimited(
            'local session',
            REJECTION_INTERVAL_MS,
            'what the gateway said for a device was lost',
            {
              error,
            },
          ),
        );
      },
      close: () => {
        if (this.#localSessions.delete(device.id)) this.#presence.sessionClosed(hardwareId);
      },
    };
  }

  /** Registers the one handler of a kind. */
  handle(kind: DeviceMessageKind, handler: DeviceMessageHandler): void {
    if (this.#handlers.has(kind)) throw new Error(`messages of kind ${kind} have a handler already`);
    this.#handlers.set(kind, handler);
  }

  /** Tells of every message of a kind that could be read, beside its handler. */
  observe(kind: DeviceMessageKind, listener: (device: Device) => void): void {
    this.#observers.set(kind, [...(this.#observers.get(kind) ?? []), listener]);
  }

  /**
   * True when a session is connected and subscribed to the device's command requests. Of a carried device the module
   * says whether its script runs; one that said nothing is asked by whether the device was heard lately.
   */
  canReceiveCommands(device: Device): boolean {
    const topic = requestTopicOf(device);
    if (this.#localSessions.has(device.id)) return true;
    if (!this.broker || topic === undefined) return false;
    // A module listens for all it carries, also for what it does not run.
    if (
      isCarried(device) &&
      !(this.#scripts.get(device.id) ?? this.#devices.connectivity(device.id) === 'ONLINE')
    )
      return false;
    return this.broker.subscribers(topic) > 0;
  }

  /**
   * Publishes a command request; resolves with the number of sessions it was written to. One that waited for the disk,
   * or was lost on its way to a kept session, goes out only while `isWanted`: later it would be carried out unseen.
   */
  async sendCommandRequest(
    device: Device,
    request: CommandRequest,
    isWanted?: () => boolean,
  ): Promise<number> {
    const onCommand = this.#localSessions.get(device.id);
    onCommand?.(request);
    if (onCommand) return 1;
    const topic = requestTopicOf(device);
    if (!this.broker || topic === undefined) return 0;
    await this.#options.durable?.();
    // The disk may take longer than the caller waits.
    if (isWanted?.() === false) return 0;
    return this.broker.publish(topic, JSON.stringify(request), isWanted);
  }

  /**
   * Publishes a message of any other subject to the device; resolves with the number of sessions reached. It goes out
   * again to a kept session only while `isWanted`.
   */
  async send(
    { communication: { hardwareId, channelId } }: Device,
    subject: string,
    payload: string,
    isWanted?: () => boolean,
  ): Promise<number> {
    if (!this.broker || hardwareId === undefined || channelId === undefined) return 0;
    await this.#options.durable?.();
    return this.broker.publish(deviceTopic({ hardwareId, channelId }, subject), payload, isWanted);
  }

  /**
   * Sends the present state to a device. When the disk fails, `sendAll` is called once it takes data again, and sends
   * whatever comes under the same key until then.
   */
  async sendOrDefer(
    key: string,
    sendAll: () => void,
    ...message: Parameters<Connectivity['send']>
  ): Promise<void> {
    if (this.#deferred.has(key)) return;
    try {
      await this.send(...message);
    } catch (error) {
      if (!(error instanceof GatewayError && error.kind === 'unavailable')) throw error;
      this.#deferred.add(key, sendAll);
    }
  }

  /**
   * What the module says about the script of a carried device; undefined: nothing any more. One that does not run
   * is silent before its time is over.
   */
  noteScript(device: Device, isRunning: boolean | undefined): void {
    if (isRunning === undefined) this.#scripts.delete(device.id);
    else this.#scripts.set(device.id, isRunning);
    if (isRunning === false) this.#presence.silence(device);
  }

  /** How long nothing was heard on a session; undefined: it has ended. */
  silentMs(session: MqttSession): DurationMs | undefined {
    return this.broker?.silentMs(session);
  }

  /** Ends one session of a device; why stands in the device's log, at most once a minute. */
  turnAway(device: Device, session: MqttSession, message: string): void {
    this.#report(device, 'turned away', REJECTION_INTERVAL_MS, { message, severity: 'error' });
    this.broker?.closeSession(session);
  }

  stop(): void {
    for (const end of this.#unsubscribe) end();
    this.#deferred.stop();
    this.#presence.stop();
  }

  #reject(device: Device, message: string): void {
    this.#dropped.inc({ reason: 'malformed' });
    this.#report(device, 'malformed', REJECTION_INTERVAL_MS, { message, severity: 'error' });
  }

  /** At most once in the interval for each device and kind. */
  #report(
    device: Device,
    kind: string,
    intervalMs: DurationMs,
    what: Omit<ConnectivityEvents['message_rejected'], 'device'>,
  ): void {
    const nowMs = this.#clock.monotonicMs();
    let byKind = this.#reportedAtMs.get(device.id);
    if (!byKind) this.#reportedAtMs.set(device.id, (byKind = new Map<string, number>()));
    if (nowMs - (byKind.get(kind) ?? Number.NEGATIVE_INFINITY) < intervalMs) return;
    byKind.set(kind, nowMs);
    this.events.emit('message_rejected', { device, ...what });
  }

  /** The device whose credentials these are; of a module, itself and none that it carries. */
  #ownerOf(hardwareId: string): Device | undefined {
    return this.#devices.atHardware(hardwareId).find((device) => !isCarried(device));
  }

  #dispatch(message: Delivered): Promise<void> | void {
    const topic = parseDeviceTopic(message.topic);
    const kind = topic && KIND_OF_SUBJECT.get(topic.subject);
    if (!topic || !kind || (kind === 'module' && topic.channelId !== MODULE_CHANNEL)) {
      this.#dropped.inc({ reason: 'unknown topic' });
      return undefined;
    }
    const device = this.#devices.atAddress(topic.hardwareId, topic.channelId);
    if (!device) {
      this.#dropped.inc({ reason: 'unknown channel' });
      const owner = this.#ownerOf(topic.hardwareId);
      const message = `Messages on channel "${topic.channelId}" are dropped: no device has it.`;
      if (owner)
        this.#report(owner, 'channel', UNKNOWN_CHANNEL_INTERVAL_MS, { message, severity: 'warning' });
      return undefined;
    }
    if (kind === 'module' && !MODULES.has(device.type))
      return this.#reject(device, 'A message for modules came from a device that is none and was dropped.');
    const { body, problem } = decodeMessage(message.payload, this.#messageLimits, {
      exact: EXACT.has(kind),
      mayBeEmpty: MAY_BE_EMPTY.has(kind),
    });
    if (problem !== undefined) return this.#reject(device, problem);
    this.#messages.inc({ kind });
    if (SIGNS_OF_LIFE.has(kind)) this.#presence.noteMessage(device);
    for (const listener of this.#observers.get(kind) ?? []) listener(device);
    return this.#handlers.get(kind)?.({
      device,
      kind,
      body,
      sizeBytes: message.payload.length,
      receivedAtMs: message.receivedAtMs,
      qos: message.qos,
      duplicate: message.duplicate,
      isOwn: message.isOwn,
      session: message.session,
    });
  }

  /** A module speaks for every device that it carries. */
  #identityOf(hardwareId: string): MqttIdentity {
    return {
      key: hardwareId,
      devices: () => this.#devices.atHardware(hardwareId).length,
    };
  }
}

function jsonLimitsOf({ telemetry: { keyLength, jsonDepth, messageValues } }: Limits): JsonLimits {
  return { keyLength, depth: jsonDepth, values: messageValues };
}

function requestTopicOf({ communication }: Device): string | undefined {
  const { hardwareId, channelId } = communication;
  if (hardwareId === undefined || channelId === undefined) return undefined;
  return commandRequestTopic({ hardwareId, channelId });
}
