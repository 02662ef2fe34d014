/** HTTP requests to servers outside whose addresses people typed. */
import type { Clock } from '../clock/index.ts';
import { connectionProblem, DeliveryError } from './delivery-error.ts';

interface HttpPost {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  timeoutMs: number;
  /** Ends it with the signal's reason. */
  signal: AbortSignal;
}

/**
 * Resolves when the server took it (2xx). Of the answer nothing but its status is read, and no redirection is followed, so
 * that nobody can read other servers of the network by it.
 * @throws DeliveryError
 */
export async function post({ url, headers, body, timeoutMs, signal }: HttpPost, clock: Clock): Promise<void> {
  const place = new URL(url).host;
  const late = new AbortController();
  const timer = clock.setTimer(timeoutMs, () => late.abort());
  let status: number;
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, late.signal]),
    });
    status = response.status;
    await response.body?.cancel();
  } catch (error) {
    signal.throwIfAborted();
    if (late.signal.aborted)
      throw new DeliveryError(`${place} did not answer within ${timeoutMs / 1_000} s.`, { cause: error });
    const problem = connectionProblem(error, place) ?? `The request to ${place} failed.`;
    throw new DeliveryError(problem, { cause: error });
  } finally {
    timer.cancel();
  }
  if (status < 200 || status > 299) throw new DeliveryError(`${place} answered ${status}${wordsOf(status)}.`);
}

function wordsOf(status: number): string {
  if (status >= 300 && status < 400) return ': it sends elsewhere, which is not followed';
  if (status === 401 || status === 403) return ': it does not accept the token, or asks for one';
  if (status === 404) return ': there is nothing at this address';
  if (status === 429) return ': it was asked too often';
  return status >= 500 ? ': it has a fault of its own' : '';
}
