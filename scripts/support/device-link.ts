/**
 * One MQTT connection of a device (docs/interface/mqtt-devices.md#sessions): opens it, opens it again after
 * every loss, and tells for each publication whether the broker acknowledged it. Nothing is sent twice by
 * itself; the caller decides what an unacknowledged message is worth.
 */
import mqtt, { type MqttClient } from 'mqtt';
import { messageOf } from '../../src/lib/errors.ts';
import { clientOptions } from '../../src/field-module/connection-configuration.ts';
import type { Clock, Timer } from '../../src/platform/clock/index.ts';
import type { ConnectionConfiguration } from './connection-configuration.ts';

/** The message may or may not have arrived. */
export class LinkLost extends Error {
  constructor() {
    super('the connection ended before the broker acknowledged the message');
    this.name = 'LinkLost';
  }
}

export interface CommandRequest {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

/** Last part of a topic below `v1/from/{hardware}/{channel}/`. */
export const CHANNELS = {
  telemetry: 'v1/telemetry',
  properties: 'v1/register',
  log: 'v3/logs',
  commandResponse: 'v1/command/responses',
  configurationRead: 'v1/configuration/read',
} as const;
export type Channel = keyof typeof CHANNELS;

export interface DeviceLinkOptions {
  config: ConnectionConfiguration;
  clock: Clock;
  qos: 0 | 1 | 2;
  /** Pause before the next attempt; the public SDK waits 5 s. */
  reconnectDelayMs: number;
  /** Connected and subscribed. */
  onConnected: () => void;
  /** The connection ended or could not be opened. */
  onLost: (reason: string) => void;
  onCommand: (request: CommandRequest) => void;
  onConfiguration?: (groups: Record<string, unknown>) => void;
  /** A message from the broker that makes no sense. */
  onUnreadable: (topic: string, reason: string) => void;
}

export interface DeviceLink {
  readonly isConnected: boolean;
  /** Resolves when acknowledged (QoS 0: when written). @throws LinkLost */
  publish(channel: Channel, body: Record<string, unknown>): Promise<void>;
  /** Ends the connection for good, waiting so long for acknowledgements; 0 ends it without a goodbye. */
  close(withinMs: number): Promise<void>;
}

export function openDeviceLink(options: DeviceLinkOptions): DeviceLink {
  const { config, clock } = options;
  const toDevice = `v1/to/${config.hardwareId}/${config.channelId}`;
  const requestTopic = `${toDevice}/v1/command/requests`;
  const configurationTopic = `${toDevice}/v1/configuration`;
  const waiting = new Set<() => void>();
  let client: MqttClient | undefined;
  let isConnected = false;
  let closed = false;
  let retry: Timer | undefined;

  const lose = (reason: string): void => {
    if (closed) return;
    const lost = client;
    client = undefined;
    isConnected = false;
    lost?.end(true);
    rejectWaiting(waiting);
    options.onLost(reason);
    retry = clock.setTimer(options.reconnectDelayMs, open);
  };

  const open = (): void => {
    // A client that was given up keeps its listeners: its own clean-up hangs on some, ours look at `client`.
    const opening = mqtt.connect(clientOptions(config, config.mqttHost));
    client = opening;
    let reason = 'connection closed';
    opening.on('error', (error) => {
      reason = messageOf(error);
      if (!isConnected && client === opening) lose(reason);
    });
    opening.on('close', () => {
      if (client === opening) lose(reason);
    });
    opening.on('message', (topic, payload) => {
      if (client === opening) receive(topic, payload);
    });
    opening.on('connect', () => {
      const topics = options.onConfiguration ? [requestTopic, configurationTopic] : [requestTopic];
      opening.subscribe(topics, { qos: 1 }, (error, granted) => {
        if (client !== opening) return;
        const refused = granted?.some((grant) => grant.qos === 128);
        if (error || refused) return lose(error ? messageOf(error) : 'the broker refused the subscription');
        isConnected = true;
        options.onConnected();
      });
    });
  };

  const receive = (topic: string, payload: Buffer): void => {
    let body: unknown;
    try {
      body = JSON.parse(payload.toString('utf8'));
    } catch (error) {
      return options.onUnreadable(topic, messageOf(error));
    }
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      return options.onUnreadable(topic, 'not an object');
    if (topic === configurationTopic) return options.onConfiguration?.(body as Record<string, unknown>);
    const request = body as Partial<CommandRequest>;
    if (typeof request.id !== 'string' || typeof request.name !== 'string')
      return options.onUnreadable(topic, 'id and name must be texts');
    options.onCommand({ id: request.id, name: request.name, arguments: request.arguments ?? {} });
  };

  open();
  return {
    get isConnected() {
      return isConnected;
    },
    publish: (channel, body) =>
      new Promise((resolve, reject) => {
        if (!client || !isConnected) return reject(new LinkLost());
        const onLoss = (): void => reject(new LinkLost());
        waiting.add(onLoss);
        client.publish(
          `v1/from/${config.hardwareId}/${config.channelId}/${CHANNELS[channel]}`,
          JSON.stringify(body),
          { qos: options.qos },
          (error) => {
            // After a loss the message has been given up already; rejecting again does nothing.
            waiting.delete(onLoss);
            if (error) reject(new LinkLost());
            else resolve();
          },
        );
      }),
    close: async (withinMs) => {
      closed = true;
      retry?.cancel();
      isConnected = false;
      const last = client;
      client = undefined;
      if (last) await endWithin(last, withinMs, clock);
      rejectWaiting(waiting);
    },
  };
}

/** A goodbye waits for acknowledgements; a broker that is away never sends them. */
function endWithin(client: MqttClient, withinMs: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const force = clock.setTimer(withinMs, () => {
      client.stream.destroy();
      resolve();
    });
    client.end(withinMs === 0, () => {
      force.cancel();
      resolve();
    });
  });
}

function rejectWaiting(waiting: Set<() => void>): void {
  for (const reject of waiting) reject();
  waiting.clear();
}
