/** Mail to an SMTP server whose address people typed. The library is loaded with the first one. */
import { connectionFailure } from '../../lib/connection-failure.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import { DeliveryError } from './delivery-error.ts';

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
