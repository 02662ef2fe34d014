/**
 * The WebSocket side: upgrade after the same checks as a request, refusal as a plain HTTP answer with the
 * error envelope, pings, a bounded queue towards slow readers (docs/interface/http.md#streams).
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { addressKey } from '../../lib/address.ts';
import { gatewayError, tooManyRequests } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Instruments } from '../metrics/index.ts';
import { rateKeyOf } from './pipeline.ts';
import type { Principal, RunStream, StreamSocket } from './exchange.ts';
import { commonHeaders, errorResponse, httpDate, httpText } from './responses.ts';

/** The stream to run on the open socket, and its caller. */
export interface Admitted {
  open: RunStream;
  principal: Principal;
  requestId: string;
  /** Address of the caller. */
  address: string;
}

interface Caller {
  principal: Principal;
  identity: string;
  address: string;
}

const RETRY_AFTER_FULL_S = 10;
/** RFC 6455 sections 4.2.1 and 4.4. */
const KEY = /^[+/0-9A-Za-z]{22}==$/;
const VERSION = { 'sec-websocket-version': '13' };

interface WebSocketsOptions extends Instruments {
  limits: Limits['webSocket'];
  newId: () => string;
  /** The stream of an upgrade, or the response that refuses it. */
  judge: (request: IncomingMessage) => Promise<Admitted | Response>;
}

export class WebSockets {
  readonly #options: WebSocketsOptions;
  readonly #open = new Set<OpenSocket>();
  readonly #server: WebSocketServer;
  readonly #slowReaders: { inc: () => void };
  readonly #gaveWay: { inc: () => void };

  constructor(options: WebSocketsOptions) {
    this.#options = options;
    const { limits, metrics } = options;
    this.#server = new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      maxPayload: limits.inboundFrameBytes,
      handleProtocols: () => false,
    });
    metrics.measured('web_sockets', 'Open WebSockets.', () => this.#open.size);
    this.#gaveWay = metrics.counter(
      'web_sockets_gave_way_total',
      'WebSockets beyond a share that were closed for those of others.',
    );
    const slowReaders = metrics.counter('web_socket_slow_readers_total', 'WebSockets closed as too slow.');
    const queue = metrics.queue('web_socket_bytes', {
      limit: limits.queuedBytes,
      depth: () => Math.max(0, ...[...this.#open].map(({ queuedBytes }) => queuedBytes)),
    });
    this.#slowReaders = {
      inc: () => {
        slowReaders.inc();
        queue.dropped();
      },
    };
    this.#server.on('headers', (lines: string[], { headers }: IncomingMessage) => {
      lines.push(
        `X-Request-Id: ${String(headers['x-request-id'])}`,
        `Date: ${httpDate(options.clock.wallMs())}`,
      );
    });
    this.#server.on('wsClientError', (error: Error, socket: Duplex, { headers }: IncomingMessage) => {
      const isKey = KEY.test(headers['sec-websocket-key'] ?? '');
      const header = isKey ? 'Sec-WebSocket-Version' : 'Sec-WebSocket-Key';
      const fault = gatewayError('invalid_argument', 'invalid_header', `${error.message}.`, { header });
      const response = errorResponse(fault, {
        ...commonHeaders(String(headers['x-request-id'])),
        ...VERSION,
      });
      void this.#refuse(socket, response);
    });
  }

  /** Takes the upgrades of a server from now on. */
  attach(server: Server): void {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#upgrade(request, socket, head).catch((error: unknown) => {
        this.#options.log.error('upgrade failed', { error });
        socket.destroy();
      });
    });
  }

  /** Closes every socket whose principal matches. */
  closeWhere(matches: (principal: Principal) => boolean, code: 1001 | 1008, reason: string): void {
    for (const socket of this.#open) if (matches(socket.caller.principal)) socket.close(code, reason);
  }

  get count(): number {
    return this.#open.size;
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { judge, log } = this.#options;
    // Without a listener a reset during the checks would be an uncaught error.
    socket.on('error', (error) => log.debug('socket failed during upgrade', { error }));
    const verdict = await judge(request).catch((error: unknown) => this.#refusalOf(error));
    if (socket.destroyed) return;
    if (!('open' in verdict)) return this.#refuse(socket, verdict);
    const address = addressKey(verdict.address);
    const caller = { principal: verdict.principal, identity: rateKeyOf(verdict.principal, address), address };
    const tooMany = this.#fullFor(caller);
    if (tooMany !== undefined) {
      const full = tooManyRequests(tooMany);
      const headers = { ...commonHeaders(verdict.requestId), 'retry-after': String(RETRY_AFTER_FULL_S) };
      return this.#refuse(socket, errorResponse(full, headers));
    }
    // The one that the answer carries.
    request.headers['x-request-id'] = verdict.requestId;
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      this.#run(new OpenSocket(webSocket, caller, this.#options, this.#slowReaders), webSocket, verdict.open);
    });
  }

  /** Undefined when there is room for one more, if need be the place of a caller beyond its share. */
  #fullFor(caller: Caller): string | undefined {
    const { limits } = this.#options;
    if (this.#open.size < limits.connections) return undefined;
    const beyond = excesses(this.#open, limits);
    const open = [...this.#open];
    const isBeyond = (other: Caller): boolean => beyond.ofIdentity(other) > 0 || beyond.ofToken(other) > 0;
    const isBelow = beyond.ofIdentity(caller) < 0 && beyond.ofToken(caller) < 0;
    // Who has less than its share gets a place of who has more at the same address: the address has no more by it.
    const neighbour =
      isBelow && open.findLast((other) => other.caller.address === caller.address && isBeyond(other.caller));
    // A token beyond its share makes room for the other tokens of its person.
    const sibling =
      beyond.ofToken(caller) < 0 &&
      open.findLast((other) => other.caller.identity === caller.identity && beyond.ofToken(other.caller) > 0);
    const given = sibling || neighbour;
    if (!given && !(isBelow && beyond.ofAddress(caller) < 0))
      return 'Too many WebSockets are open, and the share of this token or address is used up.';
    const newest =
      given || open.findLast((other) => isBeyond(other.caller) || beyond.ofAddress(other.caller) > 0);
    if (!newest) return 'Too many WebSockets are open.';
    this.#open.delete(newest);
    this.#gaveWay.inc();
    newest.close(1013, 'others need the place');
    return undefined;
  }

  async #refuse(socket: Duplex, response: Response): Promise<void> {
    const text = await httpText(response, this.#options.clock.wallMs());
    // The peer may keep its side open for ever.
    socket.end(text, () => socket.destroy());
  }

  #refusalOf(error: unknown): Response {
    const refusal = errorResponse(error, commonHeaders(this.#options.newId()));
    if (refusal.status === 500) this.#options.log.error('upgrade failed', { error });
    return refusal;
  }

  #run(socket: OpenSocket, webSocket: WebSocket, start: RunStream): void {
    this.#open.add(socket);
    webSocket.on('close', () => this.#open.delete(socket));
    try {
      socket.runs(start(socket));
    } catch (error) {
      this.#options.log.error('stream failed to start', { error });
      socket.close(1011, 'internal error');
    }
  }
}

/** How many places a caller's person, address or token has beyond its share; below 0: how many it may still take. */
function excesses(open: ReadonlySet<OpenSocket>, limits: Limits['webSocket']) {
  const { connectionsPerIdentity, connectionsPerAddress, connectionsPerToken } = limits;
  const tokenOf = ({ principal }: Caller) =>
    principal.origin.kind === 'token' ? principal.tokenId : undefined;
  const ofIdentity = Map.groupBy(open, ({ caller }) => caller.identity);
  const ofAddress = Map.groupBy(open, ({ caller }) => caller.address);
  const ofToken = Map.groupBy(open, ({ caller }) => tokenOf(caller));
  return {
    ofIdentity: ({ identity }: Caller) => (ofIdentity.get(identity)?.length ?? 0) - connectionsPerIdentity,
    ofAddress: ({ address }: Caller) => (ofAddress.get(address)?.length ?? 0) - connectionsPerAddress,
    /** A caller without a token is never beyond a share. */
    ofToken: (caller: Caller) => {
      const token = tokenOf(caller);
      return token === undefined ? -1 : (ofToken.get(token)?.length ?? 0) - connectionsPerToken;
    },
  };
}

class OpenSocket implements StreamSocket {
  readonly caller: Caller;
  readonly send: StreamSocket['send'];
  readonly #webSocket: WebSocket;
  readonly #options: Pick<WebSocketsOptions, 'clock' | 'log' | 'limits'>;
  #ends: readonly (() => void)[] = [];
  #missedPongs = 0;

  constructor(
    webSocket: WebSocket,
    caller: Caller,
    options: Pick<WebSocketsOptions, 'clock' | 'log' | 'limits'>,
    slowReaders: { inc(): void },
  ) {
    this.#webSocket = webSocket;
    this.caller = caller;
    this.#options = options;
    const ping = options.clock.setRepeating(options.limits.pingIntervalMs, () => this.#ping());
    webSocket.on('pong', () => (this.#missedPongs = 0));
    webSocket.on('error', (error) => options.log.debug('WebSocket failed', { error }));
    webSocket.on('close', () => {
      ping.cancel();
      this.#end();
    });
    this.send = (message) => {
      if (webSocket.readyState !== WebSocket.OPEN) return;
      if (webSocket.bufferedAmount <= options.limits.queuedBytes)
        return webSocket.send(JSON.stringify(message));
      slowReaders.inc();
      this.close(1013, 'reader is too slow');
    };
  }

  get queuedBytes(): number {
    return this.#webSocket.bufferedAmount;
  }

  close(code: number, reason: string): void {
    const webSocket = this.#webSocket;
    const { clock, limits } = this.#options;
    if (webSocket.readyState !== WebSocket.OPEN) return;
    webSocket.close(code, reason);
    this.#end();
    // A peer that does not read does not answer the close frame either.
    const timer = clock.setTimer(limits.closeTimeoutMs, () => webSocket.terminate());
    webSocket.once('close', () => timer.cancel());
  }

  /** Takes what is to be called once it is closed. */
  runs(ends: readonly (() => void)[]): void {
    this.#ends = ends;
    if (this.#webSocket.readyState !== WebSocket.OPEN) this.#end();
  }

  #end(): void {
    for (const end of this.#ends) end();
    this.#ends = [];
  }

  #ping(): void {
    if (this.#missedPongs >= this.#options.limits.missedPongs) return this.#webSocket.terminate();
    this.#missedPongs++;
    this.#webSocket.ping();
  }
}
