/** Waiting for the world outside the process, which no test clock moves. */
import { setTimeout as pause } from 'node:timers/promises';

const LIMIT_MS = 10_000;

/** Resolves as soon as the condition holds; fails when it does not within ten seconds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + LIMIT_MS;
  while (!(await condition())) {
    if (performance.now() > endMs)
      throw new Error(`did not happen within ${LIMIT_MS} ms: ${condition.toString()}`);
    await pause(5);
  }
}
