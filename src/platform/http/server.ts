/**
 * The HTTP side of the gateway: routes as data on Hono, with the same steps for every request.
 *
 *   request id → token → rate limit → role → path parameters → query → body → handler → answer, log, metrics
 *
 * What a token means, which ids exist and what operations do is handed in; this module knows none of it.
 */
import { randomUUID } from 'node:crypto';
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { GatewayError, gatewayError } from '../../lib/errors.ts';
import { type Limits, LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import type { Metrics } from '../metrics/index.ts';
import { errorAnswer, jsonAnswer } from './answer.ts';
import { createNodeServer, listen, stop } from './node-server.ts';
import { boundedBody, parseBody, readText } from './parse.ts';
import {
  type Bindings,
  createPipeline,
  type Environment,
  type Pipeline,
  type RequestContext,
  requestOfUpgrade,
} from './pipeline.ts';
import type { Principal } from './principal.ts';
import type { Method, Route, Stream } from './route.ts';
import { createWebSockets, type UpgradeVerdict } from './web-socket.ts';

const REQUEST_ID = /^[\x21-\x7e]+$/;

export interface HttpOptions {
  host: string;
  port: number;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  /** Makes request ids. */
  newId?: () => string;
  limits?: Limits;
  /** Who a token belongs to; undefined when it is unknown, revoked or expired. */
  authenticate: (token: string) => Principal | undefined;
  /** Role of calls without a token, if the operator allows them. */
  anonymous?: Principal | undefined;
  /** False while the box belongs to nobody: only operations marked so answer without a token. Default true. */
  isClaimed?: () => boolean;
  /** Per path parameter: given value → canonical value; throws `not_found`. */
  resolvers: Record<string, (value: string) => string>;
  routes: readonly Route[];
  streams: readonly Stream[];
  /** Allowed origins of browsers, `*` for any; absent: no CORS. */
  corsOrigins?: readonly string[] | undefined;
  requestsPerSecond?: number;
  requestBurst?: number;
}

export interface Http {
  /** Answers one request without a socket, for tests. */
  fetch(request: Request): Promise<Response>;
  start(): Promise<{ port: number }>;
  /** Stops accepting, lets running requests end within `withinMs`, closes the rest. */
  stop(withinMs: number): Promise<void>;
  /** Closes the open streams of a principal, for example of a revoked token. */
  closeStreams(matches: (principal: Principal) => boolean, reason: string): void;
  readonly streamCount: number;
}

export function createHttp(options: HttpOptions): Http {
  const limits = options.limits ?? LIMITS;
  const stopping = new AbortController();
  const pipeline = createPipeline(options, limits, stopping.signal);
  const app = createApp(options, limits, pipeline, stopping.signal);
  const streams = createStreamApp(options, limits, pipeline);
  const webSockets = createWebSockets({
    clock: options.clock,
    log: options.log,
    metrics: options.metrics,
    limits: limits.webSocket,
    judge: async (incoming): Promise<UpgradeVerdict> => {
      const bindings: Bindings = { incoming };
      const refusal = await streams.fetch(requestOfUpgrade(incoming), bindings);
      return bindings.verdict ?? { refusal };
    },
  });
  const server = createNodeServer((request, env) => app.fetch(request, env), limits, options.log);
  webSockets.attach(server);
  return {
    fetch: async (request) => app.fetch(request, {}),
    start: () => listen(server, options.host, options.port),
    stop: (withinMs) => stop(server, webSockets, stopping, options.clock, withinMs),
    closeStreams: (matches, reason) => webSockets.closeWhere(matches, 1008, reason),
    get streamCount() {
      return webSockets.count;
    },
  };
}

/** `/api/v3/…` is `/v3/…`, and one trailing slash does not count (http-contract.md section 1). */
function canonicalPath(request: Request): string {
  const { pathname } = new URL(request.url);
  const path = pathname.startsWith('/api/v3/') || pathname === '/api/v3' ? pathname.slice(4) : pathname;
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function honoPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

function newHono(options: HttpOptions, limits: Limits): Hono<Environment> {
  const newId = options.newId ?? randomUUID;
  const app = new Hono<Environment>({ getPath: canonicalPath });
  app.use('*', async (context, next) => {
    const given = context.req.header('x-request-id');
    const isUsable =
      given !== undefined && given.length <= limits.http.requestIdLength && REQUEST_ID.test(given);
    context.set('requestId', isUsable ? given : newId());
    await next();
  });
  app.onError((error, context) => {
    const answer = errorAnswer(error, { 'X-Request-Id': context.get('requestId') });
    if (answer.status >= 500)
      options.log.error('request failed', {
        error,
        path: context.req.path,
        request_id: context.get('requestId'),
      });
    return answer;
  });
  app.notFound((context) =>
    errorAnswer(gatewayError('not_found', 'route_not_found', `There is no ${context.req.path}.`), {
      'X-Request-Id': context.get('requestId'),
    }),
  );
  return app;
}

function createApp(
  options: HttpOptions,
  limits: Limits,
  pipeline: Pipeline,
  stopping: AbortSignal,
): Hono<Environment> {
  const app = newHono(options, limits);
  const duration = options.metrics.histogram(
    'http_request_duration_seconds',
    'Time to answer a request.',
    [0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    ['operation', 'status'],
  );
  if (options.corsOrigins) app.use('*', cors({ origin: [...options.corsOrigins], maxAge: 600 }));
  app.use('*', async (_context, next) => {
    if (!stopping.aborted) return next();
    throw new GatewayError('unavailable', [{ code: 'unavailable', message: 'The gateway is stopping.' }], {
      retryAfterS: 5,
    });
  });
  const methodsOf = new Map<string, Set<Method>>();
  for (const route of options.routes) {
    for (const path of route.paths) {
      const methods = methodsOf.get(path) ?? new Set();
      methodsOf.set(path, methods.add(route.method));
      app.on(route.method, honoPath(path), async (context) => {
        const startedMs = options.clock.monotonicMs();
        const answer = await answerRoute(route, context, pipeline, options, limits);
        const durationMs = options.clock.monotonicMs() - startedMs;
        duration.observe({ operation: route.operation, status: answer.status }, durationMs / 1_000);
        logRequest(options.log, route, context, answer.status, durationMs);
        return answer;
      });
    }
  }
  for (const stream of options.streams)
    for (const path of stream.paths)
      if (!methodsOf.has(path))
        app.get(honoPath(path), () =>
          errorAnswer(
            gatewayError(
              'invalid_argument',
              'invalid_header',
              'This path is a WebSocket; send an upgrade request.',
              {
                header: 'Upgrade',
              },
            ),
          ),
        );
  for (const [path, methods] of methodsOf)
    app.all(honoPath(path), () => {
      const allow = [...methods, ...(methods.has('GET') ? ['HEAD'] : [])].join(', ');
      return errorAnswer(
        gatewayError('method_not_allowed', 'method_not_allowed', `Allowed here: ${allow}.`),
        {
          Allow: allow,
        },
      );
    });
  return app;
}

async function answerRoute(
  route: Route,
  context: RequestContext,
  pipeline: Pipeline,
  options: HttpOptions,
  limits: Limits,
): Promise<Response> {
  const requestId = context.get('requestId');
  try {
    const call = await pipeline.prepare(context, route, false);
    const bodyBytes = route.bodyBytes ?? limits.http.jsonBodyBytes;
    if (route.body === 'stream') call.stream = () => boundedBody(context.req.raw, bodyBytes);
    else if (route.body) call.body = parseBody(route.body, await readText(context.req.raw, bodyBytes));
    const result = await route.handle(call);
    const answer =
      result instanceof Response ? result : await jsonAnswer(result, context.req.header('accept-encoding'));
    answer.headers.set('X-Request-Id', requestId);
    return answer;
  } catch (error) {
    const answer = errorAnswer(error, { 'X-Request-Id': requestId });
    if (answer.status >= 500)
      options.log.error('request failed', { error, operation: route.operation, request_id: requestId });
    return answer;
  }
}

/** Reads succeed thousands of times a day and would wear the card; changes and failures are worth a line. */
function logRequest(
  log: Log,
  route: Route,
  context: RequestContext,
  status: number,
  durationMs: number,
): void {
  const level = route.method === 'GET' && status < 400 ? 'debug' : 'info';
  log[level]('request', {
    method: route.method,
    path: context.req.path,
    operation: route.operation,
    status,
    duration_ms: Math.round(durationMs * 10) / 10,
    request_id: context.get('requestId'),
    origin: context.get('principal')?.origin.id,
  });
}

function createStreamApp(options: HttpOptions, limits: Limits, pipeline: Pipeline): Hono<Environment> {
  const app = newHono(options, limits);
  for (const stream of options.streams)
    for (const path of stream.paths)
      app.get(honoPath(path), async (context) => {
        const call = await pipeline.prepare(context, stream, true);
        context.env.verdict = { open: stream.open(call), principal: call.principal };
        return context.body(null, 200);
      });
  return app;
}
