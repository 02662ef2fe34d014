import type { DurationMs } from '../../lib/time.ts';
import { type Clock, nextTurn, type Timer } from '../../platform/clock/index.ts';

/** The one call that waits for what arrives over a connection, with a time limit. */
export class WaitingCall {
  readonly #clock: Pick<Clock, 'setTimer'>;
  #look: (() => void) | undefined;

  constructor(clock: Pick<Clock, 'setTimer'>) {
    this.#clock = clock;
  }

  get isWaiting(): boolean {
    return this.#look !== undefined;
  }

  /** Something arrived, or nothing will: the call looks again. */
  wake(): void {
    this.#look?.();
  }

  /**
   * Resolves with what `find` finds, at once or after a later `wake`.
   * @param find `isLate`: the time is over, and it finds something in any case
   */
  async wait<Found>(find: (isLate: boolean) => Found | undefined, timeoutMs: DurationMs): Promise<Found> {
    const now = find(timeoutMs <= 0);
    if (now !== undefined) return now;
    const { promise, resolve } = Promise.withResolvers<Found>();
    const look = (isLate: boolean): void => {
      const found = find(isLate);
      if (found === undefined) return;
      // Before the next bytes of the same chunk, which belong to the next call.
      this.#look = undefined;
      timer.cancel();
      resolve(found);
    };
    // What arrived while this process was busy is read after its timers.
    const timer: Timer = this.#clock.setTimer(timeoutMs, () => void nextTurn().then(() => look(true)));
    this.#look = () => look(false);
    return promise;
  }
}
