/**
 * Checks of every request and every upgrade before its handler: token, rate limits, role, path parameters, query
 * (docs/interface/http.md#access-tokens).
 */
import type { Socket } from 'node:net';
import { addressKey } from '../../lib/address.ts';
import { gatewayError, insufficientRole, tooManyRequests } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import { type Role, roleIncludes } from '../../lib/role.ts';
import { MINUTE_S } from '../../lib/time.ts';
import { Rates } from '../../lib/token-bucket.ts';
import type { Clock } from '../clock/index.ts';
import { Call } from './call.ts';
import { isLocalHost } from './callers.ts';
import {
  hostOf,
  isEncrypted,
  partsOf,
  type Principal,
  remoteAddressOf,
  type RequestContext,
} from './exchange.ts';
import { parseQuery } from './parse.ts';
import type { Route } from './route.ts';
import { sessionTokensOf, unknownOriginOf } from './session-cookie.ts';

const TOKEN_HEADER = 'X-Service-Auth-Token';
const TOKEN_HEADERS = ['x-service-auth-token', 'x-enapter-auth-token'] as const;

/** The parts of an operation that a request is judged by; a stream has only role and query. */
type Target = Pick<
  Route,
  'operation' | 'role' | 'query' | 'beforeClaim' | 'anonymousPerMinute' | 'unresolved'
>;

/** The part of the server's options that judging a request needs. */
export interface PipelineOptions {
  clock: Clock;
  /** Told of every connection whose caller is authenticated, with the key of the caller's share. */
  onAuthenticated?: (socket: Socket, rateKey: string) => void;
  /** The owner of a token; undefined when it is unknown, revoked or expired. */
  authenticate: (token: string) => Principal | undefined;
  /** Role of calls without a token, if the operator allows them. */
  anonymous?: Principal | undefined;
  /** Public names of the gateway, by which callers without a token may ask for it beside local ones. */
  ownNames?: () => readonly string[];
  /** False before the box is claimed: only operations marked so answer without a token. Default true. */
  isClaimed?: () => boolean;
  /** Per path parameter: given value → canonical value; throws `not_found`. */
  resolvers: Record<string, (value: string) => string>;
  requestsPerSecond?: number;
  requestBurst?: number;
}

export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #limits: Limits['http'];
  readonly #stopping: AbortSignal;
  readonly #rates: RateLimits;

  constructor(options: PipelineOptions, limits: Limits['http'], stopping: AbortSignal) {
    this.#options = options;
    this.#limits = limits;
    this.#stopping = stopping;
    const perSecond = options.requestsPerSecond ?? limits.requestsPerSecond;
    const burst = options.requestBurst ?? limits.requestBurst;
    this.#rates = createRateLimits(options.clock, {
      requests: { perSecond, burst },
      // A higher rate for a token raises the rate of logins of its owner, too.
      unauthenticated: {
        perSecond: Math.max(limits.unauthenticatedPerSecond, perSecond),
        burst: Math.max(limits.unauthenticatedBurst, burst),
      },
      failedAuthenticationsPerMinute: limits.failedAuthenticationsPerMinute,
    });
  }

  /** Everything before the body: token, limits, role, path parameters, query. @throws GatewayError to refuse */
  prepare(context: RequestContext, target: Target, isUpgrade: boolean): Call {
    const { env } = context;
    const { search } = partsOf(context.req.url);
    const principal = this.#authenticate(context, search, isUpgrade);
    env.principal = principal;
    this.#requireClaim(principal, target);
    this.#admit(context, principal, target);
    const unknownOrigin = isUpgrade && !principal ? unknownOriginOf(placed(context)) : undefined;
    if (unknownOrigin) throw unknownOrigin;
    requireRole(principal, target.role);
    env.params = resolveParams(context, target, this.#options.resolvers);
    const query: unknown = target.query ? parseQuery(target.query, search) : {};
    return new Call(context, query, this.#stopping);
  }

  /** One request that no operation answers costs a caller the same. @throws GatewayError too_many_requests (429) */
  admitUnauthenticated({ env }: RequestContext): void {
    this.#rates.unauthenticated(addressKey(remoteAddressOf(env)));
  }

  #admit(context: RequestContext, principal: Principal | undefined, target: Target): void {
    const { env } = context;
    const isWithoutToken = principal === undefined || principal.origin.kind === 'anonymous';
    if (principal) {
      this.#rates.request(
        isWithoutToken ? rateKeyOf(principal, remoteAddressOf(env)) : principal.rateKey,
        principal.origin.kind === 'token' ? principal.tokenId : undefined,
      );
      if (env.incoming && !isWithoutToken)
        this.#options.onAuthenticated?.(env.incoming.socket, principal.rateKey);
    } else this.admitUnauthenticated(context);
    if (isWithoutToken && target.anonymousPerMinute !== undefined)
      this.#rates.anonymous(target.operation, addressKey(remoteAddressOf(env)), target.anonymousPerMinute);
  }

  #authenticate(context: RequestContext, search: string, isUpgrade: boolean): Principal | undefined {
    const token = tokenOf(context, search, isUpgrade);
    if (token === undefined) return this.#ofSession(context, isUpgrade) ?? this.#anonymousOf(context);
    const principal = this.#principalOf(token);
    if (principal) return principal;
    this.#rates.failedAuthentication(addressKey(remoteAddressOf(context.env)));
    throw gatewayError('permission_denied', 'access_denied', 'The access token is not valid.');
  }

  #principalOf(token: string): Principal | undefined {
    return token.length <= this.#limits.tokenLength ? this.#options.authenticate(token) : undefined;
  }

  /** An ended session is like none, so that a browser which still sends its cookie can log in again. */
  #ofSession(context: RequestContext, isUpgrade: boolean): Principal | undefined {
    for (const token of sessionTokensOf(context.req.method, isUpgrade, placed(context))) {
      const principal = this.#principalOf(token);
      if (principal) return principal;
    }
    return undefined;
  }

  /** A rebound page has no token and no cookie; what it must not get is the role of those without. */
  #anonymousOf({ env, req }: RequestContext): Principal | undefined {
    const { anonymous, ownNames } = this.#options;
    if (!anonymous || isEncrypted(env)) return anonymous;
    // A rebound page can make up the header of a proxy, but not its own host.
    const hosts = [req.header('host'), env.caller?.host].map(hostOf);
    return hosts.every((host) => isLocalHost(host, ownNames?.() ?? [])) ? anonymous : undefined;
  }

  /** @throws GatewayError invalid_header (401) before the box is claimed */
  #requireClaim(principal: Principal | undefined, target: Target): void {
    const hasToken = principal !== undefined && principal !== this.#options.anonymous;
    if (hasToken || target.beforeClaim === true || this.#options.isClaimed?.() !== false) return;
    throw gatewayError(
      'unauthenticated',
      'invalid_header',
      'The gateway is not claimed yet; claim it with the code that it shows at its start.',
      { header: TOKEN_HEADER },
    );
  }
}

/** Callers without a token share a role, not a limit. */
export function rateKeyOf(principal: Principal, remoteAddress: string): string {
  if (principal.origin.kind !== 'anonymous') return principal.rateKey;
  return `${principal.rateKey} ${addressKey(remoteAddress)}`;
}

const placed = ({ env, req }: RequestContext) => ({
  header: (name: string) => req.header(name),
  isOwnOrigin: (origin: string) => env.caller?.isOwnOrigin(origin) === true,
});

function tokenOf({ req }: RequestContext, search: string, isUpgrade: boolean): string | undefined {
  for (const name of TOKEN_HEADERS) {
    const value = req.header(name);
    if (value) return value;
  }
  const bearer = /^Bearer +(\S+)$/i.exec(req.header('authorization') ?? '')?.[1];
  if (bearer) return bearer;
  // Browsers cannot set headers on a WebSocket.
  return (isUpgrade && new URLSearchParams(search).get('token')) || undefined;
}

function requireRole(principal: Principal | undefined, needed: Role | null): void {
  if (needed === null) return;
  if (!principal)
    throw gatewayError('unauthenticated', 'invalid_header', 'An access token is needed.', {
      header: TOKEN_HEADER,
    });
  if (!roleIncludes(principal.role, needed))
    throw insufficientRole(`This needs the role ${needed} or higher.`, needed, principal.role);
}

function resolveParams(
  { req }: RequestContext,
  { unresolved = [] }: Target,
  resolvers: PipelineOptions['resolvers'],
): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [name, value] of Object.entries(req.param() as Record<string, string>)) {
    const resolve = unresolved.includes(name) ? undefined : resolvers[name];
    params[name] = resolve ? resolve(value) : value;
  }
  return params;
}

// Rates per caller (docs/interface/http.md#rates): requests per token, per address of those without one, failed
// authentications and anonymous calls per address. Exact on the clock of the gateway. A legitimate token is never
// refused because of somebody else's failures.

/** Rates of one token that all tokens of a person have together. */
const TOKENS_TOGETHER = 2;

type RateLimits = ReturnType<typeof createRateLimits>;

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
