/** The commands of one script, run one after another; each is answered exactly once. */
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import {
  jsonOf,
  LuaError,
  LuaFailure,
  LuaJson,
  type LuaValue,
  type Script,
  type ScriptClock,
} from '#scripting/lua';
import type { CommandResponse, GivenCommand } from '../thread-messages.ts';

export type CommandQueue = ReturnType<typeof createCommandQueue>;

const NOT_RUNNING = JSON.stringify({ message: 'script is not running' });

interface CommandQueueOptions {
  call: (...values: Parameters<Script['machine']['call']>) => Promise<LuaValue[]>;
  clock: Pick<ScriptClock, 'monotonicMs'>;
  callMs: DurationMs;
  waitingMax: number;
  /** A command that has waited longer is not begun: its caller got a timeout, or would get it before the end. */
  waitMs: () => DurationMs;
  /** Size limit of one response. */
  messageBytes: number;
  /** Sends a response. */
  post: (response: CommandResponse) => void;
  /** The handler raised. */
  onFailure: (failure: LuaFailure) => void;
}

export function createCommandQueue(options: CommandQueueOptions) {
  const waiting: (GivenCommand & { sinceMs: MonotonicMs })[] = [];
  /** `isAnswered`: its last response was sent while it still runs. */
  let running: { id: string; isAnswered: boolean } | undefined;
  let life: 'begins' | 'open' | 'closed' = 'begins';

  function send(id: string, state: string, payload: string): void {
    const sizeBytes = Buffer.byteLength(payload);
    const message = `The payload of ${sizeBytes} bytes was too large and was left out.`;
    const sent = sizeBytes <= options.messageBytes ? payload : JSON.stringify({ message });
    const text = `{"id":${JSON.stringify(id)},"state":"${state}","payload":${sent}}`;
    options.post({ id, isLast: state !== 'log', text });
  }

  async function next(): Promise<void> {
    const command = life === 'open' && running === undefined ? waiting.shift() : undefined;
    if (command === undefined) return;
    const { id, name, argumentsText, sinceMs } = command;
    const present = { id, isAnswered: false, isLate: false };
    const isWanted = (): boolean => {
      present.isLate = options.clock.monotonicMs() - sinceMs > options.waitMs();
      return !present.isLate;
    };
    running = present;
    try {
      const values = [id, name, new LuaJson(argumentsText)];
      const [value] = await options.call('command', values, options.callMs, isWanted);
      if (!present.isAnswered) send(id, 'completed', payloadOf(value));
    } catch (error) {
      if (!(error instanceof LuaFailure)) throw error;
      if (!present.isAnswered) {
        send(id, 'error', JSON.stringify({ message: withoutPosition(error.message) }));
        if (!present.isLate) options.onFailure(error);
      }
    }
    running = undefined;
    void next();
  }

  return {
    /** The script has begun. Commands wait until then, because handlers may not be registered before. */
    open: () => {
      life = 'open';
      void next();
    },
    /** Runs it when those before it have ended. */
    add: (command: GivenCommand) => {
      const { id, waitedMs } = command;
      if (life === 'closed') return send(id, 'error', NOT_RUNNING);
      if (waiting.length >= options.waitingMax)
        return send(id, 'error', JSON.stringify({ message: 'too many commands are waiting' }));
      waiting.push({ ...command, sinceMs: options.clock.monotonicMs() - waitedMs });
      void next();
    },
    /** An answer that the script gives while the command runs; after `error`, or its end, no further one is sent. */
    respond: (id: string, state: 'log' | 'error', payloadText: string) => {
      if (running?.id !== id || running.isAnswered) return;
      running.isAnswered = state === 'error';
      send(id, state, payloadText);
    },
    /** Refuses waiting and later commands. */
    close: () => {
      life = 'closed';
      for (const { id } of waiting.splice(0)) send(id, 'error', NOT_RUNNING);
    },
  };
}

/** Payload of a response, from the result of a command handler. */
function payloadOf(value: LuaValue): string {
  if (value === undefined) return '{}';
  try {
    const text = jsonOf(value);
    return value instanceof LuaJson && text.startsWith('{') ? text : `{"result":${text}}`;
  } catch (error) {
    // A number that is not finite has no place in JSON.
    if (!(error instanceof LuaError)) throw error;
    return JSON.stringify({ message: error.message });
  }
}

/** `main.lua:12: text` → `text`. */
export function withoutPosition(message: string): string {
  return message.replace(/^[^\s:]+:\d+: /, '');
}
