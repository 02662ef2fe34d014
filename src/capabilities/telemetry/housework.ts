/** When the store keeps house, and what is told of it. */
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Housework } from './engine-state.ts';

const HOUR_MS = 3_600_000;

/** Lines for whoever wants to see the store at work, as `npm run fault-check` does. */
export function createHouseworkLog(log: Log): {
  begins: (housework: Housework) => void;
  ends: () => void;
  /** True once after some of it was done. */
  takeDone: () => boolean;
} {
  let present: Housework | undefined;
  let isDone = false;
  return {
    begins: (housework) => {
      if (housework === present) return;
      present = housework;
      log.debug('telemetry store is keeping house', { housework });
    },
    ends: () => {
      if (present === undefined) return;
      log.debug('telemetry store is done with it', { housework: present });
      present = undefined;
      isDone = true;
    },
    takeDone: () => {
      const wasDone = isDone;
      isDone = false;
      return wasDone;
    },
  };
}

export interface DueTimes {
  seal(openSamples: number): boolean;
  sealed(): void;
  /** True once an hour. */
  expiry(): boolean;
}

export function createDueTimes(clock: Pick<Clock, 'monotonicMs'>, limits: Limits['telemetry']): DueTimes {
  let sealedAtMs = clock.monotonicMs();
  let expiredAtMs = Number.NEGATIVE_INFINITY;
  return {
    seal: (openSamples) =>
      openSamples >= limits.openSamples ||
      (openSamples > 0 && clock.monotonicMs() - sealedAtMs >= limits.sealIntervalMs),
    sealed: () => {
      sealedAtMs = clock.monotonicMs();
    },
    expiry: () => {
      if (clock.monotonicMs() - expiredAtMs < HOUR_MS) return false;
      expiredAtMs = clock.monotonicMs();
      return true;
    },
  };
}
