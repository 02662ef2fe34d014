/** A device script in this thread, with what it says recorded and what it asks answered by the test. */
import assert from 'node:assert/strict';
import { LIMITS, type Limits } from '../../../src/lib/limits.ts';
import { Scheduler, type Script, Scripts } from '../../../src/scripting/lua/index.ts';
import { type Clock, createSystemClock, nextTurn } from '../../../src/platform/clock/index.ts';
import { processorMs } from '../../../src/platform/threads/index.ts';
import { UdpSockets } from '../../../src/field-module/field/udp-port.ts';
import { DeviceScript } from '../../../src/field-module/runtime/device-script.ts';
import type {
  CallResult,
  ConfigurationGroups,
  Question,
  QuestionAnswer,
  ScriptEvent,
  ScriptStart,
  Surroundings,
  ThreadCall,
} from '../../../src/field-module/thread-messages.ts';
import type { BlueprintFacts } from '../../../src/protocol/module.ts';
import { until } from '../../support/until.ts';

export type Posted = ScriptEvent;

export interface ScriptBench {
  device: DeviceScript;
  /** What runs the script. */
  machine(): Script['machine'];
  posted: Posted[];
  calls: ThreadCall[];
  /** What the main thread says to a call; default: a fault. */
  answer: (call: ThreadCall) => CallResult | Promise<CallResult>;
  surroundings: Surroundings;
  /** Telemetry sent so far, without timestamps. */
  telemetry(): Record<string, unknown>[];
  properties(): Record<string, unknown>[];
  logs(): string[];
  /** Runs a command to its end; its responses. */
  command(name: string, args?: Record<string, unknown>): Promise<Record<string, unknown>[]>;
  /** Its answer to a question about the configuration. */
  ask(question: Question): Promise<QuestionAnswer>;
  configure(groups: ConfigurationGroups, changed: readonly string[]): void;
  /** Resolves when the entry has ended, well or badly. */
  started(): Promise<void>;
}

export const clock = createSystemClock();
const SURROUNDINGS = {
  hasRoom: true,
  isClockBelieved: true,
  timeZone: 'Europe/Berlin',
  commandMs: LIMITS.commands.timeoutMs,
  traced: [],
};
const benches: ScriptBench[] = [];
let commandCount = 0;

/** Scripts with schedules would run for ever. */
export function closeBenches(): void {
  for (const bench of benches) bench.device.close();
  clock.close();
}

/** Without their times. */
function bodiesIn(posted: readonly Posted[], subject: 'telemetry' | 'properties'): Record<string, unknown>[] {
  return posted.flatMap((message) => {
    if (message.kind !== 'publish' || message.subject !== subject) return [];
    const { timestamp, ...body } = JSON.parse(message.text) as Record<string, unknown>;
    assert.equal(typeof timestamp, 'number');
    return [body];
  });
}

function responsesIn(posted: readonly Posted[], id: string): Record<string, unknown>[] {
  return posted.flatMap((message) => {
    if (message.kind !== 'response') return [];
    const { id: of, ...body } = JSON.parse(message.text) as Record<string, unknown>;
    return of === id ? [body] : [];
  });
}

export function scriptBench(
  source: string,
  options: {
    facts?: Partial<BlueprintFacts>;
    groups?: ConfigurationGroups;
    ports?: Record<string, string>;
    ioPorts?: ScriptStart['ioPorts'];
    limits?: Partial<Limits['module']>;
    answer?: ScriptBench['answer'];
    isConnected?: boolean;
    /** Default: the system's. */
    clock?: Clock;
    /** Sockets of a thread with several scripts. */
    udpSockets?: UdpSockets;
  } = {},
): ScriptBench {
  const posted: Posted[] = [];
  const calls: ThreadCall[] = [];
  const start: ScriptStart = {
    channelId: 'c1',
    script: Buffer.from(source),
    facts: { api: 'v3', telemetry: {}, properties: {}, configuration: {}, ...options.facts },
    groups: options.groups ?? {},
    ports: options.ports ?? {},
    ioPorts: options.ioPorts ?? {},
  };
  const scripts = new Scripts({
    clock: options.clock ?? clock,
    monotonicMs: () => clock.monotonicMs(),
    processorMs,
    scheduler: new Scheduler({ clock, nextTurn, limits: LIMITS.lua }),
    limits: LIMITS.lua,
    seed: () => [1n, 2n],
  });
  const made: Script[] = [];
  const responses = (id: string) => responsesIn(posted, id);
  const bench: ScriptBench = {
    posted,
    machine: () => made[0]?.machine ?? assert.fail('there is no script'),
    calls,
    answer: options.answer ?? (() => ({ kind: 'fault', fault: { text: 'not expected', number: 7 } })),
    surroundings: { ...SURROUNDINGS, isConnected: options.isConnected ?? true },
    telemetry: () => bodiesIn(posted, 'telemetry'),
    properties: () => bodiesIn(posted, 'properties'),
    logs: () =>
      posted.flatMap((message) =>
        message.kind === 'log'
          ? [`${message.severity}${message.persist ? '!' : ''}: ${message.message}`]
          : [],
      ),
    command: async (name, args = {}) => {
      const id = `x${++commandCount}`;
      bench.device.take({ kind: 'command', id, name, argumentsText: JSON.stringify(args), waitedMs: 0 });
      await until(() => responses(id).some(({ state }) => state !== 'log'));
      return responses(id);
    },
    ask: async (question) => {
      const answers = (): QuestionAnswer[] =>
        posted.flatMap((event) =>
          event.kind === 'answer' && event.answer.id === question.id ? [event.answer] : [],
        );
      bench.device.take({ kind: 'question', question });
      await until(() => answers().length > 0);
      return answers()[0] ?? assert.fail('there is no answer');
    },
    configure: (groups, changed) => bench.device.take({ kind: 'configuration', groups, changed }),
    started: () => until(() => posted.some(({ kind }) => kind === 'running' || kind === 'failed')),
    device: new DeviceScript({
      start,
      scripts: {
        create: (given) => {
          const script = scripts.create(given);
          made.push(script);
          return script;
        },
      },
      clock: options.clock ?? clock,
      limits: { ...LIMITS, module: { ...LIMITS.module, ...options.limits } },
      udpSockets: options.udpSockets ?? new UdpSockets(),
      surroundings: () => bench.surroundings,
      post: (message) => posted.push(message),
      call: async (request) => {
        calls.push(request);
        return bench.answer(request);
      },
    }),
  };
  benches.push(bench);
  return bench;
}

/** Runs the chunk; each `say(…)` in it becomes one line. */
export async function saidBy(
  source: string,
  options: Parameters<typeof scriptBench>[1] = {},
): Promise<[string[], ScriptBench]> {
  const bench = scriptBench(
    `local function say(...)
      local parts = {}
      for i = 1, select('#', ...) do
        local value = (select(i, ...))
        parts[i] = type(value) == 'table' and json.encode(value) or math.type(value) or tostring(value)
        if type(value) == 'number' then parts[i] = tostring(value) end
      end
      enapter.log(table.concat(parts, ' '))
    end
    local function raised(fn, ...)
      local ok, message = pcall(fn, ...)
      say(ok and 'no error' or (tostring(message):gsub('^[%w.]+:%d+: ', '')))
    end
    ${source}`,
    options,
  );
  await bench.started();
  const failed = bench.posted.find(({ kind }) => kind === 'failed');
  assert.equal(failed, undefined, JSON.stringify(failed));
  return [bench.logs().map((line) => line.replace('info: ', '')), bench];
}
