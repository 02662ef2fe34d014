/**
 * Callers that go away. What was done for them ends at its source, and it is nobody's fault: whatever throws the
 * reason of the signal is answered, to nobody, like any refusal.
 */
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GatewayError } from '../../lib/errors.ts';

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

/** Reason of what ends early although nobody did anything wrong. */
export function unavailable(message: string, retryAfterS?: number): GatewayError {
  return new GatewayError('unavailable', [{ code: 'unavailable', message }], {
    ...(retryAfterS !== undefined && { retryAfterS }),
  });
}

/**
 * Writes the answer while its body comes. The body is cancelled when the caller goes away; when it fails, the
 * connection ends in the middle, which tells the caller that something is missing. Resolves in either case.
 */
export async function sendStream(
  { status, headers }: Response,
  body: ReadableStream<Uint8Array>,
  outgoing: ServerResponse,
  onFailed: (error: unknown) => void,
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
  // Of several cookies each has a line of its own; other headers are joined already.
  const cookies = headers.getSetCookie();
  outgoing.writeHead(status, {
    ...Object.fromEntries(headers),
    ...(cookies.length > 0 && { 'set-cookie': cookies }),
  });
  outgoing.flushHeaders();
  await pipeline(source, outgoing).catch((error: unknown) => {
    if (failure) onFailed(error);
  });
}
