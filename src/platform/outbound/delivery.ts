/** HTTP requests to servers outside whose addresses people typed. */
import { connectionFailure } from '../../lib/errors.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import { type HttpAnswer, HttpClient, HttpFailure } from '../http-client/index.ts';

interface HttpPost {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  timeoutMs: DurationMs;
  /** Ends it with the signal's reason. */
  signal: AbortSignal;
}

const ANSWER_MAX_BYTES = 1_048_576;
/** Characters of an answer that are looked at. */
const ANSWER_READ = 4_096;
/** Characters of a server's answer that go into a log. */
const SAID_LENGTH = 200;
/** Parts of an address that are not hidden in what the server repeats: they are no secrets. */
const HIDDEN_LENGTH_MIN = 8;

/**
 * Resolves when the server took it (2xx). The error has the sentence of an answer that refuses it, short and without what was secret
 * in the request; of others the status alone. No redirection is followed, so that nobody can read other servers of the
 * network by it. @throws DeliveryError
 */
export async function post({ url, headers, body, timeoutMs, signal }: HttpPost, clock: Clock): Promise<void> {
  const address = new URL(url);
  const client = new HttpClient({ clock, timeoutMs, answerMaxBytes: ANSWER_MAX_BYTES });
  let answer: HttpAnswer;
  try {
    const call = { method: 'POST', url: address, headers, body: Buffer.from(body) } as const;
    answer = await client.send(call, signal);
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error;
    throw new DeliveryError(error.message, { cause: error });
  } finally {
    client.close();
  }
  const { status } = answer;
  if (status >= 200 && status <= 299) return;
  const said = status >= 400 ? saidIn(answer.text, address, headers) : '';
  const quote = said === '' ? '' : ` It said: "${said}"`;
  throw new DeliveryError(`${address.host} answered ${status}${wordsOf(status)}.${quote}`);
}

/** The server's reason of its refusal, on one line; empty for pages and for nothing. */
function saidIn(text: string, address: URL, headers: HttpPost['headers']): string {
  const sentence = sentenceIn(text);
  if (sentence.startsWith('<')) return '';
  const secrets = [
    ...address.pathname.split('/'),
    ...address.searchParams.values(),
    headers['Authorization']?.split(' ').at(-1) ?? '',
  ].filter(({ length }) => length >= HIDDEN_LENGTH_MIN);
  return secrets
    .reduce((known, secret) => known.replaceAll(secret, '…'), sentence)
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
    .slice(0, SAID_LENGTH)
    .toWellFormed();
}

/** Members in which servers of JSON say what is wrong; others answer a plain text. */
const SAYING = ['message', 'error', 'detail', 'error_description'];

function sentenceIn(text: string): string {
  const plain = text.slice(0, ANSWER_READ).trim();
  if (!plain.startsWith('{')) return plain;
  try {
    const answer = JSON.parse(plain) as Record<string, unknown>;
    const found = SAYING.map((name) => answer[name]).find((value) => value !== undefined && value !== null);
    // As Google has it.
    const said = typeof found === 'object' && found && 'message' in found ? found.message : found;
    return typeof said === 'string' ? said : plain;
  } catch {
    // The text is not JSON, or cut.
    return plain;
  }
}

function wordsOf(status: number): string {
  if (status >= 300 && status < 400) return ': it sends elsewhere, which is not followed';
  if (status === 401 || status === 403) return ': it does not accept the token, or asks for one';
  if (status === 404) return ': there is nothing at this address';
  if (status === 429) return ': it was asked too often';
  return status >= 500 ? ': it has a fault of its own' : '';
}

// Mail to an SMTP server whose address people typed. The library is loaded with the first one.

interface Mail {
  host: string;
  port: number;
  /** STARTTLS: refused by servers that do not offer it. */
  encryption: 'TLS' | 'STARTTLS' | 'NONE';
  /** Undefined: without a login. */
  login: { username: string; password: string } | undefined;
  from: { name: string; address: string };
  to: readonly string[];
  subject: string;
  text: string;
  /** The same for each attempt at one message, so that readers show it once. */
  messageId: string;
  timeoutMs: DurationMs;
  /** Ends it with the signal's reason. */
  signal: AbortSignal;
}

/**
 * Resolves when the server took it for somebody, with a sentence about receivers that it refused.
 * @throws DeliveryError
 */
export async function sendMail(mail: Mail, clock: Clock): Promise<string | undefined> {
  const { host, port, encryption, login, timeoutMs, signal } = mail;
  const place = `${host}:${port}`;
  const { createTransport } = await import('nodemailer');
  const late = new AbortController();
  const timer = clock.setTimer(timeoutMs, () => late.abort());
  const transport = createTransport({
    host,
    port,
    secure: encryption === 'TLS',
    requireTLS: encryption === 'STARTTLS',
    ignoreTLS: encryption === 'NONE',
    ...(login && { auth: { user: login.username, pass: login.password } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    const { rejected } = await transport.sendMail({
      from: mail.from,
      to: [...mail.to],
      subject: mail.subject,
      text: mail.text,
      messageId: mail.messageId,
      // RFC 3834: no automatic reply, such as a notice of absence, answers it.
      headers: { 'Auto-Submitted': 'auto-generated' },
      signal: AbortSignal.any([signal, late.signal]),
    });
    // Another attempt would reach the others once more.
    return rejected.length > 0 ? `${place} does not take mail for ${rejected.join(', ')}.` : undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (late.signal.aborted)
      throw new DeliveryError(`${place} did not answer within ${timeoutMs / 1_000} s.`, { cause: error });
    throw new DeliveryError(problemOf(error, place, mail), { cause: error });
  } finally {
    timer.cancel();
    transport.close();
  }
}

function problemOf(error: unknown, place: string, { encryption, host }: Mail): string {
  const { code = '', responseCode } = error as { code?: string; responseCode?: number };
  const status = responseCode === undefined ? '' : ` (${responseCode})`;
  if (code === 'EAUTH') return `${place} does not accept the user name and password${status}.`;
  const known = connectionFailure(error, { host: place, hostname: host });
  if (known !== undefined) return known;
  if (code === 'ETLS' || (encryption !== 'NONE' && code === 'ESOCKET'))
    return `${place} does not offer the encryption ${encryption}, or not with a certificate to trust.`;
  if (code === 'EENVELOPE') return `${place} refuses the sender or a receiver${status}.`;
  if (responseCode !== undefined) return `${place} refused the mail${status}.`;
  return `The mail could not be handed to ${place}.`;
}

/** Something did not reach a server outside; the message is a sentence that holds of the server's answer its status and a short sentence. */
export class DeliveryError extends Error {
  override name = 'DeliveryError';
}
