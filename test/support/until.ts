/** Waiting for the world outside the process, which no test clock moves. */
import { setTimeout as pause } from 'node:timers/promises';

/** A machine with ten times as much to do as it can is slow, not wrong. */
const LIMIT_MS = 60_000;

/** From one look to the next: of a long wait a part, since every look takes processor time from what is waited for. */
const PAUSE_MS = { least: 5, most: 25 };
const PART = 0.05;

/** Resolves soon after the condition holds; fails when it does not within a minute. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const startMs = performance.now();
  while (!(await condition())) {
    const waitedMs = performance.now() - startMs;
    if (waitedMs > LIMIT_MS) throw new Error(`did not happen within ${LIMIT_MS} ms: ${condition.toString()}`);
    await pause(Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, waitedMs * PART)));
  }
}
