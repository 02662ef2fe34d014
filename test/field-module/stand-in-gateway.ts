/** The gateway's side of the channel on a real broker: assigns scripts, answers questions, keeps received messages. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { LIMITS } from '../../src/lib/limits.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { createMetrics } from '../../src/platform/metrics/index.ts';
import { MqttBroker } from '../../src/platform/mqtt/index.ts';
import { commandRequestTopic, parseDeviceTopic } from '../../src/protocol/device-topic.ts';
import {
  type Assignment,
  type BlueprintFacts,
  contentChunk,
  decodeFromModule,
  encodeFacts,
  encodeModuleMessage,
  type FromModule,
  moduleTopic,
  type ToModule,
} from '../../src/protocol/module.ts';
import { exactJson } from '../../src/lib/json.ts';
import type { ConnectionConfiguration } from '../../src/field-module/connection-configuration.ts';
import { until } from '../support/until.ts';
import { recordingLog } from '../support/workspace.ts';

export const HARDWARE_ID = 'VTEST';

export interface StandInDevice {
  channelId: string;
  script: string;
  facts?: Partial<BlueprintFacts>;
  groups?: Record<string, Record<string, unknown>>;
}

export interface Heard {
  channelId: string;
  subject: string;
  body: Record<string, unknown>;
}

export interface StandInGateway {
  readonly connection: ConnectionConfiguration;
  readonly heard: Heard[];
  readonly said: FromModule[];
  /** By channel and key. */
  readonly storage: Map<string, Buffer>;
  /** Replaces everything that is assigned. */
  assign(devices: readonly StandInDevice[]): void;
  configure(channelId: string, groups: Record<string, Record<string, unknown>>, written: string[]): void;
  say(message: ToModule): void;
  command(channelId: string, id: string, name: string, args?: Record<string, unknown>): void;
  /** Bodies of one kind on a channel. */
  bodies(channelId: string, subject: string): Record<string, unknown>[];
  stateOf(channelId: string): string | undefined;
  readonly sessions: number;
  /** By how much its clock is ahead; undefined: it says nothing about that. */
  aheadMs: number | undefined;
  /** It does not answer to hello. */
  isMute: boolean;
  /** What to do with content before it is sent; for damage. */
  tamper: ((chunk: ToModule & { type: 'content' }) => void) | undefined;
  /** The broker goes away, and comes back at the same port. */
  interrupt(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export async function startStandInGateway(): Promise<StandInGateway> {
  const clock = createSystemClock();
  const { log } = recordingLog(clock);
  const heard: Heard[] = [];
  const said: FromModule[] = [];
  const storage = new Map<string, Buffer>();
  const contents = new Map<string, Buffer>();
  let assigned: readonly StandInDevice[] = [];
  let revision = 0;
  let sessions = 0;
  let port = 0;

  function keepContent(bytes: Buffer): Assignment['script'] {
    const hash = sha256(bytes);
    contents.set(hash, bytes);
    return { hash, size: bytes.length };
  }

  function sayAssignments(): void {
    const devices = assigned.map(({ channelId, script, facts }) => ({
      device_id: `device-${channelId}`,
      channel_id: channelId,
      script: keepContent(Buffer.from(script)),
      facts: keepContent(
        encodeFacts({ api: 'v3', telemetry: {}, properties: {}, configuration: {}, ...facts }),
      ),
    }));
    const { aheadMs } = gateway;
    gateway.say({
      type: 'assignments',
      revision: ++revision,
      time_zone: 'Europe/Berlin',
      devices,
      ...(aheadMs !== undefined && { now_ms: clock.wallMs() + aheadMs }),
    });
    for (const { channelId, groups } of assigned) gateway.configure(channelId, groups ?? {}, []);
  }

  function answer(message: FromModule): void {
    switch (message.type) {
      case 'hello':
        return gateway.isMute ? undefined : sayAssignments();
      case 'get': {
        const whole = contents.get(message.hash);
        const chunk = whole && contentChunk(message.hash, whole, message.offset);
        if (!chunk) return;
        gateway.tamper?.(chunk);
        return gateway.say(chunk);
      }
      case 'storage_read': {
        const value = storage.get(`${message.channel_id} ${message.key}`);
        return gateway.say({ type: 'answer', id: message.id, ...(value ? { value } : {}) });
      }
      case 'storage_write':
        storage.set(`${message.channel_id} ${message.key}`, message.value);
        return gateway.say({ type: 'answer', id: message.id });
      case 'storage_remove':
        storage.delete(`${message.channel_id} ${message.key}`);
        return gateway.say({ type: 'answer', id: message.id });
      case 'command':
        return gateway.say({
          type: 'answer',
          id: message.id,
          state: 'completed',
          payload: { target: message.target, ...message.arguments },
        });
      case 'status':
      case 'configuration_verdict':
        return;
    }
  }

  function receive(topicText: string, payload: Buffer): void {
    const topic = parseDeviceTopic(topicText) ?? assert.fail(topicText);
    const body = JSON.parse(payload.toString('utf8')) as Record<string, unknown>;
    if (topic.subject !== 'v1/module') {
      heard.push({ channelId: topic.channelId, subject: topic.subject, body });
      return;
    }
    const decoded = decodeFromModule(payload);
    if (!('message' in decoded)) assert.fail(decoded.problem);
    said.push(decoded.message);
    answer(decoded.message);
  }

  async function startBroker(): Promise<MqttBroker> {
    const created = await MqttBroker.create({
      clock,
      log,
      metrics: createMetrics(),
      host: '127.0.0.1',
      port,
      hooks: {
        authenticate: ({ password }) =>
          Promise.resolve(
            password?.toString() === 'secret' ? { key: HARDWARE_ID } : ('bad_credentials' as const),
          ),
        mayPublish: (identity, topic) => topic.startsWith(`v1/from/${identity.key}/`),
        maySubscribe: (identity, filter) => filter.startsWith(`v1/to/${identity.key}/`),
        onMessage: ({ topic, payload }) => receive(topic, Buffer.from(payload)),
        onSessionOpened: () => void (sessions += 1),
        onSessionClosed: () => void (sessions -= 1),
      },
      limits: { messagesPerSecond: LIMITS.mqtt.messagesPerSecond * 10 },
    });
    port = (await created.start()).port;
    return created;
  }

  let broker = await startBroker();
  const gateway: StandInGateway = {
    connection: {
      mqttHost: '127.0.0.1',
      mqttPort: port,
      hardwareId: HARDWARE_ID,
      channelId: 'ucm',
      credentials: { protocol: 'MQTT', username: HARDWARE_ID, password: 'secret' },
    },
    heard,
    said,
    storage,
    assign: (devices) => {
      assigned = devices;
      sayAssignments();
    },
    configure: (channelId, groups, written) =>
      gateway.say({ type: 'configuration', channel_id: channelId, groups, written }),
    say: (message) => void broker.publish(moduleTopic(HARDWARE_ID), encodeModuleMessage(message)),
    command: (channelId, id, name, args = {}) =>
      void broker.publish(
        commandRequestTopic({ hardwareId: HARDWARE_ID, channelId }),
        exactJson({ id, name, arguments: args }),
      ),
    bodies: (channelId, subject) =>
      heard.filter((one) => one.channelId === channelId && one.subject === subject).map(({ body }) => body),
    stateOf: (channelId) =>
      said
        .flatMap((message) =>
          message.type === 'status' && message.channel_id === channelId ? [message] : [],
        )
        .at(-1)?.state,
    get sessions() {
      return sessions;
    },
    aheadMs: undefined,
    isMute: false,
    tamper: undefined,
    interrupt: () => broker.stop(),
    resume: async () => {
      broker = await startBroker();
    },
    stop: async () => {
      await broker.stop();
      clock.close();
    },
  };
  return gateway;
}

/** Resolves when the device's script is in that state. */
export function isIn(gateway: StandInGateway, channelId: string, state: string): Promise<void> {
  return until(() => gateway.stateOf(channelId) === state);
}
