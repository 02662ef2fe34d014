/**
 * Rates per caller (docs/interface/http.md#rates): requests per token, per address of those without one, failed
 * authentications and anonymous calls per address. Exact on the clock of the gateway. A legitimate token is never
 * refused because of somebody else's failures.
 */
import { tooManyRequests } from '../../lib/errors.ts';
import { Rates } from '../../lib/rates.ts';
import type { Clock } from '../clock/index.ts';

const MINUTE_S = 60;

export class RateLimits {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #requests: Rates;
  readonly #unauthenticated: Rates;
  readonly #failures: Rates;
  readonly #anonymous = new Map<string, Rates>();

  constructor(
    clock: Pick<Clock, 'monotonicMs'>,
    limits: {
      requests: { perSecond: number; burst: number };
      unauthenticated: { perSecond: number; burst: number };
      failedAuthenticationsPerMinute: number;
    },
  ) {
    this.#clock = clock;
    this.#requests = new Rates(limits.requests);
    this.#unauthenticated = new Rates(limits.unauthenticated);
    this.#failures = ratesPerMinute(limits.failedAuthenticationsPerMinute);
  }

  /** One request of a caller. @throws GatewayError too_many_requests (429) */
  request(rateKey: string): void {
    this.#take(this.#requests, rateKey);
  }

  /** One request of an address without a token, for whatever. @throws GatewayError too_many_requests (429) */
  unauthenticated(address: string): void {
    this.#take(this.#unauthenticated, address);
  }

  /** One failed authentication of an address. @throws GatewayError too_many_requests (429) */
  failedAuthentication(address: string): void {
    this.#take(this.#failures, address);
  }

  /** One anonymous call of an operation with its own bound. @throws GatewayError too_many_requests (429) */
  anonymous(operation: string, address: string, perMinute: number): void {
    let rates = this.#anonymous.get(operation);
    if (!rates) this.#anonymous.set(operation, (rates = ratesPerMinute(perMinute)));
    this.#take(rates, address);
  }

  #take(rates: Rates, key: string): void {
    const waitMs = rates.take(key, this.#clock.monotonicMs());
    if (waitMs === 0) return;
    throw tooManyRequests(
      'Too many requests; wait for the time in Retry-After.',
      Math.max(1, Math.ceil(waitMs / 1_000)),
    );
  }
}

function ratesPerMinute(count: number): Rates {
  return new Rates({ perSecond: count / MINUTE_S, burst: count });
}
