/**
 * Child programs: started, watched, started again with growing pauses, stopped in order. A program says hello
 * with its protocol version, answers a heartbeat, and exchanges bounded messages with its owner:
 *
 *   stopped ─start─▶ starting ─hello─▶ running ─ends─▶ waiting ─pause over─▶ starting …
 *                        └────────ends────────────────────▲
 *   any ─stop─▶ stopping (SIGTERM, then SIGKILL) ─▶ stopped
 */
import { type Limits, LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import type { Metrics } from '../metrics/index.ts';
import { type Exit, type Life, startLife } from './life.ts';
import type { Payload } from './wire.ts';

export type ProgramState = 'stopped' | 'starting' | 'running' | 'waiting' | 'stopping';

export interface ProgramOptions {
  /** For log and metrics. */
  name: string;
  /** From `programEntry`. */
  entry: string;
  /** Of the messages; a child that speaks another version is refused. */
  protocolVersion: number;
  /** Options of Node for the child. */
  nodeOptions?: readonly string[];
  /** Handed to the child at each start; must be cloneable. */
  settings: () => unknown;
  /** The child has (again) just said hello and knows nothing but its settings. */
  onRunning?: () => void;
  onPayload: (payload: Payload) => void;
  /** The child is gone; it is started again unless `stop` was called. */
  onEnded?: (exit: Exit) => void;
}

export interface Program {
  /** Starts it and keeps it running. Does not wait for its hello: the gateway lives without its children. */
  start(): void;
  /** Resolves when the process is gone. */
  stop(): Promise<void>;
  /** False: dropped and counted, because it does not run, does not read fast enough, or the message is too large. */
  send(payload: Payload): boolean;
  /** Resolves when there is room for messages again, or the present run is over. */
  drained(): Promise<void>;
  readonly state: ProgramState;
  readonly processId: number | undefined;
  /** How the last run ended. */
  readonly lastExit: Exit | undefined;
}

export interface Processes {
  program(options: ProgramOptions): Program;
}

export function createProcesses(options: {
  clock: Clock;
  log: Log;
  metrics: Metrics;
  limits?: Limits['processes'];
}): Processes {
  const { clock, metrics } = options;
  const limits = options.limits ?? LIMITS.processes;
  const programs: { name: string; program: Program; queuedBytes: () => number }[] = [];
  const ends = metrics.counter('program_ends_total', 'Runs of a child program that ended unasked.', [
    'program',
  ]);
  const dropped = metrics.counter('program_dropped_total', 'Messages to a child program that were dropped.', [
    'program',
  ]);
  metrics.gauge('program_running', '1 while the child program runs.', ['program'], (gauge) => {
    for (const { name, program } of programs)
      gauge.set({ program: name }, program.state === 'running' ? 1 : 0);
  });
  metrics.gauge('program_queued_bytes', 'Bytes on their way to a child program.', ['program'], (gauge) => {
    for (const { name, queuedBytes } of programs) gauge.set({ program: name }, queuedBytes());
  });
  metrics.gauge('program_queue_limit_bytes', 'Bound of program_queued_bytes.', [], (gauge) =>
    gauge.set(limits.queuedBytes),
  );

  return {
    program: (programOptions) => {
      const { name } = programOptions;
      const { program, queuedBytes } = supervise(programOptions, {
        clock,
        limits,
        log: options.log.child({ component: 'processes', program: name }),
        onEndedUnasked: () => ends.inc({ program: name }),
        onDropped: () => dropped.inc({ program: name }),
      });
      programs.push({ name, program, queuedBytes });
      return program;
    },
  };
}

interface Supervision {
  clock: Clock;
  limits: Limits['processes'];
  log: Log;
  onEndedUnasked: () => void;
  onDropped: () => void;
}

function supervise(
  options: ProgramOptions,
  { clock, limits, log, onEndedUnasked, onDropped }: Supervision,
): { program: Program; queuedBytes: () => number } {
  let state: ProgramState = 'stopped';
  let life: Life | undefined;
  let lastExit: Exit | undefined;
  let stopRequest = new AbortController();
  let supervision: Promise<void> = Promise.resolve();

  function begin(): Life {
    state = 'starting';
    return startLife({
      entry: options.entry,
      protocolVersion: options.protocolVersion,
      nodeOptions: options.nodeOptions ?? [],
      settings: options.settings(),
      clock,
      limits,
      onHello: () => {
        if (state !== 'starting') return;
        state = 'running';
        log.info('program runs', { process_id: life?.processId });
        options.onRunning?.();
      },
      onPayload: (payload) => {
        try {
          options.onPayload(payload);
        } catch (error) {
          log.error('message of the program was not handled', { error });
        }
      },
      onDropped,
    });
  }

  async function keepRunning(signal: AbortSignal): Promise<void> {
    let pauseMs = limits.restartFirstMs;
    while (!signal.aborted) {
      life = begin();
      const exit = await life.ended;
      life = undefined;
      lastExit = exit;
      options.onEnded?.(exit);
      if (signal.aborted) return;
      if (exit.ranMs >= limits.stableMs) pauseMs = limits.restartFirstMs;
      onEndedUnasked();
      log.warn('program ended, will be started again', {
        reason: exit.reason,
        ran_ms: Math.round(exit.ranMs),
        pause_ms: pauseMs,
        error_output: exit.errorOutput,
      });
      state = 'waiting';
      await pause(pauseMs, signal);
      pauseMs = Math.min(pauseMs * 2, limits.restartMaxMs);
    }
  }

  async function pause(durationMs: number, signal: AbortSignal): Promise<void> {
    try {
      await clock.sleep(durationMs, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  const program: Program = {
    start: () => {
      if (state !== 'stopped') return;
      stopRequest = new AbortController();
      supervision = keepRunning(stopRequest.signal);
    },
    stop: async () => {
      if (state === 'stopped') return;
      state = 'stopping';
      stopRequest.abort();
      await life?.stop();
      await supervision;
      state = 'stopped';
      log.info('program stopped', { reason: lastExit?.reason });
    },
    send: (payload) => {
      if (state === 'running' && life) return life.outbox.send(payload);
      onDropped();
      return false;
    },
    drained: () => life?.outbox.drained() ?? Promise.resolve(),
    get state() {
      return state;
    },
    get processId() {
      return life?.processId;
    },
    get lastExit() {
      return lastExit;
    },
  };
  return { program, queuedBytes: () => life?.outbox.queuedBytes ?? 0 };
}
