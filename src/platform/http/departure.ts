/**
 * Callers that go away. Work for them ends at its source, and nobody is at fault: the reason of the signal, thrown,
 * is answered like any refusal, to nobody.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { unavailable } from '../../lib/errors.ts';
import { type Answer, isGenerator } from './answer.ts';

/** Aborted when the connection ends before the whole answer was handed to it. */
export function departureOf(outgoing: ServerResponse): AbortSignal {
  const departure = new AbortController();
  const leave = (): void => {
    if (!outgoing.writableFinished)
      departure.abort(unavailable('The caller went away before the answer was complete.'));
  };
  if (outgoing.destroyed) leave();
  else outgoing.once('close', leave);
  return departure.signal;
}

/**
 * Writes the whole answer. @throws never: a body that breaks ends the connection, which tells the caller that
 * something is missing. @param unreadBytesMax so much of a body that nobody reads is passed over, and the connection lives
 * on; with more to come the answer says that it is the last one
 */
export function send(answer: Answer, outgoing: ServerResponse, unreadBytesMax: number): Promise<void> | void {
  const { status, headers, body } = answer;
  const isHeadOnly = outgoing.req.method === 'HEAD';
  const isWhole = body === null || typeof body === 'string' || body instanceof Uint8Array;
  const unreadBytes = unreadBodyBytes(outgoing.req);
  if (unreadBytes > (isWhole ? unreadBytesMax : 0)) headers['connection'] = 'close';
  if (body instanceof ReadableStream)
    return isHeadOnly
      ? body.cancel().then(() => void outgoing.writeHead(status, headers).end())
      : sendStream(answer, Readable.fromWeb(body), outgoing);
  if (isGenerator(body)) return sendPieces(answer, body, outgoing);
  if (body instanceof Readable) return sendStream(answer, body, outgoing);
  if (body !== null) headers['content-length'] = String(Buffer.byteLength(body));
  outgoing.writeHead(status, headers);
  if (unreadBytes === 0) outgoing.end(body ?? undefined);
  else endBehindRequest(outgoing, body);
}

/** Bytes of the body that the request declares; 0 once it has arrived as a whole. */
export function unreadBodyBytes({ complete, headers }: IncomingMessage): number {
  if (complete) return 0;
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity;
}

const awaitingRequest = new WeakSet<ServerResponse>();

/** Whether all of the answer was handed over, though the request is still coming. */
export function isAheadOfRequest(outgoing: ServerResponse): boolean {
  return awaitingRequest.has(outgoing);
}

/**
 * The caller gets the answer at once, and it ends with the request: closed in the middle of what a caller sends, a
 * connection is reset, and the answer may be lost with it (RFC 9112 section 9.6). A request that never ends is refused as late.
 */
function endBehindRequest(outgoing: ServerResponse, body: string | Uint8Array | null): void {
  const { req } = outgoing;
  if (body === null || req.method === 'HEAD') outgoing.flushHeaders();
  else outgoing.write(body);
  // A caller that waits for 100 (Continue) sends no body and gets this answer instead.
  if (awaitingContinue.has(req)) return void outgoing.end();
  awaitingRequest.add(outgoing);
  finished(req, { writable: false }, () => outgoing.end());
  // A reader that has begun would hold back what it does not take.
  req.removeAllListeners('data').resume();
}

const awaitingContinue = new WeakSet<IncomingMessage>();

/** Sends 100 (Continue) once the body is read: a caller that is refused before need not send it. */
export function continueWhenRead(incoming: IncomingMessage, outgoing: ServerResponse): void {
  awaitingContinue.add(incoming);
  incoming.once('resume', () => {
    if (outgoing.headersSent) return;
    awaitingContinue.delete(incoming);
    outgoing.writeContinue();
  });
}

/** As `sendStream`, of a body that needs no stream around it. */
async function sendPieces(
  { status, headers, onFailed }: Answer,
  pieces: AsyncGenerator<Uint8Array>,
  outgoing: ServerResponse,
): Promise<void> {
  if (outgoing.destroyed || outgoing.req.method === 'HEAD') {
    await pieces.return(undefined);
    outgoing.writeHead(status, headers).end();
    return;
  }
  outgoing.writeHead(status, headers);
  try {
    for await (const piece of pieces) {
      if (outgoing.destroyed) return;
      const isTaken = outgoing.write(piece, (error) => {
        if (!error) giveBack(piece);
      });
      if (!isTaken) await drained(outgoing);
    }
    outgoing.end();
  } catch (error) {
    if (!outgoing.destroyed) onFailed?.(error);
    outgoing.destroy();
  }
}

/**
 * The memory of a piece that has some of its own. It lies outside the heap, whose next large collection would find it,
 * and brings that about: the whole heap was gone through for every 11 MB of answers.
 */
function giveBack({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/** Resolves when it takes more, or never will. */
function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      outgoing.off('drain', done).off('close', done);
      resolve();
    };
    outgoing.on('drain', done).on('close', done);
  });
}

/**
 * Writes the answer while its body comes. The body is cancelled when the caller goes away; when it fails, the
 * connection ends in the middle, which tells the caller that something is missing. Resolves in either case.
 */
async function sendStream(
  { status, headers, onFailed }: Answer,
  source: Readable,
  outgoing: ServerResponse,
): Promise<void> {
  if (outgoing.destroyed) {
    // Its cancelling is not waited for: nobody is left to be told how that went.
    source.on('error', () => undefined).destroy();
    return;
  }
  let failure: { error: unknown } | undefined;
  source.once('error', (error) => {
    if (!outgoing.destroyed) failure = { error };
  });
  outgoing.writeHead(status, headers);
  outgoing.flushHeaders();
  await pipeline(source, outgoing).catch((error: unknown) => {
    if (failure) onFailed?.(error);
  });
}
