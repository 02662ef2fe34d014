/** Digest authentication of a client (RFC 7616, RFC 2617 for older devices). */
import { createHash, randomBytes } from 'node:crypto';

export interface DigestLogin {
  user: string;
  password: string;
}

/** The login that a server asks for; each further request with it counts one more. */
export interface DigestChallenge {
  parameters: ReadonlyMap<string, string>;
  /** Requests so far. */
  count: number;
}

/** Best first. */
const ALGORITHMS = ['sha-256', 'sha-512-256', 'md5'].flatMap((name) => [name, `${name}-sess`]);
const CNONCE_BYTES = 12;

/** A word alone is a scheme, one with a value a parameter. */
const PART = /(?<![\w-])([\w-]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"?|([^\s,"]*)))?/g;

/** The best challenge of the `WWW-Authenticate` lines that can be answered; undefined: none of digest. */
export function digestChallenge(lines: readonly string[]): DigestChallenge | undefined {
  const found: Map<string, string>[] = [];
  for (const line of lines) {
    let parameters: Map<string, string> | undefined;
    for (const [, word = '', quoted, plain] of line.matchAll(PART)) {
      const value = quoted?.replace(/\\(.)/g, '$1') ?? plain;
      if (value !== undefined) parameters?.set(word.toLowerCase(), value);
      else {
        parameters = word.toLowerCase() === 'digest' ? new Map() : undefined;
        if (parameters) found.push(parameters);
      }
    }
  }
  const [best] = found
    .filter((parameters) => parameters.has('nonce') && rankOf(parameters) >= 0 && qopOf(parameters) !== null)
    .toSorted((a, b) => rankOf(a) - rankOf(b));
  return best && { parameters: best, count: 0 };
}

type Parameters = DigestChallenge['parameters'];
const algorithmOf = (given: Parameters): string => (given.get('algorithm') ?? 'md5').toLowerCase();
const rankOf = (given: Parameters): number => ALGORITHMS.indexOf(algorithmOf(given));

/** Undefined: the server knows none; null: it knows others only. */
function qopOf(parameters: Parameters): 'auth' | 'auth-int' | undefined | null {
  const given = parameters
    .get('qop')
    ?.toLowerCase()
    .match(/[^\s,]+/g);
  return given && ((['auth', 'auth-int'] as const).find((known) => given.includes(known)) ?? null);
}

/** The `Authorization` header of the next request, one character for each byte. */
export function digestHeader(
  challenge: DigestChallenge,
  { user, password }: DigestLogin,
  { method, url, body }: { method: string; url: string; body?: Uint8Array | undefined },
  random: (bytes: number) => Buffer = randomBytes,
): string {
  const cnonce = random(CNONCE_BYTES).toString('base64');
  const { parameters } = challenge;
  challenge.count += 1;
  const { pathname, search } = new URL(url);
  const [algorithm = '', session] = algorithmOf(parameters).split(/(-sess)$/);
  const hash = (data: string | Uint8Array): string =>
    createHash(algorithm.replace('sha-', 'sha')).update(data).digest('hex');
  const { realm = '', nonce = '', opaque } = Object.fromEntries(parameters);
  const uri = pathname + search;
  const nc = challenge.count.toString(16).padStart(8, '0');
  const qop = qopOf(parameters);
  const secret = hash(`${user}:${realm}:${password}`);
  const ha1 = session ? hash(`${secret}:${nonce}:${cnonce}`) : secret;
  const counted = qop ? `${nc}:${cnonce}:${qop}:` : '';
  const whole = qop === 'auth-int' ? `:${hash(body ?? '')}` : '';
  const response = hash(`${ha1}:${nonce}:${counted}${hash(`${method}:${uri}${whole}`)}`);
  const quoted = (value: string): string => `"${value.replace(/["\\]/g, '\\$&')}"`;
  const text = [
    `username=${quoted(user)}, realm=${quoted(realm)}, nonce=${quoted(nonce)}, uri=${quoted(uri)}`,
    ...(parameters.has('algorithm') ? [`algorithm=${parameters.get('algorithm')}`] : []),
    `response="${response}"`,
    ...(opaque === undefined ? [] : [`opaque=${quoted(opaque)}`]),
    ...(qop ? [`qop=${qop}, nc=${nc}`] : []),
    ...(qop || session ? [`cnonce="${cnonce}"`] : []),
  ].join(', ');
  return `Digest ${Buffer.from(text).toString('latin1')}`;
}
