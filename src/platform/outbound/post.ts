/** HTTP requests to servers outside whose addresses people typed. */
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import { HttpClient, HttpFailure } from '../http-client/index.ts';
import { DeliveryError } from './delivery-error.ts';

interface HttpPost {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  timeoutMs: DurationMs;
  /** Ends it with the signal's reason. */
  signal: AbortSignal;
}

/** Nobody reads it. */
const ANSWER_MAX_BYTES = 1_048_576;

/**
 * Resolves when the server took it (2xx). Of the answer nothing but its status is told, and no redirection is followed, so
 * that nobody can read other servers of the network by it.
 * @throws DeliveryError
 */
export async function post({ url, headers, body, timeoutMs, signal }: HttpPost, clock: Clock): Promise<void> {
  const address = new URL(url);
  const client = new HttpClient({ clock, timeoutMs, answerMaxBytes: ANSWER_MAX_BYTES });
  let status: number;
  try {
    const call = { method: 'POST', url: address, headers, body: Buffer.from(body) } as const;
    ({ status } = await client.send(call, signal));
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error;
    throw new DeliveryError(error.message, { cause: error });
  } finally {
    client.close();
  }
  if (status < 200 || status > 299)
    throw new DeliveryError(`${address.host} answered ${status}${wordsOf(status)}.`);
}

function wordsOf(status: number): string {
  if (status >= 300 && status < 400) return ': it sends elsewhere, which is not followed';
  if (status === 401 || status === 403) return ': it does not accept the token, or asks for one';
  if (status === 404) return ': there is nothing at this address';
  if (status === 429) return ': it was asked too often';
  return status >= 500 ? ': it has a fault of its own' : '';
}
