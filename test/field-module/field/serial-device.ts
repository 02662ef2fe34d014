/** A serial line in memory: ports on one end, whatever a test plays on the other. */
import { Buffer } from 'node:buffer';
import type { OpenSerialLine, SerialSettings } from '../../../src/field-module/field/serial-port.ts';
import { streamPair } from '../../support/stream-pair.ts';

export const SETTINGS: SerialSettings = { baudRate: 9_600, dataBits: 8, parity: 'N', stopBits: 1 };

export interface FakeSerialDevice {
  open: OpenSerialLine;
  /** Settings of each opening. */
  readonly openings: SerialSettings[];
  /** Everything written by the module, one entry per write. */
  readonly written: Buffer[];
  /** Called with each write. */
  onWrite: ((bytes: Buffer) => void) | undefined;
  /** Sends to the module. */
  say(bytes: Buffer | string): void;
  /** The adapter is pulled. */
  vanish(): void;
  /** Opening fails with this while set. */
  refusal: Error | undefined;
}

export function fakeSerialDevice(): FakeSerialDevice {
  let current: ReturnType<typeof streamPair> | undefined;
  const device: FakeSerialDevice = {
    openings: [],
    written: [],
    onWrite: undefined,
    refusal: undefined,
    open: (settings, on) => {
      if (device.refusal) return Promise.reject(device.refusal);
      device.openings.push(settings);
      const pair = streamPair();
      current = pair;
      pair.client.on('data', (bytes: Buffer) => on.onBytes(bytes));
      pair.client.on('close', () => on.onEnd('the device is gone'));
      pair.server.on('data', (bytes: Buffer) => {
        device.written.push(bytes);
        device.onWrite?.(bytes);
      });
      return Promise.resolve({
        write: (bytes) =>
          new Promise((resolve, reject) =>
            pair.client.write(bytes, (error) => (error ? reject(error) : resolve())),
          ),
        close: () => void pair.client.destroy(),
      });
    },
    say: (bytes) =>
      void current?.server.write(
        typeof bytes === 'string' ? Buffer.from(bytes.replaceAll(' ', ''), 'hex') : bytes,
      ),
    vanish: () => void current?.server.destroy(),
  };
  return device;
}

/** Runs the clock in small steps, with turns of the event loop between, until the promise is settled. */
export async function played<T>(
  clock: { advance(durationMs: number): Promise<void>; monotonicMs(): number },
  promise: Promise<T>,
  limitMs = 120_000,
): Promise<T> {
  let isOver = false;
  const mark = (): void => void (isOver = true);
  promise.then(mark, mark);
  const endMs = clock.monotonicMs() + limitMs;
  for (;;) {
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    if (isOver || clock.monotonicMs() > endMs) break;
    await clock.advance(1);
  }
  if (!isOver) throw new Error(`did not happen within ${limitMs} ms of the test's clock`);
  return promise;
}
