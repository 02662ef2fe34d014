/**
 * Callers that go away. What was done for them ends at its source, and it is nobody's fault: whatever throws the
 * reason of the signal is answered, to nobody, like any refusal.
 */
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
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
 * something is missing
 */
export function send(answer: Answer, outgoing: ServerResponse): Promise<void> | void {
  const { status, headers, body } = answer;
  const isHeadOnly = outgoing.req.method === 'HEAD';
  if (body instanceof ReadableStream)
    return isHeadOnly
      ? body.cancel().then(() => void outgoing.writeHead(status, headers).end())
      : sendStream(answer, body, outgoing);
  if (isGenerator(body)) return sendPieces(answer, body, outgoing);
  if (body !== null) headers['content-length'] = String(Buffer.byteLength(body));
  outgoing.writeHead(status, headers).end(body ?? undefined);
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
      if (!outgoing.write(piece)) await drained(outgoing);
    }
    outgoing.end();
  } catch (error) {
    if (!outgoing.destroyed) onFailed?.(error);
    outgoing.destroy();
  }
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
  body: ReadableStream<Uint8Array>,
  outgoing: ServerResponse,
): Promise<void> {
  const source = Readable.fromWeb(body);
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
