/** Dry runs in the sandbox's main thread: each gets a thread of its own, which ends with it. One at a time. */
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { DryRunEntry, DryRunKind, DryRunReport } from '../../protocol/dry-run.ts';
import type {
  RecordedRequest,
  FromSandbox,
  RuleAnswer,
  SandboxSite,
  ToSandbox,
} from '../../protocol/rule-sandbox.ts';
import { programEntry } from '../../platform/processes/index.ts';
import { ScriptThreads } from '#scripting/host';
import { reasonOf, ruleThreads } from './supervisor.ts';
import type { DryRunTypes } from './thread-messages.ts';

type Begin = ToSandbox & { type: 'dry_run' };
type DryRunMessage = Extract<ToSandbox, { dryRun: number }>;

interface Present {
  dryRun: number;
  threads: ScriptThreads<DryRunTypes>;
  /** Its open requests by number. */
  requests: Map<number, (answer: RuleAnswer) => void>;
  entries: DryRunEntry[];
  deadline: { cancel(): void };
}

interface DryRunHostOptions {
  clock: Clock;
  log: Log;
  limits: Pick<Limits, 'lua' | 'rules'>;
  site: () => SandboxSite;
  /** Waits for room. False: not sent, because the message is too large or the gateway is gone. */
  send: (message: FromSandbox) => Promise<boolean>;
}

export class DryRunHost {
  readonly #options: DryRunHostOptions;
  #present: Present | undefined;

  constructor(options: DryRunHostOptions) {
    this.#options = options;
  }

  receive(message: DryRunMessage): void {
    if (message.type === 'dry_run') this.#begin(message);
    else if (message.type === 'dry_run_answer')
      this.#answer(message.dryRun, message.id, message.ok ? { ok: true, result: message.result } : message);
    else if (this.#present?.dryRun === message.dryRun) void this.#end();
  }

  async stop(): Promise<void> {
    await this.#end();
  }

  #begin({ dryRun, rule, period }: Begin): void {
    void this.#end();
    const { clock, limits, log } = this.#options;
    const { durationMs, graceMs } = limits.rules.dryRun;
    const entries: DryRunEntry[] = [];
    const reached = (): number => entries.at(-1)?.atMs ?? period.fromMs;
    const requests: Present['requests'] = new Map();
    const threads = new ScriptThreads<DryRunTypes>({
      ...ruleThreads(this.#options),
      entry: programEntry('scripting/rule-sandbox/dry-run-thread'),
      shared: this.#options.site(),
    });
    // A dry run checks its time between two steps; this ends one that does not get there.
    const deadline = clock.setTimer(durationMs + graceMs, () =>
      this.#over(dryRun, {
        end: 'limit_reached',
        limit: 'time',
        endedAtMs: reached(),
        counts: countsOf(entries),
      }),
    );
    this.#present = { dryRun, threads, requests, entries, deadline };
    threads.start(
      { rule, period },
      {
        onEvent: (event) => {
          if (event.type === 'entry') entries.push(event.entry);
          else if (event.type === 'report') this.#over(dryRun, event.report);
          else log.error('a function of the rule API failed', { rule_id: rule.id, fault: event.text });
        },
        onRequest: (request, answered) => void this.#ask(dryRun, request, answered),
        onThreadLost: (loss) => {
          const message = `execution time exceeded: ${reasonOf(loss)}`;
          entries.push({ atMs: reached(), kind: 'error', message });
          this.#over(dryRun, { end: 'failed', endedAtMs: reached(), counts: countsOf(entries) });
        },
      },
    );
  }

  async #ask(
    dryRun: number,
    request: RecordedRequest,
    answered: (answer: RuleAnswer) => void,
  ): Promise<void> {
    if (this.#present?.dryRun !== dryRun) return;
    const id = this.#present.requests.size + 1;
    this.#present.requests.set(id, answered);
    if (!(await this.#options.send({ type: 'dry_run_request', dryRun, id, ...request })))
      this.#answer(dryRun, id, { ok: false, error: 'the request is too large' });
  }

  #answer(dryRun: number, id: number, given: RuleAnswer): void {
    if (this.#present?.dryRun === dryRun) this.#present.requests.get(id)?.(given);
  }

  #over(dryRun: number, report: Omit<DryRunReport, 'entries'>): void {
    if (this.#present?.dryRun !== dryRun) return;
    const { entries } = this.#present;
    const { send, log } = this.#options;
    void this.#end();
    void send({ type: 'dry_run_over', dryRun, report: { ...report, entries } }).then((isSent) => {
      if (!isSent) log.warn('the end of a dry run could not be told');
    });
  }

  #end(): Promise<void> | undefined {
    const ended = this.#present;
    this.#present = undefined;
    ended?.deadline.cancel();
    return ended?.threads.stop();
  }
}

function countsOf(entries: readonly DryRunEntry[]): DryRunReport['counts'] {
  const counts: Partial<Record<DryRunKind, number>> = {};
  for (const { kind } of entries) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
