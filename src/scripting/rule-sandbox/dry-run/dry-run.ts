/**
 * Runs a rule's script through a past period: the same run as that of a live rule, with a clock that
 * jumps from one event to the next and a gateway made of records.
 */
import { type HostFunction, Scheduler, Scripts, textOf, waiting } from '#scripting/lua';
import { DoublingPause } from '../../../lib/doubling-pause.ts';
import type { Limits } from '../../../lib/limits.ts';
import { cutToBytes } from '../../../lib/text.ts';
import type { DurationMs, EpochMs, MonotonicMs } from '../../../lib/time.ts';
import { type Clock, ProvenTime, repeatOn, sleepOn, type Timer } from '../../../platform/clock/index.ts';
import type { DryRunEntry, DryRunPeriod, DryRunReport } from '../../../protocol/dry-run.ts';
import type { RecordedRequest, RuleAnswer, RuleScript, SandboxSite } from '../../../protocol/rule-sandbox.ts';
import { createRuleLog, type RuleLog } from '../rule-log.ts';
import { createRun, type Run } from '../rule-run.ts';
import type { RunEnd } from '../thread-messages.ts';
import { createNotes, type Notes, RecordedSite } from './recorded-site.ts';

interface DryRunOptions {
  rule: RuleScript;
  period: DryRunPeriod;
  site: () => SandboxSite;
  limits: Pick<Limits, 'lua' | 'rules'>;
  /** Real time, for the limits on what the machine may take. */
  clock: Clock;
  /** Processor time that this thread has taken. */
  processorMs: () => DurationMs;
  nextTurn: () => Promise<void>;
  ask: (request: RecordedRequest) => Promise<RuleAnswer>;
  /** Called in order with the entries that there is room for. */
  tell: (entry: DryRunEntry) => void;
  /** Called before and after each slice of the script. */
  onSlice: (isRunning: boolean) => void;
  onFault: (text: string) => void;
}

/** Resolves at its end, when all entries have been handed over. */
export function dryRun(options: DryRunOptions): Promise<Omit<DryRunReport, 'entries'>> {
  return new DryRun(options).go();
}

class DryRun {
  readonly #options: DryRunOptions;
  readonly #clock: VirtualClock;
  readonly #idle: IdleDetector;
  readonly #notes: Notes;
  readonly #site: RecordedSite;
  readonly #log: RuleLog;
  readonly #scripts: Scripts;
  #run: Run | undefined;
  #end: DryRunReport['end'] | undefined;
  #startedMs: MonotonicMs = 0;
  readonly #restartPause: DoublingPause;

  constructor(options: DryRunOptions) {
    const { limits, period } = options;
    this.#options = options;
    const { restartFirstMs: firstMs, restartMaxMs: maxMs } = limits.rules;
    this.#restartPause = new DoublingPause({ firstMs, maxMs });
    this.#clock = new VirtualClock(period.fromMs);
    this.#idle = createIdleDetector(options.nextTurn);
    this.#notes = createNotes({ clock: this.#clock, limits: limits.rules.dryRun, tell: options.tell });
    this.#site = new RecordedSite({
      clock: this.#clock,
      toMs: period.toMs,
      limits: limits.rules,
      ask: options.ask,
      notes: this.#notes,
    });
    this.#log = notedLog(this.#clock, options, this.#notes);
    this.#scripts = new Scripts({
      clock: this.#clock,
      monotonicMs: () => options.clock.monotonicMs(),
      processorMs: options.processorMs,
      scheduler: this.#scheduler(),
      // No other timers in this thread could be shared.
      limits: { ...limits.lua, timerSlackPermille: 0 },
      // The same every time, so that the same dry run gives the same answer.
      seed: () => [1n, 2n],
    });
  }

  async go(): Promise<Omit<DryRunReport, 'entries'>> {
    const { period, limits } = this.#options;
    const pace = createPace(this.#options);
    this.#start();
    for (let steps = 0; ; steps++) {
      await this.#idle.reached();
      if (this.#end) return this.#report(this.#end);
      const changeMs = await this.#site.nextChangeMs();
      const dueMs = this.#clock.nextDueMs();
      if (Math.min(changeMs, dueMs) > period.toMs) {
        this.#clock.moveTo(period.toMs);
        return this.#report('period_ended');
      }
      if (steps >= limits.rules.dryRun.steps) return this.#report('limit_reached', 'steps');
      if (!(await pace())) return this.#report('limit_reached', 'time');
      if (changeMs <= dueMs) await this.#change(changeMs);
      else this.#clock.fireNext();
    }
  }

  async #change(atMs: EpochMs): Promise<void> {
    this.#clock.moveTo(atMs);
    for (const change of await this.#site.changes()) this.#run?.changed(change);
  }

  #report(end: DryRunReport['end'], limit?: DryRunReport['limit']): Omit<DryRunReport, 'entries'> {
    this.#run?.stop();
    this.#log.flush();
    return { end, ...(limit && { limit }), endedAtMs: this.#clock.wallMs(), counts: this.#notes.counts };
  }

  #start(): void {
    const { rule, site, limits } = this.#options;
    this.#startedMs = this.#clock.monotonicMs();
    this.#run = createRun({
      rule,
      scripts: this.#scripts,
      clock: this.#clock,
      site,
      // Records answer one question at a time.
      limits: { ...limits, rules: { ...limits.rules, readsAhead: 0 } },
      log: this.#log,
      httpFunctions: notedHttp(this.#notes, limits),
      send: (request, answered) => void this.#idle.during(this.#site.answer(request)).then(answered),
      onEnded: (how) => this.#ended(how),
      onFault: this.#options.onFault,
    });
    this.#run.start();
  }

  #ended(how: RunEnd): void {
    this.#site.endRun();
    if (how === 'failed') this.#restartLater();
    else this.#end = how === 'finished' ? 'finished' : 'failed';
  }

  #restartLater(): void {
    const ranMs = this.#clock.monotonicMs() - this.#startedMs;
    const afterMs = this.#restartPause.nextAfter(ranMs, this.#options.limits.rules.stableMs);
    this.#notes.add({ kind: 'restart', afterMs });
    this.#clock.setTimer(afterMs, () => this.#start());
  }

  /** Slices in real time. `createPace` bounds what a dry run takes in the long run. */
  #scheduler(): Scheduler {
    const { clock, nextTurn, limits, onSlice } = this.#options;
    return new Scheduler({
      clock,
      nextTurn: () => this.#idle.during(nextTurn()),
      limits: { ...limits.lua, processorPermille: ALL_OF_A_PROCESSOR },
      onSlice: (_runnable, isRunning) => onSlice(isRunning),
    });
  }
}

const ALL_OF_A_PROCESSOR = 1_000;

/** Lets other work of the machine have its turn; false when the time of the dry run is over. */
function createPace({ clock, limits }: DryRunOptions): () => Promise<boolean> {
  const { durationMs, workMs, restMs } = limits.rules.dryRun;
  const endMs = clock.monotonicMs() + durationMs;
  let workingSinceMs = clock.monotonicMs();
  return async () => {
    if (clock.monotonicMs() - workingSinceMs >= workMs) {
      await clock.sleep(restMs);
      workingSinceMs = clock.monotonicMs();
    }
    return clock.monotonicMs() < endMs;
  };
}

/** The log of the rule; failures of the script are a kind of their own. */
function notedLog(
  clock: VirtualClock,
  { limits, site }: Pick<DryRunOptions, 'limits' | 'site'>,
  notes: Notes,
): RuleLog {
  let isFailure = false;
  const log = createRuleLog({
    clock,
    limits: limits.rules,
    timeZone: () => site().timeZone,
    isImmediate: true,
    send: (entries) => {
      for (const { severity, message } of entries)
        notes.add(isFailure ? { kind: 'error', message } : { kind: 'log', severity, message });
    },
  });
  const failing = (write: () => void): void => {
    isFailure = true;
    write();
    isFailure = false;
  };
  return {
    ...log,
    failure: (failure) => failing(() => log.failure(failure)),
    repeatedFailure: (failure) => failing(() => log.repeatedFailure(failure)),
  };
}

/** Requests are noted and fail: an answer of another day would be none. */
function notedHttp(notes: Notes, { rules }: DryRunOptions['limits']): Record<string, HostFunction> {
  return {
    http_perform: waiting(async ([method, url]) => {
      notes.add({
        kind: 'http',
        method: (textOf(method) ?? '').toUpperCase(),
        url: cutToBytes(textOf(url) ?? '', rules.dryRun.textBytes),
      });
      return [undefined, 'no requests are sent in a dry run'];
    }),
  };
}

/** Tells when a script has nothing left to do but wait for time to pass. */
type IdleDetector = ReturnType<typeof createIdleDetector>;

/** Counts what is open; `nextTurn` lets everything that is ready run. */
export function createIdleDetector(nextTurn: () => Promise<void>) {
  const state = { open: 0, wake: (): void => undefined };
  return {
    /** Marks work that the script, or its machine, waits for in real time. */
    during: async <Result>(work: Promise<Result>): Promise<Result> => {
      state.open++;
      try {
        return await work;
      } finally {
        state.open--;
        state.wake();
      }
    },
    /** Resolves when no such work is open and everything that followed from it has run. */
    reached: async () => {
      await nextTurn();
      while (state.open > 0) {
        await new Promise<void>((resolve) => {
          state.wake = resolve;
        });
        await nextTurn();
      }
    },
  };
}

// Time of a script that goes through a past period: it moves only by `moveTo`.

interface Alarm {
  dueMs: EpochMs;
  fn: () => void;
}

export class VirtualClock implements Clock {
  readonly #startMs: EpochMs;
  readonly proven = new ProvenTime(this);
  /** In the order in which they were set, which is the order of those due at one instant. */
  readonly #alarms = new Set<Alarm>();
  #nowMs: EpochMs;

  constructor(startMs: EpochMs) {
    this.#startMs = startMs;
    this.#nowMs = startMs;
  }

  wallMs(): EpochMs {
    return this.#nowMs;
  }

  monotonicMs(): MonotonicMs {
    return this.#nowMs - this.#startMs;
  }

  setTimer(durationMs: DurationMs, fn: () => void): Timer {
    const alarm = { dueMs: this.#nowMs + Math.max(0, durationMs), fn };
    this.#alarms.add(alarm);
    return { cancel: () => void this.#alarms.delete(alarm) };
  }

  setRepeating(intervalMs: DurationMs, fn: () => void): Timer {
    return repeatOn((fire) => this.setTimer(intervalMs, fire), fn);
  }

  sleep(durationMs: DurationMs, signal?: AbortSignal): Promise<void> {
    return sleepOn((fn) => this.setTimer(durationMs, fn), signal);
  }

  isSet(): boolean {
    return true;
  }

  onStepped(): () => void {
    return () => undefined;
  }

  /** When the next timer is due; infinite without one. */
  nextDueMs(): EpochMs {
    return this.#next()?.dueMs ?? Number.POSITIVE_INFINITY;
  }

  moveTo(atMs: EpochMs): void {
    this.#nowMs = Math.max(this.#nowMs, atMs);
  }

  /** Moves to the next timer and fires it. */
  fireNext(): void {
    const next = this.#next();
    if (!next) return;
    this.#alarms.delete(next);
    this.moveTo(next.dueMs);
    next.fn();
  }

  #next(): Alarm | undefined {
    let next: Alarm | undefined;
    for (const alarm of this.#alarms) if (!next || alarm.dueMs < next.dueMs) next = alarm;
    return next;
  }
}
