/**
 * Slows guessing down without locking anybody out: after a few failures, the attempts of that address wait
 * before they are judged, one after the other. Other addresses do not notice, open sessions and tokens
 * neither, and the right password always gets in.
 */
import { GatewayError, gatewayError } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';

const FIRST_DELAY_MS = 1_000;

export interface Attempts {
  /**
   * Runs `judge` when it is the turn of the address; an undefined result is a failure.
   * @throws GatewayError too_many_requests (429) when too many of it wait, unavailable (503) when the caller
   *   leaves, or the gateway stops, while it waits
   */
  run<Result>(
    caller: { address: string; signal: AbortSignal },
    judge: () => Promise<Result | undefined>,
  ): Promise<Result | undefined>;
}

interface Address {
  failures: number;
  failedAtMs: number;
  waiting: number;
  turn: Promise<unknown>;
}

export function createAttempts(options: { clock: Clock; limits: Limits['auth'] }): Attempts {
  const { clock, limits } = options;
  /** The one that failed longest ago is first. */
  const addresses = new Map<string, Address>();

  function entryOf(name: string): Address {
    let entry = addresses.get(name);
    if (!entry) {
      entry = { failures: 0, failedAtMs: clock.monotonicMs(), waiting: 0, turn: Promise.resolve() };
      addresses.set(name, entry);
      for (const [other, { waiting }] of addresses) {
        if (addresses.size <= limits.addresses) break;
        if (waiting === 0 && other !== name) addresses.delete(other);
      }
    }
    if (clock.monotonicMs() - entry.failedAtMs >= limits.failureForgottenMs) entry.failures = 0;
    return entry;
  }

  /** Until the next attempt is judged, counted from the last failure. */
  function remainingMs({ failures, failedAtMs }: Address): number {
    const counted = failures - limits.failuresWithoutDelay;
    if (counted < 0) return 0;
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** counted, limits.failureDelayMaxMs);
    return failedAtMs + delayMs - clock.monotonicMs();
  }

  async function untilTurn(entry: Address, signal: AbortSignal): Promise<void> {
    try {
      signal.throwIfAborted();
      const waitMs = remainingMs(entry);
      if (waitMs > 0) await clock.sleep(waitMs, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      throw gatewayError('unavailable', 'unavailable', 'The attempt was given up.', undefined, error);
    }
  }

  async function judgeInTurn<Result>(
    name: string,
    entry: Address,
    signal: AbortSignal,
    judge: () => Promise<Result | undefined>,
  ): Promise<Result | undefined> {
    await untilTurn(entry, signal);
    const result = await judge();
    addresses.delete(name);
    if (result === undefined) {
      entry.failures++;
      entry.failedAtMs = clock.monotonicMs();
      addresses.set(name, entry);
    } else if (entry.waiting > 1) {
      entry.failures = 0;
      addresses.set(name, entry);
    }
    return result;
  }

  return {
    run: async ({ address, signal }, judge) => {
      const entry = entryOf(address);
      if (entry.waiting >= limits.attemptsPerAddress)
        throw new GatewayError(
          'rate_limited',
          [
            {
              code: 'too_many_requests',
              message: 'Too many failed logins from this address; wait a little.',
            },
          ],
          { retryAfterS: Math.ceil(limits.failureDelayMaxMs / 1_000) },
        );
      entry.waiting++;
      const result = entry.turn.then(() => judgeInTurn(address, entry, signal, judge));
      // The next one waits for the end of this one, however it ends.
      entry.turn = result.catch((error: unknown) => error);
      try {
        return await result;
      } finally {
        entry.waiting--;
      }
    },
  };
}
