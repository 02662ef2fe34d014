import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { connectionFailure } from '../../lib/errors.ts';
import type { DurationMs, DurationS, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';

/** Where requests go and what bounds them. */
export interface HttpClientOptions {
  clock: Pick<Clock, 'setTimer' | 'monotonicMs'>;
  /** For request and answer together. */
  timeoutMs: DurationMs;
  /** More of an answer is not read: it is refused. */
  answerMaxBytes: number;
  /** Authorities that are trusted instead of those of the system, as PEM. */
  caPem?: string | undefined;
  /** A server that restarts keeps what it answered longer ago than this; absent: it may lose anything. */
  forgetsMs?: DurationMs;
}

interface HttpCall {
  method: 'GET' | 'POST';
  url: URL;
  headers: Readonly<Record<string, string>>;
  body?: Uint8Array;
}

/** Answer of a server, whatever its status. */
export interface HttpAnswer {
  status: number;
  /** Seconds of `Retry-After`; undefined when the header is absent or has a date. */
  retryAfterS: DurationS | undefined;
  text: string;
}

/** There was no whole answer; the message is a sentence for a person. */
export class HttpFailure extends Error {
  override name = 'HttpFailure';
}

/** 1xx answers before the real one; more are no server of HTTP (RFC 9110, 15.2). */
const INTERIM_ANSWERS_MAX = 16;
/** After more in a row, the server closes each connection by habit and has not restarted. */
const ENDED_AFTER_ONE_MAX = 3;

interface Connection {
  socket: Socket;
  answers: number;
  /** Monotonic. */
  answeredMs: MonotonicMs;
  /** Absent: it is open. */
  endedMs?: MonotonicMs;
}

/**
 * Requests to a server that a person named: one connection that is kept, a time limit over all of it, a bound for the
 * answer, no redirects, and failures in words that say what a person can do. RFC 9110.
 */
export class HttpClient {
  readonly #options: HttpClientOptions;
  readonly #agents: { http: http.Agent; https: https.Agent };
  #connection: Connection | undefined;
  /**
   * How often a connection over which the server had answered was gone soon after, and it had not said so before. A server
   * that ends every connection after one answer is known by the third.
   */
  reconnects = 0;
  /** In a row. */
  #endedAfterOne = 0;

  constructor(options: HttpClientOptions) {
    this.#options = options;
    const kept = { keepAlive: true, maxSockets: 1, maxFreeSockets: 1 };
    this.#agents = {
      http: new http.Agent(kept),
      https: new https.Agent({ ...kept, ...(options.caPem !== undefined && { ca: options.caPem }) }),
    };
  }

  /** @throws HttpFailure without a whole answer; the signal's reason when aborted */
  async send(call: HttpCall, signal: AbortSignal): Promise<HttpAnswer> {
    const { clock, timeoutMs } = this.#options;
    signal.throwIfAborted();
    const stop = new AbortController();
    const onAbort = (): void => stop.abort();
    signal.addEventListener('abort', onAbort);
    let isLate = false;
    const timer = clock.setTimer(timeoutMs, () => {
      isLate = true;
      stop.abort();
    });
    try {
      return await this.#exchange(call, stop.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof HttpFailure) throw error;
      const sentence = isLate
        ? `${call.url.host} did not answer within ${timeoutMs / 1_000} s.`
        : sentenceOf(error, call.url);
      throw new HttpFailure(sentence, { cause: error });
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Ends the connection. */
  close(): void {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }

  #exchange({ method, url, headers, body }: HttpCall, signal: AbortSignal): Promise<HttpAnswer> {
    const isEncrypted = url.protocol === 'https:';
    const client = isEncrypted ? https : http;
    const agent = isEncrypted ? this.#agents.https : this.#agents.http;
    return new Promise((resolve, reject) => {
      const request = client.request(url, {
        method,
        agent,
        signal,
        headers: { ...headers, ...(body && { 'content-length': String(body.length) }) },
      });
      let isAnswered = false;
      let interimAnswers = 0;
      request.on('error', reject);
      // After 101 the runtime closes the connection without an error and without an answer.
      request.on('close', () => {
        if (!isAnswered) reject(new HttpFailure(noAnswerFrom(url)));
      });
      request.on('information', () => {
        if (++interimAnswers > INTERIM_ANSWERS_MAX) request.destroy();
      });
      request.on('socket', (socket) => this.#noteSocket(socket));
      request.on('response', (response) => {
        isAnswered = true;
        const connection = this.#connection;
        if (connection) {
          connection.answers++;
          connection.answeredMs = this.#options.clock.monotonicMs();
        }
        if (!request.shouldKeepAlive) this.#connection = undefined;
        this.#answerOf(response).then(resolve, (error: Error) => {
          request.destroy();
          reject(error);
        });
      });
      request.end(body);
    });
  }

  #noteSocket(socket: Socket): void {
    const { clock } = this.#options;
    const before = this.#connection;
    if (before?.socket === socket) return;
    if (before && before.answers > 0 && this.#mayForget(before)) {
      this.#endedAfterOne = before.answers === 1 ? this.#endedAfterOne + 1 : 0;
      if (this.#endedAfterOne <= ENDED_AFTER_ONE_MAX) this.reconnects++;
    }
    const connection: Connection = { socket, answers: 0, answeredMs: 0 };
    this.#connection = connection;
    socket.once('close', () => {
      connection.endedMs = clock.monotonicMs();
    });
  }

  /** Servers end unused connections. */
  #mayForget({ answeredMs, endedMs }: Connection): boolean {
    const { clock, forgetsMs = Infinity } = this.#options;
    return (endedMs ?? clock.monotonicMs()) - answeredMs < forgetsMs;
  }

  async #answerOf(response: http.IncomingMessage): Promise<HttpAnswer> {
    const { answerMaxBytes } = this.#options;
    const pieces: Buffer[] = [];
    let sizeBytes = 0;
    for await (const piece of response as AsyncIterable<Buffer>) {
      sizeBytes += piece.length;
      if (sizeBytes > answerMaxBytes)
        throw new HttpFailure(
          `The answer is longer than ${answerMaxBytes} bytes: this is not the right server.`,
        );
      pieces.push(piece);
    }
    const retryAfter = response.headers['retry-after'];
    return {
      status: response.statusCode ?? 0,
      retryAfterS: retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined,
      text: Buffer.concat(pieces).toString(),
    };
  }
}

const noAnswerFrom = ({ host }: URL): string => `${host} ended the connection before it had answered.`;

function sentenceOf(error: unknown, url: URL): string {
  const isOfParser = error instanceof Error && 'code' in error && String(error.code).startsWith('HPE_');
  if (isOfParser) return `${url.host} does not answer in HTTP: is the address right?`;
  return connectionFailure(error, url, ': give its certificate') ?? noAnswerFrom(url);
}
