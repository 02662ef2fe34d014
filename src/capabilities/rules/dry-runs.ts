/** Dry runs of scripts, which the sandbox does: one at a time, ended with its caller. */
import { gatewayError } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { DryRunPeriod, DryRunReport } from '../../protocol/dry-run.ts';
import type { FromSandbox, RuleAnswer, ToSandbox } from '../../protocol/rule-sandbox.ts';
import type { RunnableRule } from './model.ts';
import type { AskRecorded } from './recorded.ts';

export type DryRunMessage = Extract<FromSandbox, { dryRun: number }>;

export interface DryRuns {
  /** One is going on, or waits for the sandbox to start. */
  readonly isActive: boolean;
  /**
   * Rejects with the signal's reason when it is aborted. @throws GatewayError dry_run_active (409), unavailable (503)
   */
  run(rule: RunnableRule, period: DryRunPeriod, signal: AbortSignal): Promise<DryRunReport>;
  receive(message: DryRunMessage): void;
  /** The sandbox has said hello. */
  sandboxRuns(): void;
  /** The sandbox is gone, and the dry run with it. */
  sandboxEnded(): void;
}

interface Present {
  dryRun: number;
  rule: RunnableRule;
  over: PromiseWithResolvers<DryRunReport>;
  /** Tells the sandbox. */
  begin: () => void;
  hasBegun: boolean;
}

export function createDryRuns(options: {
  clock: Clock;
  log: Log;
  limits: Limits['rules'];
  /** How long the sandbox may take to start. */
  startMs: number;
  isRunning: () => boolean;
  /** `isActive` is another one now. */
  onDemand: () => void;
  send: (message: ToSandbox) => void;
  ask: AskRecorded;
}): DryRuns {
  const { clock, log, isRunning, send, ask } = options;
  const { durationMs, graceMs } = options.limits.dryRun;
  let present: Present | undefined;
  let lastDryRun = 0;

  async function run(rule: RunnableRule, period: DryRunPeriod, signal: AbortSignal): Promise<DryRunReport> {
    signal.throwIfAborted();
    if (present)
      throw gatewayError(
        'conflict',
        'dry_run_active',
        'Another dry run is going on; there is one at a time.',
      );
    const dryRun = ++lastDryRun;
    const over = Promise.withResolvers<DryRunReport>();
    const leave = (): void => over.reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    const unavailable = (message: string) => () =>
      over.reject(gatewayError('unavailable', 'unavailable', message));
    let deadline = clock.setTimer(options.startMs, unavailable('The rule sandbox is starting.'));
    const begin = (): void => {
      deadline.cancel();
      // The sandbox bounds it; this is for one that says nothing any more.
      deadline = clock.setTimer(durationMs + 2 * graceMs, unavailable('The rule sandbox does not answer.'));
      const { id, slug, script } = rule;
      const { runtimeVersion, code, execIntervalMs = 0 } = script;
      send({ type: 'dry_run', dryRun, rule: { id, slug, runtimeVersion, code, execIntervalMs }, period });
    };
    present = { dryRun, rule, over, begin, hasBegun: false };
    options.onDemand();
    beginIfRunning();
    try {
      return await over.promise;
    } finally {
      deadline.cancel();
      signal.removeEventListener('abort', leave);
      present = undefined;
      // Nothing happens to one that is over.
      send({ type: 'dry_run_end', dryRun });
      options.onDemand();
    }
  }

  function beginIfRunning(): void {
    if (!present || present.hasBegun || !isRunning()) return;
    present.hasBegun = true;
    present.begin();
  }

  async function answer(request: DryRunMessage & { type: 'dry_run_request' }): Promise<void> {
    const { dryRun, id } = request;
    const asking = present;
    if (asking?.dryRun !== dryRun) return;
    const given = await ask(asking.rule, request).catch((error: unknown): RuleAnswer => {
      log.error('question of a dry run failed', { method: request.method, error });
      return { ok: false, error: 'the gateway failed to answer' };
    });
    if (present === asking) send({ type: 'dry_run_answer', dryRun, id, ...given });
  }

  return {
    get isActive() {
      return present !== undefined;
    },
    run,
    sandboxRuns: beginIfRunning,
    receive: (message) => {
      if (message.type === 'dry_run_request') void answer(message);
      else if (present?.dryRun === message.dryRun) present.over.resolve(message.report);
    },
    sandboxEnded: () => {
      if (present?.hasBegun)
        present.over.reject(
          gatewayError('unavailable', 'unavailable', 'The rule sandbox ended during the dry run.'),
        );
    },
  };
}
