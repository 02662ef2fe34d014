/** The routes and streams as Hono applications: what happens around a handler, and answers without one. */
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { gatewayError } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import { commonHeaders, errorAnswer, jsonAnswer, STRICT_TRANSPORT } from './answer.ts';
import { addFiles, type FilesOptions } from './files.ts';
import { boundedBody, parseBody, readText } from './parse.ts';
import {
  type Environment,
  isEncrypted,
  type Pipeline,
  remoteAddressOf,
  type RequestContext,
  requireHost,
  streamed,
} from './pipeline.ts';
import type { Principal } from './principal.ts';
import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import type { Metrics } from '../metrics/index.ts';
import type { Route, Stream } from './route.ts';

const REQUEST_ID = /^[\x21-\x7e]+$/;
/** What a page of another origin may read besides the few headers that every page may. */
const EXPOSED_HEADERS = [
  'X-Request-Id',
  'Retry-After',
  'Content-Disposition',
  'X-Service-Timeseries-Data-Types',
  'X-Enapter-Timeseries-Data-Types',
];
const CORS_METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'];
const CORS_MAX_AGE_S = 600;

/** The part of the server's options that answering needs. */
export interface AppOptions {
  clock: Clock;
  log: Log;
  metrics: Metrics;
  newId: () => string;
  routes: readonly Route[];
  streams: readonly Stream[];
  /** Told of every answered operation before the answer goes out. Must not reject. */
  onAnswered?: (answered: Answered) => Promise<void>;
  /**
   * Resolves once everything that was stored so far is synced to the disk: a change is not answered before. Rejects
   * when the disk refuses. Default: at once.
   */
  durable?: () => Promise<void>;
  /** Allowed origins of browsers, `*` for any; absent: no CORS. */
  corsOrigins?: readonly string[] | undefined;
  /** Files for browsers, beside the operations. */
  files?: FilesOptions | undefined;
  /** Tells browsers over TLS to come over TLS only; wrong wherever plain HTTP or another certificate is in use. */
  strictTransport?: boolean;
}

/** An operation that was answered, for the record. */
export interface Answered {
  operation: string;
  /** False for what only reads. */
  isChange: boolean;
  /** Who called; undefined without a token. */
  principal: Principal | undefined;
  /** Path parameters, canonical if they were resolved, and what the handler noted. */
  params: Record<string, string>;
  status: number;
  remoteAddress: string;
}

type App = Hono<Environment>;

/**
 * `/api/v3/…` is `/v3/…`; one trailing slash and several leading ones do not count (docs/interface/http.md#requests).
 */
function canonicalPath(request: Request): string {
  const pathname = new URL(request.url).pathname.replace(/^\/{2,}/, '/');
  const path = pathname.startsWith('/api/v3/') || pathname === '/api/v3' ? pathname.slice(4) : pathname;
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function honoPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

/** Hono takes the first path that fits; a fixed segment must come before a parameter. */
function bySpecificity([a]: readonly [string, ...unknown[]], [b]: readonly [string, ...unknown[]]): number {
  const rank = (path: string): string =>
    path.replace(/[^/]+/g, (segment) => (segment.startsWith('{') ? '1' : '0'));
  return rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0;
}

function newHono(options: AppOptions, limits: Limits, stopping: AbortSignal): App {
  const app = new Hono<Environment>({ getPath: canonicalPath });
  app.use('*', async (context, next) => {
    const given = context.req.header('x-request-id');
    const isUsable =
      given !== undefined && given.length <= limits.http.requestIdLength && REQUEST_ID.test(given);
    const requestId = isUsable ? given : options.newId();
    context.set('requestId', requestId);
    await next();
    const { headers } = context.res;
    for (const [name, value] of Object.entries(commonHeaders(requestId)))
      if (name !== 'Content-Security-Policy' || !headers.has(name)) headers.set(name, value);
    if (options.strictTransport && isEncrypted(context))
      for (const [name, value] of Object.entries(STRICT_TRANSPORT)) headers.set(name, value);
    if (stopping.aborted) headers.set('Connection', 'close');
  });
  app.use('*', (context, next) => {
    requireHost(context.env.incoming);
    if (!stopping.aborted) return next();
    throw stopping.reason;
  });
  app.onError((error, context) => {
    const answer = errorAnswer(error);
    if (answer.status === 500)
      options.log.error('request failed', {
        error,
        path: context.req.path,
        request_id: context.get('requestId'),
      });
    return answer;
  });
  app.notFound((context) =>
    errorAnswer(gatewayError('not_found', 'route_not_found', `There is no ${context.req.path}.`)),
  );
  return app;
}

function isChange(route: Route): boolean {
  return route.method !== 'GET' && route.isReading !== true;
}

/** Operations by path and method. */
export function createApp(
  options: AppOptions,
  limits: Limits,
  pipeline: Pipeline,
  stopping: AbortSignal,
): App {
  const app = newHono(options, limits, stopping);
  const { corsOrigins } = options;
  if (corsOrigins)
    app.use(
      '*',
      cors({
        origin: corsOrigins.includes('*') ? '*' : [...corsOrigins],
        allowMethods: CORS_METHODS,
        exposeHeaders: EXPOSED_HEADERS,
        maxAge: CORS_MAX_AGE_S,
      }),
    );
  const answer = routeAnswering(options, limits, pipeline);
  const routes = options.routes.flatMap((route) => route.paths.map((path) => [path, route] as const));
  for (const [path, route] of routes.toSorted(bySpecificity))
    app.on(route.method, honoPath(path), (context) => answer(route, context));
  app.use('*', (context, next) => {
    pipeline.admitUnauthenticated(context);
    return next();
  });
  addRefusals(app, options);
  if (options.files)
    addFiles(app, options.files, (error) => options.log.error('file could not be sent', { error }));
  return app;
}

/** Known paths with a method they do not have, and streams asked for without an upgrade. */
function addRefusals(app: App, options: AppOptions): void {
  const methodsOf = new Map<string, Set<string>>();
  const note = (path: string, method: string): void =>
    void methodsOf.set(path, (methodsOf.get(path) ?? new Set()).add(method));
  for (const { paths, method } of options.routes) for (const path of paths) note(path, method);
  for (const path of options.streams.flatMap(({ paths }) => paths)) {
    if (methodsOf.get(path)?.has('GET')) continue;
    note(path, 'GET');
    app.get(honoPath(path), () => {
      throw gatewayError(
        'invalid_argument',
        'invalid_header',
        'This path is a WebSocket; send an upgrade request.',
        { header: 'Upgrade' },
      );
    });
  }
  for (const [path, methods] of [...methodsOf].toSorted(bySpecificity)) {
    const allow = [...methods, ...(methods.has('GET') ? ['HEAD'] : [])].join(', ');
    app.all(honoPath(path), () =>
      errorAnswer(gatewayError('method_not_allowed', 'method_not_allowed', `Allowed here: ${allow}.`), {
        Allow: allow,
      }),
    );
  }
}

function routeAnswering(
  options: AppOptions,
  limits: Limits,
  pipeline: Pipeline,
): (route: Route, context: RequestContext) => Promise<Response> {
  const { clock, log } = options;
  const duration = options.metrics.histogram(
    'http_request_duration_seconds',
    'Time to answer a request.',
    [0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    ['operation', 'status'],
  );

  async function answer(route: Route, context: RequestContext): Promise<Response> {
    try {
      const call = pipeline.prepare(context, route, false);
      const bodyBytes = route.bodyBytes ?? limits.http.jsonBodyBytes;
      const request = context.req.raw;
      if (route.body === 'stream') call.stream = () => boundedBody(request, bodyBytes);
      else if (route.body)
        call.body = parseBody(route.body, await readText(request, bodyBytes), limits.http.jsonDepth);
      const result = await route.handle(call);
      if (isChange(route)) await options.durable?.();
      if (!(result instanceof Response))
        return await jsonAnswer(result, context.req.header('accept-encoding'));
      if (!result.body) return result;
      const { status, headers } = result;
      if (context.req.method === 'HEAD') {
        await result.body.cancel();
        return new Response(null, { status, headers });
      }
      return streamed(context, result, (error) => logFailure(error, route, context));
    } catch (error) {
      const refusal = errorAnswer(error);
      if (refusal.status === 500) logFailure(error, route, context);
      return refusal;
    }
  }

  function logFailure(error: unknown, route: Route, context: RequestContext): void {
    log.error('request failed', {
      error,
      operation: route.operation,
      request_id: context.get('requestId'),
    });
  }

  return async (route, context) => {
    const startedMs = clock.monotonicMs();
    const response = await answer(route, context);
    await options.onAnswered?.({
      operation: route.operation,
      isChange: isChange(route),
      principal: context.get('principal'),
      params: context.get('params') ?? context.req.param(),
      status: response.status,
      remoteAddress: remoteAddressOf(context),
    });
    const durationMs = clock.monotonicMs() - startedMs;
    duration.observe({ operation: route.operation, status: response.status }, durationMs / 1_000);
    // Reads succeed thousands of times a day and would wear the card; changes and failures are worth a line.
    const level = route.method === 'GET' && response.status < 400 ? 'debug' : 'info';
    log[level]('request', {
      method: route.method,
      path: context.req.path,
      operation: route.operation,
      status: response.status,
      duration_ms: Math.round(durationMs * 10) / 10,
      request_id: context.get('requestId'),
      origin: context.get('principal')?.origin.id,
    });
    return response;
  };
}

/** Streams by path; the answer matters only as a refusal, else the upgrade goes on with the verdict. */
export function createStreamApp(
  options: AppOptions,
  limits: Limits,
  pipeline: Pipeline,
  stopping: AbortSignal,
): App {
  const app = newHono(options, limits, stopping);
  const streams = options.streams.flatMap((stream) => stream.paths.map((path) => [path, stream] as const));
  for (const [path, stream] of streams.toSorted(bySpecificity))
    app.get(honoPath(path), (context) => {
      const call = pipeline.prepare(context, stream, true);
      context.env.verdict = { open: stream.open(call), principal: call.principal };
      return context.body(null, 200);
    });
  return app;
}
