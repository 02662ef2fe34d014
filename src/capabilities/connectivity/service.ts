import { Emitter } from '../../lib/emitter.ts';
import { GatewayError } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import type { MqttBroker, MqttHooks, MqttIdentity, MqttSession } from '../../platform/mqtt/index.ts';
import { decodeMessage } from '../../protocol/device-message.ts';
import type { JsonLimits } from '../../lib/json.ts';
import type { DurationMs } from '../../lib/time.ts';
import {
  DEVICE_SUBJECTS,
  commandRequestTopic,
  deviceSource,
  deviceTopic,
  isDeviceTopic,
  isOwnFilter,
  isOwnTopic,
  parseDeviceTopic,
} from '../../protocol/device-topic.ts';
import { MODULE_CHANNEL, MODULE_SUBJECT } from '../../protocol/module.ts';
import { type Device, type Devices, isModule } from '../devices/index.ts';
import { guestOfKey, keyOfGuest, type MqttGuests } from '../mqtt-guests/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import type {
  CommandRequest,
  Delivered,
  DeviceMessageHandler,
  DeviceMessageKind,
  LocalSession,
} from './model.ts';
import { DeferredNotices, type DeviceNotice, DeviceNotices, MINUTE_MS } from './device-notices.ts';
import { GuestTraffic } from './guest-traffic.ts';
import { Presence, isCarried } from './presence.ts';

interface ConnectivityEvents {
  /** Something that the device sent was not taken, or its session was closed for it; see `DeviceNotices` for how often. */
  message_rejected: { device: Device } & DeviceNotice;
  /** Messages sent to it on that session are not sent again. */
  module_session_closed: { module: Device };
}

interface ConnectivityOptions extends Instruments {
  devices: Devices;
  provisioning: Provisioning;
  mqttGuests: MqttGuests;
  limits?: Limits;
  /**
   * Resolves once everything stored so far is synced to the disk; nothing is sent to a device before.
   * Rejects when the disk refuses. Default: at once.
   */
  durable?: () => Promise<void>;
  /** A restored copy sends nothing to devices. Default: it is none. */
  isRehearsal?: boolean;
}

const KIND_OF_SUBJECT: ReadonlyMap<string, DeviceMessageKind> = new Map<string, DeviceMessageKind>([
  ...DEVICE_SUBJECTS,
  [MODULE_SUBJECT, 'module'],
]);

/** How the messages of a kind are read. */
interface Reading {
  /** Integers beyond 2^53 keep all digits. */
  exact: boolean;
  mayBeEmpty: boolean;
  /** They show a carried device alive. */
  isSignOfLife: boolean;
}

const READINGS: Readonly<Record<DeviceMessageKind, Reading>> = {
  telemetry: { exact: true, mayBeEmpty: true, isSignOfLife: true },
  properties: { exact: true, mayBeEmpty: true, isSignOfLife: true },
  logs: { exact: false, mayBeEmpty: false, isSignOfLife: false },
  command_responses: { exact: true, mayBeEmpty: false, isSignOfLife: false },
  configuration_read: { exact: false, mayBeEmpty: true, isSignOfLife: false },
  module: { exact: true, mayBeEmpty: false, isSignOfLife: false },
};

/**
 * Connects MQTT with devices: who may connect and publish what, which device a message is from, which
 * capability handles it, and who is ONLINE. Source: docs/interface/mqtt-devices.md.
 */
export class Connectivity {
  readonly #options: ConnectivityOptions;
  readonly #devices: Devices;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly events: Emitter<ConnectivityEvents>;
  /** Sends requests to devices; set once it has started. */
  broker: MqttBroker | undefined;
  readonly #deferred: DeferredNotices;
  readonly #presence: Presence;
  readonly #handlers = new Map<DeviceMessageKind, DeviceMessageHandler>();
  readonly #observers = new Map<DeviceMessageKind, ((device: Device) => void)[]>();
  readonly #notices: DeviceNotices;
  /** Carried device → whether its script runs, as its module reported. */
  readonly #scripts = new Map<string, boolean>();
  /** Devices with a local session. */
  readonly #localSessions = new Map<string, (request: CommandRequest) => void>();
  /** Found once: to find one by its label costs more than to count. */
  readonly #counters = new Map<DeviceMessageKind, { inc: () => void }>();
  readonly #dropped;
  readonly #messageLimits: JsonLimits;
  readonly #unsubscribe: (() => void)[];
  readonly #guests: GuestTraffic;
  /** Answers the broker; every hook is ready before `attach`. */
  readonly hooks: MqttHooks = {
    authenticate: async ({ username, password }) => {
      if (username === undefined || password === undefined) return 'not_authorized';
      const { provisioning, mqttGuests } = this.#options;
      const hardwareId = provisioning.verifyPassword(username, password);
      if (hardwareId !== undefined) return this.#identityOf(hardwareId);
      const guestId = mqttGuests.verify(username, password);
      return guestId === undefined ? 'bad_credentials' : { key: keyOfGuest(guestId) };
    },
    authenticateCertificate: async ({ commonName, fingerprint }) => {
      const hardwareId = this.#options.provisioning.verifyCertificate(fingerprint);
      return hardwareId !== undefined && hardwareId === commonName
        ? this.#identityOf(hardwareId)
        : 'not_authorized';
    },
    mayPublish: ({ key }, topic) => isOwnTopic(key, topic) || this.#guests.mayPublish(key, topic),
    nameOf: (hardwareId) => this.#devices.atHardware(hardwareId)[0]?.slug,
    maySubscribe: ({ key }, filter) => isOwnFilter(key, filter) || this.#guests.maySubscribe(key, filter),
    onMessage: (message) =>
      isDeviceTopic(message.topic) ? this.#dispatch(message) : this.#guests.take(message),
    onSubscribed: ({ identity }, filters) => this.#guests.subscribed(identity.key, filters),
    onTooFast: ({ key }, effect) => this.#notices.tooFast(this.#ownerOf(key), effect),
    onRefused: ({ what, claimed, topic }) => {
      if (what === 'login' || claimed === undefined || topic === undefined) return;
      const guestId = guestOfKey(claimed);
      if (guestId === undefined) this.#notices.foreignTopic(this.#ownerOf(claimed), what, topic);
      else this.#options.mqttGuests.noteRefusal(guestId, what, topic);
    },
    onSessionOpened: ({ identity: { key } }) => {
      const guestId = guestOfKey(key);
      if (guestId === undefined) this.#presence.sessionOpened(key);
      else this.#options.mqttGuests.sessionOpened(guestId);
    },
    onSessionClosed: ({ identity, clientId }, reason, problem) => {
      const guestId = guestOfKey(identity.key);
      if (guestId !== undefined) return this.#options.mqttGuests.sessionClosed(guestId);
      this.#presence.sessionClosed(identity.key);
      const owner = this.#ownerOf(identity.key);
      if (reason === 'taken_over') this.#notices.sessionTakenOver(owner, clientId);
      else this.#notices.sessionClosed(owner, reason, problem);
      if (owner && isModule(owner)) this.events.emit('module_session_closed', { module: owner });
    },
  };

  constructor(options: ConnectivityOptions) {
    this.#options = options;
    this.#devices = options.devices;
    this.#clock = options.clock;
    this.#log = options.log.child({ component: 'connectivity' });
    this.events = new Emitter<ConnectivityEvents>(this.#log);
    this.#notices = new DeviceNotices(this.#clock, (device, notice) =>
      this.events.emit('message_rejected', { device, ...notice }),
    );
    this.#deferred = new DeferredNotices({
      clock: this.#clock,
      log: this.#log,
      durable: options.durable ?? (async () => undefined),
    });
    const { connectivity: limits, telemetry } = options.limits ?? LIMITS;
    this.#presence = new Presence({ ...options, limits });
    this.#guests = new GuestTraffic({
      guests: options.mqttGuests,
      isModule: (hardwareId) => {
        const owner = this.#ownerOf(hardwareId);
        return owner !== undefined && isModule(owner);
      },
      retain: (topic, payload) => this.broker?.retained.set(topic, payload),
      publish: (topic, payload) => this.broker?.publish(topic, payload),
      log: this.#log,
    });
    const { keyLength, jsonDepth: depth, messageValues: values } = telemetry;
    this.#messageLimits = { keyLength, depth, values };
    const messages = options.metrics.counter('device_messages_total', 'Messages of devices by kind.', {
      kind: Object.keys(READINGS),
    });
    for (const kind of Object.keys(READINGS) as DeviceMessageKind[])
      this.#counters.set(kind, messages.labels({ kind }));
    this.#dropped = options.metrics.counter(
      'device_messages_dropped_total',
      'Messages of devices that were dropped.',
      { reason: ['malformed', 'unknown topic', 'unknown channel'] },
    );
    this.#unsubscribe = [
      options.provisioning.events.on('credentials_revoked', 'connectivity', ({ hardwareId }) =>
        this.broker?.closeSessions(hardwareId),
      ),
      options.mqttGuests.events.on('guest_revoked', 'connectivity', ({ guestId }) => {
        this.broker?.closeSessions(keyOfGuest(guestId));
        // Its topics may have changed.
        this.broker?.retained.forget((topic) => !options.mqttGuests.isTopicOfGuests(topic));
      }),
      this.#devices.events.on('device_deleted', 'connectivity', ({ device }) => {
        this.#presence.forget(device);
        this.#scripts.delete(device.id);
        this.#notices.forget(device);
      }),
    ];
  }

  /**
   * Opens a session of the gateway itself for a device: the device is ONLINE, and its commands go to `onCommand`.
   */
  openLocalSession(device: Device, onCommand: (request: CommandRequest) => void): LocalSession {
    const { hardwareId = '', channelId = '' } = device.communication;
    this.#localSessions.set(device.id, onCommand);
    this.#presence.sessionOpened(hardwareId);
    const messageOf = (subject: string, body: Record<string, unknown>) => ({
      topic: deviceSource({ hardwareId, channelId }, subject),
      payload: Buffer.from(JSON.stringify(body)),
      duplicate: false,
      isRetained: false,
      receivedAtMs: this.#clock.wallMs(),
    });
    return {
      store: (subject, body) => this.#dispatch({ ...messageOf(subject, body), qos: 1 }),
      send: (subject, body) => {
        const dispatched = this.#dispatch({ ...messageOf(subject, body), qos: 0, isOwn: true });
        const lost = 'what the gateway said for a device was lost';
        dispatched?.catch((error: unknown) =>
          this.#log.warnLimited('local session', MINUTE_MS, lost, { error }),
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

  /** Calls `listener` for every valid message of a kind, in addition to its handler. */
  observe(kind: DeviceMessageKind, listener: (device: Device) => void): void {
    this.#observers.set(kind, [...(this.#observers.get(kind) ?? []), listener]);
  }

  /**
   * True when a session is connected and subscribed to the device's command requests. For a carried device the module
   * reports whether its script runs; without a report the device must be ONLINE.
   */
  canReceiveCommands(device: Device): boolean {
    const topic = requestTopicOf(device);
    if (this.#localSessions.has(device.id)) return true;
    if (!this.broker || topic === undefined) return false;
    // A module subscribes for all devices that it carries, also for those whose script does not run.
    if (
      isCarried(device) &&
      !(this.#scripts.get(device.id) ?? this.#devices.connectivity(device.id) === 'ONLINE')
    )
      return false;
    return this.broker.subscribers(topic) > 0;
  }

  /**
   * Publishes a command request; resolves with the number of sessions it was written to. A request that waited for the disk,
   * or must be repeated on a kept session, is sent only while `isWanted`: later it would be executed unnoticed.
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
   * Publishes a message of any other subject to the device; resolves with the number of sessions reached. It is repeated
   * on a kept session only while `isWanted`.
   */
  async send(
    { communication: { hardwareId, channelId } }: Device,
    subject: string,
    payload: string,
    isWanted?: () => boolean,
  ): Promise<number> {
    if (this.#options.isRehearsal || !this.broker || hardwareId === undefined || channelId === undefined)
      return 0;
    await this.#options.durable?.();
    return this.broker.publish(deviceTopic({ hardwareId, channelId }, subject), payload, isWanted);
  }

  /**
   * Sends the present state to a device. When the disk fails, `sendAll` is called once it works again, in place of all
   * messages under the same key until then.
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
   * Notes what the module reports about the script of a carried device; undefined: nothing any more. A device whose script
   * does not run is OFFLINE at once.
   */
  noteScript(device: Device, isRunning: boolean | undefined): void {
    if (isRunning === undefined) this.#scripts.delete(device.id);
    else this.#scripts.set(device.id, isRunning);
    if (isRunning === false) this.#presence.silence(device);
  }

  /** Publishes to guests and modules that subscribed on topics of guests; resolves with the number of sessions reached. */
  async publishToGuests(topic: string, payload: string): Promise<number> {
    return (await this.broker?.publish(topic, payload)) ?? 0;
  }

  /** Time since the last packet of a session; undefined: it has ended. */
  silentMs(session: MqttSession): DurationMs | undefined {
    return this.broker?.silentMs(session);
  }

  /** Ends one session of a device; the reason goes to the device's log, at most once a minute. */
  turnAway(device: Device, session: MqttSession, message: string): void {
    this.#notices.report(device, 'turned away', MINUTE_MS, { message, severity: 'error' });
    this.broker?.closeSession(session);
  }

  stop(): void {
    for (const end of this.#unsubscribe) end();
    this.#deferred.stop();
    this.#presence.stop();
  }

  #reject(device: Device, message: string): void {
    this.#dropped.inc({ reason: 'malformed' });
    this.#notices.report(device, 'malformed', MINUTE_MS, { message, severity: 'error' });
  }

  /** The device that owns the credentials; not one that it carries. */
  #ownerOf(hardwareId: string): Device | undefined {
    return this.#devices.atHardware(hardwareId).find((device) => !isCarried(device));
  }

  #dispatch(message: Delivered): Promise<void> | void {
    const topic = parseDeviceTopic(message.topic);
    const kind = topic && KIND_OF_SUBJECT.get(topic.subject);
    if (!topic || !kind || (kind === 'module' && topic.channelId !== MODULE_CHANNEL)) {
      this.#dropped.inc({ reason: 'unknown topic' });
      this.#notices.unknownTopic(topic && this.#ownerOf(topic.hardwareId), message.topic);
      return undefined;
    }
    const device = this.#devices.atAddress(topic.hardwareId, topic.channelId);
    if (!device) {
      this.#dropped.inc({ reason: 'unknown channel' });
      this.#notices.unknownChannel(this.#ownerOf(topic.hardwareId), topic.channelId);
      return undefined;
    }
    if (kind === 'module' && !isModule(device))
      return this.#reject(device, 'A message for modules came from a device that is none and was dropped.');
    const reading = READINGS[kind];
    const { body, leftOut, problem } = decodeMessage(message.payload, this.#messageLimits, reading);
    if (problem !== undefined) return this.#reject(device, problem);
    for (const name of leftOut) this.#notices.leftOut(device, name);
    this.#counters.get(kind)?.inc();
    if (reading.isSignOfLife) this.#presence.noteMessage(device);
    for (const listener of this.#observers.get(kind) ?? []) listener(device);
    return this.#handlers.get(kind)?.({
      device,
      kind,
      body,
      sizeBytes: message.payload.length,
      receivedAtMs: message.receivedAtMs,
      qos: message.qos,
      duplicate: message.duplicate,
      isOwn: message.isOwn === true || (message.qos === 0 && isModule(device)),
      session: message.session,
    });
  }

  /** A module connects on behalf of every device that it carries. */
  #identityOf(hardwareId: string): MqttIdentity {
    return {
      key: hardwareId,
      devices: () => this.#devices.atHardware(hardwareId).length,
    };
  }
}

function requestTopicOf({ communication }: Device): string | undefined {
  const { hardwareId, channelId } = communication;
  if (hardwareId === undefined || channelId === undefined) return undefined;
  return commandRequestTopic({ hardwareId, channelId });
}
