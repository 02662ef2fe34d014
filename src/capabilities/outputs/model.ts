/**
 * Outputs: what rules may set of a device, and who of them does. Source: docs/interface/lua-rules.md#outputs.
 *
 * An output is a set of commands of one device, such as `set_current` and `stop` of a charger. Rules ask for a command
 * with a priority and for a time; bounds of all that ask limit its numbers. When nobody asks, the safe command is sent.
 */
import type { DurationMs, EpochMs, MonotonicMs } from '../../lib/time.ts';
import type { Plan } from './plan.ts';

type Arguments = Readonly<Record<string, unknown>>;

export interface OutputCommand {
  /** As the blueprint declares it. */
  readonly name: string;
  readonly arguments: Arguments;
}

/** Numbers by argument. */
export type Bounds = Readonly<Record<string, number>>;

export interface AskingRule {
  readonly id: string;
  readonly slug: string;
}

/** Request of a rule for an output. */
export interface OutputRequest {
  readonly rule: AskingRule;
  readonly deviceId: string;
  /** Tells outputs of a device apart that share their commands, such as relays of a board; empty: there is one. */
  readonly part: string;
  readonly name: string;
  /** Further commands of the output that its rule may ask for. */
  readonly commands: readonly string[];
  /** Undefined: it asks for no value and only limits those of others. */
  readonly arguments: Arguments | undefined;
  /** Command that holds when no rule asks any more; given with arguments. */
  readonly safe: OutputCommand | undefined;
  readonly min: Bounds;
  readonly max: Bounds;
  readonly priority: number;
  readonly validMs: DurationMs;
  readonly repeatMs: DurationMs;
  /** What the rule is going to ask, for people to see; nothing is decided by it. */
  readonly plan: Plan;
}

/** A request that is valid. */
export interface Standing extends OutputRequest {
  readonly untilMs: MonotonicMs;
  /** Grows; a rule that asks again in time keeps its place among those of the same priority. */
  readonly sequence: number;
}

/** The command that an output should have. */
export interface Decision {
  readonly command: OutputCommand;
  /** The rule that asks for it, or whose safe command it is. */
  readonly rule: AskingRule;
  readonly source: 'REQUEST' | 'SAFE';
  /** Rules whose bounds changed its numbers. */
  readonly limitedBy: readonly AskingRule[];
  /** Infinite: it is sent once. */
  readonly repeatMs: DurationMs;
}

export interface Safe {
  readonly command: OutputCommand;
  readonly rule: AskingRule;
}

/** The result of a command that was sent. */
export interface Sent extends Decision {
  readonly atMs: EpochMs;
  readonly sentMs: MonotonicMs;
  /** Undefined: the device has accepted it. */
  readonly fault: string | undefined;
}

/** The highest priority first; of equal ones the one that asks for longest. */
export function ranked(requests: Iterable<Standing>): Standing[] {
  return [...requests].toSorted((a, b) => b.priority - a.priority || a.sequence - b.sequence);
}

/**
 * The command of the first request that has one, within the bounds of all; else the safe one, also within the bounds.
 * `accepts` says whether the device takes a command; one that the bounds have made impossible is replaced by the safe
 * one.
 */
export function decide(
  requests: Iterable<Standing>,
  safe: Safe | undefined,
  accepts: (command: OutputCommand) => boolean,
): Decision | undefined {
  const all = ranked(requests);
  const holder = all.find((request) => request.arguments !== undefined);
  if (!safe) return undefined;
  const resting = { ...bounded(safe.command, all), rule: safe.rule, source: 'SAFE' } as const;
  if (!holder)
    return {
      ...(accepts(resting.command) ? resting : { ...resting, command: safe.command, limitedBy: [] }),
      repeatMs: Number.POSITIVE_INFINITY,
    };
  const { rule, repeatMs, name, arguments: asked = {} } = holder;
  const limited = bounded({ name, arguments: asked }, all);
  if (accepts(limited.command)) return { ...limited, rule, source: 'REQUEST', repeatMs };
  return { command: safe.command, rule: safe.rule, source: 'SAFE', limitedBy: limited.limitedBy, repeatMs };
}

/** The lowest `max` and the highest `min` count; where they contradict each other, `max` does. */
function bounded(command: OutputCommand, requests: readonly Standing[]) {
  const limitedBy = new Set<AskingRule>();
  const limited = Object.entries(command.arguments).map(([name, value]) => {
    if (typeof value !== 'number') return [name, value];
    const raised = strictest(requests, value, ({ min }) => min[name], Math.max);
    const lowered = strictest(requests, raised.value, ({ max }) => max[name], Math.min);
    for (const { rule } of [raised, lowered]) if (rule) limitedBy.add(rule);
    return [name, lowered.value];
  });
  return {
    command: { name: command.name, arguments: Object.fromEntries(limited) as Arguments },
    limitedBy: [...limitedBy],
  };
}

function strictest(
  requests: readonly Standing[],
  value: number,
  boundOf: (request: Standing) => number | undefined,
  choose: (a: number, b: number) => number,
): { value: number; rule: AskingRule | undefined } {
  let found: { value: number; rule: AskingRule | undefined } = { value, rule: undefined };
  for (const request of requests) {
    const chosen = choose(found.value, boundOf(request) ?? found.value);
    if (chosen !== found.value) found = { value: chosen, rule: request.rule };
  }
  return found;
}

/**
 * The safe command of an output: that of the request with the lowest priority, whose rule has the output in ordinary
 * times. One of priority 0 only limits: it counts when there is no other. Undefined when nobody asks for a command.
 */
export function safeOf(requests: Iterable<Standing>): Safe | undefined {
  const all = ranked(requests).filter(({ safe }) => safe !== undefined);
  const last = all.findLast(({ priority }) => priority > 0) ?? all.at(-1);
  return last?.safe && { command: last.safe, rule: last.rule };
}
