/**
 * Load on one HTTP server: connections that stay open, one request at a time on each. Raw sockets, because a
 * client with comforts would be slower than the server.
 */
import { connect, type Socket } from 'node:net';
import type { Clock } from '../../src/platform/clock/index.ts';

export interface HttpLoad {
  port: number;
  /** The whole request as it is written to the socket. */
  request: string;
  connections: number;
  durationMs: number;
}

export interface HttpLoadResult {
  requests: number;
  perSecond: number;
  /** Sorted. */
  latenciesMs: number[];
  bodyBytes: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const CHUNKS_END = Buffer.from('\r\n0\r\n\r\n');

/** @throws Error at the first answer that is not 200 */
export async function loadHttp(load: HttpLoad, clock: Clock): Promise<HttpLoadResult> {
  const latenciesMs: number[] = [];
  const startedMs = clock.monotonicMs();
  const endMs = startedMs + load.durationMs;
  const bodies = await Promise.all(
    Array.from({ length: load.connections }, () => runConnection(load, clock, endMs, latenciesMs)),
  );
  const tookMs = clock.monotonicMs() - startedMs;
  return {
    requests: latenciesMs.length,
    perSecond: (latenciesMs.length * 1_000) / tookMs,
    latenciesMs: latenciesMs.sort((a, b) => a - b),
    bodyBytes: bodies[0] ?? 0,
  };
}

export function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** Resolves with the size of the last body. */
function runConnection(load: HttpLoad, clock: Clock, endMs: number, latenciesMs: number[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ port: load.port, host: '127.0.0.1', noDelay: true });
    const request = Buffer.from(load.request);
    let received: Buffer[] = [];
    let sentMs = 0;
    const send = (): void => {
      sentMs = clock.monotonicMs();
      socket.write(request);
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed the connection')));
    socket.on('data', (part: Buffer) => {
      received.push(part);
      const answer = received.length === 1 ? part : Buffer.concat(received);
      const bodyBytes = completeBody(answer);
      if (bodyBytes === undefined) return;
      received = [];
      const nowMs = clock.monotonicMs();
      latenciesMs.push(nowMs - sentMs);
      if (answer.toString('latin1', 9, 12) !== '200') {
        socket.destroy();
        reject(new Error(`unexpected answer: ${answer.toString('latin1', 0, 300)}`));
      } else if (nowMs < endMs) send();
      else {
        socket.removeAllListeners('close');
        socket.end();
        resolve(bodyBytes);
      }
    });
  });
}

/** Size of the body once all of it is there. */
function completeBody(answer: Buffer): number | undefined {
  const headEnd = answer.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const bodyBytes = answer.length - headEnd - HEAD_END.length;
  const length = /\r\ncontent-length: (\d+)/i.exec(answer.toString('latin1', 0, headEnd))?.[1];
  if (length !== undefined) return bodyBytes >= Number(length) ? bodyBytes : undefined;
  return answer.subarray(-CHUNKS_END.length).equals(CHUNKS_END) ? bodyBytes : undefined;
}
