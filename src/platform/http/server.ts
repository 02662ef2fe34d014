import { randomUUID } from 'node:crypto';
import type { Server, Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { addressKey } from '../../lib/address.ts';
import { Admission } from '../../lib/admission.ts';
import { tooManyRequests, unavailable } from '../../lib/errors.ts';
import { type Limits, LIMITS } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import { Rates } from '../../lib/token-bucket.ts';
import type { Clock } from '../clock/index.ts';
import type { Metrics } from '../metrics/index.ts';
import { SocketsByEnds } from '../sockets/index.ts';
import { Application, type AppOptions } from './app.ts';
import { Callers } from './callers.ts';
import { type Principal, requestOfUpgrade } from './exchange.ts';
import { NodeServer, type NodeServerOptions } from './node-server.ts';
import { Pipeline, type PipelineOptions } from './pipeline.ts';
import { WebSockets } from './web-socket.ts';

/** Parts of the gateway that the HTTP server needs. */
export interface HttpOptions
  extends Omit<AppOptions, 'newId' | 'callers' | 'onForwarded'>, Omit<PipelineOptions, 'onAuthenticated'> {
  /** Addresses and networks of reverse proxies whose word about their callers counts. */
  trustedProxies?: readonly string[] | undefined;
  /** Name or address of the gateway from outside: pages there are its own. */
  publicHost?: string | undefined;
  /** Makes request ids. */
  newId?: () => string;
  host: string;
  port: number;
  /** The same operations over TLS on a second port. */
  https?: { host: string; port: number; secureContext: SecureContextOptions } | undefined;
  limits?: Limits;
}

/**
 * The HTTP side of the gateway: routes as data on Hono, with the same steps for every request.
 *
 *   request id → token → rate limit → role → path parameters → query → body → handler → answer, log, metrics
 *
 * What a token means, which ids exist and what operations do is handed in; this module knows none of it.
 */
export class Http {
  readonly #options: HttpOptions;
  readonly #limits: Limits;
  readonly #newId: () => string;
  readonly #stopping = new AbortController();
  readonly #connections: Connections;
  readonly #application: Application;
  readonly #webSockets: WebSockets;
  readonly #plain: NodeServer;
  readonly #secure: NodeServer | undefined;

  constructor(options: HttpOptions) {
    this.#options = options;
    const { clock, log, metrics, https } = options;
    const limits = (this.#limits = options.limits ?? LIMITS);
    const newId = (this.#newId = options.newId ?? randomUUID);
    const stopping = this.#stopping.signal;
    const callers = new Callers(options.trustedProxies, options.publicHost);
    const connections = (this.#connections = createConnections(limits.http, metrics, clock, callers));
    const pipeline = new Pipeline(
      { ...options, onAuthenticated: (socket, identity) => connections.authenticate(socket, identity) },
      limits.http,
      stopping,
    );
    this.#application = new Application(
      { ...options, newId, callers, onForwarded: connections.attribute },
      limits.http,
      pipeline,
      stopping,
    );
    this.#webSockets = new WebSockets({
      clock,
      log,
      metrics,
      limits: limits.webSocket,
      newId,
      judge: async (incoming) => this.#application.judge(requestOfUpgrade(incoming), { incoming }),
    });
    const departed = metrics.counter(
      'http_callers_gone_total',
      'Requests whose caller went away before the whole answer.',
    );
    const sentAhead = metrics.counter(
      'http_pipelines_refused_total',
      'Connections closed because of too many requests sent ahead.',
    );
    const counters = {
      onDeparted: () => departed.inc(),
      onSentAhead: (socket: Socket) => {
        sentAhead.inc();
        connections.charge(socket);
      },
    };
    this.#plain = this.#newServer(counters);
    this.#secure = https && this.#newServer(counters, https.secureContext);
  }

  /** Answers one request without a socket, for tests. */
  async fetch(request: Request): Promise<Response> {
    return this.#application.fetch(request);
  }

  /** Listens; rejects, with nothing left open, when an address is taken. */
  async start(): Promise<{ port: number; httpsPort: number | undefined }> {
    const { host, https } = this.#options;
    const port = await this.#plain.listen(host, this.#options.port);
    try {
      return { port, httpsPort: https && (await this.#secure?.listen(https.host, https.port)) };
    } catch (error) {
      await this.#plain.close();
      throw error;
    }
  }

  /** Stops accepting, lets running requests end within `withinMs`, closes the rest. */
  async stop(withinMs: DurationMs): Promise<void> {
    const closed = Promise.all([this.#plain.close(), this.#secure?.close()]);
    this.#stopping.abort(unavailable('The gateway is stopping.'));
    this.#webSockets.closeWhere(() => true, 1001, 'gateway is stopping');
    const deadline = this.#options.clock.setTimer(withinMs, () => this.#connections.destroyAll());
    await closed;
    deadline.cancel();
  }

  /** Closes the open streams of a principal, for example of a revoked token. */
  closeStreams(matches: (principal: Principal) => boolean, reason: string): void {
    this.#webSockets.closeWhere(matches, 1008, reason);
  }

  /** Another certificate for HTTPS; open connections live on. */
  setSecureContext(context: SecureContextOptions): void {
    this.#secure?.setSecureContext(context);
  }

  get streamCount(): number {
    return this.#webSockets.count;
  }

  #newServer(
    counters: Pick<NodeServerOptions, 'onDeparted' | 'onSentAhead'>,
    secureContext?: SecureContextOptions,
  ): NodeServer {
    const server = new NodeServer({
      fetch: (request, connection) => this.#application.fetch(request, connection),
      ...counters,
      limits: this.#limits.http,
      clock: this.#options.clock,
      log: this.#options.log,
      newId: this.#newId,
      ...(secureContext && { secureContext }),
    });
    this.#webSockets.attach(server.server);
    this.#connections.attach(server.server);
    return server;
  }
}

// Open sockets of all listeners: counted, limited in number, share and rate, destroyed together at the end.

type Connections = ReturnType<typeof createConnections>;

function createConnections(limits: Limits['http'], metrics: Metrics, clock: Clock, callers: Callers) {
  const connectRate = new Rates({ perSecond: limits.connectsPerSecond, burst: limits.connectBurst });
  const sockets = new SocketsByEnds();
  /** Identity that was last seen on a socket. */
  const identities = new WeakMap<Socket, string>();
  /** Caller that a trusted proxy last passed on over a socket. */
  const servedNow = new WeakMap<Socket, string>();
  const gaveWay = metrics.counter(
    'http_connections_gave_way_total',
    'Connections without a login that were closed for the next.',
  );
  const refused = metrics.counter(
    'http_connections_refused_total',
    'Connections beyond a limit of number or rate.',
  );
  const admission = new Admission<Socket>(limits, (socket) => {
    gaveWay.inc();
    socket.destroy();
  });
  metrics.measured('http_connections', 'Open connections to HTTP and HTTPS.', () => admission.size);

  function accept(socket: Socket): void {
    const isLet =
      (callers.isTrusted(socket.remoteAddress) ||
        connectRate.take(addressKey(socket.remoteAddress), clock.monotonicMs()) === 0) &&
      admission.admit(socket.remoteAddress, () => socket) === undefined;
    if (isLet) return sockets.add(socket, () => admission.leave(socket));
    refused.inc();
    socket.destroy();
  }

  /** A proxy sends the requests of all callers over connections of its own; each counts for the caller it serves now. */
  function attribute(socket: Socket, address: string): void {
    const counted = sockets.get(socket);
    if (!counted || servedNow.get(socket) === address) return;
    servedNow.set(socket, address);
    identities.delete(socket);
    admission.leave(counted);
    if (admission.admit(address, () => counted) === undefined) return;
    refused.inc();
    servedNow.delete(socket);
    throw tooManyRequests('Too many connections of this address are open.');
  }

  return {
    attribute,
    /** Counts a connection that sent too many requests ahead against its address, like so many connections. */
    charge: ({ remoteAddress }: Socket): void => {
      if (callers.isTrusted(remoteAddress)) return;
      connectRate.spend(addressKey(remoteAddress), clock.monotonicMs(), limits.connectsPerPipeline);
    },
    /** Takes part in every connection of a listener from now on. */
    attach: (server: Server): void => void server.on('connection', accept),
    /** The caller on this connection is authenticated. */
    authenticate: (socket: Socket, identity: string): void => {
      if (identities.get(socket) === identity) return;
      identities.set(socket, identity);
      const counted = sockets.get(socket);
      if (counted) admission.authenticate(counted, identity);
    },
    destroyAll: (): void => {
      for (const socket of admission.connections()) socket.destroy();
    },
  };
}
