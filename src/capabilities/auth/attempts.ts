/**
 * Slows guessing down without locking anybody out. Attempts are judged one after the other:
 *
 * - an attempt at an account from an address that it has logged in from: by itself, whatever others do;
 * - any other attempt: by its address and by its account, so that neither many accounts
 *   from one address nor one account from many addresses are tried faster.
 *
 * After a few failures the next attempt waits. A success forgives the failures of its own account and address,
 * not those at other accounts. Open sessions and tokens never notice. Everything is in memory and bounded.
 */
import { tooManyRequests, unavailable } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import { SerialQueue } from '../../lib/serial-queue.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { AuthParts } from './store.ts';

const FIRST_DELAY_MS = 1_000;

/** An attempt to log in; `signal` ends its waiting. */
export interface Attempt {
  /** As `addressKey` makes it. */
  readonly address: string;
  /** Id of the user, or the name that was typed for one who does not exist. */
  readonly account: string;
  readonly signal: AbortSignal;
}

/** Judges an attempt; undefined: it failed. `isKnown`: the account has logged in from this address before. */
type Judge<Result> = (isKnown: boolean) => Promise<Result | undefined>;

/** How the attempts of one address, account, or both, are paced. */
interface Pace {
  /** Failures before the next attempt waits. */
  readonly freeFailures: number;
  /** The delay doubles from 1 s to this. */
  readonly delayMaxMs: DurationMs;
  /** Attempts that wait at once. */
  readonly places: number;
}

interface Lane {
  failures: number;
  failedAtMonotonicMs: MonotonicMs;
  waiting: number;
  readonly queue: SerialQueue;
  /** These failures by account, so that a success can forgive those of its own account. */
  readonly byAccount: Map<string, number>;
}

export class Attempts {
  readonly #clock: Clock;
  readonly #limits: Limits['auth'];
  readonly #addresses = new Map<string, Lane>();
  readonly #accounts = new Map<string, Lane>();
  /** By account and address, for addresses that the account has logged in from. */
  readonly #known = new Map<string, Map<string, Lane>>();
  readonly #addressPace: Pace;
  readonly #accountPace: Pace;

  constructor({ clock, limits }: AuthParts) {
    this.#clock = clock;
    this.#limits = limits;
    this.#addressPace = {
      freeFailures: limits.failuresWithoutDelay,
      delayMaxMs: limits.failureDelayMaxMs,
      places: limits.attemptsPerAddress,
    };
    this.#accountPace = {
      freeFailures: limits.accountFailuresWithoutDelay,
      delayMaxMs: limits.accountFailureDelayMs,
      places: limits.attemptsPerAccount,
    };
  }

  /**
   * Runs `judge` when it is the turn of the attempt.
   * @throws GatewayError too_many_requests (429) when too many wait, unavailable (503) when the caller leaves, or
   *   the gateway stops, while it waits
   */
  run<Result>(attempt: Attempt, judge: Judge<Result>): Promise<Result | undefined> {
    const own = this.#known.get(attempt.account)?.get(attempt.address);
    return own ? this.#runKnown(own, attempt, judge) : this.#runUnknown(attempt, judge);
  }

  #runKnown<Result>(lane: Lane, attempt: Attempt, judge: Judge<Result>): Promise<Result | undefined> {
    return this.#inTurn(lane, this.#addressPace, attempt.signal, async () => {
      const result = await judge(true);
      if (result === undefined) this.#fail(lane, attempt.account);
      else lane.failures = 0;
      this.#remember(attempt, lane);
      return result;
    });
  }

  #runUnknown<Result>(attempt: Attempt, judge: Judge<Result>): Promise<Result | undefined> {
    const { account, address, signal } = attempt;
    const fromAddress = this.#laneOf(this.#addresses, address);
    return this.#inTurn(fromAddress, this.#addressPace, signal, () => {
      const atAccount = this.#laneOf(this.#accounts, account);
      return this.#inTurn(atAccount, this.#accountPace, signal, async () => {
        const result = await judge(false);
        if (result === undefined) {
          this.#fail(fromAddress, account);
          this.#fail(atAccount, account);
          moveToEnd(this.#addresses, address, fromAddress);
          moveToEnd(this.#accounts, account, atAccount);
        } else {
          fromAddress.failures -= fromAddress.byAccount.get(account) ?? 0;
          fromAddress.byAccount.delete(account);
          this.#remember(attempt, this.#newLane());
        }
        return result;
      });
    });
  }

  /** Notes that the account logs in from this address, and forgets the address that it used longest ago. */
  #remember({ account, address }: Attempt, lane: Lane): void {
    const addresses = this.#known.get(account) ?? new Map<string, Lane>();
    moveToEnd(addresses, address, lane);
    dropOldest(addresses, this.#limits.knownAddressesPerUser, address);
    moveToEnd(this.#known, account, addresses);
    dropOldest(this.#known, this.#limits.users, account);
  }

  #newLane(): Lane {
    return {
      failures: 0,
      failedAtMonotonicMs: this.#clock.monotonicMs(),
      waiting: 0,
      queue: new SerialQueue(),
      byAccount: new Map(),
    };
  }

  #laneOf(lanes: Map<string, Lane>, name: string): Lane {
    const lane = lanes.getOrInsertComputed(name, () => this.#newLane());
    dropOldest(lanes, this.#limits.addresses, name, ({ waiting }) => waiting === 0);
    return lane;
  }

  #fail(lane: Lane, account: string): void {
    lane.failures++;
    lane.failedAtMonotonicMs = this.#clock.monotonicMs();
    const { byAccount } = lane;
    if (byAccount.has(account) || byAccount.size < this.#limits.accountsPerAddress)
      byAccount.set(account, (byAccount.get(account) ?? 0) + 1);
  }

  /** Runs the work of a lane one after another, each when its delay is over. */
  async #inTurn<Result>(
    lane: Lane,
    pace: Pace,
    signal: AbortSignal,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const retryAfterS = Math.ceil(this.#limits.failureDelayMaxMs / 1_000);
    if (lane.waiting >= pace.places)
      throw tooManyRequests('Too many failed logins; wait a little.', retryAfterS);
    lane.waiting++;
    try {
      return await lane.queue.run(async () => {
        await this.#untilDue(lane, pace, signal);
        return work();
      });
    } finally {
      lane.waiting--;
    }
  }

  async #untilDue(lane: Lane, pace: Pace, signal: AbortSignal): Promise<void> {
    try {
      signal.throwIfAborted();
      const waitMs = this.#remainingMs(lane, pace);
      if (waitMs > 0) await this.#clock.sleep(waitMs, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      throw unavailable('The attempt was given up.', { cause: error });
    }
  }

  /** Time until the next attempt is judged, counted from the last failure. */
  #remainingMs(lane: Lane, { freeFailures, delayMaxMs }: Pace): DurationMs {
    const sinceMs = this.#clock.monotonicMs() - lane.failedAtMonotonicMs;
    if (sinceMs >= this.#limits.failureForgottenMs) {
      lane.failures = 0;
      lane.byAccount.clear();
    }
    const counted = lane.failures - freeFailures;
    return counted < 0 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** counted, delayMaxMs) - sinceMs;
  }
}

function moveToEnd<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
}

/** Deletes the first entries that may go, until `kept` are left. */
function dropOldest<Value>(
  map: Map<string, Value>,
  kept: number,
  except: string,
  mayGo: (value: Value) => boolean = () => true,
): void {
  for (const [key, value] of map) {
    if (map.size <= kept) return;
    if (key !== except && mayGo(value)) map.delete(key);
  }
}
