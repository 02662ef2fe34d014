/**
 * A serial port of the system: `stty` sets it up, the event loop reads it, writes do not block. Works on
 * anything that is a terminal, a pseudo-terminal included.
 */
import type { Buffer } from 'node:buffer';
import { execFile } from 'node:child_process';
import { close, closeSync, constants, openSync, statSync, writeSync } from 'node:fs';
import tty from 'node:tty';
import { promisify } from 'node:util';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { type Dial, dialWithin } from './dial.ts';
import { reasonOf } from './modbus-fault.ts';
import type { OpenSerialLine, SerialLine, SerialSettings } from './serial-port.ts';

/** Part of the operating system since its beginnings; a program without an environment has no search path. */
const STTY = '/bin/stty';
const STTY_MS = 5_000;
/** Between attempts to write into a full buffer: a few characters at 9 600 baud. */
const WRITE_RETRY_MS = 5;
const WRITE_RETRIES = 1_000;

/** Ports by their path, such as /dev/ttyUSB0. By two names of one device it is open once: both would share its bytes. */
export function systemSerialLines(clock: Clock): (path: string) => OpenSerialLine {
  /** Number of each device that is open → the path that it was opened by. */
  const openLines = new Map<number, string>();
  return (path) => async (settings, on) => {
    const device = statSync(path, { throwIfNoEntry: false })?.rdev ?? 0;
    const other = openLines.get(device);
    if (other !== undefined)
      throw new Error(`another port has the same line open as ${other}: one of the two has to go`);
    // Zero for what is no device, which is refused below.
    if (device !== 0) openLines.set(device, path);
    const release = (): void => void openLines.delete(device);
    try {
      await setUp(path, settings);
      // The stream opens the line once more for reading; this one is for writing, and ours to close.
      const descriptor = openSync(path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
      return attach(descriptor, clock, on, release);
    } catch (error) {
      release();
      throw error;
    }
  };
}

/** Raw bytes, no flow control, no wait for a modem. */
async function setUp(path: string, settings: SerialSettings): Promise<void> {
  const parity = { N: ['-parenb'], E: ['parenb', '-parodd'], O: ['parenb', 'parodd'] }[settings.parity];
  const mode = [
    String(settings.baudRate),
    'raw',
    '-echo',
    'clocal',
    '-crtscts',
    `cs${settings.dataBits}`,
    settings.stopBits === 2 ? 'cstopb' : '-cstopb',
    ...parity,
  ];
  try {
    await promisify(execFile)(STTY, ['-F', path, ...mode], { timeout: STTY_MS, env: {} });
  } catch (cause) {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : '';
    const [line = ''] = said.replace(/^.*?stty: /, '').split('\n');
    throw new Error(line === '' ? reasonOf(cause) : remedied(line, settings), { cause });
  }
}

/** The message of the system, and a remedy for the person on site. */
function remedied(said: string, { baudRate, dataBits, parity, stopBits }: SerialSettings): string {
  if (/Permission denied/.test(said))
    return `${said}: the group of the device file must be one of the service`;
  if (/Inappropriate ioctl/.test(said)) return `${said}: this is no serial port`;
  if (!/unable to perform|invalid argument/i.test(said)) return said;
  return `${said}: the adapter does not take ${baudRate} baud, ${dataBits} data bits, parity ${parity}, stop bits ${stopBits}`;
}

function attach(
  descriptor: number,
  clock: Clock,
  on: { onBytes: (bytes: Buffer) => void; onEnd: (reason: string) => void },
  release: () => void,
): SerialLine {
  let isOpen = true;
  let stream: tty.ReadStream;
  try {
    stream = new tty.ReadStream(descriptor);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  const letGo = (): void => {
    isOpen = false;
    release();
    stream.destroy();
    // The last one who closes a line waits until what was written is out, so the event loop does not. Left open, it would
    // keep the number of an adapter that was pulled, which then comes back as another device.
    close(descriptor, () => undefined);
  };
  const end = (reason: string): void => {
    if (!isOpen) return;
    letGo();
    on.onEnd(reason);
  };
  stream.on('data', (bytes: Buffer) => on.onBytes(bytes));
  stream.on('error', (error) => end(reasonOf(error)));
  stream.on('end', () => end('the device is gone'));
  stream.on('close', () => end('the device is gone'));
  return {
    write: async (bytes) => {
      let rest = bytes;
      for (let tries = 0; rest.length > 0; tries += 1) {
        if (!isOpen) throw new Error('the device is gone');
        if (tries > WRITE_RETRIES) throw new Error('the port takes no bytes');
        const written = writeSome(descriptor, rest);
        rest = rest.subarray(written);
        if (rest.length > 0) await clock.sleep(WRITE_RETRY_MS);
      }
    },
    close: () => {
      if (isOpen) letGo();
    },
  };
}

/** How many bytes the system took; 0 when its buffer is full. */
function writeSome(descriptor: number, bytes: Buffer): number {
  try {
    return writeSync(descriptor, bytes);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return 0;
    throw error;
  }
}

// A serial line behind a serial server: its bytes over TCP. The server sets the speed; settings mean nothing here.

/** The line behind a serial server. */
export function socketLine(dial: Dial, clock: Clock, connectMs: DurationMs): OpenSerialLine {
  return async (_, on) => {
    const stream = await dialWithin(dial, clock, connectMs);
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
