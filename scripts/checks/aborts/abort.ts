/** One caller that goes away: what it sends, when it leaves, and how. */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '../../../src/platform/clock/index.ts';
import type { Random } from '../../support/random.ts';

export const MOMENTS = ['connecting', 'sending', 'pipelining', 'waiting', 'answering'] as const;
/** When a caller leaves; `pipelining`: after several requests in one go, `answering`: after the first bytes. */
export type Moment = (typeof MOMENTS)[number];

export const WAYS = ['reset', 'close', 'half_close'] as const;
/** RST; FIN and deaf from then on; FIN, still reading. */
export type Way = (typeof WAYS)[number];

export interface Abort {
  moment: Moment;
  way: Way;
  port: number;
  isEncrypted: boolean;
  localAddress: string;
  /** Whole request, as on the wire. */
  bytes: Buffer;
  /** How long the caller stays after what its moment waits for. */
  staysMs: number;
}

/** A caller that waits for an answer gives up after this. */
const ANSWER_MS = 1_500;
const HALF_CLOSED_MS = 300;
const REQUESTS_MAX = 5;

export function randomAbort(
  random: Random,
  bytes: Buffer,
  ports: { http: number; https: number },
  localAddresses: readonly string[],
): Abort {
  const isEncrypted = random.chance(0.15);
  return {
    moment: random.pick(MOMENTS),
    way: random.pick(WAYS),
    port: isEncrypted ? ports.https : ports.http,
    isEncrypted,
    localAddress: random.pick(localAddresses),
    bytes,
    // Most handlers are done within milliseconds, some wait for a device or a disk.
    staysMs: random.chance(0.2) ? random.between(0, 300) : random.between(0, 15),
  };
}

/** Resolves when the connection is gone. */
export async function perform(abort: Abort, random: Random, clock: Clock): Promise<void> {
  const { port, localAddress, isEncrypted, moment, bytes, staysMs } = abort;
  const plain = connect({ port, host: '127.0.0.1', localAddress, noDelay: true, allowHalfOpen: true });
  const socket: Socket = isEncrypted ? connectTls({ socket: plain, rejectUnauthorized: false }) : plain;
  // What becomes of the connection is not the question.
  for (const each of new Set([plain, socket])) each.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => plain.once('close', () => resolve()));
  const answered = new Promise<void>((resolve) => socket.once('data', () => resolve()));
  const within = (promise: Promise<void>, durationMs: number): Promise<void> =>
    Promise.race([promise, closed, clock.sleep(durationMs)]);

  if (moment === 'connecting') {
    // Over TLS the handshake is on its way.
    await within(new Promise((resolve) => plain.once('connect', () => resolve())), ANSWER_MS);
    await within(closed, staysMs);
    return leave();
  }
  if (moment === 'sending') socket.write(bytes.subarray(0, random.integer(1, bytes.length)));
  else if (moment === 'pipelining')
    for (let count = random.integer(2, REQUESTS_MAX); count > 0; count -= 1) socket.write(bytes);
  else socket.write(bytes);
  if (moment === 'answering') {
    await within(answered, ANSWER_MS);
    // Deaf in the middle: what the gateway goes on sending stays in its buffers.
    socket.pause();
  }
  await within(closed, staysMs);
  return leave();

  async function leave(): Promise<void> {
    if (abort.way === 'reset') plain.resetAndDestroy();
    else if (abort.way === 'half_close') {
      socket.resume();
      socket.end();
      await within(closed, HALF_CLOSED_MS);
    }
    socket.destroy();
    plain.destroy();
    await closed;
  }
}
