/**
 * Worker: opens connections, sends hostile bytes, and goes away, many at once. A thread of its own, so that
 * making garbage does not count as waiting of the clients that are measured.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { parentPort, workerData } from 'node:worker_threads';
import { createRandom, type Random } from '../../support/random.ts';
import type { Attack, AttackCounts } from './attack-parameters.ts';
import { hostileHttp } from './http-garbage.ts';
import { type HostileSequence, hostileMqtt, noise } from './mqtt-garbage.ts';

const attack = workerData as Attack;
/** After the last byte the other side has so long to answer or to close. */
const PATIENCE_MS = 150;
/** Pause of connections that send nothing, or a byte now and then. */
const IDLE_MS = 12_000;
const CHUNKS_MAX = 400;
/** So many of the lanes may be idle ones at a time. */
const IDLE_SHARE = 0.25;
const counts: AttackCounts = { mqtt: 0, http: 0, tls: 0, idle: 0 };
let idling = 0;

interface Way {
  port: number;
  localAddress: string;
  /** With a real handshake before the bytes; nothing is expected of the certificate. */
  isEncrypted?: boolean;
  /** How long the other side has to answer or to close. */
  waitMs?: number;
}

/** Resolves when the connection has ended, by whomever. A reset is one way of ending. */
async function send(way: Way, { bytes, chunkBytes, isAbrupt }: HostileSequence): Promise<void> {
  const { port, localAddress, isEncrypted = false, waitMs = PATIENCE_MS } = way;
  const plain = connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
  const socket: Socket = isEncrypted ? connectTls({ socket: plain, rejectUnauthorized: false }) : plain;
  for (const each of new Set([plain, socket])) each.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.resume();
  const size = Math.max(chunkBytes, Math.ceil(bytes.length / CHUNKS_MAX));
  for (let offset = 0; offset < bytes.length && !socket.destroyed; offset += size) {
    if (!socket.write(bytes.subarray(offset, offset + size)))
      await Promise.race([closed, new Promise<void>((resolve) => socket.once('drain', () => resolve()))]);
    if (chunkBytes < 100) await pause(0);
  }
  if (isAbrupt) socket.destroySoon();
  await Promise.race([closed, pause(waitMs)]);
  socket.destroy();
  plain.destroy();
  await closed;
}

/** Connects and hardly says anything: the beginning of a request, of a CONNECT, of a handshake. */
async function idle(random: Random, localAddress: string): Promise<void> {
  counts.idle += 1;
  const { http, https, mqtt, mqtts } = attack.ports;
  const begin = random.pick([
    '',
    'GET / HT',
    'GET /v3/site HTTP/1.1\r\nHost: a\r\nX: ',
    '\x10\x20\x00',
    '\x16\x03\x01',
  ]);
  const bytes = Buffer.from(begin, 'latin1');
  const port = random.pick([http, https, mqtt, mqtts]);
  await send({ port, localAddress, waitMs: IDLE_MS }, { bytes, chunkBytes: 1, isAbrupt: false });
}

async function mixed(random: Random, localAddress: string): Promise<void> {
  const { http, https, mqtt, mqtts } = attack.ports;
  const kind = random.next();
  if (kind < 0.45) {
    counts.mqtt += 1;
    return send({ port: mqtt, localAddress }, hostileMqtt(random, random.pick(attack.insiders)));
  }
  if (kind < 0.9) {
    counts.http += 1;
    return send({ port: http, localAddress }, hostileHttp(random, attack.token));
  }
  if (kind < 0.96 || idling >= attack.width * IDLE_SHARE) {
    counts.tls += 1;
    return encrypted(random, localAddress, { https, mqtts });
  }
  idling += 1;
  await idle(random, localAddress);
  idling -= 1;
}

/** Noise instead of a handshake, or after a right one. */
async function encrypted(
  random: Random,
  localAddress: string,
  { https, mqtts }: { https: number; mqtts: number },
): Promise<void> {
  const isHttp = random.chance(0.5);
  const way = { port: isHttp ? https : mqtts, localAddress };
  if (random.chance(0.5)) {
    const hello = Buffer.concat([Buffer.from([0x16, 3, 1, 2, 0, 1]), noise(random, random.integer(0, 600))]);
    return send(way, { bytes: hello, chunkBytes: 100_000, isAbrupt: false });
  }
  const content = isHttp
    ? hostileHttp(random, attack.token)
    : hostileMqtt(random, random.pick(attack.insiders));
  return send({ ...way, isEncrypted: true }, content);
}

async function lane(index: number, next: () => Random | undefined): Promise<void> {
  const { localAddresses, ports } = attack;
  const localAddress = localAddresses[index % localAddresses.length] ?? '127.0.0.1';
  for (let random = next(); random; random = next()) {
    if (attack.sequences === undefined) await mixed(random, localAddress);
    else {
      counts.mqtt += 1;
      await send({ port: ports.mqtt, localAddress }, hostileMqtt(random, random.pick(attack.insiders)));
    }
  }
}

const endMs = performance.now() + attack.durationMs;
const root = createRandom(attack.seed);
let number = 0;
const next = (): Random | undefined => {
  const goesOn = attack.sequences === undefined ? performance.now() < endMs : number < attack.sequences;
  return goesOn ? root.fork(number++) : undefined;
};
await Promise.all(Array.from({ length: attack.width }, (_, index) => lane(index, next)));
parentPort?.postMessage(counts);
