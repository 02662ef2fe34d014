/** The local command that asks the running gateway whether everything works. */
import { messageOf } from '../lib/errors.ts';
import type { Clock } from '../platform/clock/index.ts';
import type { Config } from '../platform/config/index.ts';
import type { Command } from './command.ts';

/** A gateway that does not answer within this time is not ready. */
const ANSWER_MS = 5_000;

export const READY_COMMANDS: Record<string, Command> = {
  ready: {
    takes: [],
    prepare:
      () =>
      async ({ config, clock }) => [await askReady(config, clock)],
  },
};

/** @throws Error that says what does not work */
async function askReady({ httpHost, httpPort }: Config, clock: Clock): Promise<string> {
  const url = `http://${localHost(httpHost)}:${httpPort}/readyz`;
  const { ok, text } = await ask(url, clock);
  if (ok) return 'The gateway is ready.';
  const { errors = [] } = JSON.parse(text) as { errors?: { message: string }[] };
  throw new Error(errors.map(({ message }) => message).join(' ') || text);
}

async function ask(url: string, clock: Clock): Promise<{ ok: boolean; text: string }> {
  const silence = new AbortController();
  const timer = clock.setTimer(ANSWER_MS, () => silence.abort());
  try {
    const response = await fetch(url, { signal: silence.signal });
    return { ok: response.ok, text: await response.text() };
  } catch (error) {
    throw new Error(`The gateway does not answer at ${url}: ${messageOf(error)}`, { cause: error });
  } finally {
    timer.cancel();
  }
}

/** An address that reaches a listener on all addresses too. */
function localHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
