/** Waiting for the world outside the process, which no test clock moves. */
import { setTimeout as pause } from 'node:timers/promises';

/** A machine with ten times as much to do as it can is slow, not wrong. */
const LIMIT_MS = 60_000;

/** Resolves as soon as the condition holds; fails when it does not within a minute. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + LIMIT_MS;
  while (!(await condition())) {
    if (performance.now() > endMs)
      throw new Error(`did not happen within ${LIMIT_MS} ms: ${condition.toString()}`);
    await pause(5);
  }
}
