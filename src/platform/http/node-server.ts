/** Node's HTTP or HTTPS server with the limits of the gateway, and its ordered stop. */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { gatewayError, type Problem } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import { type Clock, setDeadline, type Timer } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import { closeServer, listen, SocketsByEnds } from '../sockets/index.ts';
import { AheadTurns, RequestFeed } from './request-feed.ts';
import { commonHeaders, errorResponse, httpText, problemResponse } from './responses.ts';

export interface NodeServerOptions {
  fetch: (request: Request, connection: HttpBindings) => Response | Promise<Response>;
  /** Told of every request whose caller went away before the whole answer. */
  onDeparted: () => void;
  /** Told of every connection that was closed because too many requests were sent ahead on it. */
  onSentAhead: (socket: Socket) => void;
  limits: Limits['http'];
  clock: Clock;
  log: Log;
  newId: () => string;
  /** When given, the server uses TLS with this certificate and key. */
  secureContext?: SecureContextOptions;
}

export class NodeServer {
  /** For upgrades and for counting connections. */
  readonly server: Server;
  readonly #options: NodeServerOptions;
  readonly #listener: ReturnType<typeof getRequestListener>;
  readonly #turns = new WeakMap<Socket, Turn>();
  readonly #aheadTurns = new AheadTurns();
  /** Before its handshake is done a connection is none of HTTP, which therefore would not close it at the stop. */
  readonly #handshakes = new SocketsByEnds();
  #isStopping = false;

  constructor(options: NodeServerOptions) {
    this.#options = options;
    const { limits, secureContext } = options;
    this.#listener = this.#newListener();
    const handle = (incoming: IncomingMessage, outgoing: ServerResponse): void =>
      this.#handle(incoming, outgoing);
    this.server = secureContext
      ? createSecureServer({ ...nodeOptions(limits), ...tlsOptions(limits, secureContext) }, handle)
      : createServer(nodeOptions(limits), handle);
    this.server.timeout = limits.silenceTimeoutMs;
    if (secureContext) this.#watchHandshakes();
    // Node would answer a bare 417; the expectation may be passed over (RFC 9110 section 10.1.1).
    this.server.on('checkExpectation', handle);
    this.server.on('checkContinue', (incoming, outgoing) => {
      continueWhenRead(incoming, outgoing);
      handle(incoming, outgoing);
    });
    this.server.on('error', (error) => options.log.error('HTTP listener failed', { error }));
    this.server.on(secureContext ? 'secureConnection' : 'connection', (socket: Socket) => this.#read(socket));
    this.server.on('upgrade', (_incoming, socket) => this.#turns.get(socket as Socket)?.feed.release());
    // Node would cut the connection without a word.
    this.server.on('connect', (_incoming, socket) => this.#refuse('HPE_INVALID_METHOD', socket as Socket));
    this.server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) =>
      this.#refuse(code, socket as Socket),
    );
  }

  /** Binds the socket; rejects when the address is taken. */
  listen(host: string, port: number): Promise<number> {
    return listen(this.server, host, port);
  }

  /** Stops accepting; resolves when the last connection is closed. */
  close(): Promise<void> {
    this.#isStopping = true;
    if (!this.server.listening) return Promise.resolve();
    const closed = closeServer(this.server);
    this.#handshakes.destroyAll();
    return closed;
  }

  /** Connections made from now on get this certificate; the others live on. */
  setSecureContext(context: SecureContextOptions): void {
    if (this.#options.secureContext)
      (this.server as SecureServer).setSecureContext({ ...context, minVersion: 'TLSv1.2' });
  }

  #newListener(): ReturnType<typeof getRequestListener> {
    const { fetch, log, newId } = this.#options;
    return getRequestListener((request, env) => fetch(request, env as HttpBindings), {
      hostname: 'localhost',
      // It would close the connection of a caller that is still sending 500 ms after the response.
      autoCleanupIncoming: false,
      errorHandler: (error) => {
        log.debug('request is not usable', { error });
        const refusal = gatewayError(
          'invalid_argument',
          'invalid_path',
          'The request line or the host is not usable.',
        );
        return errorResponse(refusal, { ...commonHeaders(newId()), connection: 'close' });
      },
    });
  }

  /** Parses a connection piece by piece; one object for both, so that a response can tell its connection to go on. */
  #read(socket: Socket): void {
    const refuse = (): void => {
      this.#options.onSentAhead(socket);
      socket.destroy();
    };
    const turn: Turn = {
      answering: undefined,
      behind: [],
      feed: new RequestFeed(socket, {
        isBusy: () => turn.answering?.req.complete === true,
        requestsAhead: this.#options.limits.pipelinedRequests,
        onSentAhead: refuse,
        turns: this.#aheadTurns,
      }),
    };
    this.#turns.set(socket, turn);
  }

  /**
   * One request of a connection at a time: what was sent ahead of an answer waits for it, up to a limit, and is
   * forgotten with the connection. Node would start all of them as they arrive.
   */
  #handle(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { socket } = incoming;
    const turn = this.#turns.get(socket);
    if (socket.destroyed || !turn) return;
    if (!turn.answering) return this.#start(turn, incoming, outgoing);
    turn.behind.push([incoming, outgoing]);
    turn.feed.countAhead();
  }

  #start(turn: Turn, incoming: IncomingMessage, outgoing: ServerResponse): void {
    turn.answering = outgoing;
    turn.feed.expectBody(Number(incoming.headers['content-length'] ?? 0));
    if (hasBody(incoming)) this.#watchBody(incoming, outgoing);
    outgoing.on('close', () => {
      // A connection kept alive is idle now and would stay open.
      if (this.#isStopping) this.server.closeIdleConnections();
      if (!outgoing.writableFinished) this.#options.onDeparted();
      turn.answering = undefined;
      const next = incoming.socket.writable ? turn.behind.shift() : undefined;
      if (next) this.#start(turn, ...next);
      else {
        turn.behind.length = 0;
        turn.feed.goOn();
      }
    });
    void this.#listener(incoming, outgoing);
  }

  /**
   * A response may go out before the whole request is there. The rest of it is read and dropped: closed in the middle of
   * what a caller sends, a connection is reset, and the response may be lost with it (RFC 9112 section 9.6).
   */
  #watchBody(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const stopWatching = this.#limitArrival(incoming);
    incoming.once('close', stopWatching);
    outgoing.once('finish', () => {
      // A reader that has begun would hold back what it does not take.
      if (!incoming.complete) incoming.removeAllListeners('data').resume();
    });
  }

  /** A caller that sends too slowly is refused; bytes that wait here to be read are not its fault. */
  #limitArrival(incoming: IncomingMessage): () => void {
    const { clock, limits } = this.#options;
    const { socket } = incoming;
    let timer: Timer;
    const arm = (): void => {
      const { bytesRead } = socket;
      timer = setDeadline(clock, limits.requestTimeoutMs, () => {
        if (incoming.complete) return;
        const isComing = socket.bytesRead - bytesRead >= limits.requestProgressBytes;
        if (isComing || incoming.readableLength > 0) arm();
        else this.#refuse(LATE, socket);
      });
    };
    arm();
    return () => timer.cancel();
  }

  #watchHandshakes(): void {
    this.server.on('connection', (socket: Socket) => this.#handshakes.add(socket));
    this.server.on('secureConnection', (socket: Socket) => {
      this.#handshakes.take(socket);
      if (this.#isStopping) socket.destroy();
    });
  }

  /** Node's own refusal. Bytes in the middle of an answer would become part of it. */
  #refuse(code: string | undefined, socket: Socket): void {
    const { clock, limits, newId } = this.#options;
    const turn = this.#turns.get(socket);
    turn?.feed.stop();
    const isInAnswer = turn?.answering?.headersSent === true;
    if (!isAnswerable(code) || !socket.writable || isInAnswer) socket.destroy();
    else
      void httpText(clientErrorResponse(code, limits, newId()), clock.wallMs()).then((text) =>
        socket.end(text, () => socket.destroy()),
      );
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * Sends 100 (Continue) once the body is read. A caller that is refused before need not send it, so that the following
 * bytes on the connection are ambiguous.
 */
function continueWhenRead(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { shouldKeepAlive } = outgoing;
  outgoing.shouldKeepAlive = false;
  incoming.once('resume', () => {
    if (outgoing.headersSent) return;
    outgoing.shouldKeepAlive = shouldKeepAlive;
    outgoing.writeContinue();
  });
}

/** Node's word for a request that took too long. */
const LATE = 'ERR_HTTP_REQUEST_TIMEOUT';

/** Whose turn it is on a connection. */
interface Turn {
  answering: ServerResponse | undefined;
  behind: [IncomingMessage, ServerResponse][];
  feed: RequestFeed;
}

function nodeOptions(limits: Limits['http']): ServerOptions {
  return {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    // Node would end an upload that is large at the same time as one that stands still.
    requestTimeout: 0,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: limits.timeoutCheckIntervalMs,
    // HTTP/1.1 without Host is answered by us, with the envelope.
    requireHostHeader: false,
    // Most requests have no body, whose stream would be opened, emptied and closed all the same.
    optimizeEmptyRequests: true,
    // A request that offers another protocol (h2c), or WebSocket with another method, gets an ordinary answer (RFC 9110
    // section 7.8).
    shouldUpgradeCallback: ({ method, headers }) =>
      method === 'GET' && headers.upgrade?.trim().toLowerCase() === 'websocket',
  };
}

function tlsOptions(limits: Limits['http'], context: SecureContextOptions): Record<string, unknown> {
  return {
    ...context,
    minVersion: 'TLSv1.2',
    // Without a protocol in common, the handshake fails (RFC 7301 section 3.2): clients of HTTP/1.0 name theirs.
    ALPNProtocols: ['http/1.1', 'http/1.0'],
    handshakeTimeout: limits.headersTimeoutMs,
  };
}

/** Faults of HTTP can be answered. After a fault of the socket or of TLS the answer would not be read. */
function isAnswerable(code: string | undefined): boolean {
  return code !== undefined && (code.startsWith('HPE_') || code === LATE);
}

/** Node refuses such a request before any handler; the answer is our envelope all the same. */
function clientErrorResponse(code: string | undefined, limits: Limits['http'], requestId: string): Response {
  const limit = limits.headerBytes;
  const problems: Record<string, [status: number, Problem]> = {
    HPE_HEADER_OVERFLOW: [
      431,
      {
        code: 'payload_too_large',
        message: `The headers are larger than ${limit} bytes.`,
        details: { limit },
      },
    ],
    [LATE]: [408, { code: 'request_timeout', message: 'The request took too long to arrive.' }],
  };
  const [status, problem] = problems[code ?? ''] ?? [
    400,
    { code: 'invalid_path', message: 'The request is not HTTP/1.1.' },
  ];
  return problemResponse(status, [problem], commonHeaders(requestId));
}
