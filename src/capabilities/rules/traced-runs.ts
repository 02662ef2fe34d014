/** Traced runs of rules: those of scripts that have ended are kept here, the others are asked for. Nothing is stored. */
import { exactJson } from '../../lib/json.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import { type Clock, within } from '../../platform/clock/index.ts';
import type { FromSandbox, RunsReport, ToSandbox } from '../../protocol/rule-sandbox.ts';
import type { TracedRun } from '../../protocol/rule-trace.ts';

/** Runs of earlier lives of each rule, as many and as long as those of one life. */
export class PastRuns {
  readonly #limits: Limits['rules']['trace'];
  readonly #runs = new Map<string, readonly TracedRun[]>();

  constructor(limits: Limits['rules']['trace']) {
    this.#limits = limits;
  }

  /** Newest first. */
  of(ruleId: string): readonly TracedRun[] {
    return this.#runs.get(ruleId) ?? [];
  }

  /** @param runs newest first */
  add(ruleId: string, runs: readonly TracedRun[]): void {
    const { changes, others, length } = this.#limits;
    const all = [...runs, ...this.of(ruleId)].slice(0, changes + others);
    let left = 2 * length;
    const end = all.findIndex((run) => (left -= exactJson(run).length) < 0);
    this.#runs.set(ruleId, end < 0 ? all : all.slice(0, Math.max(1, end)));
  }

  forget(ruleId: string): void {
    this.#runs.delete(ruleId);
  }
}

interface RunQuestionsOptions {
  clock: Clock;
  send: (message: ToSandbox) => void;
  /** Takes the runs of a script that has ended. */
  keep: (ruleId: string, runs: readonly TracedRun[]) => void;
}

/** Questions for runs to the sandbox, which answers when the thread of the rule comes to it. */
export class RunQuestions {
  readonly #options: RunQuestionsOptions;
  readonly #open = new Map<number, (report: RunsReport | undefined) => void>();
  #lastId = 0;

  constructor(options: RunQuestionsOptions) {
    this.#options = options;
  }

  /** Undefined: there was no answer in time. */
  async ask(
    type: 'trace' | 'run_now',
    ruleId: string,
    timeoutMs: DurationMs,
  ): Promise<RunsReport | undefined> {
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<RunsReport | undefined>();
    this.#open.set(id, resolve);
    this.#options.send({ type, ruleId, id });
    await within(this.#options.clock, timeoutMs, promise);
    this.#open.delete(id);
    resolve(undefined);
    return promise;
  }

  receive({ id, ruleId, ...report }: FromSandbox & { type: 'runs' }): void {
    if (id === undefined) this.#options.keep(ruleId, report.runs);
    else this.#open.get(id)?.(report);
  }

  sandboxEnded(): void {
    for (const resolve of this.#open.values()) resolve(undefined);
  }
}
