/** Dry runs of scripts in the sandbox: one at a time, ended when the caller leaves. */
import { conflict, unavailable } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { DryRunPeriod } from '../../protocol/dry-run.ts';
import type { FromSandbox, RuleAnswer, ToSandbox } from '../../protocol/rule-sandbox.ts';
import { type DryRunResult, forSandbox, type ReadSeries, type RunnableRule } from './model.ts';
import type { CallRecordedMethod } from './recorded-methods.ts';

type DryRunMessage = Extract<FromSandbox, { dryRun: number }>;

interface Present {
  dryRun: number;
  rule: RunnableRule;
  over: PromiseWithResolvers<DryRunResult>;
  period: DryRunPeriod;
  deadline: Timer;
  hasBegun: boolean;
  /** By device and attribute. */
  read: Map<string, ReadSeries>;
}

interface DryRunsOptions {
  clock: Clock;
  log: Log;
  limits: Limits['rules'];
  /** How long the sandbox may take to start. */
  startMs: DurationMs;
  isRunning: () => boolean;
  /** Called when `isActive` has changed. */
  onDemand: () => void;
  send: (message: ToSandbox) => void;
  callMethod: CallRecordedMethod;
}

export class DryRuns {
  readonly #options: DryRunsOptions;
  #present: Present | undefined;
  #lastDryRun = 0;

  constructor(options: DryRunsOptions) {
    this.#options = options;
  }

  /** True while a dry run runs, or waits for the sandbox to start. */
  get isActive(): boolean {
    return this.#present !== undefined;
  }

  /** Rejects with the signal's reason when it is aborted. @throws GatewayError dry_run_active (409), unavailable (503) */
  async run(rule: RunnableRule, period: DryRunPeriod, signal: AbortSignal): Promise<DryRunResult> {
    signal.throwIfAborted();
    if (this.#present)
      throw conflict('dry_run_active', 'Another dry run is going on; there is one at a time.');
    const { clock, onDemand, send, startMs } = this.#options;
    const dryRun = ++this.#lastDryRun;
    const over = Promise.withResolvers<DryRunResult>();
    const leave = (): void => over.reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    const deadline = clock.setTimer(startMs, () => over.reject(unavailable('The rule sandbox is starting.')));
    const present: Present = { dryRun, rule, period, over, deadline, hasBegun: false, read: new Map() };
    this.#present = present;
    onDemand();
    this.sandboxRuns();
    try {
      return await over.promise;
    } finally {
      present.deadline.cancel();
      signal.removeEventListener('abort', leave);
      this.#present = undefined;
      // The sandbox ignores this for a dry run that is over.
      send({ type: 'dry_run_end', dryRun });
      onDemand();
    }
  }

  receive(message: DryRunMessage): void {
    if (message.type === 'dry_run_request') void this.#answer(message);
    else if (this.#present?.dryRun === message.dryRun)
      this.#present.over.resolve({ ...message.report, read: [...this.#present.read.values()] });
  }

  /** The sandbox has said hello. */
  sandboxRuns(): void {
    const present = this.#present;
    const { clock, isRunning, limits, send } = this.#options;
    if (!present || present.hasBegun || !isRunning()) return;
    present.hasBegun = true;
    present.deadline.cancel();
    // The sandbox bounds the time itself; this timer is for a sandbox that hangs.
    const { durationMs, graceMs } = limits.dryRun;
    present.deadline = clock.setTimer(durationMs + 2 * graceMs, () =>
      present.over.reject(unavailable('The rule sandbox does not answer.')),
    );
    const { dryRun, period, rule } = present;
    send({ type: 'dry_run', dryRun, rule: forSandbox(rule), period });
  }

  /** The sandbox ended, and the dry run with it. */
  sandboxEnded(): void {
    if (this.#present?.hasBegun)
      this.#present.over.reject(unavailable('The rule sandbox ended during the dry run.'));
  }

  async #answer(request: DryRunMessage & { type: 'dry_run_request' }): Promise<void> {
    const { callMethod, limits, log, send } = this.#options;
    const { dryRun, id } = request;
    const asking = this.#present;
    if (asking?.dryRun !== dryRun) return;
    const { read } = asking;
    const noteRead = (series: ReadSeries): void => {
      const key = `${series.deviceId} ${series.attribute}`;
      if (read.size < limits.dryRun.attributes || read.has(key)) read.set(key, series);
    };
    const given = await callMethod(asking.rule, request, noteRead).catch((error: unknown): RuleAnswer => {
      log.error('request of a dry run failed', { method: request.method, error });
      return { ok: false, error: 'the gateway failed to answer' };
    });
    if (this.#present === asking) send({ type: 'dry_run_answer', dryRun, id, ...given });
  }
}
