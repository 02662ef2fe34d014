/**
 * Memory that nobody uses goes back to the system: what a start, a compilation or a flood has left free between blocks
 * of the C library, and pages of the runtime's own file that were needed once, compilers above all. No program sees a
 * difference; who needs such a page again gets it from the same file. Node calls the C library since 26.1; where it
 * cannot, nothing is done. A program that was started with permissions has none to call it from then on.
 */
import { readFile } from 'node:fs/promises';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import { type Clock, setRealTimer, type Timer } from '../clock/index.ts';
import type { Log } from '../log/index.ts';

/** From one look to the next, and from the start until memory goes back for the first time; then each time twice as late. */
const LOOK_MS = 15_000;
const SOON_MS = 1_000;
const LAST_MS = 15 * 60_000;
/** A timer may call that much before its time by the other clock. */
const EARLY_MS = 5;
/** Of the memory in use: with more than this resident it goes back at once, as after a compilation. */
const GROWTH = 1.1;
const MAPPINGS = '/proc/self/smaps';
/** MADV_DONTNEED of madvise(2). */
const DONT_NEED = 4;
const CALLS = {
  malloc_trim: { arguments: ['u64'], return: 'i32' },
  madvise: { arguments: ['u64', 'u64', 'i32'], return: 'i32' },
} as const;

interface Calls {
  malloc_trim(padBytes: bigint): number;
  madvise(start: bigint, length: bigint, advice: number): number;
}

interface Range {
  start: bigint;
  length: bigint;
}

/** When memory goes back: at doubling intervals, and earlier when much more is resident than came back since the last time. */
export class ReturnSchedule {
  #lastMs: MonotonicMs;
  #intervalMs: DurationMs = LOOK_MS;
  #inUseBytes: number | undefined;

  constructor(nowMs: MonotonicMs) {
    this.#lastMs = nowMs;
  }

  /** To be called at every look. */
  isDue(nowMs: MonotonicMs, residentBytes: number): boolean {
    this.#inUseBytes ??= residentBytes;
    return nowMs - this.#lastMs >= this.#intervalMs - EARLY_MS || residentBytes > this.#inUseBytes * GROWTH;
  }

  /** Something takes much memory just now. */
  hurry(): void {
    this.#intervalMs = SOON_MS;
  }

  /** Until the next look. */
  get pauseMs(): DurationMs {
    return Math.min(this.#intervalMs, LOOK_MS);
  }

  /** Memory went back; what is resident at the next look is in use. */
  returned(nowMs: MonotonicMs): void {
    this.#lastMs = nowMs;
    this.#intervalMs = Math.min(this.#intervalMs * 2, LAST_MS);
    this.#inUseBytes = undefined;
  }
}

/**
 * Goes on as long as the program runs, and does not keep it running. `soon`: something took much memory just now, which is
 * given back within seconds.
 */
export function returnSpareMemory(log: Log, clock: Pick<Clock, 'monotonicMs'>): { soon: () => void } {
  const schedule = new ReturnSchedule(clock.monotonicMs());
  let calls: Calls | undefined;
  let timer: Timer | undefined;

  const isNotGivenBack = (error: unknown): void => log.debug('spare memory is not given back', { error });

  function lookLater(possible: Calls): void {
    timer?.cancel();
    timer = setRealTimer(schedule.pauseMs, () => {
      look(possible).then(() => lookLater(possible), isNotGivenBack);
    });
  }

  async function look(possible: Calls): Promise<void> {
    if (!schedule.isDue(clock.monotonicMs(), process.memoryUsage.rss())) return;
    await giveBack(possible, log);
    schedule.returned(clock.monotonicMs());
  }

  async function start(): Promise<void> {
    try {
      const { dlopen } = await import('node:ffi');
      calls = dlopen(null, CALLS).functions;
      // A program that runs foreign code was given the right to call the C library for these two calls alone.
      const { permission } = process as { permission?: { drop(right: string): void } };
      permission?.drop('ffi');
      lookLater(calls);
    } catch (error) {
      isNotGivenBack(error);
    }
  }

  void start();
  return {
    // Nothing changes where the next time is as near already: who asks all the time would put it off for ever.
    soon: () => {
      if (schedule.pauseMs === SOON_MS) return;
      schedule.hurry();
      if (calls) lookLater(calls);
    },
  };
}

async function giveBack(calls: Calls, log: Log): Promise<void> {
  const residentBefore = process.memoryUsage.rss();
  globalThis.gc?.();
  calls.malloc_trim(0n);
  for (const { start, length } of unchangedRanges(await mappings(log), process.execPath))
    calls.madvise(start, length, DONT_NEED);
  const residentAfter = process.memoryUsage.rss();
  log.debug('spare memory given back', { bytes: residentBefore - residentAfter, left_bytes: residentAfter });
}

/** Nothing where they cannot be read now, as without another open file: the next time is near. */
async function mappings(log: Log): Promise<string> {
  try {
    return await readFile(MAPPINGS, 'utf8');
  } catch (error) {
    log.debug('mappings of the memory cannot be read', { error });
    return '';
  }
}

/**
 * Ranges that hold a file as it stands on the disk and cannot be written to. Where a single page was changed since, its
 * content would be lost, in memory or swapped out: such a range is left out (proc_pid_smaps(5), Anonymous and Swap).
 */
export function unchangedRanges(mappings: string, file: string): Range[] {
  const ranges: Range[] = [];
  let current: Range | undefined;
  for (const line of mappings.split('\n')) {
    const head = /^([0-9a-f]+)-([0-9a-f]+) r-[x-]p \S+ \S+ \d+ +(.*)$/.exec(line);
    if (head) {
      const [, from = '', to = '', name] = head;
      const start = BigInt(`0x${from}`);
      current = name === file ? { start, length: BigInt(`0x${to}`) - start } : undefined;
    } else if (/^[0-9a-f]+-/.test(line) || /^Anonymous: +[1-9]/.test(line)) current = undefined;
    else if (current && /^Swap: +0 kB$/.test(line)) ranges.push(current);
  }
  return ranges;
}
