/** A broker for tests and the two kinds of clients that speak to it: raw bytes and the real `mqtt` client. */
import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';
import { type IClientOptions, MqttClient } from 'mqtt';
import { createMetrics, type Metrics } from '../../src/platform/metrics/index.ts';
import {
  MqttBroker,
  type MqttBrokerOptions,
  type MqttHooks,
  type MqttMessage,
  type MqttSession,
} from '../../src/platform/mqtt/index.ts';
import { streamPair } from './stream-pair.ts';
import { connectBytes } from './mqtt-bytes.ts';
import { settle, TestClock } from './test-clock.ts';
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
  raw: (remoteAddress?: string) => RawClient;
  /** Connects the real client over an in-memory pair; user name = identity, password `secret`. */
  client: (identity: string, options?: IClientOptions) => Promise<MqttClient>;
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
  const broker = await MqttBroker.create({
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
    const stopped = broker.stop();
    // Past every limit of the stop: messages that the test left pending, peers that never close.
    await turns();
    await clock.advance(60_000);
    await stopped;
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
        // It pings by the system's time, and the clock of the test runs ahead of that.
        { username: identity, password: 'secret', keepalive: 65_535, ...clientOptions },
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

/** Connects raw bytes and answers with CONNACK as hexadecimal text. */
export async function login(
  b: TestBroker,
  options: Parameters<typeof connectBytes>[0] = {},
  remoteAddress?: string,
): Promise<{ client: RawClient; connack: string }> {
  const client = b.raw(remoteAddress);
  client.send(connectBytes(options));
  return { client, connack: await client.takeHex(4) };
}

/** Lets everything that is ready run, several turns deep. */
export async function turns(count = 10): Promise<void> {
  for (let turn = 0; turn < count; turn++) await settle();
}

/** Value of one line of the metrics page, without the prefix; `undefined` when it is not there. */
export async function metric(b: TestBroker, name: string): Promise<string | undefined> {
  const found = (await b.metrics.text()).split('\n').find((line) => line.startsWith(`gateway_${name} `));
  return found?.split(' ')[1];
}

/** Turns of the event loop after which a wait has failed: far beyond any test, well below a second. */
const TURNS_MAX = 50_000;

/** Lets things run until the condition holds; fails instead of waiting for ever. */
export async function until(isDone: () => boolean, waitingFor: () => string): Promise<void> {
  for (let turn = 0; !isDone(); turn++) {
    if (turn === TURNS_MAX) throw new Error(`waited in vain: ${waitingFor()}`);
    await settle();
  }
}

/** A client that sends exactly the given bytes and keeps all that it receives. */
export class RawClient {
  readonly stream: Duplex;
  received: Buffer = Buffer.alloc(0);
  isClosed = false;

  constructor(stream: Duplex) {
    this.stream = stream;
    stream.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk]);
    });
    stream.on('error', () => undefined);
    stream.on('close', () => {
      this.isClosed = true;
    });
  }

  send(...parts: (Buffer | readonly number[])[]): void {
    if (this.stream.writable) this.stream.write(Buffer.concat(parts.map((part) => Buffer.from(part))));
  }

  /** Resolves when that many bytes have arrived, and takes them; rejects when the connection closes first. */
  async take(sizeBytes: number): Promise<Buffer> {
    const state = (): string => `${sizeBytes} bytes, have ${this.received.toString('hex')}`;
    await until(() => this.received.length >= sizeBytes || this.isClosed, state);
    if (this.received.length < sizeBytes) throw new Error(`closed before ${state()}`);
    const taken = this.received.subarray(0, sizeBytes);
    this.received = this.received.subarray(sizeBytes);
    return taken;
  }

  /** The same as hexadecimal text. */
  async takeHex(sizeBytes: number): Promise<string> {
    return (await this.take(sizeBytes)).toString('hex');
  }

  /** Resolves when the broker has closed the connection. */
  closed(): Promise<void> {
    return until(
      () => this.isClosed,
      () => 'the end of the connection',
    );
  }
}
