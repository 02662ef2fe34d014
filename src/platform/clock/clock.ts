import type { DurationMs, EpochMs, MonotonicMs } from '../../lib/time.ts';
import { CLOCK_PLAUSIBLE_FROM_MS, ProvenTime } from './proven-time.ts';

/**
 * Time as a dependency: the only place of the gateway that calls the system's clocks and timers.
 * Durations and deadlines use `monotonicMs`; stored moments use `wallMs`. The box may boot in 1970 and be
 * set later (decision 0025): `isSet` tells, `onStepped` reports every jump of the wall clock, and `proven` is what
 * ages are judged by.
 */
export interface Clock {
  /** UTC, milliseconds since 1970; follows corrections, may jump. */
  wallMs(): EpochMs;
  /** Milliseconds since an arbitrary start; never jumps. */
  monotonicMs(): MonotonicMs;
  /** Runs `fn` once after `durationMs` of monotonic time. */
  setTimer(durationMs: DurationMs, fn: () => void): Timer;
  /** Runs `fn` every `intervalMs` until cancelled; the first time after one interval. */
  setRepeating(intervalMs: DurationMs, fn: () => void): Timer;
  /** Resolves after `durationMs`; rejects with the signal's reason when aborted. */
  sleep(durationMs: DurationMs, signal?: AbortSignal): Promise<void>;
  /** False while the wall clock shows a time before this program existed. */
  isSet(): boolean;
  /** Calls `listener` with the jump in milliseconds (positive = forward); returns the unsubscribe. */
  onStepped(listener: (jumpMs: DurationMs) => void): () => void;
  /** A lower bound of the true time: only this decides what is deleted for its age. */
  readonly proven: ProvenTime;
}

/** A timer that runs. */
export interface Timer {
  cancel(): void;
}

/** Node keeps durations in 31 bits. */
const TIMER_MAX_MS = 2_147_483_647;
const STEP_CHECK_INTERVAL_MS = 1_000;
const STEP_TOLERANCE_MS = 1_500;

/** The system's clock. Its own step check does not keep the process alive. */
export function createSystemClock(): Clock & { close: () => void } {
  const listeners = new Set<(jumpMs: DurationMs) => void>();
  const stepMs = createStepDetector(() => Date.now() - performance.now());
  const check = setInterval(() => {
    const jumpMs = stepMs();
    if (jumpMs !== undefined) for (const listener of listeners) listener(jumpMs);
  }, STEP_CHECK_INTERVAL_MS);
  check.unref();
  const readings = {
    wallMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    isSet: () => Date.now() >= CLOCK_PLAUSIBLE_FROM_MS,
  };

  return {
    ...readings,
    proven: new ProvenTime(readings),
    setTimer,
    setRepeating: (intervalMs, fn) => repeatOn((fire) => setTimer(intervalMs, fire), fn),
    sleep: (durationMs, signal) => sleepOn((fn) => setTimer(durationMs, fn), signal),
    onStepped: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => clearInterval(check),
  };
}

/** Longer waits than the system's timers take (they would fire at once) are made of several. */
function setTimer(durationMs: DurationMs, fn: () => void): Timer {
  const arm = (remainingMs: DurationMs): NodeJS.Timeout =>
    remainingMs > TIMER_MAX_MS
      ? setTimeout(() => (handle = arm(remainingMs - TIMER_MAX_MS)), TIMER_MAX_MS)
      : setTimeout(fn, remainingMs);
  let handle = arm(durationMs);
  return { cancel: () => clearTimeout(handle) };
}

/** A timer that is later is late because the program stood still, as on a card that takes no writes for a while. */
const STANDSTILL_MS = 500;
/** By then everything that waits in the sockets of a whole fleet is read. */
const READING_MS = 2_000;

/**
 * Runs `fn` once after `durationMs` in which a peer was silent. When this program stood still meanwhile, what the peer
 * sent may wait unread, so `fn` comes when it has been read.
 */
export function setDeadline(
  clock: Pick<Clock, 'setTimer' | 'monotonicMs'>,
  durationMs: DurationMs,
  fn: () => void,
): Timer {
  const dueMs = clock.monotonicMs() + durationMs;
  let timer = clock.setTimer(durationMs, () => {
    if (clock.monotonicMs() - dueMs < STANDSTILL_MS) fn();
    else timer = clock.setTimer(READING_MS, fn);
  });
  return { cancel: () => timer.cancel() };
}

/**
 * Judges the offset between wall and monotonic clock: each call returns the jump since the last one, or
 * undefined. Slow correction (NTP slewing) is followed, so that drift never adds up to a false step.
 */
export function createStepDetector(offsetMs: () => number): () => number | undefined {
  let lastOffsetMs = offsetMs();
  return () => {
    const jumpMs = offsetMs() - lastOffsetMs;
    lastOffsetMs += jumpMs;
    return Math.abs(jumpMs) < STEP_TOLERANCE_MS ? undefined : jumpMs;
  };
}

/** Lets everything that is waiting for the event loop have its turn: long work calls it between its pieces. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Resolves after so much time of the system, whatever the program's clock says; does not keep the process alive. */
export function realPause(durationMs: DurationMs): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs).unref());
}

/** The result of the promise, or undefined after `durationMs`; the work behind the promise goes on. */
export function within<Value>(
  clock: Pick<Clock, 'setTimer'>,
  durationMs: DurationMs,
  promise: Promise<Value>,
): Promise<Value | undefined> {
  const { promise: result, resolve, reject } = Promise.withResolvers<Value | undefined>();
  const timer = clock.setTimer(durationMs, () => resolve(undefined));
  promise.then(resolve, reject).finally(() => timer.cancel());
  return result;
}

/** A timer that goes on: the next time is set before each call. Shared with simulated clocks. */
export function repeatOn(start: (fn: () => void) => Timer, fn: () => void): Timer {
  const fire = (): void => {
    timer = start(fire);
    fn();
  };
  let timer = start(fire);
  return { cancel: () => timer.cancel() };
}

/** A wait that an abort signal ends; shared with simulated clocks. */
export function sleepOn(start: (fn: () => void) => Timer, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason as Error);
    };
    const timer = start(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
