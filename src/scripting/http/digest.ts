/** Digest authentication of a client: MD5 and SHA-256, qop `auth` or none (RFC 7616, RFC 2617 for older devices). */
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
const ALGORITHMS = ['sha-256', 'sha-256-sess', 'md5', 'md5-sess'];
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
  const rank = (parameters: ReadonlyMap<string, string>): number =>
    ALGORITHMS.indexOf((parameters.get('algorithm') ?? 'md5').toLowerCase());
  const [best] = found
    .filter((parameters) => parameters.has('nonce') && rank(parameters) >= 0 && hasQop(parameters))
    .toSorted((a, b) => rank(a) - rank(b));
  return best && { parameters: best, count: 0 };
}

/** `auth-int` alone cannot be answered. */
function hasQop(parameters: ReadonlyMap<string, string>): boolean {
  const qop = parameters.get('qop');
  return qop === undefined || qopsOf(qop).includes('auth');
}

const qopsOf = (qop: string): string[] => qop.toLowerCase().split(/[\s,]+/);

/** The `Authorization` header of the next request, one character for each byte. */
export function digestHeader(
  challenge: DigestChallenge,
  { user, password }: DigestLogin,
  { method, url }: { method: string; url: string },
  random: (bytes: number) => Buffer = randomBytes,
): string {
  const cnonce = random(CNONCE_BYTES).toString('base64');
  const { parameters } = challenge;
  challenge.count += 1;
  const { pathname, search } = new URL(url);
  const given = parameters.get('algorithm');
  const algorithm = (given ?? 'md5').toLowerCase();
  const hash = (text: string): string =>
    createHash(algorithm.startsWith('md5') ? 'md5' : 'sha256')
      .update(text)
      .digest('hex');
  const realm = parameters.get('realm') ?? '';
  const nonce = parameters.get('nonce') ?? '';
  const uri = pathname + search;
  const nc = challenge.count.toString(16).padStart(8, '0');
  const hasCount = parameters.get('qop') !== undefined;
  const secret = hash(`${user}:${realm}:${password}`);
  const ha1 = algorithm.endsWith('-sess') ? hash(`${secret}:${nonce}:${cnonce}`) : secret;
  const counted = hasCount ? `${nc}:${cnonce}:auth:` : '';
  const response = hash(`${ha1}:${nonce}:${counted}${hash(`${method}:${uri}`)}`);
  const quoted = (value: string): string => `"${value.replace(/["\\]/g, '\\$&')}"`;
  const opaque = parameters.get('opaque');
  const text = [
    `username=${quoted(user)}, realm=${quoted(realm)}, nonce=${quoted(nonce)}, uri=${quoted(uri)}`,
    ...(given === undefined ? [] : [`algorithm=${given}`]),
    `response="${response}"`,
    ...(opaque === undefined ? [] : [`opaque=${quoted(opaque)}`]),
    ...(hasCount ? [`qop=auth, nc=${nc}`] : []),
    ...(hasCount || algorithm.endsWith('-sess') ? [`cnonce="${cnonce}"`] : []),
  ].join(', ');
  return `Digest ${Buffer.from(text).toString('latin1')}`;
}
