import type { Limits } from '../../lib/limits.ts';
import { DoublingPause } from '../../lib/doubling-pause.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import { NO_RIGHTS, type ProgramRights } from './launch.ts';
import { type Exit, ProgramRun } from './run.ts';
import type { Payload } from './wire.ts';

/** `waiting`: it ended, and starts again after a pause. */
export type ProgramState = 'stopped' | 'starting' | 'running' | 'waiting' | 'stopping';

/** How a child program is started and what bounds it. */
export interface ProgramOptions {
  /** For log and metrics. */
  name: string;
  /** From `programEntry`. */
  entry: string;
  /** Version of the message protocol; a child with another one is refused. */
  protocolVersion: number;
  /** Options of Node for the child. */
  nodeOptions?: readonly string[];
  /** Rights of the program; none when left out; a function is called at each start. */
  rights?: ProgramRights | (() => ProgramRights);
  /** Handed to the child at each start; must be cloneable. */
  settings: () => unknown;
  /** The child has (again) just said hello and knows nothing but its settings. */
  onRunning?: () => void;
  onPayload: (payload: Payload) => void;
  /** The child is gone; it is started again unless it was asked to end. */
  onEnded?: (exit: Exit) => void;
}

interface Surroundings {
  clock: Clock;
  limits: Limits['processes'];
  log: Log;
  onEndedUnasked: () => void;
  onDropped: () => void;
}

/**
 * A child program as its owner has it: started when it is needed, watched, started again with growing pauses,
 * stopped in order or some time after nobody needs it any more.
 *
 *   stopped ─start─▶ starting ─hello─▶ running ─ends─▶ waiting ─pause over─▶ starting …
 *                        └────────ends────────────────────▲
 *   any ─stop─▶ stopping (asked, SIGTERM, SIGKILL) ─▶ stopped
 */
export class Program {
  readonly #options: ProgramOptions;
  readonly #surroundings: Surroundings;
  #state: ProgramState = 'stopped';
  #run: ProgramRun | undefined;
  #lastExit: Exit | undefined;
  #isWanted = false;
  #supervision: Promise<void> | undefined;
  #pause = new AbortController();
  readonly #restartPause: DoublingPause;
  /** Earliest next start after a run that ended unexpectedly, for every caller. */
  #earliestStartMs: MonotonicMs = -Infinity;
  #idleTimer: Timer | undefined;

  constructor(options: ProgramOptions, surroundings: Surroundings) {
    this.#options = options;
    this.#surroundings = surroundings;
    const { restartFirstMs: firstMs, restartMaxMs: maxMs } = surroundings.limits;
    this.#restartPause = new DoublingPause({ firstMs, maxMs });
  }

  get state(): ProgramState {
    return this.#state;
  }

  /** It should run and does not: it is being started, or it ended and waits for the next start. */
  get isMissing(): boolean {
    return this.#isWanted && this.#state !== 'running';
  }

  get processId(): number | undefined {
    return this.#run?.processId;
  }

  /** How the last run ended. */
  get lastExit(): Exit | undefined {
    return this.#lastExit;
  }

  get queuedBytes(): number {
    return this.#run?.outbox.queuedBytes ?? 0;
  }

  /**
   * Starts it and keeps it running, also while it is being stopped. Does not wait for its hello: the gateway lives
   * without its children. Nothing happens when it runs.
   */
  start(): void {
    this.#cancelIdle();
    this.#isWanted = true;
    this.#supervision ??= this.#supervise();
  }

  /** Nobody needs it now: it is stopped after `idleMs`, unless `start` is called before. */
  release(): void {
    if (!this.#isWanted || this.#idleTimer) return;
    const { clock, limits } = this.#surroundings;
    this.#idleTimer = clock.setTimer(limits.idleMs, () => void this.stop());
  }

  /** Resolves when the process is gone. */
  async stop(): Promise<void> {
    this.#cancelIdle();
    this.#isWanted = false;
    this.#pause.abort();
    if (!this.#run) return this.#supervision;
    this.#state = 'stopping';
    return this.#run.stop();
  }

  /** False: dropped and counted, because it does not run, does not read fast enough, or the message is too large. */
  send(payload: Payload): boolean {
    if (this.#state === 'running' && this.#run) return this.#run.outbox.send(payload);
    this.#surroundings.onDropped();
    return false;
  }

  /** Resolves when there is room for messages again, or the present run is over. */
  drained(): Promise<void> {
    return this.#run?.outbox.drained() ?? Promise.resolve();
  }

  #cancelIdle(): void {
    this.#idleTimer?.cancel();
    this.#idleTimer = undefined;
  }

  async #supervise(): Promise<void> {
    const { log } = this.#surroundings;
    while (this.#isWanted) {
      const pauseMs = this.#earliestStartMs - this.#surroundings.clock.monotonicMs();
      if (pauseMs > 0) {
        await this.#pauseFor(pauseMs);
        continue;
      }
      this.#run = this.#begin();
      const exit = await this.#run.ended;
      this.#run = undefined;
      this.#lastExit = exit;
      this.#state = this.#isWanted ? 'waiting' : 'stopped';
      if (exit.wasAsked) log.info('program stopped', { reason: exit.reason });
      else this.#endedUnasked(exit);
      this.#tell(() => this.#options.onEnded?.(exit));
    }
    this.#state = 'stopped';
    this.#supervision = undefined;
  }

  #tell(work: () => void, sentence = 'the owner of the program failed'): void {
    try {
      work();
    } catch (error) {
      this.#surroundings.log.error(sentence, { error });
    }
  }

  #begin(): ProgramRun {
    const { log, clock, limits, onDropped } = this.#surroundings;
    const {
      entry,
      protocolVersion,
      nodeOptions = [],
      rights = NO_RIGHTS,
      settings,
      onPayload,
    } = this.#options;
    this.#state = 'starting';
    return new ProgramRun({
      entry,
      protocolVersion,
      nodeOptions,
      rights: typeof rights === 'function' ? rights : () => rights,
      settings,
      clock,
      limits,
      onHello: () => {
        if (this.#state !== 'starting') return;
        this.#state = 'running';
        log.info('program runs', { process_id: this.processId });
        this.#tell(() => this.#options.onRunning?.());
      },
      onPayload: (payload) => this.#tell(() => onPayload(payload), 'message of the program was not handled'),
      onDropped,
    });
  }

  #endedUnasked({ reason, ranMs, errorOutput }: Exit): void {
    const { clock, limits, log, onEndedUnasked } = this.#surroundings;
    const pauseMs = this.#restartPause.nextAfter(ranMs, limits.stableMs);
    this.#earliestStartMs = clock.monotonicMs() + pauseMs;
    onEndedUnasked();
    log.warn('program ended, will be started again', {
      reason,
      ran_ms: Math.round(ranMs),
      pause_ms: pauseMs,
      error_output: errorOutput,
    });
  }

  /** The pause also holds when the program is stopped and started again meanwhile. */
  async #pauseFor(durationMs: DurationMs): Promise<void> {
    this.#state = 'waiting';
    this.#pause = new AbortController();
    const { signal } = this.#pause;
    await this.#surroundings.clock.sleep(durationMs, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}
