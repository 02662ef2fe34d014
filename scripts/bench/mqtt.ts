/**
 * QoS 1 messages per second through the broker, beside Aedes alone under the same load in the same run. The
 * clients run on a thread of their own; "CPU" is that of the broker's thread.
 */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { Worker } from 'node:worker_threads';
import { Aedes } from 'aedes';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createMetrics } from '../../src/platform/metrics/index.ts';
import { MqttBroker, type MqttHooks } from '../../src/platform/mqtt/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import type { MqttLoad } from '../support/mqtt-load-parameters.ts';

type MqttParameters = Omit<MqttLoad, 'port'>;

export const benchmark: Benchmark<MqttParameters> = {
  name: 'mqtt',
  describe: 'QoS 1 messages through the broker, as a ratio to Aedes alone',
  small: { connections: 2, messagesPerConnection: 200, window: 20, payloadBytes: 500 },
  large: { connections: 20, messagesPerConnection: 20_000, window: 200, payloadBytes: 500 },
  run,
};

/** Like a group commit: everything that waits is taken at once. */
const COMMIT_INTERVAL_MS = 10;
const NO_LIMIT = 1_000_000_000;

interface Figures {
  messagesPerSecond: number;
  cpuMicrosecondsPerMessage: number;
}

async function run(parameters: MqttParameters, report: Report): Promise<string> {
  const count = parameters.connections * parameters.messagesPerConnection;
  const tell = (title: string, figures: Figures): void => {
    report(title, figures.messagesPerSecond, 'messages/s');
    report(`${title}, CPU`, figures.cpuMicrosecondsPerMessage, 'µs/message');
  };
  const alone = await measureAedes(parameters);
  tell('Aedes alone', alone);
  let taken = 0;
  const atOnce = await measureBroker(parameters, () => void taken++);
  tell('broker, taken at once', atOnce);
  const grouped = await measureBroker(parameters, ...groupCommit(() => void taken++));
  tell('broker, taken in groups every 10 ms', grouped);
  report(
    'broker, taken at once, to Aedes alone',
    atOnce.messagesPerSecond / alone.messagesPerSecond,
    'times',
  );
  report(
    'CPU of the broker to that of Aedes alone',
    grouped.cpuMicrosecondsPerMessage / alone.cpuMicrosecondsPerMessage,
    'times',
  );
  return `${taken} of ${2 * count} messages`;
}

/** A message hook that waits, and what makes it go on. */
function groupCommit(onTaken: () => void): [MqttHooks['onMessage'], () => void] {
  let waiting: (() => void)[] = [];
  return [
    () =>
      new Promise<void>((resolve) => {
        onTaken();
        waiting.push(resolve);
      }),
    () => {
      const group = waiting;
      waiting = [];
      for (const resolve of group) resolve();
    },
  ];
}

async function measureBroker(
  parameters: MqttParameters,
  onMessage: MqttHooks['onMessage'],
  commit: () => void = () => undefined,
): Promise<Figures> {
  const clock = createSystemClock();
  const broker = await MqttBroker.create({
    clock,
    log: createLog({ level: 'error', format: 'text', clock, write: (text) => process.stderr.write(text) }),
    metrics: createMetrics(),
    host: '127.0.0.1',
    port: 0,
    limits: { messagesPerSecond: NO_LIMIT, messageBurst: NO_LIMIT },
    hooks: {
      authenticate: async ({ username }) => (username === undefined ? 'not_authorized' : { key: username }),
      mayPublish: (identity, topic) => topic.startsWith(`from/${identity.key}/`),
      maySubscribe: () => false,
      onMessage,
      onSessionOpened: () => undefined,
      onSessionClosed: () => undefined,
    },
  });
  const commits = clock.setRepeating(COMMIT_INTERVAL_MS, commit);
  try {
    const { port } = await broker.start();
    return await measure({ ...parameters, port });
  } finally {
    commits.cancel();
    await broker.stop();
    clock.close();
  }
}

async function measureAedes(parameters: MqttParameters): Promise<Figures> {
  const aedes = await Aedes.createBroker();
  const server = createServer({ noDelay: true }, aedes.handle);
  try {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return await measure({ ...parameters, port });
  } finally {
    await new Promise<void>((resolve) => aedes.close(resolve));
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}

async function measure(load: MqttLoad): Promise<Figures> {
  const worker = new Worker(new URL('../support/mqtt-load.ts', import.meta.url), { workerData: load });
  let before = process.threadCpuUsage();
  const elapsedMs = await new Promise<number>((resolve, reject) => {
    worker.once('error', reject);
    worker.on('message', (message: number | 'ready') => {
      if (message === 'ready') before = process.threadCpuUsage();
      else resolve(message);
    });
  });
  const after = process.threadCpuUsage();
  await worker.terminate();
  const count = load.connections * load.messagesPerConnection;
  const cpuMicroseconds = after.user + after.system - before.user - before.system;
  return {
    messagesPerSecond: count / (elapsedMs / 1_000),
    cpuMicrosecondsPerMessage: cpuMicroseconds / count,
  };
}
