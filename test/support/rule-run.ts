/** A rule's script in this thread: simulated time, a gateway made of answers. */
import assert from 'node:assert/strict';
import { LIMITS, type Limits } from '../../src/lib/limits.ts';
import { Scripts } from '../../src/scripting/lua/index.ts';
import { processorMs } from '../../src/platform/threads/index.ts';
import type { RuleTrace } from '../../src/scripting/rule-sandbox/rule-trace.ts';
import { createRuleLog } from '../../src/scripting/rule-sandbox/rule-log.ts';
import { createRun, type Run } from '../../src/scripting/rule-sandbox/rule-run.ts';
import type { RunEnd } from '../../src/scripting/rule-sandbox/thread-messages.ts';
import type {
  RuleAnswer,
  RuleDevice,
  RuleLogEntry,
  RuleMethod,
  RuleRequest,
  RuleScript,
  SandboxSite,
} from '../../src/protocol/rule-sandbox.ts';
import type { JsonValue } from '../../src/protocol/telemetry.ts';
import { system, testScheduler } from './lua.ts';
import { settle, TestClock } from './test-clock.ts';

/** Turns of the event loop in which everything that is ready has run. */
const IDLE_TURNS = 30;

type Responder = (parameters: never) => RuleAnswer | Promise<RuleAnswer>;

export const BATTERY: RuleDevice = { id: 'd-1', slug: 'battery', name: 'Battery', type: 'LUA' };

export const ok = (result: JsonValue): RuleAnswer => ({ ok: true, result });
export const refused = (error: string): RuleAnswer => ({ ok: false, error });

/** Finds the battery and keeps what is stored; other methods are the test's. */
export function answers(
  own: Partial<Record<RuleMethod, Responder>> = {},
): Partial<Record<RuleMethod, Responder>> {
  const stored = new Map<string, string>();
  const keyOf = ({ store, key }: { store: string; key: string }): string => `${store}/${key}`;
  return {
    find_device: ({ idOrSlug }: { idOrSlug: string }) =>
      idOrSlug === BATTERY.id || idOrSlug === BATTERY.slug
        ? ok({ ...BATTERY })
        : refused(`device "${idOrSlug}" not found`),
    list_devices: () => ok([{ ...BATTERY }]),
    storage_read: (at: { store: string; key: string }) => ok(stored.get(keyOf(at)) ?? null),
    storage_write: (at: { store: string; key: string; value: string }) => {
      stored.set(keyOf(at), at.value);
      return ok(null);
    },
    storage_remove: (at: { store: string; key: string }) => {
      stored.delete(keyOf(at));
      return ok(null);
    },
    ...own,
  };
}

export interface RunningRule {
  clock: TestClock;
  run: Run;
  /** One by one, also those that went together. */
  asked: RuleRequest[];
  messages: RuleRequest[];
  entries: RuleLogEntry[];
  /** Texts of the entries. */
  said: () => string[];
  ended: () => RunEnd | undefined;
  faults: string[];
  /** Lets everything that is ready run. */
  idle: () => Promise<void>;
}

export function startRule(
  code: string,
  options: {
    clock?: TestClock;
    answers?: Partial<Record<RuleMethod, Responder>>;
    rule?: Partial<RuleScript>;
    site?: SandboxSite;
    trace?: RuleTrace;
    limits?: { lua?: Partial<Limits['lua']>; rules?: Partial<Limits['rules']> };
  } = {},
): RunningRule {
  const clock = options.clock ?? new TestClock();
  const limits = {
    lua: { ...LIMITS.lua, ...options.limits?.lua },
    rules: { ...LIMITS.rules, ...options.limits?.rules },
  };
  const responders = options.answers ?? answers();
  const messages: RuleRequest[] = [];
  const asked: RuleRequest[] = [];
  const entries: RuleLogEntry[] = [];
  const faults: string[] = [];
  let ended: RunEnd | undefined;
  const log = createRuleLog({
    clock,
    limits: limits.rules,
    timeZone: () => options.site?.timeZone ?? 'UTC',
    send: (sent) => entries.push(...sent),
  });
  const run = createRun({
    rule: { id: 'r-1', slug: 'rule', runtimeVersion: 'V3', code, execIntervalMs: 1_000, ...options.rule },
    scripts: new Scripts({
      clock,
      monotonicMs: () => system.monotonicMs(),
      processorMs,
      scheduler: testScheduler(options.limits?.lua),
      limits: limits.lua,
      seed: () => [1n, 2n],
    }),
    clock,
    site: () => options.site ?? { timeZone: 'UTC' },
    limits,
    log,
    ...(options.trace && { trace: options.trace }),
    send: (request, answered) => {
      messages.push(request);
      const together = request.method === 'several' && !responders.several;
      const requests = together ? request.parameters.requests : [request];
      asked.push(...requests);
      const responses = requests.map((each) => responders[each.method]?.(each.parameters as never));
      if (responses.includes(undefined)) return;
      void Promise.all(responses.map((response) => Promise.resolve(response as RuleAnswer))).then((given) => {
        answered(together ? ok(given) : (given[0] as RuleAnswer));
      });
    },
    onEnded: (how) => {
      ended = how;
      log.flush();
    },
    onFault: (text) => faults.push(text),
  });
  run.start();
  return {
    clock,
    run,
    asked,
    messages,
    entries,
    said: () => {
      log.flush();
      return entries.map(({ message }) => message);
    },
    ended: () => ended,
    faults,
    idle: async () => {
      for (let turn = 0; turn < IDLE_TURNS; turn++) await settle();
    },
  };
}

/** Runs a script to its end and returns what it printed. */
export async function prints(code: string, options: Parameters<typeof startRule>[1] = {}): Promise<string[]> {
  const rule = startRule(code, options);
  await rule.idle();
  assert.equal(rule.ended(), 'finished', rule.said().join('\n'));
  assert.deepEqual(rule.faults, []);
  return rule.entries.filter(({ severity }) => severity === 'debug').map(({ message }) => message);
}
