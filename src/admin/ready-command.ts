/** The local command that asks the running gateway whether everything works. */
import type { Clock } from '../platform/clock/index.ts';
import type { Config } from '../platform/config/index.ts';
import { type Command, localUrl, silenceReason } from './command.ts';

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
async function askReady(config: Config, clock: Clock): Promise<string> {
  const { ok, text } = await ask(localUrl(config, '/readyz'), clock);
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
    throw new Error(`The gateway does not answer at ${url}: ${silenceReason(error)}`, { cause: error });
  } finally {
    timer.cancel();
  }
}
