/**
 * One HTTP request of a script with everything that belongs to it: redirects, cookies, compression, time limit,
 * size limit. Source: docs/interface/lua-devices.md#http; RFC 9110 for redirects; RFC 6265 for cookies, in the small.
 */
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';
import { hostOf, leadingZeros } from '../../lib/address.ts';
import { messageOf } from '../../lib/errors.ts';
import { withoutSecrets } from '../../lib/redaction.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { repairAnswerHead } from './answer-head.ts';
import { bodyText } from './body-text.ts';
import { connectionFor } from './connections.ts';
import { type Cookie, cookieHeader, rememberCookies } from './cookies.ts';
import { type DigestChallenge, digestChallenge, digestHeader, type DigestLogin } from './digest.ts';

interface HttpExchange {
  method: string;
  url: string;
  /** Names as the script wrote them. */
  headers: readonly (readonly [name: string, value: string])[];
  body: Buffer | undefined;
  timeoutMs: DurationMs;
  insecureTls: boolean;
  /** Cookies of the client; undefined: it has no jar. */
  jar: readonly Cookie[] | undefined;
  /** Answers a server that asks for digest authentication. */
  digest?: DigestLogin | undefined;
}

export interface HttpAnswer {
  code: number;
  /** One entry per header line. */
  headers: readonly (readonly [name: string, value: string])[];
  body: Buffer;
  jar: readonly Cookie[] | undefined;
}

interface Means {
  clock: Clock;
  limits: { httpBodyBytes: number; httpRedirects: number; httpCookies: number; httpDigests: number };
  /** What servers asked for, by origin and user, so that the next request is let in at once. */
  challenges?: Map<string, DigestChallenge>;
}

/** Carries it out. A text is what went wrong, for the script; every answered request is an answer. */
export async function exchangeHttp(request: HttpExchange, means: Means): Promise<HttpAnswer | string> {
  const stop = new AbortController();
  const timer = means.clock.setTimer(request.timeoutMs, () => stop.abort());
  try {
    return await follow(request, stop.signal, means);
  } catch (error) {
    if (stop.signal.aborted) return 'timeout';
    return failureText(error);
  } finally {
    timer.cancel();
  }
}

/** Why the URL cannot be used; undefined when it can. */
export function urlProblem(url: string): string | undefined {
  if (!URL.canParse(url)) return `the URL ${JSON.stringify(withoutSecrets(url.slice(0, 200)))} is not valid`;
  const zeros = leadingZeros(hostOf(url) ?? '');
  if (zeros !== undefined) return zeros;
  const { protocol } = new URL(url);
  return protocol === 'http:' || protocol === 'https:'
    ? undefined
    : `the scheme ${protocol.slice(0, -1)} is not supported`;
}

async function follow(request: HttpExchange, signal: AbortSignal, means: Means): Promise<HttpAnswer> {
  const { clock, limits } = means;
  let current = request;
  for (let redirects = 0; ; redirects += 1) {
    const answer = await authorised(current, signal, means);
    const jar =
      current.jar &&
      rememberCookies(current.jar, current.url, answer.headers, clock.wallMs(), limits.httpCookies);
    const next = redirectOf(current, answer);
    if (next === undefined) return { ...answer, jar };
    if (redirects >= limits.httpRedirects) throw new Failure(`more than ${limits.httpRedirects} redirects`);
    current = { ...next, jar };
  }
}

/** A failure whose text is for the script. */
class Failure extends Error {}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Not carried to another origin. */
const PRIVATE_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization']);

function redirectOf(request: HttpExchange, { code, headers }: Received): HttpExchange | undefined {
  const location = headers.find(([name]) => name.toLowerCase() === 'location')?.[1];
  if (!REDIRECTS.has(code) || location === undefined || !URL.canParse(location, request.url))
    return undefined;
  const url = new URL(location, request.url);
  if (urlProblem(url.href) !== undefined) return undefined;
  const isSameOrigin = url.origin === new URL(request.url).origin;
  const keepsBody = code === 307 || code === 308;
  const isSafe = request.method === 'GET' || request.method === 'HEAD';
  const carried = request.headers.filter(([name]) => {
    const word = name.toLowerCase();
    if (!isSameOrigin && (PRIVATE_HEADERS.has(word) || word === 'host')) return false;
    return keepsBody || isSafe || !word.startsWith('content-');
  });
  const digest = isSameOrigin ? request.digest : undefined;
  if (keepsBody || isSafe) return { ...request, url: url.href, headers: carried, digest };
  return { ...request, url: url.href, headers: carried, digest, method: 'GET', body: undefined };
}

type Received = Omit<HttpAnswer, 'jar'>;

/** Asks with the login of the request once the server has said how it wants it. */
async function authorised(request: HttpExchange, signal: AbortSignal, means: Means): Promise<Received> {
  const { digest } = request;
  if (digest === undefined) return send(request, signal, means);
  const { challenges = new Map<string, DigestChallenge>(), limits } = means;
  const key = `${new URL(request.url).origin} ${digest.user}`;
  const withLogin = (challenge: DigestChallenge): HttpExchange => {
    const line = ['Authorization', digestHeader(challenge, digest, request)] as const;
    return { ...request, headers: [...withoutAuthorization(request.headers), line] };
  };
  const known = challenges.get(key);
  const answer = await send(known ? withLogin(known) : request, signal, means);
  if (answer.code !== 401) return answer;
  const lines = answer.headers.filter(([name]) => name.toLowerCase() === 'www-authenticate');
  const challenge = digestChallenge(lines.map(([, value]) => value));
  challenges.delete(key);
  if (challenge === undefined) return answer;
  const second = await send(withLogin(challenge), signal, means);
  if (second.code === 401) return second;
  const [oldest] = challenges.keys();
  if (oldest !== undefined && challenges.size >= limits.httpDigests) challenges.delete(oldest);
  challenges.set(key, challenge);
  return second;
}

function withoutAuthorization(headers: HttpExchange['headers']): HttpExchange['headers'] {
  return headers.filter(([name]) => name.toLowerCase() !== 'authorization');
}

/**
 * A server may be closing a connection that was used before at this very moment. So what must not be carried out twice
 * has a connection of its own, and anything else goes again when nothing of an answer came.
 */
async function send(request: HttpExchange, signal: AbortSignal, means: Means): Promise<Received> {
  for (;;) {
    const answer = await sendOnce(request, signal, means);
    if (answer !== 'stale connection') return answer;
  }
}

function sendOnce(
  request: HttpExchange,
  signal: AbortSignal,
  { clock, limits }: Means,
): Promise<Received | 'stale connection'> {
  const url = new URL(request.url);
  const chosen = request.headers.some(([name]) => name.toLowerCase() === 'accept-encoding');
  const connection = connectionFor(request.method, url.protocol, request.insecureTls);
  return new Promise((resolve, reject) => {
    let received: IncomingMessage | undefined;
    // Devices end lines with a line feed alone or say the length of chunks twice: what they mean is clear.
    const { agent } = connection;
    const options = { method: request.method, signal, agent, insecureHTTPParser: true };
    const sending = connection.request(url, options);
    sending.on('socket', repairAnswerHead);
    sending.on('error', (error) => {
      // Bytes behind a whole answer belong to no request.
      if (received?.complete) return;
      const isStale = received === undefined && sending.reusedSocket && isHangUp(error);
      if (isStale && !signal.aborted) resolve('stale connection');
      else reject(error);
    });
    // One that switches to another protocol has neither an error nor an answer.
    sending.on('close', () => {
      if (received === undefined) reject(new Failure('the connection was closed without an answer'));
    });
    for (const [name, value] of headerLines(request, url, clock, chosen)) sending.setHeader(name, value);
    sending.on('response', (response) => {
      received = response;
      answerOf(response, chosen, limits.httpBodyBytes).then(resolve, (error: Error) => {
        sending.destroy();
        reject(error);
      });
    });
    sending.end(request.body);
  });
}

function isHangUp(error: Error): boolean {
  return 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
}

/** `isRaw`: the script asked for an encoding of its own and gets the bytes as they are. */
async function answerOf(response: IncomingMessage, isRaw: boolean, bytesMax: number): Promise<Received> {
  const raw = await receive(response, bytesMax);
  const { headers } = response;
  const body = isRaw
    ? raw
    : bodyText(await decoded(raw, headers['content-encoding'], bytesMax), headers['content-type']);
  return { code: response.statusCode ?? 0, headers: linesOf(response.rawHeaders), body };
}

/** They say where the body ends, which the length of the body alone decides. */
const FRAMING_HEADERS: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);

/** Lines with the same name become one header with several values. */
function headerLines(
  request: HttpExchange,
  url: URL,
  clock: Clock,
  chosen: boolean,
): Map<string, string | string[]> {
  const lines = new Map<string, string | string[]>();
  if (!chosen) lines.set('Accept-Encoding', 'gzip, deflate, br');
  if (request.body !== undefined) lines.set('Content-Length', String(request.body.length));
  for (const [name, value] of request.headers) {
    if (FRAMING_HEADERS.has(name.toLowerCase())) continue;
    const before = lines.get(name);
    lines.set(name, before === undefined ? value : [before, value].flat());
  }
  const cookies = request.jar && cookieHeader(request.jar, url, clock.wallMs());
  if (cookies !== undefined && cookies !== '') {
    const own = [lines.get('Cookie') ?? []].flat();
    lines.set('Cookie', [...own, cookies].join('; '));
  }
  return lines;
}

async function receive(response: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > bytesMax) throw new Failure(`the body has more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function decoded(raw: Buffer, encoding: string | undefined, bytesMax: number): Promise<Buffer> {
  // Some leave the envelope out, whose first byte names the method 8.
  const isBare = ((raw[0] ?? 0) & 0x0f) !== 8;
  const decode = {
    gzip: gunzip,
    'x-gzip': gunzip,
    deflate: isBare ? inflateRaw : inflate,
    br: brotliDecompress,
  }[encoding?.trim().toLowerCase() ?? ''];
  if (decode === undefined || raw.length === 0) return raw;
  try {
    return await promisify<Buffer, { maxOutputLength: number }, Buffer>(decode)(raw, {
      maxOutputLength: bytesMax,
    });
  } catch (cause) {
    throw new Failure(`the body cannot be decompressed: ${messageOf(cause)}`, { cause });
  }
}

function linesOf(raw: readonly string[]): [string, string][] {
  const lines: [string, string][] = [];
  for (let index = 0; index + 1 < raw.length; index += 2)
    lines.push([raw[index] ?? '', raw[index + 1] ?? '']);
  return lines;
}

const DNS_CODES: ReadonlySet<string> = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL']);
const CONNECTION_TEXTS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', 'connection reset'],
  ['EPIPE', 'connection reset'],
  ['EHOSTUNREACH', 'no route to host'],
  ['ENETUNREACH', 'no route to network'],
  ['ETIMEDOUT', 'timeout'],
]);

/** Of OpenSSL and Node, for a certificate that is not accepted. */
const CERTIFICATE_CODES =
  /CERT|ALTNAME|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_(?:CA|PURPOSE)|PATH_LENGTH/;

/** Why a connection failed, in the words of scripts. */
export function failureText(error: unknown): string {
  if (error instanceof Failure) return error.message;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const hostname = error instanceof Error && 'hostname' in error ? String(error.hostname) : '';
  if (DNS_CODES.has(code)) return `dns: ${hostname} is not known`;
  const known = CONNECTION_TEXTS.get(code);
  if (known !== undefined) return known;
  // OpenSSL's own texts are for programmers; its reason is for people.
  const own = messageOf(error);
  const named = /:SSL routines:[^:]*:([^:]+)/.exec(own)?.[1] ?? own;
  const reason = error instanceof Error && 'reason' in error ? String(error.reason) : named;
  if (CERTIFICATE_CODES.test(code))
    return `tls: ${reason}; with the option insecure_tls the certificate is not checked`;
  if (/EPROTO|TLS|SSL/.test(code)) return `tls: ${reason}`;
  return messageOf(error);
}
