/** The process of the sandbox as its owner sees it, played by a test: the messages that it got, and its reports. */
import type { RuleSandboxOptions } from '../../../src/capabilities/rules/index.ts';
import type { ProgramOptions, ProgramState } from '../../../src/platform/processes/index.ts';
import {
  decodeAnswer,
  decodeToSandbox,
  encodeSandboxMessage,
  type FromSandbox,
  type SandboxSettings,
  type ToSandbox,
} from '../../../src/protocol/rule-sandbox.ts';

export interface StandInProgram {
  processes: RuleSandboxOptions['processes'];
  /** Messages that it got in its present life. */
  told: ToSandbox[];
  /** Messages that it takes before it stops reading. */
  room: number;
  /** Nobody needs it now. */
  isReleased: boolean;
  readonly state: ProgramState;
  readonly settings: SandboxSettings;
  /** It ends because nobody needs it. */
  rest(): void;
  /** It says hello, started or not. */
  hello(): void;
  say(message: FromSandbox): void;
  /** It is gone; the next one is being started. */
  die(): void;
  /** It reads again: so many messages. */
  read(room: number): Promise<void>;
  /** Messages of one type that it got. */
  of<Type extends ToSandbox['type']>(type: Type): (ToSandbox & { type: Type })[];
}

export function createStandInProgram(): StandInProgram {
  let options: ProgramOptions | undefined;
  let state: ProgramState = 'stopped';
  let settings: unknown;
  let waiting: (() => void)[] = [];

  const begin = (): void => {
    state = 'starting';
    settings = options?.settings();
  };
  const end = (): void => {
    state = 'stopped';
    options?.onEnded?.({ reason: 'stopped', wasAsked: true, ranMs: 0, errorOutput: '' });
  };
  const wake = (): void => {
    const awake = waiting;
    waiting = [];
    for (const resolve of awake) resolve();
  };
  const program: StandInProgram = {
    told: [],
    room: Number.POSITIVE_INFINITY,
    isReleased: true,
    get state() {
      return state;
    },
    get settings() {
      return settings as SandboxSettings;
    },
    processes: {
      program: (given) => {
        options = given;
        return {
          start: () => {
            program.isReleased = false;
            if (state === 'stopped') begin();
          },
          release: () => void (program.isReleased = true),
          stop: async () => end(),
          send: (payload) => {
            if (state !== 'running' || program.room === 0) return false;
            program.room--;
            const told = decodeToSandbox(payload);
            program.told.push(
              told.type === 'answer' ? { type: told.type, id: told.id, ...decodeAnswer(told.content) } : told,
            );
            return true;
          },
          drained: () =>
            program.room > 0 || state !== 'running'
              ? Promise.resolve()
              : new Promise((resolve) => waiting.push(resolve)),
          get state() {
            return state;
          },
        };
      },
    },
    rest: end,
    hello: () => {
      if (state === 'stopped') begin();
      state = 'running';
      options?.onRunning?.();
    },
    say: (message) => options?.onPayload(encodeSandboxMessage(message)),
    die: () => {
      program.told.length = 0;
      program.room = Number.POSITIVE_INFINITY;
      begin();
      wake();
      options?.onEnded?.({ reason: 'signal SIGKILL', wasAsked: false, ranMs: 0, errorOutput: '' });
    },
    read: async (room) => {
      program.room = room;
      wake();
      await new Promise((resolve) => setImmediate(resolve));
    },
    of: (type) => program.told.filter((message) => message.type === type) as never,
  };
  return program;
}
