/**
 * Executions that are not finished yet: their state in memory and their silence timers. The state follows
 * a response at once; callers, events and acknowledgements wait until it is on disk.
 */
import { Emitter } from '../../lib/emitter.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import {
  type Addition,
  type CommandResponse,
  type Execution,
  failureMessage,
  type Input,
  isFinished,
  type Step,
  TRANSITIONS,
} from './model.ts';
import type { ResponseBuffer } from './response-buffer.ts';

/** Emitted after commit. */
export interface CommandEvents {
  /** `late`: the response came after the end and changed nothing. */
  execution_updated: { execution: Execution; response: CommandResponse; late: boolean };
}

/** An execution that has no end on disk yet. */
export interface Live {
  /** As far as known, perhaps not on disk yet. */
  readonly execution: Execution;
  /** Resolves when the end is on disk, or with the state so far when the gateway stops. */
  readonly ended: Promise<Execution>;
}

/** A response with its payload also as JSON. */
export interface GivenResponse extends CommandResponse {
  payloadText: string;
}

export interface InFlight {
  readonly events: Emitter<CommandEvents>;
  /** Takes an execution under watch; the time until it counts as silent starts now. */
  watch(execution: Execution): Live;
  find(id: string): Live | undefined;
  countOf(deviceId: string): number;
  ofDevice(deviceId: string): Live[];
  /** True when the log of the execution takes no further progress. */
  isFull(live: Live): boolean;
  /** The device was heard: the time until it counts as silent starts anew. */
  heard(live: Live): void;
  /**
   * The device wrote to its log, which may be its way of telling how far it is: the same for what it is working on,
   * for a while. The request may also have been lost.
   */
  loggedBy(deviceId: string): void;
  /** One step of the state machine. The caller asks the buffer to store what it adds. */
  apply(live: Live, input: Input, given?: GivenResponse): Step;
  /** Ends every wait with the state so far; nothing is decided any more. */
  stop(): void;
}

interface Entry {
  execution: Execution;
  readonly ended: Promise<Execution>;
  readonly resolve: (execution: Execution) => void;
  timer: Timer | undefined;
  responseCount: number;
  responseSizeBytes: number;
  newestReceivedAtMs: number;
  /** Monotonic time of the request or of the last response. */
  answeredMs: number;
}

export function createInFlight(options: {
  buffer: ResponseBuffer;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  limits: Limits['commands'];
  timeoutMs: number;
}): InFlight {
  const { buffer, clock, log, limits, timeoutMs } = options;
  const events = new Emitter<CommandEvents>((owner, event, error) =>
    log.error('listener failed', { owner, event, error }),
  );
  const entries = new Map<string, Entry>();
  let stopped = false;
  options.metrics.gauge('commands_in_flight', 'Executions without an end.', [], (gauge) =>
    gauge.set(entries.size),
  );

  function entryOf(live: Live): Entry {
    const entry = entries.get(live.execution.id);
    if (!entry) throw new Error('the execution is not in flight');
    return entry;
  }

  function restartTimer(entry: Entry): void {
    entry.timer?.cancel();
    entry.timer = undefined;
    if (stopped || isFinished(entry.execution.state)) return;
    entry.timer = clock.setTimer(timeoutMs, () => {
      apply(entry, 'silence');
      buffer.storeSoon();
    });
  }

  function heard(entry: Entry): void {
    entry.answeredMs = clock.monotonicMs();
    restartTimer(entry);
  }

  function apply(live: Live, input: Input, given?: GivenResponse): Step {
    const entry = entryOf(live);
    const wasFinished = isFinished(entry.execution.state);
    const step = TRANSITIONS[entry.execution.state][input];
    if (step.next === 'removed') {
      entry.timer?.cancel();
      entries.delete(entry.execution.id);
      return step;
    }
    for (const addition of step.add)
      add(
        entry,
        addition,
        addition === 'started' ? 'IN_PROGRESS' : step.next,
        responseFor(addition, input, given),
      );
    if (step.add.length > 0) heard(entry);
    if (!wasFinished && isFinished(step.next)) buffer.hurry();
    return step;
  }

  /** The device's response, or the one that the gateway writes in its place. */
  function responseFor(addition: Addition, input: Input, given: GivenResponse | undefined): GivenResponse {
    if (given && addition !== 'started') return given;
    const payload = addition === 'started' ? {} : { message: failureMessage(input, timeoutMs) };
    return {
      state: addition === 'started' ? 'STARTED' : 'ERROR',
      payload,
      payloadText: JSON.stringify(payload),
      receivedAtMs: given?.receivedAtMs ?? clock.wallMs(),
    };
  }

  function add(entry: Entry, addition: Addition, state: Execution['state'], given: GivenResponse): void {
    const { payloadText, ...rest } = given;
    // A clock that jumps back must not turn the log of one execution around.
    entry.newestReceivedAtMs = Math.max(entry.newestReceivedAtMs, given.receivedAtMs);
    const response = { ...rest, receivedAtMs: entry.newestReceivedAtMs };
    const late = addition === 'late';
    entry.responseCount++;
    entry.responseSizeBytes += Buffer.byteLength(payloadText);
    if (!late) entry.execution = { ...entry.execution, state, response };
    const { execution } = entry;
    buffer.add(
      {
        executionId: execution.id,
        state: response.state,
        payload: payloadText,
        receivedAtMs: response.receivedAtMs,
        executionState: late ? undefined : state,
      },
      () => {
        if (!late && isFinished(state)) {
          entries.delete(execution.id);
          entry.resolve(execution);
        }
        events.emit('execution_updated', { execution, response, late });
      },
    );
  }

  return {
    events,
    watch: (execution) => {
      const { promise, resolve } = Promise.withResolvers<Execution>();
      const entry: Entry = {
        execution,
        ended: promise,
        resolve,
        timer: undefined,
        responseCount: 0,
        responseSizeBytes: 0,
        newestReceivedAtMs: execution.response?.receivedAtMs ?? execution.createdAtMs,
        answeredMs: clock.monotonicMs(),
      };
      entries.set(execution.id, entry);
      restartTimer(entry);
      return entry;
    },
    find: (id) => entries.get(id),
    countOf: (deviceId) => countWhere(entries.values(), deviceId),
    ofDevice: (deviceId) => [...entries.values()].filter(({ execution }) => execution.deviceId === deviceId),
    isFull: (live) => {
      const { responseCount, responseSizeBytes } = entryOf(live);
      return (
        responseCount >= limits.responsesPerExecution || responseSizeBytes >= limits.responseBytesPerExecution
      );
    },
    heard: (live) => heard(entryOf(live)),
    loggedBy: (deviceId) => {
      const nowMs = clock.monotonicMs();
      for (const entry of entries.values()) {
        const isOurs = entry.execution.deviceId === deviceId && entry.timer !== undefined;
        if (isOurs && nowMs - entry.answeredMs < limits.logLifeMs) restartTimer(entry);
      }
    },
    apply,
    stop: () => {
      stopped = true;
      for (const entry of entries.values()) {
        entry.timer?.cancel();
        entry.resolve(entry.execution);
      }
    },
  };
}

function countWhere(entries: Iterable<Entry>, deviceId: string): number {
  let count = 0;
  for (const { execution } of entries) if (execution.deviceId === deviceId) count++;
  return count;
}
