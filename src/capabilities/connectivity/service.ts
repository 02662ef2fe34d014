/**
 * The door between MQTT and devices: who may connect and say what, which device a message is from, which
 * capability takes it, and who is ONLINE. Source: docs/interface/mqtt-devices.md.
 */
import { Emitter } from '../../lib/emitter.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { MqttBroker, MqttHooks, MqttIdentity, MqttMessage } from '../../platform/mqtt/index.ts';
import { decodeMessage } from '../../protocol/device-message.ts';
import type { JsonLimits } from '../../protocol/json-reader.ts';
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
  Connectivity,
  DeviceMessageHandler,
  DeviceMessageKind,
  Spokesman,
} from './model.ts';
import { createPresence, isCarried } from './presence.ts';

export interface ConnectivityEvents {
  /** A message of the device was not usable; at most once a minute and device. */
  message_rejected: { device: Device; message: string };
}

export interface ConnectivityService extends Connectivity {
  readonly events: Emitter<ConnectivityEvents>;
  /** Answers the broker; every hook is ready before `attach`. */
  readonly hooks: MqttHooks;
  /**
   * The gateway itself speaks for a device with a connection of its own, in place of a session: it is ONLINE, and
   * command requests come to `onCommand`.
   */
  speakFor(device: Device, onCommand: (request: CommandRequest) => void): Spokesman;
  /** Gives the broker that carries requests to devices. */
  attach(broker: MqttBroker): void;
  stop(): void;
}

export interface ConnectivityOptions {
  devices: Devices;
  provisioning: Provisioning;
  clock: Clock;
  log: Log;
  metrics: Metrics;
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
const EXACT: ReadonlySet<DeviceMessageKind> = new Set(['telemetry', 'properties']);

/** Kinds of which a message says something without a body. */
const MAY_BE_EMPTY: ReadonlySet<DeviceMessageKind> = new Set([
  'telemetry',
  'properties',
  'configuration_read',
]);

const REJECTION_INTERVAL_MS = 60_000;
const UNKNOWN_CHANNEL_INTERVAL_MS = 3_600_000;

export function createConnectivity(options: ConnectivityOptions): ConnectivityService {
  const { devices, provisioning, clock, metrics } = options;
  const log = options.log.child({ component: 'connectivity' });
  const limits = options.limits ?? LIMITS;
  const events = new Emitter<ConnectivityEvents>((owner, event, error) =>
    log.error('listener failed', { owner, event, error }),
  );
  const presence = createPresence({ devices, clock, limits: limits.connectivity });
  const handlers = new Map<DeviceMessageKind, DeviceMessageHandler>();
  const observers = new Map<DeviceMessageKind, ((device: Device) => void)[]>();
  const rejectedAtMs = new Map<string, number>();
  /** Carried device → whether its script runs, as its module said. */
  const scripts = new Map<string, boolean>();
  /** Devices that the gateway itself speaks for. */
  const spokesmen = new Map<string, (request: CommandRequest) => void>();
  let broker: MqttBroker | undefined;

  const messages = metrics.counter('device_messages_total', 'Messages of devices by kind.', ['kind']);
  const dropped = metrics.counter('device_messages_dropped_total', 'Messages of devices that were dropped.', [
    'reason',
  ]);
  const messageLimits = jsonLimitsOf(limits);

  const unsubscribe = [
    provisioning.events.on('credentials_revoked', 'connectivity', ({ hardwareId }) =>
      broker?.closeSessions(hardwareId),
    ),
    devices.events.on('device_deleted', 'connectivity', ({ device }) => {
      presence.forget(device);
      scripts.delete(device.id);
      rejectedAtMs.delete(device.id);
    }),
  ];

  function reject(device: Device, message: string): void {
    dropped.inc({ reason: 'malformed' });
    const nowMs = clock.monotonicMs();
    if (nowMs - (rejectedAtMs.get(device.id) ?? -REJECTION_INTERVAL_MS) < REJECTION_INTERVAL_MS) return;
    rejectedAtMs.set(device.id, nowMs);
    events.emit('message_rejected', { device, message });
  }

  function dispatch(message: Omit<MqttMessage, 'session'>): Promise<void> | void {
    const topic = parseDeviceTopic(message.topic);
    const kind = topic && KIND_OF_SUBJECT.get(topic.subject);
    if (!topic || !kind || (kind === 'module' && topic.channelId !== MODULE_CHANNEL)) {
      dropped.inc({ reason: 'unknown topic' });
      return undefined;
    }
    const device = devices.atAddress(topic.hardwareId, topic.channelId);
    if (!device) {
      dropped.inc({ reason: 'unknown channel' });
      log.warnLimited(
        `channel:${topic.hardwareId}`,
        UNKNOWN_CHANNEL_INTERVAL_MS,
        'message on unknown channel',
        {
          hardware_id: topic.hardwareId,
          channel_id: topic.channelId,
        },
      );
      return undefined;
    }
    if (kind === 'module' && !MODULES.has(device.type))
      return reject(device, 'A message for modules came from a device that is none and was dropped.');
    const { body, problem } = decodeMessage(message.payload, messageLimits, {
      exact: EXACT.has(kind),
      mayBeEmpty: MAY_BE_EMPTY.has(kind),
    });
    if (problem !== undefined) return reject(device, problem);
    messages.inc({ kind });
    if (SIGNS_OF_LIFE.has(kind)) presence.heard(device);
    for (const listener of observers.get(kind) ?? []) listener(device);
    return handlers.get(kind)?.({
      device,
      kind,
      body,
      sizeBytes: message.payload.length,
      receivedAtMs: message.receivedAtMs,
      qos: message.qos,
      duplicate: message.duplicate,
    });
  }

  /** A module speaks for every device that it carries. */
  const identityOf = (hardwareId: string): MqttIdentity => ({
    key: hardwareId,
    devices: () => devices.atHardware(hardwareId).length,
  });

  function speakFor(device: Device, onCommand: (request: CommandRequest) => void): Spokesman {
    const { hardwareId = '', channelId = '' } = device.communication;
    spokesmen.set(device.id, onCommand);
    presence.sessionOpened(hardwareId);
    return {
      tell: (subject, body) => {
        const told = dispatch({
          topic: deviceSource({ hardwareId, channelId }, subject),
          payload: Buffer.from(JSON.stringify(body)),
          qos: 0,
          duplicate: false,
          receivedAtMs: clock.wallMs(),
        });
        told?.catch((error: unknown) =>
          log.warnLimited('told', REJECTION_INTERVAL_MS, 'what the gateway said for a device was lost', {
            error,
          }),
        );
      },
      close: () => {
        if (spokesmen.delete(device.id)) presence.sessionClosed(hardwareId);
      },
    };
  }

  const hooks: MqttHooks = {
    authenticate: async ({ username, password }) => {
      if (username === undefined || password === undefined) return 'not_authorized';
      const hardwareId = provisioning.verifyPassword(username, password);
      return hardwareId === undefined ? 'bad_credentials' : identityOf(hardwareId);
    },
    authenticateCertificate: async ({ commonName, fingerprint }) => {
      const hardwareId = provisioning.verifyCertificate(fingerprint);
      return hardwareId !== undefined && hardwareId === commonName
        ? identityOf(hardwareId)
        : 'not_authorized';
    },
    mayPublish: (identity, topic) => isOwnTopic(identity.key, topic),
    nameOf: (hardwareId) => devices.atHardware(hardwareId)[0]?.slug,
    maySubscribe: (identity, topicFilter) => isOwnFilter(identity.key, topicFilter),
    onMessage: dispatch,
    onSessionOpened: ({ identity }) => presence.sessionOpened(identity.key),
    onSessionClosed: ({ identity }) => presence.sessionClosed(identity.key),
  };

  return {
    events,
    hooks,
    attach: (attached) => (broker = attached),
    handle: (kind, handler) => {
      if (handlers.has(kind)) throw new Error(`messages of kind ${kind} have a handler already`);
      handlers.set(kind, handler);
    },
    observe: (kind, listener) => void observers.set(kind, [...(observers.get(kind) ?? []), listener]),
    canReceiveCommands: (device) => {
      const topic = requestTopicOf(device);
      if (spokesmen.has(device.id)) return true;
      if (!broker || topic === undefined) return false;
      // A module listens for all it carries, also for what it does not run.
      if (isCarried(device) && !(scripts.get(device.id) ?? devices.connectivity(device.id) === 'ONLINE'))
        return false;
      return broker.subscribers(topic) > 0;
    },
    sendCommandRequest: async (device, request) => {
      const onCommand = spokesmen.get(device.id);
      onCommand?.(request);
      if (onCommand) return 1;
      const topic = requestTopicOf(device);
      if (!broker || topic === undefined) return 0;
      await options.durable?.();
      // Past its deadline it would be carried out unseen.
      return broker.publish(topic, JSON.stringify(request), limits.commands.timeoutMs);
    },
    send: async ({ communication: { hardwareId, channelId } }, subject, payload) => {
      if (!broker || hardwareId === undefined || channelId === undefined) return 0;
      await options.durable?.();
      return broker.publish(deviceTopic({ hardwareId, channelId }, subject), payload);
    },
    noteScript: (device, isRunning) => {
      if (isRunning === undefined) scripts.delete(device.id);
      else scripts.set(device.id, isRunning);
      if (isRunning === false) presence.silence(device);
    },
    speakFor,
    stop: () => {
      for (const end of unsubscribe) end();
      presence.stop();
    },
  };
}

function jsonLimitsOf({ telemetry: { keyLength, jsonDepth, messageValues } }: Limits): JsonLimits {
  return { keyLength, depth: jsonDepth, values: messageValues };
}

function requestTopicOf({ communication }: Device): string | undefined {
  const { hardwareId, channelId } = communication;
  if (hardwareId === undefined || channelId === undefined) return undefined;
  return commandRequestTopic({ hardwareId, channelId });
}
