/**
 * Limits per caller (http-contract.md section 1): requests per token, failed authentications and anonymous
 * calls per address. A legitimate token is never refused because of somebody else's failures.
 */
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { GatewayError } from '../../lib/errors.ts';

export interface RateLimits {
  /** One request of a caller. @throws too_many_requests (429) */
  request(rateKey: string): Promise<void>;
  /** One failed authentication of an address. @throws too_many_requests once there are too many. */
  failedAuthentication(address: string): Promise<void>;
  /** One anonymous call of an operation with its own bound. @throws too_many_requests */
  anonymous(operation: string, address: string, perMinute: number): Promise<void>;
}

export function createRateLimits(options: {
  requestsPerSecond: number;
  requestBurst: number;
  failedAuthenticationsPerMinute: number;
}): RateLimits {
  const { requestsPerSecond, requestBurst, failedAuthenticationsPerMinute } = options;
  const requests = new RateLimiterMemory({
    keyPrefix: 'request',
    points: requestBurst,
    duration: requestBurst / requestsPerSecond,
  });
  const failures = new RateLimiterMemory({
    keyPrefix: 'failure',
    points: failedAuthenticationsPerMinute,
    duration: 60,
  });
  const anonymous = new Map<string, RateLimiterMemory>();

  return {
    request: (rateKey) => consume(requests, rateKey),
    failedAuthentication: (address) => consume(failures, address),
    anonymous: (operation, address, perMinute) => {
      let limiter = anonymous.get(operation);
      if (!limiter) {
        limiter = new RateLimiterMemory({ keyPrefix: operation, points: perMinute, duration: 60 });
        anonymous.set(operation, limiter);
      }
      return consume(limiter, address);
    },
  };
}

async function consume(limiter: RateLimiterMemory, key: string): Promise<void> {
  try {
    await limiter.consume(key);
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) throw error;
    throw new GatewayError(
      'rate_limited',
      [{ code: 'too_many_requests', message: 'Too many requests; wait for the time in Retry-After.' }],
      { retryAfterS: Math.max(1, Math.ceil(error.msBeforeNext / 1_000)) },
    );
  }
}
