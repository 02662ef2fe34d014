/** Connections over TCP. */
import net from 'node:net';
import type { Duplex } from 'node:stream';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';

export interface HostAndPort {
  host: string;
  port: number;
}

/** Opens a connection; rejects when that fails or the signal is aborted. */
export type Dial = (signal: AbortSignal) => Promise<Duplex>;

/** Rejects also when the time is over, or the attempt is aborted. */
export async function dialWithin(
  dial: Dial,
  clock: Pick<Clock, 'setTimer'>,
  limitMs: DurationMs,
  attempt = new AbortController(),
): Promise<Duplex> {
  const { signal } = attempt;
  const limit = clock.setTimer(limitMs, () => attempt.abort(new Error('no answer')));
  try {
    return await dial(signal);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    limit.cancel();
  }
}

/** An idle connection is probed after this time, so that the system notices a peer that is gone. */
const KEEP_ALIVE_MS = 30_000;

export function dialTcp({ host, port }: HostAndPort, signal: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host, port, signal, noDelay: true, keepAlive: true });
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    const onError = (error: Error): void => reject(error);
    socket.once('error', onError);
    socket.once('connect', () => {
      // Errors before a listener is attached have no receiver; the stream is then seen as closed.
      socket.on('error', () => undefined);
      socket.off('error', onError);
      resolve(socket);
    });
  });
}
