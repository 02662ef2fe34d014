/**
 * Hands what arrives on a connection to Node's parser one request at a time, and nothing more while that one waits for its
 * response. Node alone would make the objects of all 1 900 requests that fit into one read of 64 KiB.
 */
import type { Socket } from 'node:net';
import { nextTurn } from '../clock/index.ts';

/** Ends the head of a request, and a body without a declared length (RFC 9112 sections 2.1 and 7.1). */
const END = '\r\n\r\n';
const NOTHING = Buffer.alloc(0);
/**
 * Bytes of heads and of bodies without a declared length that one connection parses in one turn of the event loop: chunks of
 * one byte cost 3 µs each, and 64 KiB hold 11 000 of them.
 */
const TURN_BYTES = 4_096;
/** As many of a request that did not wait for a turn, because all connections may have begun one at the same time. */
const FIRST_BYTES = 1_024;
/** A piece costs as much as so many bytes, however short it is. */
const PIECE_BYTES = 64;

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

/** Bytes that have arrived on one connection and are not parsed yet. */
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
  /** Last bytes of an unfinished head, which may hold the beginning of its end. */
  #tail: Buffer = NOTHING;
  #requestsAhead = 0;
  /** Since its last turn. */
  #parsedBytes = TURN_BYTES - FIRST_BYTES;
  /** So many bytes certainly belong to the body of the current request and hold no further one. */
  #bodyBytes = 0;
  /** Until its turn comes: Node resumes a connection by itself once it has read a body. */
  #isWaiting = false;
  #isEnded = false;

  /** Takes the place of Node's reader, which is set up already. */
  constructor(socket: Socket, options: RequestFeedOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#parse = socket.listeners('data') as ((chunk: Buffer) => void)[];
    socket.on('data', this.#onData).on('resume', this.#onResume);
    for (const parse of this.#parse) socket.off('data', parse);
  }

  /** A request has begun, with a body of this declared length; its head was the end of a piece. */
  expectBody(lengthBytes: number): void {
    this.#bodyBytes = lengthBytes;
  }

  /** Goes on after a response, when it is its turn. */
  goOn(): void {
    if (this.#pending.length === 0) {
      this.#requestsAhead = 0;
      this.#parsedBytes = TURN_BYTES - FIRST_BYTES;
      return;
    }
    this.countAhead();
    this.#waitForTurn();
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
      if (this.#parsedBytes > TURN_BYTES && !this.#isWaiting) this.#waitForTurn();
      if (this.#isWaiting || this.#options.isBusy()) this.#socket.pause();
      // Paused here, or by Node until a body is read or a response is written.
      if (this.#socket.isPaused()) return;
      const piece = this.#next();
      this.#pending = this.#pending.subarray(piece.length);
      for (const parse of this.#parse) parse.call(this.#socket, piece);
    }
  }

  #waitForTurn(): void {
    this.#parsedBytes = 0;
    this.#isWaiting = true;
    void this.#options.turns.next().then(() => {
      this.#isWaiting = false;
      this.#socket.resume();
      this.#feed();
    });
  }

  /** As much of the body as has arrived; else what ends a head, wherever the network cut that end, or a part of a head. */
  #next(): Buffer {
    const body = this.#pending.subarray(0, this.#bodyBytes);
    this.#bodyBytes -= body.length;
    if (body.length > 0) return body;
    const pending = this.#pending.subarray(0, Math.max(FIRST_BYTES, TURN_BYTES - this.#parsedBytes));
    const tailBytes = this.#tail.length;
    const seam = Buffer.concat([this.#tail, pending.subarray(0, END.length - 1)]).indexOf(END);
    const at = seam < 0 ? pending.indexOf(END) : seam - tailBytes;
    const isWhole = seam >= 0 || at >= 0;
    const piece = isWhole ? pending.subarray(0, at + END.length) : pending;
    this.#tail = isWhole ? NOTHING : Buffer.concat([this.#tail, piece]).subarray(1 - END.length);
    this.#parsedBytes += piece.length + PIECE_BYTES;
    return piece;
  }
}
