/** A broker for tests and the two kinds of clients that speak to it: raw bytes and the real `mqtt` client. */
import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';
import { type IClientOptions, MqttClient } from 'mqtt';
import { createMetrics, type Metrics } from '../../src/platform/metrics/index.ts';
import {
  createMqttBroker,
  type MqttBroker,
  type MqttBrokerOptions,
  type MqttHooks,
  type MqttMessage,
  type MqttSession,
} from '../../src/platform/mqtt/index.ts';
import { streamPair } from './stream-pair.ts';
import { TestClock } from './test-clock.ts';
import { type LogLine, recordingLog } from './workspace.ts';

export interface TestBroker {
  broker: MqttBroker;
  clock: TestClock;
  metrics: Metrics;
  lines: LogLine[];
  messages: MqttMessage[];
  opened: MqttSession[];
  closed: MqttSession[];
  /** Connects raw bytes. */
  raw(remoteAddress?: string): RawClient;
  /** Connects the real client over an in-memory pair; user name = identity, password `secret`. */
  client(identity: string, options?: IClientOptions): Promise<MqttClient>;
}

/**
 * Identity = user name, password `secret`; publishes below `from/<identity>/`, subscribes below
 * `to/<identity>/`. Every hook can be replaced.
 */
export async function startTestBroker(
  test: Pick<TestContext, 'after'>,
  options: Partial<MqttBrokerOptions> & { hook?: Partial<MqttHooks> } = {},
): Promise<TestBroker> {
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const metrics = createMetrics();
  const messages: MqttMessage[] = [];
  const opened: MqttSession[] = [];
  const closed: MqttSession[] = [];
  const { hook, ...rest } = options;
  const broker = await createMqttBroker({
    clock,
    log,
    metrics,
    host: '127.0.0.1',
    port: 0,
    hooks: {
      authenticate: async ({ username, password }) => {
        if (username === undefined) return 'not_authorized';
        return password?.toString() === 'secret' ? { key: username } : 'bad_credentials';
      },
      mayPublish: (identity, topic) => topic.startsWith(`from/${identity.key}/`),
      maySubscribe: (identity, filter) => filter.startsWith(`to/${identity.key}/`),
      onMessage: (message) => void messages.push(message),
      onSessionOpened: (session) => void opened.push(session),
      onSessionClosed: (session) => void closed.push(session),
      ...hook,
    },
    ...rest,
  });
  const clients: MqttClient[] = [];
  test.after(async () => {
    for (const client of clients) client.end(true);
    await broker.stop();
  });
  return {
    broker,
    clock,
    metrics,
    lines,
    messages,
    opened,
    closed,
    raw: (remoteAddress) => {
      const { client, server } = streamPair(remoteAddress);
      broker.accept(server);
      return new RawClient(client);
    },
    client: async (identity, clientOptions) => {
      const client = connectOver(
        () => {
          const pair = streamPair('10.0.0.1');
          broker.accept(pair.server);
          return pair.client;
        },
        { username: identity, password: 'secret', ...clientOptions },
      );
      clients.push(client);
      await connected(client);
      return client;
    },
  };
}

/** The real client over any stream; it never reconnects. */
export function connectOver(open: () => Duplex, options: IClientOptions): MqttClient {
  const client = new MqttClient(open, { protocol: 'mqtt', reconnectPeriod: 0, ...options });
  // What fails is seen by whoever waits for it.
  client.on('error', () => undefined);
  return client;
}

/** Resolves with CONNACK's session-present flag; rejects when turned away. */
export function connected(client: MqttClient): Promise<boolean> {
  return new Promise((resolve, reject) => {
    client.once('connect', (packet) => resolve(packet.sessionPresent));
    client.once('error', reject);
    client.once('close', () => reject(new Error('closed before CONNACK')));
  });
}

/** A client that sends exactly the bytes it is told and keeps all it gets. */
export class RawClient {
  readonly stream: Duplex;
  received: Buffer = Buffer.alloc(0);
  isClosed = false;
  #waiting: { isDone: () => boolean; resolve: () => void }[] = [];

  constructor(stream: Duplex) {
    this.stream = stream;
    stream.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.#look();
    });
    stream.on('error', () => undefined);
    stream.on('close', () => {
      this.isClosed = true;
      this.#look();
    });
  }

  send(...parts: (Buffer | readonly number[])[]): void {
    if (this.stream.writable) this.stream.write(Buffer.concat(parts.map((part) => Buffer.from(part))));
  }

  /** Resolves when that many bytes have arrived, and takes them; rejects when the connection closes first. */
  async take(sizeBytes: number): Promise<Buffer> {
    await this.#until(() => this.received.length >= sizeBytes || this.isClosed);
    if (this.received.length < sizeBytes)
      throw new Error(`closed after ${this.received.length} of ${sizeBytes} bytes`);
    const taken = this.received.subarray(0, sizeBytes);
    this.received = this.received.subarray(sizeBytes);
    return taken;
  }

  /** Resolves when the broker has closed the connection. */
  closed(): Promise<void> {
    return this.#until(() => this.isClosed);
  }

  #until(isDone: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ isDone, resolve });
      this.#look();
    });
  }

  #look(): void {
    this.#waiting = this.#waiting.filter(({ isDone, resolve }) => {
      if (!isDone()) return true;
      resolve();
      return false;
    });
  }
}
