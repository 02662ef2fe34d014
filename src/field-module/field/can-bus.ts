import { Buffer } from 'node:buffer';
import { DoublingPause } from '../../lib/doubling-pause.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Timer } from '../../platform/clock/index.ts';
import { PortFault } from './modbus-fault.ts';
import { type PortOptions, ProgramFailure, type RunningProgram } from './system-program.ts';

/** Identifiers above this have the extended format of 29 bits. */
const STANDARD_ID_MAX = 0x7ff;
const EXTENDED_ID_MAX = 0x1fff_ffff;
const DATA_BYTES_MAX = 8;
const SETTLED_MS = 1_000;

interface CanFrame {
  id: number;
  /** At most 8 bytes. */
  data: Buffer;
}

interface CanBusOptions extends PortOptions {
  /** Name in the system, such as `can0`. */
  interfaceName: string;
}

interface Sending {
  line: string;
  isWanted: () => boolean;
  resolve: () => void;
  reject: (fault: PortFault) => void;
}

/**
 * One CAN interface of the system (socketcan), shared by everyone who names it, through `candump` and `canplayer` of
 * can-utils: the runtime has no such socket. The system sets up bit rate and state of the interface.
 */
export class CanBus {
  readonly #options: CanBusOptions;
  readonly #pause: DoublingPause;
  readonly #listeners = new Set<(frame: CanFrame) => void>();
  #dump: RunningProgram | undefined;
  #again: Timer | undefined;
  #waiting: Sending[] = [];
  #isSending = false;
  #isClosed = false;

  constructor(options: CanBusOptions) {
    this.#options = options;
    const { reconnectFirstMs, reconnectMaxMs } = options.limits;
    this.#pause = new DoublingPause({ firstMs: reconnectFirstMs, maxMs: reconnectMaxMs });
  }

  /** Calls it with each frame that others send, until the returned function is called. */
  listen(listener: (frame: CanFrame) => void): () => void {
    this.#listeners.add(listener);
    this.#follow();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#rest();
    };
  }

  /**
   * Resolves when the interface has taken the frame; frames go out in the order of the calls. What is not wanted any more
   * in its turn does not.
   * @throws PortFault invalid_argument, too_many_frames, connection_failed
   */
  send(id: number, data: Uint8Array, isWanted: () => boolean = () => true): Promise<void> {
    if (!Number.isInteger(id) || id < 0 || id > EXTENDED_ID_MAX)
      return Promise.reject(new PortFault('invalid_argument', 'an identifier has 11 or 29 bits'));
    if (data.length > DATA_BYTES_MAX)
      return Promise.reject(new PortFault('invalid_argument', `a frame has ${DATA_BYTES_MAX} bytes at most`));
    if (this.#waiting.length >= this.#options.limits.queuedRequests)
      return Promise.reject(new PortFault('too_many_frames', 'too many frames are waiting'));
    return new Promise((resolve, reject) => {
      const line = lineOf(this.#options.interfaceName, id, data);
      this.#waiting.push({ line, isWanted, resolve, reject });
      if (!this.#isSending) void this.#sendAll();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#listeners.clear();
    this.#rest();
  }

  #follow(): void {
    if (this.#dump !== undefined || this.#again !== undefined || this.#isClosed) return;
    const { programs, interfaceName, clock, onFailed, onWorking } = this.#options;
    const dump = programs.start('candump', ['-L', interfaceName], (line) => {
      const frame = frameOf(line);
      if (frame === undefined) return;
      this.#pause.reset();
      onWorking();
      for (const listener of this.#listeners) listener(frame);
    });
    this.#dump = dump;
    // A bus may be silent for long, and a program that cannot listen ends at once.
    const settled = clock.setTimer(SETTLED_MS, () => {
      this.#pause.reset();
      onWorking();
    });
    void dump.ended.then((reason) => {
      settled.cancel();
      if (this.#dump !== dump) return;
      this.#dump = undefined;
      onFailed(reason);
      this.#again = clock.setTimer(this.#pause.next(), () => {
        this.#again = undefined;
        this.#follow();
      });
    });
  }

  #rest(): void {
    this.#again?.cancel();
    this.#again = undefined;
    const dump = this.#dump;
    this.#dump = undefined;
    dump?.stop();
  }

  /** All waiting frames are sent together: a start of the program costs as much as many frames. */
  async #sendAll(): Promise<void> {
    const { programs, interfaceName, limits, onFailed, onWorking } = this.#options;
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.filter(({ isWanted }) => isWanted());
      for (const late of this.#waiting)
        if (!batch.includes(late)) late.reject(new PortFault('connection_failed', 'it has waited too long'));
      this.#waiting = [];
      if (batch.length === 0) break;
      try {
        // Sent at once, and not received by ourselves: a controller does not receive its own frames. Each frame sent
        // prints a line.
        await programs.run('canplayer', ['-t', '-x', '-v', `${interfaceName}=${interfaceName}`], {
          timeoutMs: limits.programMs,
          input: batch.map(({ line }) => line).join(''),
        });
        onWorking();
        for (const { resolve } of batch) resolve();
      } catch (error) {
        onFailed(messageOf(error));
        const fault = new PortFault('connection_failed', messageOf(error), error);
        // A full buffer takes the first frames; the callers of the others get an error and send again.
        const sent = error instanceof ProgramFailure ? sentOf(error.said ?? '', interfaceName) : 0;
        for (const [index, { resolve, reject }] of batch.entries())
          if (index < sent) resolve();
          else reject(fault);
      }
    }
    this.#isSending = false;
  }
}

/** As can-utils write and read frames in their logs: `(1700000000.123456) can0 123#DEADBEEF`. */
function lineOf(interfaceName: string, id: number, data: Uint8Array): string {
  const digits = id > STANDARD_ID_MAX ? 8 : 3;
  const address = id.toString(16).toUpperCase().padStart(digits, '0');
  return `(0.000000) ${interfaceName} ${address}#${Buffer.from(data).toString('hex').toUpperCase()}\n`;
}

/** How many frames `canplayer -v` has sent: `can0 (can0)  123  [2] 01 02`. */
function sentOf(said: string, interfaceName: string): number {
  return said.split('\n').filter((line) => line.startsWith(`${interfaceName} (`)).length;
}

/** A data frame; undefined for remote requests, frames of CAN FD, and everything else. */
function frameOf(line: string): CanFrame | undefined {
  const [, address = '', bytes = ''] =
    /^\(\d+\.\d+\)\s+\S+\s+([0-9A-F]{3}|[0-9A-F]{8})#((?:[0-9A-F]{2}){0,8})(?:\s|$)/.exec(line) ?? [];
  if (address === '') return undefined;
  return { id: Number.parseInt(address, 16), data: Buffer.from(bytes, 'hex') };
}

/** `oldest` and `newest`: which frame gives way when there is no room. */
type MailboxRule = { sizeMax: number; drops: 'oldest' | 'newest' };

/** Frames of a bus that wait until a script takes them, bounded in number for each identifier. Pure. */
export class CanMailbox {
  readonly #rule: MailboxRule;
  /** Undefined: all of them, in one row. */
  readonly #ids: ReadonlySet<number> | undefined;
  readonly #rows = new Map<number, { frames: CanFrame[]; dropped: number }>();

  constructor(ids: readonly number[] | undefined, rule: MailboxRule) {
    this.#rule = rule;
    this.#ids = ids && new Set(ids);
  }

  put(frame: CanFrame): void {
    if (this.#ids?.has(frame.id) === false) return;
    const row = this.#row(this.#ids === undefined ? ALL : frame.id);
    if (row.frames.length < this.#rule.sizeMax) {
      row.frames.push(frame);
      return;
    }
    row.dropped += 1;
    if (this.#rule.drops === 'newest') return;
    row.frames.shift();
    row.frames.push(frame);
  }

  /** Everything of the identifier, oldest first; undefined takes from the row of all. */
  take(id: number = ALL): CanFrame[] {
    const row = this.#row(id);
    const { frames } = row;
    row.frames = [];
    return frames;
  }

  /** Frames that gave way since the last call. */
  takeDropped(id: number): number {
    const row = this.#row(id);
    const { dropped } = row;
    row.dropped = 0;
    return dropped;
  }

  #row(id: number): { frames: CanFrame[]; dropped: number } {
    const known = this.#rows.get(id);
    if (known) return known;
    const row = { frames: [], dropped: 0 };
    // An identifier that the script did not order has no frames, and no row is kept for it.
    if (id === ALL || this.#ids?.has(id) === true) this.#rows.set(id, row);
    return row;
  }
}

/** No identifier has this number. */
const ALL = -1;
