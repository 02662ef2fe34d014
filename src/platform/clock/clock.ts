/**
 * Time as a dependency: the only place of the gateway that calls the system's clocks and timers.
 * Durations and deadlines use `monotonicMs`; stored moments use `wallMs`. The box may boot in 1970 and be
 * set later (decision 6): `isSet` tells, `onStepped` reports every jump of the wall clock.
 */
export interface Clock {
  /** UTC, milliseconds since 1970; follows corrections, may jump. */
  wallMs(): number;
  /** Milliseconds since an arbitrary start; never jumps. */
  monotonicMs(): number;
  /** Runs `fn` once after `durationMs` of monotonic time. */
  setTimer(durationMs: number, fn: () => void): Timer;
  /** Runs `fn` every `intervalMs` until cancelled; the first time after one interval. */
  setRepeating(intervalMs: number, fn: () => void): Timer;
  /** Resolves after `durationMs`; rejects with the signal's reason when aborted. */
  sleep(durationMs: number, signal?: AbortSignal): Promise<void>;
  /** False while the wall clock shows a time before this program existed. */
  isSet(): boolean;
  /** Calls `listener` with the jump in milliseconds (positive = forward); returns the unsubscribe. */
  onStepped(listener: (jumpMs: number) => void): () => void;
}

export interface Timer {
  cancel(): void;
}

/** 2026-01-01: a wall clock before this was never set. */
export const CLOCK_PLAUSIBLE_FROM_MS = Date.UTC(2026, 0, 1);

const STEP_CHECK_INTERVAL_MS = 1_000;
const STEP_TOLERANCE_MS = 1_500;

/** The system's clock. Its own step check does not keep the process alive. */
export function createSystemClock(): Clock & { close(): void } {
  const listeners = new Set<(jumpMs: number) => void>();
  const offsetMs = (): number => Date.now() - performance.now();
  let lastOffsetMs = offsetMs();
  const check = setInterval(() => {
    const jumpMs = offsetMs() - lastOffsetMs;
    if (Math.abs(jumpMs) < STEP_TOLERANCE_MS) {
      // Follows slow correction (NTP slewing), so that drift never adds up to a false step.
      lastOffsetMs += jumpMs;
      return;
    }
    lastOffsetMs += jumpMs;
    for (const listener of listeners) listener(jumpMs);
  }, STEP_CHECK_INTERVAL_MS);
  check.unref();

  return {
    wallMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    setTimer: (durationMs, fn) => {
      const handle = setTimeout(fn, durationMs);
      return { cancel: () => clearTimeout(handle) };
    },
    setRepeating: (intervalMs, fn) => {
      const handle = setInterval(fn, intervalMs);
      return { cancel: () => clearInterval(handle) };
    },
    sleep: (durationMs, signal) => sleepOn((fn) => setTimeout(fn, durationMs), clearTimeout, signal),
    isSet: () => Date.now() >= CLOCK_PLAUSIBLE_FROM_MS,
    onStepped: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => clearInterval(check),
  };
}

/** A wait that an abort signal ends; shared with simulated clocks. */
export function sleepOn<Handle>(
  start: (fn: () => void) => Handle,
  cancel: (handle: Handle) => void,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = (): void => {
      cancel(handle);
      reject(signal?.reason as Error);
    };
    const handle = start(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
