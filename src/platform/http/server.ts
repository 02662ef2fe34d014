/**
 * The HTTP side of the gateway: routes as data on Hono, with the same steps for every request.
 *
 *   request id → token → rate limit → role → path parameters → query → body → handler → answer, log, metrics
 *
 * What a token means, which ids exist and what operations do is handed in; this module knows none of it.
 */
import { randomUUID } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';
import { type Limits, LIMITS } from '../../lib/limits.ts';
import { type AppOptions, createApp, createStreamApp } from './app.ts';
import { Connections } from './connections.ts';
import { unavailable } from './departure.ts';
import { createNodeServer, type NodeServer } from './node-server.ts';
import { type Bindings, createPipeline, type PipelineOptions, requestOfUpgrade } from './pipeline.ts';
import type { Principal } from './principal.ts';
import { createWebSockets, type UpgradeVerdict } from './web-socket.ts';

const RETRY_AFTER_STOP_S = 5;

export interface HttpOptions extends Omit<AppOptions, 'newId'>, Omit<PipelineOptions, 'onAuthenticated'> {
  /** Makes request ids. */
  newId?: () => string;
  host: string;
  port: number;
  /** The same operations over TLS on a second port. */
  https?: { host: string; port: number; secureContext: SecureContextOptions } | undefined;
  limits?: Limits;
}

export interface Http {
  /** Answers one request without a socket, for tests. */
  fetch(request: Request): Promise<Response>;
  /** Listens; rejects, with nothing left open, when an address is taken. */
  start(): Promise<{ port: number; httpsPort: number | undefined }>;
  /** Stops accepting, lets running requests end within `withinMs`, closes the rest. */
  stop(withinMs: number): Promise<void>;
  /** Closes the open streams of a principal, for example of a revoked token. */
  closeStreams(matches: (principal: Principal) => boolean, reason: string): void;
  /** Another certificate for HTTPS; open connections live on. */
  setSecureContext(context: SecureContextOptions): void;
  readonly streamCount: number;
}

export function createHttp(options: HttpOptions): Http {
  const { clock, log, metrics, https, newId = randomUUID } = options;
  const limits = options.limits ?? LIMITS;
  const stopping = new AbortController();
  const departed = metrics.counter(
    'http_callers_gone_total',
    'Requests whose caller went away before the whole answer.',
  );
  const sentAhead = metrics.counter(
    'http_pipelines_refused_total',
    'Connections closed because of too many requests sent ahead.',
  );
  const connections = new Connections(limits.http, metrics, options.clock);
  const pipeline = createPipeline(
    { ...options, onAuthenticated: (socket, identity) => connections.authenticate(socket, identity) },
    limits,
    stopping.signal,
  );
  const app = createApp({ ...options, newId }, limits, pipeline, stopping.signal);
  const streams = createStreamApp({ ...options, newId }, limits, pipeline, stopping.signal);
  const webSockets = createWebSockets({
    clock,
    log,
    metrics,
    limits: limits.webSocket,
    newId,
    judge: async (incoming): Promise<UpgradeVerdict> => {
      const bindings: Bindings = { incoming };
      const refusal = await streams.fetch(requestOfUpgrade(incoming), bindings);
      return bindings.verdict ?? { refusal };
    },
  });
  const newServer = (secureContext?: SecureContextOptions): NodeServer => {
    const server = createNodeServer({
      answer: async (request, env) => app.fetch(request, env),
      onDeparted: () => departed.inc(),
      onSentAhead: () => sentAhead.inc(),
      limits: limits.http,
      log,
      newId,
      ...(secureContext && { secureContext }),
    });
    webSockets.attach(server.server);
    connections.attach(server.server);
    return server;
  };
  const plain = newServer();
  const secure = https && newServer(https.secureContext);

  return {
    fetch: async (request) => app.fetch(request, {}),
    start: async () => {
      const { port } = await plain.listen(options.host, options.port);
      try {
        return { port, httpsPort: https && (await secure?.listen(https.host, https.port))?.port };
      } catch (error) {
        await plain.close();
        throw error;
      }
    },
    stop: async (withinMs) => {
      const closed = Promise.all([plain.close(), secure?.close()]);
      stopping.abort(unavailable('The gateway is stopping.', RETRY_AFTER_STOP_S));
      webSockets.closeWhere(() => true, 1001, 'gateway is stopping');
      const deadline = clock.setTimer(withinMs, () => connections.destroyAll());
      await closed;
      deadline.cancel();
    },
    closeStreams: (matches, reason) => webSockets.closeWhere(matches, 1008, reason),
    setSecureContext: (context) => secure?.setSecureContext(context),
    get streamCount() {
      return webSockets.count;
    },
  };
}
