/**
 * Rates per caller (docs/interface/http.md#rates): requests per token, per address of those without one, failed
 * authentications and anonymous calls per address. Exact on the clock of the gateway. A legitimate token is never
 * refused because of somebody else's failures.
 */
import { tooManyRequests } from '../../lib/errors.ts';
import { Rates } from '../../lib/rates.ts';
import type { Clock } from '../clock/index.ts';

const MINUTE_S = 60;
/** Rates of one token that all tokens of a person have together. */
const TOKENS_TOGETHER = 2;

export type RateLimits = ReturnType<typeof createRateLimits>;

/** Each counts one more. @throws GatewayError too_many_requests (429) */
export function createRateLimits(
  clock: Pick<Clock, 'monotonicMs'>,
  limits: {
    requests: { perSecond: number; burst: number };
    unauthenticated: { perSecond: number; burst: number };
    failedAuthenticationsPerMinute: number;
  },
) {
  const ofOperations = new Map<string, Rates>();
  const requests = new Rates(limits.requests);
  /** No single token takes more than half of what all tokens of a person have. */
  const together = new Rates({
    perSecond: TOKENS_TOGETHER * limits.requests.perSecond,
    burst: TOKENS_TOGETHER * limits.requests.burst,
  });
  const limited =
    (rates: Rates) =>
    (key: string): void => {
      const waitMs = rates.take(key, clock.monotonicMs());
      if (waitMs === 0) return;
      throw tooManyRequests(
        'Too many requests; wait for the time in Retry-After.',
        Math.max(1, Math.ceil(waitMs / 1_000)),
      );
    };
  return {
    /** One request of a caller, by the key of its rate, and the token among several that share the key. */
    request: (key: string, tokenId?: string): void => {
      if (tokenId === undefined) return limited(requests)(key);
      limited(requests)(`token ${tokenId}`);
      limited(together)(key);
    },
    /** One request of an address without a token. */
    unauthenticated: limited(new Rates(limits.unauthenticated)),
    /** One failed authentication of an address. */
    failedAuthentication: limited(ratesPerMinute(limits.failedAuthenticationsPerMinute)),
    /** One anonymous call of an operation with its own bound. */
    anonymous: (operation: string, address: string, perMinute: number): void => {
      limited(ofOperations.getOrInsertComputed(operation, () => ratesPerMinute(perMinute)))(address);
    },
  };
}

function ratesPerMinute(count: number): Rates {
  return new Rates({ perSecond: count / MINUTE_S, burst: count });
}
