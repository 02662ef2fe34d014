/** Dry runs in the sandbox's main thread: each gets a thread of its own, which ends with it. One at a time. */
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { DryRunEntry, DryRunKind, DryRunReport } from '../../protocol/dry-run.ts';
import type { FromSandbox, RuleAnswer, SandboxSite, ToSandbox } from '../../protocol/rule-sandbox.ts';
import type { FromThread } from './thread-messages.ts';
import { type RuleThread, Threads } from './threads.ts';

type Begin = ToSandbox & { type: 'dry_run' };
export type DryRunMessage = Extract<ToSandbox, { dryRun: number }>;

export interface DryRunHost {
  receive(message: DryRunMessage): void;
  stop(): Promise<void>;
}

interface Present {
  dryRun: number;
  threads: Threads;
  thread: RuleThread;
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
    const threads = new Threads({
      clock,
      limits,
      site,
      onMessage: (_thread, message) => heard(dryRun, message),
      onEnded: (_thread, { reason }) => {
        const message = `execution time exceeded: ${reason}`;
        entries.push({ atMs: reached(), kind: 'error', message });
        over(dryRun, { end: 'failed', endedAtMs: reached(), counts: countsOf(entries) });
      },
    });
    const thread = threads.place(true);
    // It looks at its time itself between two steps; this is for one that does not come so far.
    const deadline = clock.setTimer(durationMs + graceMs, () =>
      over(dryRun, {
        end: 'limit_reached',
        limit: 'time',
        endedAtMs: reached(),
        counts: countsOf(entries),
      }),
    );
    present = { dryRun, threads, thread, entries, deadline };
    thread.runs.add(dryRun);
    thread.post({ type: 'dry_run', rule, run: dryRun, period });
  }

  function heard(dryRun: number, message: FromThread): void {
    if (message.type === 'dry_run_request') void ask(dryRun, message);
    else if (message.type === 'dry_run_entry') present?.entries.push(message.entry);
    else if (message.type === 'dry_run_over') over(dryRun, message.report);
    else if (message.type === 'fault')
      log.error('a function of the rule API failed', { rule_id: message.ruleId, fault: message.text });
  }

  async function ask(
    dryRun: number,
    { id, question }: FromThread & { type: 'dry_run_request' },
  ): Promise<void> {
    if (!(await options.send({ type: 'dry_run_request', dryRun, id, ...question })))
      answer(dryRun, id, { ok: false, error: 'the question is too large' });
  }

  function answer(dryRun: number, id: number, given: RuleAnswer): void {
    if (present?.dryRun === dryRun) present.thread.post({ type: 'answer', id, answer: given });
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
