/** Changes by others: pages, programs, rules. The shown data that they concern is read again. */
import { type Signal, signal } from '@preact/signals';
import type { DurationMs, MonotonicMs } from '../lib/time.ts';
import { changeCount } from './api.ts';

/** Several changes often come together. */
const READ_AFTER_MS: DurationMs = 500;
/** A program may make changes without end. */
const READ_AGAIN_AFTER_MS: DurationMs = 2_000;

/** Grows after changes that were made elsewhere, and after a gap in which there may have been some. */
export const remoteChangeCount = signal(0);

/** Grows after commands that were given elsewhere: rules may give many of them, and they change no list but their own. */
export const remoteCommandCount = signal(0);

const waiting = new Map<Signal<number>, ReturnType<typeof setTimeout>>();
const grownAtMs = new Map<Signal<number>, MonotonicMs>();

/** A change arrived that another page or this one may have made. */
export function noteRemoteChange(count: Signal<number>): void {
  if (waiting.has(count)) return;
  const passedMs = performance.now() - (grownAtMs.get(count) ?? -Infinity);
  const timer = setTimeout(
    () => {
      waiting.delete(count);
      grownAtMs.set(count, performance.now());
      count.value += 1;
    },
    Math.max(READ_AFTER_MS, READ_AGAIN_AFTER_MS - passedMs),
  );
  waiting.set(count, timer);
}

// A change made by this page arrives before its answer, and everything is read again after the answer.
changeCount.subscribe(() => {
  for (const timer of waiting.values()) clearTimeout(timer);
  waiting.clear();
});
