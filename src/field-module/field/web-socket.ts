/** A WebSocket of a script: opened when it is used, and again after its end was reported. */
import type { WebSocket } from 'ws';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { WaitingCall } from './waiting-call.ts';

/** Codes that say nothing else (RFC 6455, section 7.4.1): normal, going away, none, no close frame. */
const PLAIN_CLOSES: ReadonlySet<number> = new Set([1_000, 1_001, 1_005, 1_006]);

interface ScriptWebSocketOptions {
  url: string;
  headers: Readonly<Record<string, string>>;
  protocols: readonly string[];
  caPem: string | undefined;
  insecureTls: boolean;
  clock: Pick<Clock, 'setTimer'>;
  limits: Limits['lua']['sockets'];
  wordsOf: (error: unknown) => string;
}

/** A WebSocket of one script; text and bytes alike. */
export class ScriptWebSocket {
  readonly #options: ScriptWebSocketOptions;
  readonly #reader: WaitingCall;
  #socket: WebSocket | undefined;
  #opening: Promise<string | undefined> | undefined;
  #messages: Buffer[] = [];
  #bytes = 0;
  /** Why the connection ended, until the script was given it. */
  #ended: string | undefined;
  #isReceiving = false;

  constructor(options: ScriptWebSocketOptions) {
    this.#options = options;
    this.#reader = new WaitingCall(options.clock);
  }

  get address(): string {
    return this.#options.url;
  }

  /** Sends a message. Resolves with the fault; undefined when the system has it. */
  async send(bytes: Buffer, isBinary: boolean): Promise<string | undefined> {
    const { limits, wordsOf } = this.#options;
    if (bytes.length > limits.messageBytes) return `a message has at most ${limits.messageBytes} bytes`;
    const problem = this.#takeEnd() ?? (await this.#connect());
    if (problem !== undefined) return problem;
    const socket = this.#socket;
    return new Promise((resolve) => {
      if (!socket) return resolve(this.#takeEnd() ?? 'connection closed');
      socket.send(bytes, { binary: isBinary }, (error) => resolve(error ? wordsOf(error) : undefined));
    });
  }

  /** The oldest message that waits, or the next one. A text is why there is none. */
  async receive(timeoutMs: DurationMs): Promise<{ bytes: Buffer } | string> {
    if (this.#isReceiving) return 'another call receives from this connection';
    this.#isReceiving = true;
    try {
      const problem = this.#messages.length === 0 ? (this.#takeEnd() ?? (await this.#connect())) : undefined;
      if (problem !== undefined) return problem;
      return await this.#reader.wait((isLate) => {
        const bytes = this.#messages.shift();
        this.#bytes -= bytes?.length ?? 0;
        if (bytes) return { bytes };
        if (this.#socket === undefined) return this.#takeEnd() ?? 'connection closed';
        return isLate ? 'timeout' : undefined;
      }, timeoutMs);
    } finally {
      this.#isReceiving = false;
      this.#socket?.resume();
    }
  }

  close(): void {
    this.#socket?.terminate();
    this.#socket = undefined;
    this.#messages = [];
    this.#bytes = 0;
    this.#ended = undefined;
    this.#reader.wake();
  }

  #takeEnd(): string | undefined {
    const ended = this.#ended;
    this.#ended = undefined;
    return ended;
  }

  async #connect(): Promise<string | undefined> {
    if (this.#socket) return undefined;
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  async #open(): Promise<string | undefined> {
    const { url, headers, protocols, caPem, insecureTls, clock, limits, wordsOf } = this.#options;
    // Loaded with the first one, because most scripts have none.
    const { WebSocket: Client } = await import('ws');
    const socket = new Client(url, [...protocols], {
      headers,
      ...(caPem !== undefined && { ca: caPem }),
      rejectUnauthorized: !insecureTls,
      maxPayload: limits.messageBytes,
      perMessageDeflate: false,
    });
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const timer = clock.setTimer(limits.handshakeMs, () => {
      resolve('timeout');
      socket.terminate();
    });
    let words = 'connection closed';
    socket.on('error', (error) => (words = wordsOf(error)));
    socket.on('unexpected-response', (_request, response) => {
      resolve(`the server answered ${response.statusCode} instead of opening a WebSocket`);
      socket.terminate();
    });
    socket.on('open', () => {
      this.#socket = socket;
      resolve(undefined);
    });
    socket.on('message', (data) => this.#take(socket, data as Buffer));
    socket.on('close', (code, reason) => {
      const said = reason.toString('utf8');
      resolve(words);
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      if (said !== '') this.#ended = `connection closed: ${said}`;
      else this.#ended = PLAIN_CLOSES.has(code) ? words : `${words} with code ${code}`;
      this.#reader.wake();
    });
    const problem = await promise;
    timer.cancel();
    return problem;
  }

  #take(socket: WebSocket, bytes: Buffer): void {
    const { queuedMessages, queuedBytes } = this.#options.limits;
    this.#messages.push(bytes);
    this.#bytes += bytes.length;
    if (this.#messages.length >= queuedMessages || this.#bytes >= queuedBytes) socket.pause();
    this.#reader.wake();
  }
}
