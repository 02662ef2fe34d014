/**
 * One serial port, shared by everyone who names it. Users take turns and have it to themselves in their turn;
 * it is opened when somebody needs it and opened again, with growing pauses, after it went away (a pulled
 * USB adapter).
 */
import { Buffer } from 'node:buffer';
import type { Limits } from '../../../lib/limits.ts';
import type { Clock, Timer } from '../../../platform/clock/index.ts';
import { reasonOf } from './modbus-fault.ts';
import { createRetryPause } from './retry-pause.ts';

export interface SerialSettings {
  baudRate: number;
  dataBits: 5 | 6 | 7 | 8;
  parity: 'N' | 'E' | 'O';
  stopBits: 1 | 2;
}

/** Start bit, data, parity, stop. */
export function characterMs(settings: SerialSettings): number {
  const bits = 1 + settings.dataBits + (settings.parity === 'N' ? 0 : 1) + settings.stopBits;
  return (bits * 1_000) / settings.baudRate;
}

/** An open line. */
export interface SerialLine {
  /** Resolves when the system has taken the bytes. @throws Error when the line is gone */
  write(bytes: Buffer): Promise<void>;
  close(): void;
}

/** Opens the line; `onEnd` is called once, when it goes away by itself. @throws Error */
export type OpenSerialLine = (
  settings: SerialSettings,
  on: { onBytes: (bytes: Buffer) => void; onEnd: (reason: string) => void },
) => Promise<SerialLine>;

/** Why the port could not be used; `message` is for people. */
export class SerialFault extends Error {
  readonly kind: 'timeout' | 'connection_failed' | 'invalid_argument' | 'overloaded';
  constructor(kind: SerialFault['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'SerialFault';
    this.kind = kind;
  }
}

/** What the holder of the turn may do; useless afterwards. */
export interface SerialTurn {
  /** @throws SerialFault */
  write(bytes: Buffer): Promise<void>;
  /**
   * Up to `countMax` bytes as soon as so many are there, or what is there after the time.
   * @throws SerialFault timeout when there is nothing
   */
  read(countMax: number, timeoutMs: number): Promise<Buffer>;
  /** Bytes that have arrived within `timeoutMs`, at least one; undefined when none did. */
  next(timeoutMs: number): Promise<Buffer | undefined>;
  /** Forgets what has arrived. */
  flush(): void;
  readonly settings: SerialSettings;
}

export interface SerialPort {
  /** Runs `use` when it is this one's turn, with the line open. @throws SerialFault, or what `use` throws */
  inTurn<T>(use: (turn: SerialTurn) => Promise<T>): Promise<T>;
  /** Other settings from the next turn on. */
  configure(settings: SerialSettings): void;
  readonly settings: SerialSettings;
  close(): void;
}

export interface SerialPortOptions {
  open: OpenSerialLine;
  settings: SerialSettings;
  clock: Clock;
  limits: Limits['field'];
  /** The port cannot be opened, or went away; called for each attempt. */
  onFailed?: (reason: string) => void;
  /** It has been opened. */
  onOpened?: () => void;
}

export function createSerialPort(options: SerialPortOptions): SerialPort {
  const { clock, limits } = options;
  const pause = createRetryPause(limits);
  const inbox = createInbox(clock, limits.serialBufferBytes);
  let wanted = options.settings;
  /** Of the line that is open, or was last. */
  let settings = wanted;
  let line: SerialLine | undefined;
  /** Counts calls of `close`: what opens after one is closed again. */
  let closings = 0;
  let lastFailure = '';
  let waiting = 0;
  let lastTurn: Promise<unknown> = Promise.resolve();

  function lose(reason: string): void {
    line = undefined;
    lastFailure = reason;
    options.onFailed?.(reason);
    pause.failed(clock.monotonicMs());
    inbox.end(reason);
  }

  async function ready(): Promise<SerialLine> {
    if (line) return line;
    if (pause.isResting(clock.monotonicMs())) throw new SerialFault('connection_failed', lastFailure);
    inbox.begin();
    settings = wanted;
    const closingsBefore = closings;
    let isOver = false;
    try {
      const opened = await options.open(settings, {
        onBytes: (bytes) => {
          if (!isOver) inbox.add(bytes);
        },
        onEnd: (reason) => {
          if (isOver) return;
          isOver = true;
          lose(reason);
        },
      });
      line = {
        write: (bytes) => opened.write(bytes),
        close: () => {
          isOver = true;
          opened.close();
        },
      };
      if (closings !== closingsBefore) {
        line.close();
        throw new Error('closed');
      }
      pause.succeeded();
      options.onOpened?.();
      return line;
    } catch (error) {
      lose(reasonOf(error));
      throw new SerialFault('connection_failed', lastFailure, error);
    }
  }

  async function take<T>(use: (turn: SerialTurn) => Promise<T>): Promise<T> {
    const opened = await ready();
    return use({
      settings,
      write: async (bytes) => {
        try {
          await opened.write(bytes);
        } catch (error) {
          throw new SerialFault('connection_failed', reasonOf(error), error);
        }
      },
      read: (countMax, timeoutMs) => inbox.read(countMax, timeoutMs),
      next: (timeoutMs) => inbox.next(timeoutMs),
      flush: () => inbox.flush(),
    });
  }

  return {
    inTurn: (use) => {
      if (waiting >= limits.queuedRequests)
        return Promise.reject(new SerialFault('overloaded', 'too many requests are waiting'));
      waiting += 1;
      const turn = lastTurn.then(() => {
        waiting -= 1;
        return take(use);
      });
      // The next one does not care how this one ended.
      lastTurn = turn.catch(() => undefined);
      return turn;
    },
    configure: (next) => {
      if (isSame(wanted, next)) return;
      wanted = next;
      lastTurn = lastTurn.then(() => {
        line?.close();
        line = undefined;
      });
    },
    get settings() {
      return wanted;
    },
    close: () => {
      closings += 1;
      line?.close();
      line = undefined;
      inbox.end('closed');
    },
  };
}

function isSame(a: SerialSettings, b: SerialSettings): boolean {
  return (
    a.baudRate === b.baudRate &&
    a.dataBits === b.dataBits &&
    a.parity === b.parity &&
    a.stopBits === b.stopBits
  );
}

interface Inbox {
  begin(): void;
  add(bytes: Buffer): void;
  end(reason: string): void;
  read(countMax: number, timeoutMs: number): Promise<Buffer>;
  next(timeoutMs: number): Promise<Buffer | undefined>;
  flush(): void;
}

/** What has arrived and nobody has read, bounded: of more, the oldest bytes are dropped. */
function createInbox(clock: Clock, bytesMax: number): Inbox {
  let held: Buffer = Buffer.alloc(0);
  let ended: string | undefined;
  let wake: (() => void) | undefined;

  /** Resolves when the next bytes are there, the line is gone, or the time is over. */
  function change(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer: Timer = clock.setTimer(withinMs, () => resolve());
      wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  function take(countMax: number): Buffer {
    const taken = held.subarray(0, countMax);
    held = held.subarray(countMax);
    return taken;
  }

  async function waitFor(count: number, timeoutMs: number): Promise<void> {
    const endMs = clock.monotonicMs() + timeoutMs;
    while (held.length < count) {
      if (ended !== undefined) throw new SerialFault('connection_failed', ended);
      const remainingMs = endMs - clock.monotonicMs();
      if (remainingMs <= 0) return;
      await change(remainingMs);
    }
  }

  return {
    begin: () => {
      held = Buffer.alloc(0);
      ended = undefined;
    },
    add: (bytes) => {
      const all = held.length === 0 ? Buffer.from(bytes) : Buffer.concat([held, bytes]);
      held = all.length > bytesMax ? Buffer.from(all.subarray(all.length - bytesMax)) : all;
      wake?.();
    },
    end: (reason) => {
      ended = reason;
      wake?.();
    },
    read: async (countMax, timeoutMs) => {
      await waitFor(Math.min(countMax, bytesMax), timeoutMs);
      if (held.length === 0) throw new SerialFault('timeout', 'timeout');
      return take(countMax);
    },
    next: async (timeoutMs) => {
      await waitFor(1, timeoutMs);
      return held.length === 0 ? undefined : take(held.length);
    },
    flush: () => {
      held = Buffer.alloc(0);
    },
  };
}
