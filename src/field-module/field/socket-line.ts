/** A serial line behind a serial server: its bytes over TCP. The server sets the speed; settings mean nothing here. */
import type { Duplex } from 'node:stream';
import { type Clock, within } from '../../platform/clock/index.ts';
import { reasonOf } from './modbus-fault.ts';
import type { OpenSerialLine } from './serial-port.ts';

/** @param dial opens a connection to the server; rejects when that fails or the signal is aborted */
export function socketLine(
  dial: (signal: AbortSignal) => Promise<Duplex>,
  clock: Clock,
  connectMs: number,
): OpenSerialLine {
  return async (_, on) => {
    const attempt = new AbortController();
    const dialled = dial(attempt.signal);
    const stream = await within(clock, connectMs, dialled);
    if (stream === undefined) {
      attempt.abort();
      dialled.then(
        (late) => late.destroy(),
        () => undefined,
      );
      throw new Error('no answer');
    }
    stream.on('data', (bytes: Buffer) => on.onBytes(bytes));
    stream.on('error', (error) => on.onEnd(reasonOf(error)));
    stream.on('end', () => on.onEnd('closed by the serial server'));
    stream.on('close', () => on.onEnd('closed by the serial server'));
    return {
      write: (bytes) =>
        new Promise((resolve, reject) => stream.write(bytes, (error) => (error ? reject(error) : resolve()))),
      close: () => void stream.destroy(),
    };
  };
}
