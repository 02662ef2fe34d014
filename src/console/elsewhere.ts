/** What others change: pages, programs, rules. What is shown of it is read again, at most a few times a second. */
import { type Signal, signal } from '@preact/signals';
import type { DurationMs } from '../lib/time.ts';
import { changeCount } from './api.ts';

/** Others may make hundreds of changes in a row. */
const READ_AFTER_MS: DurationMs = 500;

/** Grows after changes that were made elsewhere, and after a gap in which there may have been some. */
export const changesElsewhere = signal(0);

/** Grows after commands that were given elsewhere: rules may give many of them, and they change no list but their own. */
export const commandsElsewhere = signal(0);

const waiting = new Map<Signal<number>, ReturnType<typeof setTimeout>>();

/** Something was heard of that another page may have done, or this one. */
export function noteElsewhere(count: Signal<number>): void {
  if (waiting.has(count)) return;
  const timer = setTimeout(() => {
    waiting.delete(count);
    count.value += 1;
  }, READ_AFTER_MS);
  waiting.set(count, timer);
}

// A change made from this page was heard of before it was answered, and everything is read again after the answer.
changeCount.subscribe(() => {
  for (const timer of waiting.values()) clearTimeout(timer);
  waiting.clear();
});
