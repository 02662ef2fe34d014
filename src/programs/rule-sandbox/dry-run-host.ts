/** Dry runs in the sandbox's main thread: each gets a thread of its own, which ends with it. One at a time. */
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { DryRunEntry, DryRunKind, DryRunReport } from '../../protocol/dry-run.ts';
import type {
  DryRunQuestion,
  FromSandbox,
  RuleAnswer,
  SandboxSite,
  ToSandbox,
} from '../../protocol/rule-sandbox.ts';
import { programEntry } from '../../platform/processes/index.ts';
import { ScriptThreads } from '../script-host/index.ts';
import { reasonOf, ruleThreads } from './supervisor.ts';
import type { DryRunTypes } from './thread-messages.ts';

type Begin = ToSandbox & { type: 'dry_run' };
export type DryRunMessage = Extract<ToSandbox, { dryRun: number }>;

export interface DryRunHost {
  receive(message: DryRunMessage): void;
  stop(): Promise<void>;
}

interface Present {
  dryRun: number;
  threads: ScriptThreads<DryRunTypes>;
  /** What it asked, by the number of the question. */
  questions: Map<number, (answer: RuleAnswer) => void>;
  entries: DryRunEntry[];
  deadline: { cancel(): void };
}

export function createDryRunHost(options: {
  clock: Clock;
  log: Log;
  limits: Pick<Limits, 'lua' | 'rules'>;
  site: () => SandboxSite;
  /** Waits for room. False: it did not go out, because it is too large or the gateway is gone. */
  send: (message: FromSandbox) => Promise<boolean>;
}): DryRunHost {
  const { clock, log, limits, site } = options;
  const { durationMs, graceMs } = limits.rules.dryRun;
  let present: Present | undefined;

  function begin({ dryRun, rule, period }: Begin): void {
    void end();
    const entries: DryRunEntry[] = [];
    const reached = (): number => entries.at(-1)?.atMs ?? period.fromMs;
    const questions: Present['questions'] = new Map();
    const threads = new ScriptThreads<DryRunTypes>({
      ...ruleThreads(options),
      entry: programEntry('programs/rule-sandbox/dry-run-thread'),
      shared: site(),
    });
    // It looks at its time itself between two steps; this is for one that does not come so far.
    const deadline = clock.setTimer(durationMs + graceMs, () =>
      over(dryRun, {
        end: 'limit_reached',
        limit: 'time',
        endedAtMs: reached(),
        counts: countsOf(entries),
      }),
    );
    present = { dryRun, threads, questions, entries, deadline };
    threads.start(
      { rule, period },
      {
        onEvent: (event) => {
          if (event.type === 'entry') entries.push(event.entry);
          else if (event.type === 'report') over(dryRun, event.report);
          else log.error('a function of the rule API failed', { rule_id: rule.id, fault: event.text });
        },
        onRequest: (question, answered) => void ask(dryRun, question, answered),
        onThreadLost: (loss) => {
          const message = `execution time exceeded: ${reasonOf(loss)}`;
          entries.push({ atMs: reached(), kind: 'error', message });
          over(dryRun, { end: 'failed', endedAtMs: reached(), counts: countsOf(entries) });
        },
      },
    );
  }

  async function ask(
    dryRun: number,
    question: DryRunQuestion,
    answered: (answer: RuleAnswer) => void,
  ): Promise<void> {
    if (present?.dryRun !== dryRun) return;
    const id = present.questions.size + 1;
    present.questions.set(id, answered);
    if (!(await options.send({ type: 'dry_run_request', dryRun, id, ...question })))
      answer(dryRun, id, { ok: false, error: 'the question is too large' });
  }

  function answer(dryRun: number, id: number, given: RuleAnswer): void {
    if (present?.dryRun === dryRun) present.questions.get(id)?.(given);
  }

  function over(dryRun: number, report: Omit<DryRunReport, 'entries'>): void {
    if (present?.dryRun !== dryRun) return;
    const { entries } = present;
    void end();
    void tell({ type: 'dry_run_over', dryRun, report: { ...report, entries } });
  }

  async function tell(message: FromSandbox & { type: 'dry_run_over' }): Promise<void> {
    if (!(await options.send(message))) log.warn('the end of a dry run could not be told');
  }

  function end(): Promise<void> | undefined {
    const ended = present;
    present = undefined;
    ended?.deadline.cancel();
    return ended?.threads.stop();
  }

  return {
    receive: (message) => {
      if (message.type === 'dry_run') begin(message);
      else if (message.type === 'dry_run_answer')
        answer(message.dryRun, message.id, message.ok ? { ok: true, result: message.result } : message);
      else if (present?.dryRun === message.dryRun) void end();
    },
    stop: async () => {
      await end();
    },
  };
}

function countsOf(entries: readonly DryRunEntry[]): DryRunReport['counts'] {
  const counts: Partial<Record<DryRunKind, number>> = {};
  for (const { kind } of entries) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
