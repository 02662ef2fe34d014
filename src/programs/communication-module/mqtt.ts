/**
 * The module's one connection to the gateway's broker. It is opened again for ever. What must not be lost,
 * responses and persistent log entries, is kept until the broker has acknowledged it and sent again after a
 * loss; everything else is measured anew anyway.
 */
import { DoublingPause } from '../../lib/doubling-pause.ts';
import mqtt, { type MqttClient } from 'mqtt';
import { messageOf } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import { addressOf } from '../../platform/mdns/index.ts';
import { deviceTopic, type DeviceAddress } from '../../protocol/device-topic.ts';
import { MODULE_CHANNEL, moduleTopic } from '../../protocol/module.ts';
import { clientOptions } from './client-options.ts';
import type { ConnectionConfiguration } from './connection-configuration.ts';

/** Last part of a topic below the address of a channel. */
export const SUBJECTS = {
  telemetry: 'v1/telemetry',
  properties: 'v1/register',
  log: 'v3/logs',
  commandResponse: 'v1/command/responses',
  module: 'v1/module',
} as const;
export type Subject = keyof typeof SUBJECTS;

export interface GatewayLinkOptions {
  connection: ConnectionConfiguration;
  clock: Clock;
  limits: Limits['module'];
  /** Connected and subscribed. */
  onConnected: () => void;
  /** The connection ended or could not be opened; another attempt follows. */
  onLost: (reason: string) => void;
  /** The gateway speaks to the module. */
  onModuleMessage: (payload: Buffer) => void;
  /** A command for the device on this channel; `ucm` is the module itself. */
  onCommand: (channelId: string, payload: Buffer) => void;
}

export interface GatewayLink {
  /** Connected, and the broker keeps up. */
  readonly isReady: boolean;
  /** False: not handed over, because there is no connection or the broker does not keep up. */
  send(channelId: string, subject: Subject, text: string, qos?: 0 | 1): boolean;
  /** Is sent until it is acknowledged. False: too much waits already. */
  keep(channelId: string, subject: Subject, text: string): boolean;
  /** Says goodbye; resolves when the socket is closed. */
  close(): Promise<void>;
}

interface Kept {
  topic: string;
  text: string;
}

export function openGatewayLink(options: GatewayLinkOptions): GatewayLink {
  const { connection, clock, limits } = options;
  const { hardwareId } = connection;
  const moduleMessages = moduleTopic(hardwareId);
  const commandFilter = deviceTopic({ hardwareId, channelId: '+' }, 'v1/command/requests');
  const kept = new Set<Kept>();
  let keptBytes = 0;
  let client: MqttClient | undefined;
  let isConnected = false;
  let isClosed = false;
  let unacknowledged = 0;
  const pause = new DoublingPause({ firstMs: limits.reconnectFirstMs, maxMs: limits.reconnectMaxMs });
  let retry: Timer | undefined;

  function lose(reason: string): void {
    if (isClosed) return;
    const lost = client;
    client = undefined;
    isConnected = false;
    unacknowledged = 0;
    lost?.end(true);
    retry = clock.setTimer(pause.next(), open);
    options.onLost(reason);
  }

  /** The address may be another one at each attempt: boxes get theirs from a router. */
  function open(): void {
    addressOf(connection.mqttHost, { clock, limits }).then(
      (host) => {
        if (!isClosed) connect(host);
      },
      (error: unknown) => lose(messageOf(error)),
    );
  }

  function connect(host: string): void {
    // A client that was given up keeps its listeners: its own clean-up needs some, ours look at `client`.
    const opening = mqtt.connect(clientOptions(connection, host));
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
      opening.subscribe([moduleMessages, commandFilter], { qos: 1 }, (error, granted) => {
        if (client !== opening) return;
        const isRefused = granted?.some((grant) => grant.qos === 128);
        if (error || isRefused) return lose(error ? messageOf(error) : 'the subscription is refused');
        isConnected = true;
        pause.reset();
        options.onConnected();
        for (const message of kept) sendKept(message);
      });
    });
  }

  function receive(topic: string, payload: Buffer): void {
    if (topic === moduleMessages) options.onModuleMessage(payload);
    else options.onCommand(channelOf(topic), payload);
  }

  function publish(topic: string, text: string, qos: 0 | 1, onAcknowledged: () => void): void {
    const sending = client;
    if (!sending) return;
    unacknowledged += 1;
    sending.publish(topic, text, { qos }, (error) => {
      if (client !== sending) return;
      unacknowledged -= 1;
      if (!error) onAcknowledged();
    });
  }

  function sendKept(message: Kept): void {
    publish(message.topic, message.text, 1, () => {
      if (kept.delete(message)) keptBytes -= message.text.length;
    });
  }

  const isReady = (): boolean => isConnected && unacknowledged < limits.unacknowledged;
  const topicOf = (channelId: string, subject: Subject): string =>
    fromTopic({ hardwareId, channelId }, SUBJECTS[subject]);

  open();
  return {
    get isReady() {
      return isReady();
    },
    send: (channelId, subject, text, qos = 1) => {
      if (!isReady()) return false;
      publish(topicOf(channelId, subject), text, qos, () => undefined);
      return true;
    },
    keep: (channelId, subject, text) => {
      if (keptBytes + text.length > limits.keptBytes) return false;
      const message: Kept = { topic: topicOf(channelId, subject), text };
      kept.add(message);
      keptBytes += text.length;
      if (isConnected) sendKept(message);
      return true;
    },
    close: async () => {
      isClosed = true;
      isConnected = false;
      retry?.cancel();
      const last = client;
      client = undefined;
      if (last) await endWithin(last, limits.goodbyeMs, clock);
    },
  };
}

function fromTopic({ hardwareId, channelId }: DeviceAddress, subject: string): string {
  return `v1/from/${hardwareId}/${channelId}/${subject}`;
}

/** The channel of a topic that our own filter let through. */
function channelOf(topic: string): string {
  return topic.split('/')[3] ?? MODULE_CHANNEL;
}

/** Waits for acknowledgements; a broker that is away never sends them. */
function endWithin(client: MqttClient, withinMs: number, clock: Clock): Promise<void> {
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
