/** The routes and streams as Hono applications, and what every answer of theirs has in common. */
import type { Socket } from 'node:net';
import { Hono, type Next } from 'hono';
import { cors } from 'hono/cors';
import { gatewayError } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Metrics } from '../metrics/index.ts';
import {
  type Environment,
  type Exchange,
  partsOf,
  remoteAddressOf,
  type RequestContext,
  requireHost,
} from './exchange.ts';
import { addFiles, type FilesOptions } from './files.ts';
import type { Admitted } from './web-socket.ts';
import { Operation, operationDurations, type OperationOptions } from './operation.ts';
import type { Pipeline } from './pipeline.ts';
import { commonHeaders, errorResponse, STRICT_TRANSPORT } from './responses.ts';
import type { Route, Stream } from './route.ts';
import type { Callers } from './callers.ts';

const REQUEST_ID = /^[\x21-\x7e]+$/;
/** Headers that a page of another origin may read, beside the few that every page may. */
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
export interface AppOptions extends OperationOptions {
  metrics: Metrics;
  newId: () => string;
  callers: Callers;
  /** Counts a request that a trusted proxy passed on against its caller. @throws GatewayError too_many_requests (429) */
  onForwarded?: (socket: Socket, address: string) => void;
  routes: readonly Route[];
  streams: readonly Stream[];
  /** Allowed origins of browsers, `*` for any; absent: no CORS. */
  corsOrigins?: readonly string[] | undefined;
  /** Files for browsers, beside the operations. */
  files?: FilesOptions | undefined;
  /** Tells browsers over TLS to come over TLS only; wrong wherever plain HTTP or another certificate is in use. */
  strictTransport?: boolean;
}

type App = Hono<Environment>;

/** Answers requests and judges upgrades. */
export class Application {
  readonly #options: AppOptions;
  readonly #limits: Limits['http'];
  readonly #pipeline: Pipeline;
  readonly #stopping: AbortSignal;
  readonly #operations: App;
  readonly #streams: App;

  constructor(options: AppOptions, limits: Limits['http'], pipeline: Pipeline, stopping: AbortSignal) {
    this.#options = options;
    this.#limits = limits;
    this.#pipeline = pipeline;
    this.#stopping = stopping;
    this.#operations = this.#newOperations();
    this.#streams = this.#newStreams();
  }

  /** The response to a request; its body may still have to come. */
  fetch(request: Request, connection: Partial<Exchange> = {}): Response | Promise<Response> {
    return this.#operations.fetch(request, { ...connection, requestId: '' });
  }

  /** The verdict on a request for an upgrade, or the response that refuses it. */
  async judge(request: Request, connection: Partial<Exchange>): Promise<Admitted | Response> {
    const exchange: Exchange = { ...connection, requestId: '' };
    const refusal = await this.#streams.fetch(request, exchange);
    if (!exchange.verdict) return refusal;
    return { ...exchange.verdict, requestId: exchange.requestId, address: remoteAddressOf(exchange) };
  }

  /** The part shared by all requests. */
  #newApp(): App {
    const app = new Hono<Environment>({ getPath: canonicalPath });
    app.onError((error, context) => this.#refuse(error, context));
    app.use((context, next) => this.#complete(context, next));
    app.use(({ env: { caller, incoming } }, next) => {
      requireHost(incoming);
      if (this.#stopping.aborted) throw this.#stopping.reason;
      if (caller?.isForwarded && incoming) this.#options.onForwarded?.(incoming.socket, caller.address);
      return next();
    });
    return app;
  }

  /**
   * The id of the request and the headers of every response. Node merges them with those of the response: one `Headers`
   * for each response would cost more than the rest of a small answer.
   */
  async #complete(context: RequestContext, next: Next): Promise<void> {
    const { env, req } = context;
    env.requestId = this.#requestIdOf(req.header('x-request-id'));
    env.caller = this.#options.callers.of(env.incoming, req.raw.headers);
    const isOverTls = env.incoming !== undefined && 'encrypted' in env.incoming.socket;
    const headers = Object.entries({
      ...commonHeaders(env.requestId),
      ...(this.#options.strictTransport && isOverTls && STRICT_TRANSPORT),
    });
    for (const [name, value] of headers) env.outgoing?.setHeader(name, value);
    await next();
    if (this.#stopping.aborted) env.outgoing?.setHeader('connection', 'close');
    // Hono leaves the body of a response to HEAD out, and its source open.
    if (req.raw.method === 'HEAD') await context.res.body?.cancel();
    if (!env.outgoing)
      for (const [name, value] of headers)
        if (!context.res.headers.has(name)) context.res.headers.set(name, value);
  }

  #requestIdOf(given: string | undefined): string {
    const isUsable =
      given !== undefined && given.length <= this.#limits.requestIdLength && REQUEST_ID.test(given);
    return isUsable ? given : this.#options.newId();
  }

  #refuse(error: unknown, { env, req }: RequestContext): Response {
    const response = errorResponse(error);
    if (response.status === 500)
      this.#options.log.error('request failed', { error, path: req.path, request_id: env.requestId });
    return response;
  }

  #newOperations(): App {
    const app = this.#newApp();
    const { corsOrigins, routes, metrics, files } = this.#options;
    if (corsOrigins)
      app.use(
        cors({
          origin: corsOrigins.includes('*') ? '*' : [...corsOrigins],
          allowMethods: CORS_METHODS,
          exposeHeaders: EXPOSED_HEADERS,
          maxAge: CORS_MAX_AGE_S,
        }),
      );
    const parts = {
      options: this.#options,
      limits: this.#limits,
      pipeline: this.#pipeline,
      durations: operationDurations(metrics),
    };
    for (const [path, route] of byPath(routes)) {
      const operation = new Operation(route, parts);
      const others = new Set(route.idsOnly ? fixedPathsWithoutMethod(path, route.method, routes) : []);
      app.on(route.method, honoPath(path), (context, next) =>
        others.has(context.req.path) ? next() : operation.answer(context),
      );
    }
    // Known paths with a method they do not have, streams without an upgrade, files.
    app.use((context, next) => {
      this.#pipeline.admitUnauthenticated(context);
      return next();
    });
    addRefusals(app, this.#options);
    if (files) addFiles(app, files);
    app.all('*', refuseUnknown);
    return app;
  }

  /** Streams by path; the response matters only as a refusal, else the upgrade goes on with the verdict. */
  #newStreams(): App {
    const app = this.#newApp();
    for (const [path, stream] of byPath(this.#options.streams))
      app.get(honoPath(path), (context: RequestContext) => {
        const call = this.#pipeline.prepare(context, stream, true);
        context.env.verdict = { open: stream.open(call), principal: call.principal };
        return context.body(null);
      });
    app.all('*', refuseUnknown);
    return app;
  }
}

/**
 * `/api/v3/…` is `/v3/…`; one trailing slash and several leading ones do not count (docs/interface/http.md#requests).
 */
function canonicalPath({ url }: Request): string {
  const pathname = withoutNeedlessCodes(partsOf(url).path.replace(/^\/{2,}/, '/'));
  const path = pathname.startsWith('/api/v3/') || pathname === '/api/v3' ? pathname.slice(4) : pathname;
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** RFC 3986 section 6.2.2.2: what needs no percent code means the same with one. Dots are gone already. */
function withoutNeedlessCodes(path: string): string {
  if (!path.includes('%')) return path;
  return path.replace(/%([0-9a-f]{2})/gi, (code, digits: string) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return /[A-Za-z0-9_~-]/.test(character) ? character : code;
  });
}

/** A browser that a proxy sends below a path, as `/gateway/`, shows the hint in place of the first page. */
function refuseUnknown({ req }: RequestContext): never {
  const isPage = req.header('accept')?.includes('text/html') === true;
  const hint = isPage
    ? ' A reverse proxy may lead to the gateway only at the root of a name or port of its own, not below a path.'
    : '';
  throw gatewayError('not_found', 'route_not_found', `There is no ${req.path}.${hint}`);
}

function honoPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

/** Paths without the parameters of `path` that would fit it, and have no operation of the method. */
function fixedPathsWithoutMethod(path: string, method: string, routes: readonly Route[]): string[] {
  const pattern = new RegExp(`^${path.replace(/\{\w+\}/g, '[^/{]+')}$`);
  const pathsOf = (those: readonly Route[]): string[] =>
    those.flatMap(({ paths }) => paths).filter((other) => pattern.test(other));
  const own = pathsOf(routes.filter((route) => route.method === method));
  return pathsOf(routes).filter((other) => !own.includes(other));
}

/** Hono takes the first path that fits; a fixed segment must come before a parameter. */
function byPath<Target extends { paths: readonly string[] }>(targets: readonly Target[]): [string, Target][] {
  return targets
    .flatMap((target) => target.paths.map((path): [string, Target] => [path, target]))
    .sort(bySpecificity);
}

function bySpecificity([a]: readonly [string, ...unknown[]], [b]: readonly [string, ...unknown[]]): number {
  const rank = (path: string): string =>
    path.replace(/[^/]+/g, (segment) => (segment.startsWith('{') ? '1' : '0'));
  return rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0;
}

function addRefusals(app: App, options: Pick<AppOptions, 'routes' | 'streams'>): void {
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
    const refusal = gatewayError('method_not_allowed', 'method_not_allowed', `Allowed here: ${allow}.`);
    app.all(honoPath(path), () => errorResponse(refusal, { allow }));
  }
}
