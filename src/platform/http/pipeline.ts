/**
 * What happens to every request and every upgrade before its handler: token, rate limits, role, path
 * parameters, query (docs/interface/http.md#access-tokens).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Context } from 'hono';
import { addressKey } from '../../lib/address.ts';
import { gatewayError } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import { departureOf } from './departure.ts';
import { isLocalHost } from './host-names.ts';
import { parseQuery } from './parse.ts';
import { type Principal, type Role, roleIncludes } from './principal.ts';
import { RateLimits } from './rate-limits.ts';
import type { Clock } from '../clock/index.ts';
import type { Call, Route, Stream, StreamSocket } from './route.ts';
import { sessionTokensOf } from './session-cookie.ts';

export interface Bindings {
  incoming?: IncomingMessage;
  outgoing?: ServerResponse;
  /** Set when the body of the answer is sent as it comes. */
  streamed?: { body: ReadableStream<Uint8Array>; onFailed: (error: unknown) => void };
  /** Set by a stream's route when the upgrade may go on. */
  verdict?: { open: (socket: StreamSocket) => void; principal: Principal };
}
export type Environment = {
  Bindings: Bindings;
  Variables: {
    requestId: string;
    principal: Principal | undefined;
    /** Of the path, once they were resolved, and what the handler noted. */
    params: Record<string, string> | undefined;
  };
};
export type RequestContext = Context<Environment>;

const TOKEN_HEADER = 'X-Service-Auth-Token';
const TOKEN_HEADERS = ['x-service-auth-token', 'x-enapter-auth-token'] as const;

/** The part of the server's options that judging a request needs. */
export interface PipelineOptions {
  clock: Clock;
  /** Told of every connection whose caller showed who he is, with the key of his share. */
  onAuthenticated?: (socket: Socket, rateKey: string) => void;
  /** Who a token belongs to; undefined when it is unknown, revoked or expired. */
  authenticate: (token: string) => Principal | undefined;
  /** Role of calls without a token, if the operator allows them. */
  anonymous?: Principal | undefined;
  /** Public names of the gateway, by which callers without a token may ask for it beside local ones. */
  ownNames?: () => readonly string[];
  /** False while the box belongs to nobody: only operations marked so answer without a token. Default true. */
  isClaimed?: () => boolean;
  /** Per path parameter: given value → canonical value; throws `not_found`. */
  resolvers: Record<string, (value: string) => string>;
  requestsPerSecond?: number;
  requestBurst?: number;
}

export interface Pipeline {
  /** Everything before the body: token, limits, role, path parameters, query. */
  prepare(context: RequestContext, target: Route | Stream, isUpgrade: boolean): MutableCall;
  /** One request that no operation answers. @throws GatewayError too_many_requests (429) */
  admitUnauthenticated(context: RequestContext): void;
}
export type MutableCall = { -readonly [Key in keyof Call]: Call[Key] };

export function createPipeline(options: PipelineOptions, limits: Limits, stopping: AbortSignal): Pipeline {
  const perSecond = options.requestsPerSecond ?? limits.http.requestsPerSecond;
  const burst = options.requestBurst ?? limits.http.requestBurst;
  const rates = new RateLimits(options.clock, {
    requests: { perSecond, burst },
    // Whoever lets a token ask more lets its owner log in more often too.
    unauthenticated: {
      perSecond: Math.max(limits.http.unauthenticatedPerSecond, perSecond),
      burst: Math.max(limits.http.unauthenticatedBurst, burst),
    },
    failedAuthenticationsPerMinute: limits.http.failedAuthenticationsPerMinute,
  });

  const principalOf = (token: string): Principal | undefined =>
    token.length <= limits.http.tokenLength ? options.authenticate(token) : undefined;

  /** An ended session is like none, so that a browser which still sends its cookie can log in again. */
  function ofSession(context: RequestContext, isUpgrade: boolean): Principal | undefined {
    const request = { header: (name: string) => context.req.header(name) };
    for (const token of sessionTokensOf(context.req.method, isUpgrade, request)) {
      const principal = principalOf(token);
      if (principal) return principal;
    }
    return undefined;
  }

  /** A rebound page has no token and no cookie; what it must not get is the role of those without. */
  function anonymousOf(context: RequestContext): Principal | undefined {
    if (!options.anonymous || isEncrypted(context)) return options.anonymous;
    const isKnown = isLocalHost(hostOf(context.req.header('host')), options.ownNames?.() ?? []);
    return isKnown ? options.anonymous : undefined;
  }

  /** @throws GatewayError invalid_header (401) while the box belongs to nobody */
  function requireClaim(principal: Principal | undefined, target: Route | Stream): void {
    const hasToken = principal !== undefined && principal !== options.anonymous;
    const isOpen = 'beforeClaim' in target && target.beforeClaim === true;
    if (hasToken || isOpen || options.isClaimed?.() !== false) return;
    throw gatewayError(
      'unauthenticated',
      'invalid_header',
      'The gateway is not claimed yet; claim it with the code that it shows at its start.',
      { header: TOKEN_HEADER },
    );
  }

  function authenticate(context: RequestContext, url: URL, isUpgrade: boolean): Principal | undefined {
    const token = tokenOf(context, url, isUpgrade);
    if (token === undefined) return ofSession(context, isUpgrade) ?? anonymousOf(context);
    const principal = principalOf(token);
    if (principal) return principal;
    rates.failedAuthentication(addressKey(remoteAddressOf(context)));
    throw gatewayError('permission_denied', 'access_denied', 'The access token is not valid.');
  }

  function prepare(context: RequestContext, target: Route | Stream, isUpgrade: boolean): MutableCall {
    const url = new URL(context.req.url);
    const principal = authenticate(context, url, isUpgrade);
    context.set('principal', principal);
    requireClaim(principal, target);
    const remoteAddress = remoteAddressOf(context);
    if (principal) {
      rates.request(rateKeyOf(principal, remoteAddress));
      const { incoming } = context.env;
      if (incoming && principal.origin.kind !== 'anonymous')
        options.onAuthenticated?.(incoming.socket, principal.rateKey);
    } else admitUnauthenticated(context);
    const isWithoutToken = principal === undefined || principal.origin.kind === 'anonymous';
    if (isWithoutToken && 'anonymousPerMinute' in target && target.anonymousPerMinute !== undefined)
      rates.anonymous(target.operation, addressKey(remoteAddress), target.anonymousPerMinute);
    requireRole(principal, target.role);
    let signal: AbortSignal | undefined;
    const unresolved = 'unresolved' in target ? (target.unresolved ?? []) : [];
    const params = resolveParams(context, unresolved, options.resolvers);
    context.set('params', params);
    return {
      principal: principal ?? NOBODY,
      params,
      query: target.query ? parseQuery(target.query, url) : {},
      body: {},
      host: hostOf(context.req.header('host')),
      header: (name) => context.req.header(name),
      repeatHeader: (name, values) => void context.env.outgoing?.setHeader(name, [...values]),
      stream: () => {
        throw new Error('only a route with body "stream" has one');
      },
      // Made when it is asked for: few operations wait, and it costs as much as a small answer.
      get signal() {
        const { outgoing } = context.env;
        signal ??= AbortSignal.any([outgoing ? departureOf(outgoing) : context.req.raw.signal, stopping]);
        return signal;
      },
      requestId: context.get('requestId'),
      remoteAddress,
      isEncrypted: isEncrypted(context),
      identify: (found) => context.set('principal', found),
      note: (target) => context.set('params', { ...context.get('params'), ...target }),
    };
  }

  /** What no operation answers costs a caller the same. */
  function admitUnauthenticated(context: RequestContext): void {
    rates.unauthenticated(addressKey(remoteAddressOf(context)));
  }

  return { prepare, admitUnauthenticated };
}

/** Stands for "no token" in operations that need none. */
const NOBODY: Principal = {
  role: 'READONLY',
  origin: { kind: 'anonymous', id: 'anonymous', name: 'anonymous' },
  rateKey: 'anonymous',
};

/** Callers without a token share a role, not a limit. */
export function rateKeyOf(principal: Principal, remoteAddress: string): string {
  if (principal.origin.kind !== 'anonymous') return principal.rateKey;
  return `${principal.rateKey} ${addressKey(remoteAddress)}`;
}

function tokenOf(context: RequestContext, url: URL, isUpgrade: boolean): string | undefined {
  for (const name of TOKEN_HEADERS) {
    const value = context.req.header(name);
    if (value) return value;
  }
  const bearer = /^Bearer +(\S+)$/i.exec(context.req.header('authorization') ?? '')?.[1];
  if (bearer) return bearer;
  // Browsers cannot set headers on a WebSocket.
  return (isUpgrade && url.searchParams.get('token')) || undefined;
}

function requireRole(principal: Principal | undefined, needed: Role | null): void {
  if (needed === null) return;
  if (!principal)
    throw gatewayError('unauthenticated', 'invalid_header', 'An access token is needed.', {
      header: TOKEN_HEADER,
    });
  if (!roleIncludes(principal.role, needed))
    throw gatewayError('permission_denied', 'insufficient_role', `This needs the role ${needed} or higher.`, {
      required: needed,
      actual: principal.role,
    });
}

function resolveParams(
  context: RequestContext,
  unresolved: readonly string[],
  resolvers: PipelineOptions['resolvers'],
): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [name, value] of Object.entries(context.req.param() as Record<string, string>)) {
    const resolve = unresolved.includes(name) ? undefined : resolvers[name];
    params[name] = resolve ? resolve(value) : value;
  }
  return params;
}

export function remoteAddressOf(context: RequestContext): string {
  return context.env.incoming?.socket.remoteAddress ?? 'unknown';
}

/** Whether the request came over TLS. */
export function isEncrypted(context: RequestContext): boolean {
  return context.env.incoming !== undefined && 'encrypted' in context.env.incoming.socket;
}

/** The answer with its body left to the server, which knows the connection; `onFailed` is told when it breaks. */
export function streamed(
  { env }: RequestContext,
  answer: Response,
  onFailed: (error: unknown) => void,
): Response {
  if (!answer.body || !env.outgoing) return answer;
  env.streamed = { body: answer.body, onFailed };
  return new Response(null, answer);
}

/** Host header without its port; an IPv6 literal keeps no brackets. */
function hostOf(header: string | undefined): string {
  if (header === undefined) return 'localhost';
  const bracketed = /^\[([^\]]+)\]/.exec(header);
  return bracketed?.[1] ?? header.replace(/:\d*$/, '');
}

/** The request a WebSocket upgrade makes, as the routes see one. @throws GatewayError invalid_path (400) */
export function requestOfUpgrade(incoming: IncomingMessage): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? (value[0] ?? '') : value);
  const url = URL.parse(`http://gateway.invalid${incoming.url ?? ''}`);
  if (url?.host !== 'gateway.invalid')
    throw gatewayError('invalid_argument', 'invalid_path', 'The request line is not usable.');
  return new Request(url, { method: incoming.method ?? 'GET', headers });
}

/** RFC 9112 section 3.2: exactly one Host with HTTP/1.1, else the request may be meant for somebody else. */
export function requireHost(incoming: IncomingMessage | undefined): void {
  if (!incoming || incoming.httpVersion === '1.0') return;
  const names = incoming.rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name));
  if (names.length === 1 && incoming.headers.host) return;
  throw gatewayError('invalid_argument', 'invalid_header', 'The request must have one Host header.', {
    header: 'Host',
  });
}
