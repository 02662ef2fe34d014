/** Shows the answer of a device at one address, so that the author of a template sees its fields. GET only. */
import { invalidBody } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { OwnNetwork } from '../../platform/host/index.ts';
import { type HttpAnswer, HttpClient, HttpFailure } from '../../platform/http-client/index.ts';
import type { HttpRead } from './model.ts';
import { requireOwnAddress } from './networks.ts';

/**
 * The address that may be read: that of a device in a network of the gateway, as a number, so that no name can lead
 * elsewhere. @throws GatewayError invalid_body
 */
export function readableUrl(text: string, own: readonly OwnNetwork[]): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw invalidBody('url', 'Field "url" must be an address such as http://192.168.1.20/status.');
  if (url.username !== '' || url.password !== '')
    throw invalidBody('url', 'Field "url" must be without user and password.');
  requireOwnAddress('url', url.hostname, own);
  return url;
}

/**
 * Sends one request. No redirection is followed, so that a device cannot be used to read other servers of the network.
 */
export async function readHttp(
  url: URL,
  { clock, limits }: { clock: Clock; limits: Limits['deviceSearch'] },
  signal: AbortSignal,
): Promise<HttpRead> {
  const client = new HttpClient({
    clock,
    timeoutMs: limits.httpReadMs,
    answerMaxBytes: limits.httpAnswerBytes,
  });
  try {
    const headers = { Accept: 'application/json' };
    const answer = await client.send({ method: 'GET', url, headers }, signal);
    const problem = problemOf(answer, url);
    return problem === undefined
      ? { isUsable: true, message: `${url.host} answers.`, text: answer.text }
      : { isUsable: false, message: problem };
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error;
    return { isUsable: false, message: error.message };
  } finally {
    client.close();
  }
}

/** Undefined: it is JSON. */
function problemOf({ status, text }: HttpAnswer, { host }: URL): string | undefined {
  if (status >= 300 && status <= 399)
    return `${host} answered ${status}: it sends elsewhere, which is not followed.`;
  if (status === 401 || status === 403)
    return `${host} answered ${status}: it asks for a user and a password.`;
  if (status < 200 || status > 299) return `${host} answered ${status}.`;
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    // Pages and plain texts.
    return `${host} answers, and not in JSON.`;
  }
}
