import { type Limits, LIMITS } from '../../lib/limits.ts';
import type { Instruments } from '../metrics/index.ts';
import { Program, type ProgramOptions } from './program.ts';

type Counter = { inc(labels: { program: string }, count?: number): void };

interface ProcessesOptions extends Instruments {
  limits?: Limits['processes'];
}

/**
 * Child programs, with their metrics. A program says hello with its protocol version, answers a heartbeat, and
 * exchanges bounded messages with its owner.
 */
export class Processes {
  readonly #options: ProcessesOptions;
  readonly #limits: Limits['processes'];
  readonly #programs = new Map<string, Program>();
  readonly #ends: Counter;
  readonly #dropped: Counter;

  constructor(options: ProcessesOptions) {
    const { metrics } = options;
    this.#options = options;
    this.#limits = options.limits ?? LIMITS.processes;
    const labels = ['program'] as const;
    this.#ends = metrics.counter('program_ends_total', 'Runs of a child program that ended unasked.', {
      program: [],
    });
    this.#dropped = metrics.counter(
      'program_dropped_total',
      'Messages to a child program that were dropped.',
      { program: [] },
    );
    metrics.gauge('program_running', '1 while the child program runs.', labels, (gauge) => {
      for (const [program, { state }] of this.#programs) gauge.set({ program }, state === 'running' ? 1 : 0);
    });
    metrics.gauge('program_queued_bytes', 'Bytes on their way to a child program.', labels, (gauge) => {
      for (const [program, { queuedBytes }] of this.#programs) gauge.set({ program }, queuedBytes);
    });
    metrics.measured(
      'program_queue_limit_bytes',
      'Bound of program_queued_bytes.',
      () => this.#limits.queuedBytes,
    );
  }

  /** One more program; it does not run before its `start`. */
  program(options: ProgramOptions): Program {
    const { clock, log } = this.#options;
    const { name } = options;
    for (const counter of [this.#ends, this.#dropped]) counter.inc({ program: name }, 0);
    const queue = this.#options.metrics.queue(`program_${name}`, {
      limit: this.#limits.queuedBytes,
      depth: () => program.queuedBytes,
    });
    const program: Program = new Program(options, {
      clock,
      limits: this.#limits,
      log: log.child({ component: 'processes', program: name }),
      onEndedUnasked: () => this.#ends.inc({ program: name }),
      onDropped: () => {
        this.#dropped.inc({ program: name });
        queue.dropped();
      },
    });
    this.#programs.set(name, program);
    return program;
  }

  /** Names of programs that should run and do not. */
  missing(): string[] {
    return [...this.#programs].filter(([, { isMissing }]) => isMissing).map(([name]) => name);
  }

  /** Stops all of them at the same time. */
  async stop(): Promise<void> {
    await Promise.all([...this.#programs.values()].map((program) => program.stop()));
  }
}
