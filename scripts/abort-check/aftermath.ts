/** What is left once the callers have gone. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../src/platform/clock/index.ts';
import type { StockedGateway } from '../request-check/gateway.ts';

const POLL_MS = 250;
/** A command to a device that does not answer ends with its time limit; a connection that fell silent earlier. */
const SETTLE_MS = 150_000;

/** Lines that a person would have to read: errors, warnings with a stack, and what is no line of the log. */
export function complaintsIn(log: string): string[] {
  return log
    .split('\n')
    .filter((line) => line !== '')
    .filter((line) => {
      if (!line.startsWith('{"level":')) return true;
      const { level, error } = JSON.parse(line) as { level: string; error?: unknown };
      return level === 'error' || level === 'fatal' || (level === 'warn' && error !== undefined);
    })
    .map((line) => `log: ${line.slice(0, 1_500)}`);
}

/** Descriptors of the process: files, sockets, pipes. */
export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** What the gateway keeps in `backups/` for itself: copies of its authority and of state.db. */
const KEPT = /^(?:authority\.pem|state-(?:hourly|daily)-\d+-\d+\.db)$/;

/** Files that belong to an answer and not to the gateway. */
export function leftovers(dataDir: string): string[] {
  const folder = join(dataDir, 'backups');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => !KEPT.test(name))
    .map((name) => `left over: backups/${name}`);
}

/** Waits until no connection is left, and the figure is not above `target`; then answers the figure. */
export async function settled(
  { home, tokens }: Pick<StockedGateway, 'home' | 'tokens'>,
  clock: Clock,
  figure: () => number,
  target = Number.POSITIVE_INFINITY,
): Promise<number> {
  const deadlineMs = clock.monotonicMs() + SETTLE_MS;
  for (;;) {
    const answer = await fetch(`${home.baseUrl}/metrics`, {
      headers: { 'X-Service-Auth-Token': tokens.INSTALLER, Connection: 'close' },
    });
    const text = await answer.text();
    const now = figure();
    const isQuiet = gaugeOf(text, 'http_connections') <= 1 && gaugeOf(text, 'web_sockets') === 0;
    if ((isQuiet && now <= target) || clock.monotonicMs() > deadlineMs) return now;
    await clock.sleep(POLL_MS);
  }
}

function gaugeOf(metrics: string, name: string): number {
  const value = new RegExp(`^gateway_${name} (\\S+)$`, 'm').exec(metrics)?.[1];
  if (value === undefined) throw new Error(`there is no metric ${name}`);
  return Number(value);
}
