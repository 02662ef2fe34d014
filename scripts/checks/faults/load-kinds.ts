/** Faults that come over the network or from a slow card: hostile clients, costly messages, slow syncs. */
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import mqtt from 'mqtt';
import type { Problem } from '../world/journal.ts';
import type { Attack } from '../hostile/attack-parameters.ts';
import type { Insider } from '../hostile/mqtt-garbage.ts';
import { provisionDevice, type ProvisionedDevice } from '../../support/gateway-client.ts';
import { anonymousBytes, createTokens, processorMs } from '../../support/gateway-process.ts';
import { type Box, MESSAGE_BURST, MESSAGES_PER_SECOND } from './box.ts';
import { broken, controlWorks, type FaultKind } from './kind.ts';

/** Other machines on the network, as far as limits per address can tell. */
const ADDRESSES = Array.from({ length: 8 }, (_, index) => `127.0.0.${66 + index}`);
const ATTACK_MS = 2_000;
const WIDTH = 16;
const INSIDERS = 2;
/** Most that the gateway may hold, whatever is sent to it. */
const MEMORY_BYTES_MAX = 300_000_000;
const LARGE_BYTES = 250_000;
const LARGE_S = 4;
const LARGE_LOOK_MS = 20;
const LARGE_IN_FLIGHT = 4;
/** Bytes of one message that count as one; two, so that what is on its way at the end does not matter. */
const COUNTED_BYTES = 2 * 10_240;
const AHEAD_CONNECTIONS = 150;
const AHEAD_BYTES = 65_000;
const AHEAD_MS = 3_000;
/**
 * Processor time of the gateway between a question and its answer, which other work on the machine lengthens little. Measured:
 * up to 510 ms on two busy cores, and 1 480 ms when 64 KiB of chunks are parsed at once.
 */
const AHEAD_PROCESSOR_MS_MAX = 1_200;
/**
 * Measured: 80 MB more at the first attack on a fresh process that has not yet the memory of many connections, 30 MB
 * at later ones; without the protection up to 700 MB.
 */
const AHEAD_BYTES_MAX = 128 * 1_048_576;
/** Requests of every form that costs a server much and a caller little. */
const AHEAD_REQUESTS: readonly [name: string, request: string][] = [
  ['GET', 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'],
  [
    'POST with a body',
    'POST /v3/auth/tokens HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n{"name":"xxxxxxxxx"}',
  ],
  [
    'POST with chunks of one byte',
    `POST /v3/auth/tokens HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(10_000)}0\r\n\r\n`,
  ],
  ['GET with many headers', `GET /healthz HTTP/1.1\r\nHost: a\r\n${'A: b\r\n'.repeat(1_900)}\r\n`],
];
const SLOW_SYNC_MS = { least: 5, most: 60 };

export const LOAD_KINDS: readonly FaultKind[] = [
  {
    name: 'hostile',
    about:
      'Garbage over HTTP, WebSockets, MQTT and TLS beside honest clients: no error of its own, bounded memory.',
    run: attack,
  },
  {
    name: 'pipelining',
    about:
      'Many connections send 64 kB of requests each at once, with bodies, chunks or headers: others are answered in time, bounded memory.',
    run: sendAhead,
  },
  {
    name: 'large-messages',
    about:
      'One device sends the largest messages as fast as it may: no more bytes than its rate allows are taken.',
    run: sendLarge,
  },
  {
    name: 'slow-disk',
    about: 'Each sync takes up to 60 ms longer: control works, and so it does when it is killed in between.',
    run: async (box) => {
      await box.set({ syncDelayMs: box.random.between(SLOW_SYNC_MS.least, SLOW_SYNC_MS.most) });
      await box.rest();
      const problems = await controlWorks(box, 2);
      await box.kill();
      await box.set({ syncDelayMs: 0 });
      await box.restart();
      return problems;
    },
  },
];

async function attack(box: Box): Promise<Problem[]> {
  const { home, random, world } = box;
  const offset = box.logSize();
  const [token = ''] = await createTokens(home, 'READONLY', 1);
  const insiders: Insider[] = [];
  for (let index = 0; index < INSIDERS; index++)
    insiders.push(loginOf(await provisionDevice(world.client, `Insider ${random.integer(0, 2 ** 31)}`)));
  const http = Number(new URL(home.baseUrl).port);
  const workerData: Attack = {
    seed: random.integer(0, 2 ** 31),
    sequences: undefined,
    durationMs: ATTACK_MS,
    width: WIDTH,
    ports: { http, https: home.httpsPort, mqtt: home.mqttPort, mqtts: home.mqttsPort },
    insiders,
    token,
    localAddresses: ADDRESSES,
  };
  const worker = new Worker(new URL('../hostile/attack.ts', import.meta.url), { workerData });
  let largestBytes = 0;
  const watch = box.clock.setRepeating(100, () => {
    if (!box.gateway.hasExited) largestBytes = Math.max(largestBytes, anonymousBytes(box.gateway.pid));
  });
  await new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  watch.cancel();
  if (box.gateway.hasExited) {
    await box.restart();
    return [broken('the gateway crashed under an attack')];
  }
  const errors = box.logSince(offset).filter(({ level }) => level === 'error' || level === 'fatal');
  return [
    ...errors.map((line) => broken(`in its log: ${JSON.stringify(line).slice(0, 300)}`)),
    ...(largestBytes > MEMORY_BYTES_MAX ? [broken(`held ${(largestBytes / 1e6).toFixed(0)} MB`)] : []),
  ];
}

function loginOf({ config }: ProvisionedDevice): Insider {
  if (config.credentials.protocol !== 'MQTT') throw new Error('the device speaks no plain MQTT');
  return config.credentials;
}

async function sendAhead(box: Box): Promise<Problem[]> {
  for (const [name, request] of AHEAD_REQUESTS) {
    const problems = await sendAheadOf(box, name, request);
    if (problems.length > 0) return problems;
  }
  return [];
}

/** A caller from another address asks all the time meanwhile. */
async function sendAheadOf(box: Box, name: string, request: string): Promise<Problem[]> {
  const { clock, gateway, home } = box;
  const port = Number(new URL(home.baseUrl).port);
  const flood = request.repeat(Math.max(1, Math.floor(AHEAD_BYTES / request.length)));
  const beforeBytes = anonymousBytes(gateway.pid);
  const sockets = Array.from({ length: AHEAD_CONNECTIONS }, (_, index) => {
    const socket = connect({ host: '127.0.0.1', port, localAddress: ADDRESSES[index % ADDRESSES.length] });
    socket.on('error', () => undefined).on('data', () => undefined);
    return socket.on('connect', () => socket.write(flood));
  });
  const startedMs = clock.monotonicMs();
  let [longestMs, largestBytes] = [0, 0];
  while (clock.monotonicMs() - startedMs < AHEAD_MS) {
    const usedMs = processorMs(gateway.pid);
    // On a connection of its own, which waits for all others that come at the same time.
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`, {
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(60_000),
    });
    await answer.text();
    longestMs = Math.max(longestMs, processorMs(gateway.pid) - usedMs);
    largestBytes = Math.max(largestBytes, anonymousBytes(gateway.pid) - beforeBytes);
    await clock.sleep(20);
  }
  for (const socket of sockets) socket.destroy();
  return [
    ...(longestMs > AHEAD_PROCESSOR_MS_MAX
      ? [broken(`${name}: worked ${longestMs.toFixed(0)} ms before it answered another caller`)]
      : []),
    ...(largestBytes > AHEAD_BYTES_MAX
      ? [broken(`${name}: held ${(largestBytes / 1e6).toFixed(0)} MB more`)]
      : []),
  ];
}

/** Judged by bytes and not by waiting, so that a slow machine judges alike. */
async function sendLarge(box: Box): Promise<Problem[]> {
  const device = await provisionDevice(box.world.client, `Large ${box.random.integer(0, 2 ** 31)}`);
  const client = mqtt.connect({
    host: '127.0.0.1',
    port: box.home.mqttPort,
    clientId: '',
    reconnectPeriod: 0,
    ...loginOf(device),
  });
  let takenBytes = 0;
  let isOver = false;
  const payload = Buffer.from(`{"text":"${'x'.repeat(LARGE_BYTES)}"}`);
  const topic = `v1/from/${device.config.hardwareId}/${device.config.channelId}/v1/telemetry`;
  const send = (): void => {
    if (!isOver)
      client.publish(topic, payload, { qos: 1 }, (error) => {
        if (error || isOver) return;
        takenBytes += payload.length;
        send();
      });
  };
  client.on('error', () => undefined);
  await new Promise((resolve) => client.once('connect', resolve));
  const startedMs = box.clock.monotonicMs();
  for (let count = 0; count < LARGE_IN_FLIGHT; count++) send();
  let [elapsedS, allowedBytes] = [0, 0];
  // More than was allowed by a moment is more for good.
  do {
    await box.clock.sleep(LARGE_LOOK_MS);
    elapsedS = (box.clock.monotonicMs() - startedMs) / 1_000;
    allowedBytes =
      (MESSAGE_BURST + MESSAGES_PER_SECOND * elapsedS) * COUNTED_BYTES + LARGE_IN_FLIGHT * payload.length;
  } while (elapsedS < LARGE_S && takenBytes <= allowedBytes);
  isOver = true;
  client.end(true);
  if (takenBytes <= allowedBytes) return [];
  return [
    broken(
      `one device had ${takenBytes} bytes taken in ${elapsedS.toFixed(1)} s, its rate allows ${allowedBytes.toFixed(0)}`,
    ),
  ];
}
