/**
 * Executions that are not finished yet: their state in memory and their silence timers. A response changes the state
 * at once; callers, events and acknowledgements wait until it is on disk.
 */
import { Emitter } from '../../lib/emitter.ts';
import { tooManyRequests } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, EpochMs, MonotonicMs } from '../../lib/time.ts';
import { setDeadline, type Timer } from '../../platform/clock/index.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
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
  /** The present state, perhaps not on disk yet. */
  readonly execution: Execution;
  /** The device has responded. */
  readonly isAnswered: boolean;
  /** Resolves when the end is on disk, or when the gateway stops while the disk fails. */
  readonly ended: Promise<Execution>;
}

/** A response with its payload also as JSON. */
export interface GivenResponse extends CommandResponse {
  payloadText: string;
}

interface Entry {
  execution: Execution;
  isAnswered: boolean;
  readonly ended: Promise<Execution>;
  readonly resolve: (execution: Execution) => void;
  timer: Timer | undefined;
  responseCount: number;
  responseSizeBytes: number;
  newestReceivedAtMs: EpochMs;
  /** Monotonic time of the request or of the last response. */
  answeredMs: MonotonicMs;
}

interface InFlightOptions extends Instruments {
  buffer: ResponseBuffer;
  limits: Limits['commands'];
  timeoutMs: DurationMs;
}

export class InFlight {
  readonly events: Emitter<CommandEvents>;
  readonly #options: InFlightOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #queue: { dropped: () => void };
  #isStopped = false;

  constructor(options: InFlightOptions) {
    this.#options = options;
    this.events = new Emitter<CommandEvents>(options.log);
    options.metrics.measured('commands_in_flight', 'Executions without an end.', () => this.#entries.size);
    this.#queue = options.metrics.queue('device_commands', {
      limit: options.limits.inFlightPerDevice,
      depth: () => Math.max(0, ...this.#countsByDevice().values()),
    });
  }

  /** Begins to follow an execution; its silence timer starts now. */
  watch(execution: Execution): Live {
    const { promise, resolve } = Promise.withResolvers<Execution>();
    const entry: Entry = {
      execution,
      isAnswered: false,
      ended: promise,
      resolve,
      timer: undefined,
      responseCount: 0,
      responseSizeBytes: 0,
      newestReceivedAtMs: execution.response?.receivedAtMs ?? execution.createdAtMs,
      answeredMs: this.#options.clock.monotonicMs(),
    };
    this.#entries.set(execution.id, entry);
    this.#restartTimer(entry);
    return entry;
  }

  find(id: string): Live | undefined {
    return this.#entries.get(id);
  }

  /** @throws GatewayError rate_limited when the device has as many as it may */
  requireRoomFor(deviceId: string): void {
    const { inFlightPerDevice } = this.#options.limits;
    if ((this.#countsByDevice().get(deviceId) ?? 0) < inFlightPerDevice) return;
    this.#queue.dropped();
    const message = `The device has ${inFlightPerDevice} commands in progress; wait for one to end.`;
    throw tooManyRequests(message, 1);
  }

  #countsByDevice(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { execution } of this.#entries.values())
      counts.set(execution.deviceId, (counts.get(execution.deviceId) ?? 0) + 1);
    return counts;
  }

  ofDevice(deviceId: string): Live[] {
    return [...this.#entries.values()].filter(({ execution }) => execution.deviceId === deviceId);
  }

  /** Whether the log of the execution is full, so that it takes only the end. */
  isFull(live: Live): boolean {
    const { responsesPerExecution, responseBytesPerExecution } = this.#options.limits;
    const { responseCount, responseSizeBytes } = this.#entryOf(live);
    return responseCount >= responsesPerExecution || responseSizeBytes >= responseBytesPerExecution;
  }

  /** The device sent something: the silence timer starts anew. */
  noteProgress(live: Live): void {
    const entry = this.#entryOf(live);
    entry.answeredMs = this.#options.clock.monotonicMs();
    this.#restartTimer(entry);
  }

  /**
   * The device wrote to its log, perhaps to report progress: restarts the silence timers of its executions, but only
   * for a while, because the request may have been lost.
   */
  loggedBy(deviceId: string): void {
    const { clock, limits } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const entry of this.#entries.values()) {
      const isOurs = entry.execution.deviceId === deviceId && entry.timer !== undefined;
      if (isOurs && nowMs - entry.answeredMs < limits.logLifeMs) this.#restartTimer(entry);
    }
  }

  /** One step of the state machine. The caller has the buffer store the responses that it adds. */
  apply(live: Live, input: Input, given?: GivenResponse): Step {
    const entry = this.#entryOf(live);
    const wasFinished = isFinished(entry.execution.state);
    const step = TRANSITIONS[entry.execution.state][input];
    if (step.next === 'removed') {
      entry.timer?.cancel();
      this.#entries.delete(entry.execution.id);
      return step;
    }
    for (const addition of step.add) {
      const state = addition === 'started' ? 'IN_PROGRESS' : step.next;
      this.#add(entry, addition, state, this.#responseFor(addition, input, given));
    }
    if (step.add.length > 0 && this.#entries.has(entry.execution.id)) this.noteProgress(entry);
    if (!wasFinished && isFinished(step.next)) this.#options.buffer.expedite();
    return step;
  }

  /** Ends the executions that have no end yet. */
  end(lives: readonly Live[], input: Input): void {
    const open = lives.filter((live) => this.#entries.get(live.execution.id) === live);
    for (const live of open) this.apply(live, input);
    if (open.length > 0) this.#options.buffer.storeSoon();
  }

  /** Ends all executions of this run: the next run does not send their requests again, and answers to them are late. */
  endAll(): void {
    this.end([...this.#entries.values()], 'restart');
  }

  /** Ends every wait with the present state; nothing is decided after that. */
  stop(): void {
    this.#isStopped = true;
    for (const entry of this.#entries.values()) {
      entry.timer?.cancel();
      entry.resolve(entry.execution);
    }
  }

  #entryOf(live: Live): Entry {
    const entry = this.#entries.get(live.execution.id);
    if (!entry) throw new Error('the execution is not in flight');
    return entry;
  }

  #restartTimer(entry: Entry): void {
    const { buffer, clock, timeoutMs } = this.#options;
    entry.timer?.cancel();
    entry.timer = undefined;
    if (this.#isStopped || isFinished(entry.execution.state)) return;
    entry.timer = setDeadline(clock, timeoutMs, () => {
      this.apply(entry, 'silence');
      buffer.storeSoon();
    });
  }

  /** The device's response, or the one that the gateway writes in its place. */
  #responseFor(addition: Addition, input: Input, given: GivenResponse | undefined): GivenResponse {
    if (given && addition !== 'started') return given;
    const { clock, timeoutMs } = this.#options;
    const payload = addition === 'started' ? {} : { message: failureMessage(input, timeoutMs) };
    return {
      state: addition === 'started' ? 'STARTED' : 'ERROR',
      payload,
      payloadText: JSON.stringify(payload),
      receivedAtMs: given?.receivedAtMs ?? clock.wallMs(),
    };
  }

  #add(entry: Entry, addition: Addition, state: Execution['state'], given: GivenResponse): void {
    const { payloadText, ...rest } = given;
    // A clock that jumps back must not turn the log of one execution around.
    entry.newestReceivedAtMs = Math.max(entry.newestReceivedAtMs, given.receivedAtMs);
    const response = { ...rest, receivedAtMs: entry.newestReceivedAtMs };
    const late = addition === 'late';
    entry.isAnswered ||= addition === 'given';
    entry.responseCount++;
    entry.responseSizeBytes += Buffer.byteLength(payloadText);
    if (!late) entry.execution = { ...entry.execution, state, response };
    const { execution } = entry;
    const row = {
      executionId: execution.id,
      state: response.state,
      payload: payloadText,
      receivedAtMs: response.receivedAtMs,
      executionState: late ? undefined : state,
    };
    this.#options.buffer.add(row, () => {
      if (!late && isFinished(state)) {
        this.#entries.delete(execution.id);
        entry.resolve(execution);
      }
      this.events.emit('execution_updated', { execution, response, late });
    });
  }
}
