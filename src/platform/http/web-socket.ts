/**
 * The WebSocket side: upgrade after the same checks as a request, refusal as a plain HTTP answer with the
 * error envelope, pings, a bounded queue towards slow readers (docs/interface/http.md#streams).
 */
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { addressKey } from '../../lib/address.ts';
import { gatewayError } from '../../lib/errors.ts';
import { type Limits, LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import type { Metrics } from '../metrics/index.ts';
import { commonHeaders, errorAnswer } from './answer.ts';
import { rateKeyOf } from './pipeline.ts';
import type { Principal } from './principal.ts';
import type { StreamSocket } from './route.ts';

/** The result of judging an upgrade: either what to run on the open socket, or the answer that refuses it. */
export type UpgradeVerdict =
  | { open: (socket: StreamSocket) => void; principal: Principal }
  | { refusal: Response };

interface OpenSocket {
  principal: Principal;
  identity: string;
  address: string;
  close: (code: number, reason: string) => void;
}

const RETRY_AFTER_FULL_S = 10;

export interface WebSockets {
  attach(server: Server): void;
  /** Closes every socket whose principal matches. */
  closeWhere(matches: (principal: Principal) => boolean, code: 1001 | 1008, reason: string): void;
  readonly count: number;
}

export function createWebSockets(options: {
  clock: Clock;
  log: Log;
  metrics: Metrics;
  limits?: Limits['webSocket'];
  newId: () => string;
  judge: (request: IncomingMessage) => Promise<UpgradeVerdict>;
}): WebSockets {
  const { clock, log, judge } = options;
  const limits = options.limits ?? LIMITS.webSocket;
  const open = new Map<WebSocket, OpenSocket>();
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: limits.inboundFrameBytes,
    handleProtocols: () => false,
  });
  options.metrics.gauge('web_sockets', 'Open WebSockets.', [], (gauge) => gauge.set(open.size));
  const slowReaders = options.metrics.counter(
    'web_socket_slow_readers_total',
    'WebSockets closed as too slow.',
  );

  // Headers of the handshake that are not as RFC 6455 wants them.
  server.on('wsClientError', (error: Error, socket: Duplex) => {
    const fault = gatewayError('invalid_argument', 'invalid_header', `${error.message}.`, {
      header: 'Sec-WebSocket-Key',
    });
    void refuse(socket, errorAnswer(fault, commonHeaders(options.newId())));
  });

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // Without a listener a reset during the checks would be an uncaught error.
    socket.on('error', (error) => log.debug('socket failed during upgrade', { error }));
    const verdict = await judge(request).catch(refusalOf);
    if (socket.destroyed) return;
    if ('refusal' in verdict) return refuse(socket, verdict.refusal);
    const address = addressKey(request.socket.remoteAddress);
    const identity = rateKeyOf(verdict.principal, address);
    const tooMany = fullFor(identity, address);
    if (tooMany !== undefined) {
      const full = gatewayError('rate_limited', 'too_many_requests', tooMany);
      const headers = { ...commonHeaders(options.newId()), 'Retry-After': String(RETRY_AFTER_FULL_S) };
      return refuse(socket, errorAnswer(full, headers));
    }
    server.handleUpgrade(request, socket, head, (webSocket) => {
      run(webSocket, { principal: verdict.principal, identity, address }, verdict.open);
    });
  }

  /** Undefined when there is room for one more. */
  function fullFor(identity: string, address: string): string | undefined {
    if (open.size >= limits.connections) return 'Too many WebSockets are open.';
    const others = [...open.values()];
    if (others.filter((other) => other.identity === identity).length >= limits.connectionsPerIdentity)
      return 'Too many WebSockets of this token are open.';
    if (others.filter((other) => other.address === address).length >= limits.connectionsPerAddress)
      return 'Too many WebSockets of this address are open.';
    return undefined;
  }

  function refusalOf(error: unknown): UpgradeVerdict {
    const refusal = errorAnswer(error, commonHeaders(options.newId()));
    if (refusal.status === 500) log.error('upgrade failed', { error });
    return { refusal };
  }

  function run(
    webSocket: WebSocket,
    caller: Omit<OpenSocket, 'close'>,
    start: (socket: StreamSocket) => void,
  ): void {
    const ended = new AbortController();
    let missedPongs = 0;
    const ping = clock.setRepeating(limits.pingIntervalMs, () => {
      if (missedPongs >= limits.missedPongs) {
        webSocket.terminate();
        return;
      }
      missedPongs++;
      webSocket.ping();
    });
    webSocket.on('pong', () => (missedPongs = 0));
    webSocket.on('error', (error) => log.debug('WebSocket failed', { error }));
    webSocket.on('close', () => {
      ping.cancel();
      open.delete(webSocket);
      ended.abort();
    });
    const close = (code: number, reason: string): void => {
      if (webSocket.readyState !== WebSocket.OPEN) return;
      webSocket.close(code, reason);
      ended.abort();
      // A peer that does not read does not answer the close frame either.
      const timer = clock.setTimer(limits.closeTimeoutMs, () => webSocket.terminate());
      webSocket.once('close', () => timer.cancel());
    };
    open.set(webSocket, { ...caller, close });
    const socket: StreamSocket = {
      signal: ended.signal,
      close,
      send: (message) => {
        if (webSocket.readyState !== WebSocket.OPEN) return;
        if (webSocket.bufferedAmount > limits.queuedBytes) {
          slowReaders.inc();
          close(1013, 'reader is too slow');
          return;
        }
        webSocket.send(JSON.stringify(message));
      },
    };
    try {
      start(socket);
    } catch (error) {
      log.error('stream failed to start', { error });
      close(1011, 'internal error');
    }
  }

  return {
    attach: (httpServer) =>
      void httpServer.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
        upgrade(request, socket, head).catch((error: unknown) => {
          log.error('upgrade failed', { error });
          socket.destroy();
        });
      }),
    closeWhere: (matches, code, reason) => {
      for (const { principal, close } of open.values()) if (matches(principal)) close(code, reason);
    },
    get count() {
      return open.size;
    },
  };
}

/** Writes a complete HTTP answer on a socket that asked for an upgrade. */
async function refuse(socket: Duplex, response: Response): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer());
  const lines = [`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ''}`, 'Connection: close'];
  for (const [name, value] of response.headers) if (name !== 'connection') lines.push(`${name}: ${value}`);
  lines.push(`content-length: ${body.length}`, '', '');
  // The peer may keep its side open for ever.
  socket.end(Buffer.concat([Buffer.from(lines.join('\r\n')), body]), () => socket.destroy());
}
