/** The sandbox's supervisor with real threads in this process, and a gateway that records its messages. */
import { LIMITS, type Limits } from '../../src/lib/limits.ts';
import { Supervisor } from '../../src/scripting/rule-sandbox/supervisor.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import {
  decodeFromSandbox,
  decodeToSandbox,
  encodeSandboxMessage,
  type FromSandbox,
  type RuleAnswer,
  type RuleScript,
} from '../../src/protocol/rule-sandbox.ts';
import { until } from './until.ts';
import { type LogLine, recordingLog } from './workspace.ts';

export interface Said {
  ruleId: string;
  severity: string;
  message: string;
}

export interface SupervisedRules {
  supervisor: Supervisor;
  answer: (id: number, answer: RuleAnswer) => void;
  messages: FromSandbox[];
  said: Said[];
  lines: LogLine[];
  start: (id: string, code: string, rule?: Partial<RuleScript>) => void;
  /** States of one rule so far. */
  states: (id: string) => string[];
  /** Waits for a log entry of a rule. */
  heard: (id: string, pattern: RegExp, count?: number) => Promise<Said>;
  stop: () => Promise<void>;
}

export function superviseRules(
  options: {
    limits?: { lua?: Partial<Limits['lua']>; rules?: Partial<Limits['rules']> };
    answer?: (message: FromSandbox & { type: 'request' }) => RuleAnswer | undefined;
    /** In place of real threads. */
    startThread?: ConstructorParameters<typeof Supervisor>[0]['startThread'];
  } = {},
): SupervisedRules {
  const clock = createSystemClock();
  const { log, lines } = recordingLog(clock);
  const messages: FromSandbox[] = [];
  const said: Said[] = [];
  const answer = (id: number, given: RuleAnswer): void =>
    supervisor.receive(decodeToSandbox(encodeSandboxMessage({ type: 'answer', id, ...given })));
  const supervisor = new Supervisor({
    clock,
    log,
    limits: {
      lua: { ...LIMITS.lua, ...options.limits?.lua },
      rules: { ...LIMITS.rules, ...options.limits?.rules },
    },
    site: { timeZone: 'UTC' },
    ...(options.startThread && { startThread: options.startThread }),
    send: (report) => {
      const message = decodeFromSandbox(encodeSandboxMessage(report));
      messages.push(message);
      if (message.type === 'log')
        for (const { severity, message: text } of message.entries)
          said.push({ ruleId: message.ruleId, severity, message: text });
      if (message.type === 'request') {
        const given = options.answer?.(message);
        if (given) answer(message.id, given);
      }
      return true;
    },
  });
  const of = (id: string, pattern: RegExp): Said[] =>
    said.filter(({ ruleId, message }) => ruleId === id && pattern.test(message));
  let generation = 0;
  return {
    supervisor,
    answer,
    messages,
    said,
    lines,
    start: (id, code, rule = {}) =>
      supervisor.receive({
        type: 'start',
        generation: ++generation,
        rule: { id, slug: `slug-${id}`, runtimeVersion: 'V3', code, execIntervalMs: 1_000, ...rule },
      }),
    states: (id) =>
      messages.flatMap((message) =>
        message.type === 'state' && message.ruleId === id ? [message.state] : [],
      ),
    heard: async (id, pattern, count = 1) => {
      await until(() => of(id, pattern).length >= count);
      const found = of(id, pattern)[count - 1];
      if (!found) throw new Error('it was heard before');
      return found;
    },
    stop: async () => {
      await supervisor.stop();
      clock.close();
    },
  };
}
