import { connect } from 'node:net';
import type { DurationMs } from '../../lib/time.ts';

/** Whether something takes a TCP connection there; it is closed at once and nothing is sent. */
export function isOpen(
  { host, port }: { host: string; port: number },
  timeoutMs: DurationMs,
  signal: AbortSignal,
): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host, port, signal });
  socket.setTimeout(timeoutMs, () => socket.destroy());
  socket.once('connect', () => resolve(true));
  socket.once('error', () => resolve(false));
  socket.once('close', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
