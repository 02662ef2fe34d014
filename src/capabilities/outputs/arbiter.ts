import { isDeepStrictEqual } from 'node:util';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import { continued } from './plan.ts';
import {
  type AskingRule,
  type Decision,
  decide,
  type OutputCommand,
  type OutputRequest,
  type Safe,
  safeOf,
  type Sent,
  type Standing,
} from './model.ts';

/** One output, and all that is known of it. */
export interface Output {
  readonly id: string;
  readonly deviceId: string;
  readonly part: string;
  /** Names of commands; requests that share one are about the same output. */
  readonly commands: Set<string>;
  /** How many of them are on disk. */
  keptCommands: number;
  /** By id of the rule. */
  readonly requests: Map<string, Standing>;
  /** Undefined: nothing is held, the device decides by itself. */
  safe: Safe | undefined;
  last: Sent | undefined;
  isSending: boolean;
  /** After a start: rules whose requests made the present value; until they ask again, or the time is over, it stays. */
  readonly awaited: Set<string>;
  awaitedUntilMs: MonotonicMs;
  timer: Timer | undefined;
}

/** An output as it was before the gateway was started again. */
export type StoredOutput = Pick<Output, 'id' | 'deviceId' | 'part' | 'safe'> & {
  commands: readonly string[];
  ruleIds: readonly string[];
};

/** Answer to a request of a rule. */
interface RequestAnswer {
  /** Its command is the one that holds. */
  readonly holds: boolean;
  /** Slug of the rule whose command holds. */
  readonly holder?: string;
  /** Slugs of rules whose bounds changed the numbers. */
  readonly limited_by?: readonly string[];
  /** The device has not accepted the command. */
  readonly error?: string;
}

interface ArbiterOptions {
  clock: Clock;
  log: Pick<Log, 'warn'>;
  limits: {
    outputs: number;
    /** A rule that is not running keeps its requests for so long, to be started again. */
    graceMs: DurationMs;
    /** Least pause between two commands to an output. */
    pauseMs: DurationMs;
    /** A command that the device has not accepted is sent again after this time. */
    retryMs: DurationMs;
  };
  newId: () => string;
  /** Whether the device takes the command, whatever its state. */
  accepts: (deviceId: string, command: OutputCommand) => boolean;
  /** Sends a command and waits for its end. Resolves with what was wrong; never rejects. */
  send: (deviceId: string, decision: Decision) => Promise<string | undefined>;
  /** Stores what is held. @throws when it cannot: then the request is refused */
  keep: (output: Output) => void;
  forget: (output: Output) => void;
  /** A command was sent that differs from the one before, or had another result. */
  onChange: (output: Output, sent: Sent) => void;
}

/** No room for another output. */
export class OutputLimitError extends Error {}

/**
 * Decides for each output which command holds, and sends it: on a change, again as often as its rule asks for, and the
 * safe one when no rule asks any more. It sends one command at a time to an output.
 */
export class Arbiter {
  readonly #options: ArbiterOptions;
  readonly #outputs = new Map<string, Output>();
  #sequence = 0;
  #isStopped = false;

  constructor(options: ArbiterOptions) {
    this.#options = options;
  }

  /** Those that were used first come first. */
  all(): readonly Output[] {
    return [...this.#outputs.values()];
  }

  get(id: string): Output | undefined {
    return this.#outputs.get(id);
  }

  /** @throws OutputLimitError, and what `keep` throws */
  request(request: OutputRequest): RequestAnswer {
    const { name, commands, rule, safe, validMs } = request;
    const output = this.#outputOf(request, [name, ...(safe ? [safe.name] : []), ...commands]);
    const former = output.requests.get(rule.id);
    const sequence = former?.sequence ?? ++this.#sequence;
    const { clock } = this.#options;
    const plan = continued(former?.plan ?? [], request.plan, Math.floor(clock.wallMs() / 1_000));
    const standing = { ...request, plan, sequence, untilMs: clock.monotonicMs() + validMs };
    this.#keepSafe(output, [...output.requests.values()].filter((one) => one !== former).concat(standing));
    output.requests.set(rule.id, standing);
    output.awaited.delete(rule.id);
    this.#step(output);
    return this.#answer(output, rule);
  }

  /** Withdraws what a rule asks of an output; nothing happens when it asks for nothing. */
  release({ id }: AskingRule, deviceId: string, part: string, name: string): void {
    for (const output of this.#found(deviceId, part, [name])) this.#withdraw(output, id);
  }

  /** The rule shall not run any more: its requests end now. */
  ruleStopped(ruleId: string): void {
    for (const output of this.#outputs.values()) this.#withdraw(output, ruleId);
  }

  /** The script of the rule has ended and may start again: its requests end soon. */
  ruleEnded(ruleId: string): void {
    const untilMs = this.#options.clock.monotonicMs() + this.#options.limits.graceMs;
    for (const output of this.#outputs.values()) {
      const standing = output.requests.get(ruleId);
      if (!standing || standing.untilMs <= untilMs) continue;
      output.requests.set(ruleId, { ...standing, untilMs });
      this.#step(output);
    }
  }

  /** Takes over what an earlier run held: its rules have some time to ask again. */
  restore(stored: readonly StoredOutput[]): void {
    const awaitedUntilMs = this.#options.clock.monotonicMs() + this.#options.limits.graceMs;
    for (const { commands, ruleIds, ...rest } of stored) {
      const output = {
        ...newOutput(rest),
        safe: rest.safe,
        commands: new Set(commands),
        keptCommands: commands.length,
        awaitedUntilMs,
      };
      for (const ruleId of ruleIds) output.awaited.add(ruleId);
      this.#outputs.set(output.id, output);
      this.#step(output);
    }
  }

  deviceDeleted(deviceId: string): void {
    for (const output of this.#outputs.values()) if (output.deviceId === deviceId) this.#remove(output);
  }

  /** The command that the output should have now; undefined: none. */
  decision({ deviceId, requests, safe }: Output): Decision | undefined {
    return decide(requests.values(), safe, (command) => this.#options.accepts(deviceId, command));
  }

  stop(): void {
    this.#isStopped = true;
    for (const { timer } of this.#outputs.values()) timer?.cancel();
  }

  #answer(output: Output, rule: AskingRule): RequestAnswer {
    const decision = this.decision(output);
    const isOwn = decision?.source === 'REQUEST' && decision.rule.id === rule.id;
    if (!decision) return { holds: false };
    const { last } = output;
    const isSent = last !== undefined && isDeepStrictEqual(last.command, decision.command);
    return {
      holds: isOwn,
      holder: decision.rule.slug,
      ...(decision.limitedBy.length > 0 && { limited_by: decision.limitedBy.map(({ slug }) => slug) }),
      ...(isSent && last.fault !== undefined && { error: last.fault }),
    };
  }

  #found(deviceId: string, part: string, names: readonly string[]): Output[] {
    return this.all().filter(
      (output) =>
        output.deviceId === deviceId &&
        output.part === part &&
        names.some((name) => output.commands.has(name)),
    );
  }

  /** A request that names commands of several outputs makes one of them. */
  #outputOf({ deviceId, part }: OutputRequest, names: readonly string[]): Output {
    const [first, ...others] = this.#found(deviceId, part, names);
    const output = first ?? this.#newOutput(deviceId, part);
    for (const other of others) {
      for (const name of other.commands) output.commands.add(name);
      for (const [ruleId, standing] of other.requests)
        if (!output.requests.has(ruleId)) output.requests.set(ruleId, standing);
      this.#remove(other);
    }
    for (const name of names) output.commands.add(name);
    return output;
  }

  #newOutput(deviceId: string, part: string): Output {
    if (this.#outputs.size >= this.#options.limits.outputs) {
      const unused = this.all().find((output) => !output.safe && output.requests.size === 0);
      if (!unused) throw new OutputLimitError(`the site has ${this.#options.limits.outputs} outputs`);
      this.#remove(unused);
    }
    const output = newOutput({ id: this.#options.newId(), deviceId, part });
    this.#outputs.set(output.id, output);
    return output;
  }

  #remove(output: Output): void {
    output.timer?.cancel();
    this.#outputs.delete(output.id);
    this.#options.forget(output);
  }

  /** On disk before the first command is sent, because the next run must know how to end it. */
  #keepSafe(output: Output, requests: readonly Standing[]): void {
    const safe = safeOf(requests);
    if (!safe) return;
    if (isDeepStrictEqual(safe, output.safe) && output.keptCommands === output.commands.size) return;
    const former = output.safe;
    output.safe = safe;
    try {
      this.#options.keep(output);
      output.keptCommands = output.commands.size;
    } catch (error) {
      output.safe = former;
      throw error;
    }
  }

  #withdraw(output: Output, ruleId: string): void {
    const wasAwaited = output.awaited.delete(ruleId);
    if (output.requests.delete(ruleId) || wasAwaited) this.#step(output);
  }

  /** Sends what is due, and sets the timer for what comes next. */
  #step(output: Output): void {
    output.timer?.cancel();
    if (this.#isStopped || output.isSending || !this.#outputs.has(output.id)) return;
    const nowMs = this.#options.clock.monotonicMs();
    for (const [ruleId, { untilMs }] of output.requests) if (untilMs <= nowMs) output.requests.delete(ruleId);
    const decision = this.decision(output);
    if (!decision) return this.#wake(output, Number.POSITIVE_INFINITY);
    const isAwaiting = output.awaited.size > 0 && nowMs < output.awaitedUntilMs;
    const dueMs = isAwaiting ? output.awaitedUntilMs : this.#dueMs(output, decision);
    if (dueMs <= nowMs) return void this.#send(output, decision);
    if (dueMs === Number.POSITIVE_INFINITY && output.requests.size === 0) this.#rest(output);
    this.#wake(output, dueMs);
  }

  #dueMs({ last }: Output, decision: Decision): MonotonicMs {
    if (!last) return Number.NEGATIVE_INFINITY;
    const { pauseMs, retryMs } = this.#options.limits;
    if (!isDeepStrictEqual(last.command, decision.command)) return last.sentMs + pauseMs;
    return last.sentMs + (last.fault === undefined ? decision.repeatMs : retryMs);
  }

  /** Steps again when a command is due or a request ends. */
  #wake(output: Output, dueMs: MonotonicMs): void {
    const ends = [...output.requests.values()].map(({ untilMs }) => untilMs);
    const atMs = Math.min(dueMs, ...ends);
    if (atMs === Number.POSITIVE_INFINITY) return;
    const { clock } = this.#options;
    output.timer = clock.setTimer(Math.max(0, atMs - clock.monotonicMs()), () => this.#step(output));
  }

  /** Releases an output whose safe command was accepted while no rule asks. */
  #rest(output: Output): void {
    output.safe = undefined;
    try {
      this.#options.keep(output);
    } catch (error) {
      this.#options.log.warn('the next start sends a safe command once more', { error });
    }
  }

  async #send(output: Output, decision: Decision): Promise<void> {
    const { clock, onChange, send } = this.#options;
    output.isSending = true;
    const fault = await send(output.deviceId, decision);
    output.isSending = false;
    const { last: former } = output;
    const last = { ...decision, atMs: clock.wallMs(), sentMs: clock.monotonicMs(), fault };
    output.last = last;
    const isNews = !former || former.fault !== fault || !isDeepStrictEqual(former.command, decision.command);
    if (isNews && this.#outputs.has(output.id)) onChange(output, last);
    this.#step(output);
  }
}

function newOutput(given: Pick<Output, 'id' | 'deviceId' | 'part'>): Output {
  return {
    ...given,
    commands: new Set(),
    keptCommands: 0,
    requests: new Map(),
    safe: undefined,
    last: undefined,
    isSending: false,
    awaited: new Set(),
    awaitedUntilMs: 0,
    timer: undefined,
  };
}
