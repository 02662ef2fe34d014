/** The local command that asks the running gateway whether everything works. */
import { askGateway, type Command } from './command.ts';

/** A gateway that does not answer within this time is not ready. */
const ANSWER_MS = 5_000;

export const READY_COMMANDS: Record<string, Command> = {
  ready: {
    takes: [],
    prepare: () => async (local) => {
      const { ok, text } = await askGateway(local, '/readyz', { withinMs: ANSWER_MS });
      if (ok) return ['The gateway is ready.'];
      const { errors = [] } = JSON.parse(text) as { errors?: { message: string }[] };
      throw new Error(errors.map(({ message }) => message).join(' ') || text);
    },
  },
};
