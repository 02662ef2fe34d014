/**
 * Hands what arrives on a connection to Node's parser one request at a time, and nothing more while that one waits for its
 * response. Node alone would make the objects of all 1 900 requests that fit into one read of 64 KiB.
 */
import type { Socket } from 'node:net';
import { nextTurn } from '../clock/index.ts';

/** Ends the head of a request, and a body without a declared length (RFC 9112 sections 2.1 and 7.1). */
const END = '\r\n\r\n';
const NOTHING = Buffer.alloc(0);

interface RequestFeedOptions {
  /** Whether a request that has arrived as a whole waits for its response. */
  isBusy: () => boolean;
  /** Requests that may be sent ahead of responses in one go. */
  requestsAhead: number;
  /** Called when there were more. */
  onSentAhead: () => void;
  turns: AheadTurns;
}

/**
 * Turns of the event loop for requests that were sent ahead: one connection a turn, in order, so that others wait for one
 * such request and not for one of each connection. Shared by all connections of a server.
 */
export class AheadTurns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves when it is the caller's turn. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) void this.#giveTurns();
    });
  }

  async #giveTurns(): Promise<void> {
    while (this.#waiting.length > 0) {
      await nextTurn();
      // It stays in the row until its turn has begun, so that no second round begins.
      this.#waiting[0]?.();
      this.#waiting.shift();
    }
  }
}

/** What has arrived on one connection and is not parsed yet. */
export class RequestFeed {
  readonly #socket: Socket;
  readonly #options: RequestFeedOptions;
  readonly #parse: readonly ((chunk: Buffer) => void)[];
  readonly #onData = (chunk: Buffer): void => {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    this.#feed();
  };
  readonly #onResume = (): void => this.#feed();
  #pending: Buffer = NOTHING;
  #pieceBytes = 0;
  #requestsAhead = 0;
  /** So many bytes certainly belong to the body of the current request and hold no further one. */
  #bodyBytes = 0;
  #isEnded = false;

  /** Takes the place of Node's reader, which is set up already. */
  constructor(socket: Socket, options: RequestFeedOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#parse = socket.listeners('data') as ((chunk: Buffer) => void)[];
    socket.on('data', this.#onData).on('resume', this.#onResume);
    for (const parse of this.#parse) socket.off('data', parse);
  }

  /** A request has begun, with a body of this declared length. */
  expectBody(lengthBytes: number): void {
    // A part of it was in the same piece where the end of the head came in two.
    this.#bodyBytes = Math.max(0, lengthBytes - this.#pieceBytes);
  }

  /** Goes on after a response, when it is its turn. */
  goOn(): void {
    if (this.#pending.length === 0) {
      this.#requestsAhead = 0;
      return;
    }
    this.countAhead();
    void this.#options.turns.next().then(() => this.#socket.resume());
  }

  /** One more request that was sent before the response to the last one. */
  countAhead(): void {
    if (this.#socket.destroyed) return;
    this.#requestsAhead += 1;
    if (this.#requestsAhead > this.#options.requestsAhead) this.#options.onSentAhead();
  }

  /** Gives the connection to somebody else, with what is not parsed yet. */
  release(): void {
    this.stop();
    this.#socket.off('data', this.#onData).off('resume', this.#onResume);
    if (this.#pending.length > 0) this.#socket.unshift(this.#pending);
  }

  /** Drops whatever arrives from now on. */
  stop(): void {
    this.#isEnded = true;
  }

  #feed(): void {
    while (this.#pending.length > 0 && !this.#isEnded && !this.#socket.destroyed) {
      if (this.#options.isBusy()) this.#socket.pause();
      // Paused here, or by Node until a body is read or a response is written.
      if (this.#socket.isPaused()) return;
      const piece = this.#pending.subarray(0, this.#bodyBytes || this.#endOfNext());
      this.#pieceBytes = piece.length;
      this.#pending = this.#pending.subarray(piece.length);
      this.#bodyBytes = Math.max(0, this.#bodyBytes - piece.length);
      for (const parse of this.#parse) parse.call(this.#socket, piece);
    }
  }

  /** Without an end there is no whole further request: all of it belongs to one. */
  #endOfNext(): number {
    const at = this.#pending.indexOf(END);
    return at < 0 ? this.#pending.length : at + END.length;
  }
}
