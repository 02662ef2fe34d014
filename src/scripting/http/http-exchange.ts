/**
 * One HTTP request of a script with everything that belongs to it: redirects, cookies, compression, time limit,
 * size limit. Source: docs/interface/lua-devices.md#http; RFC 9110 for redirects; RFC 6265 for cookies, in the small.
 */
import type { Agent, IncomingMessage, request as Request } from 'node:http';
import type { Socket } from 'node:net';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';
import { hostOf, leadingZeros } from '../../lib/address.ts';
import { messageOf } from '../../lib/errors.ts';
import { withoutSecrets } from '../../lib/redaction.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { type Cookie, cookieHeader, rememberCookies } from './cookies.ts';
import { type DigestChallenge, digestChallenge, digestHeader, type DigestLogin } from './digest.ts';

/** A request of a script. */
export interface HttpExchange {
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

/** Answer of a server, whatever its status. */
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
  /** Logins that servers asked for, by origin and user, so that the next request is let in at once. */
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
/** Headers that are not carried to another origin. */
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

const isHangUp = (error: Error): boolean =>
  'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');

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

const linesOf = (raw: readonly string[]): [string, string][] =>
  Array.from({ length: raw.length / 2 }, (_, line) => [raw[2 * line] ?? '', raw[2 * line + 1] ?? '']);

const DNS_CODES: ReadonlySet<string> = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL']);
const CONNECTION_TEXTS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', 'connection reset'],
  ['EPIPE', 'connection reset'],
  ['EHOSTUNREACH', 'no route to host'],
  ['ENETUNREACH', 'no route to network'],
  ['ETIMEDOUT', 'timeout'],
]);

/** Codes of OpenSSL and Node for a certificate that is not accepted. */
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

// Repairs the head of an answer before Node's parser reads it, which takes no blank before a colon and no second
// Content-Length. Small devices send both, and what they mean is clear (RFC 9112, 5.1 and 6.3).

/** A head of more bytes goes on as it is. */
const HEAD_BYTES_MAX = 65_536;
const START = 'HTTP/';
const INFORMATION = /^HTTP\/\S+ 1(?!01)/;

/** Reads the next answer of a connection; called once for each request. */
function repairAnswerHead(socket: Socket): void {
  const push = (bytes: Buffer | null): boolean =>
    (Object.getPrototypeOf(socket) as Socket).push.call(socket, bytes);
  let head: Buffer | undefined = Buffer.alloc(0);
  /** 1xx answers before the real one; more are no server of HTTP (RFC 9110, 15.2). */
  let interimLeft = 16;
  socket.push = (bytes: Buffer | null): boolean => {
    if (head === undefined) return push(bytes);
    if (bytes === null) {
      if (head.length > 0) push(head);
      return push(null);
    }
    head = Buffer.concat([head, bytes]);
    const text = head.toString('latin1');
    const isHttp = text.startsWith(START.slice(0, text.length));
    const end = isHttp ? /\r?\n\r?\n/.exec(text) : undefined;
    if (end === null && head.length <= HEAD_BYTES_MAX) return true;
    const size = end ? end.index + end[0].length : 0;
    const rest = head.subarray(size);
    // Another head follows one that is for information only.
    const isInterim = size > 0 && INFORMATION.test(text);
    if (isInterim && interimLeft-- === 0) return !socket.destroy(new Failure('1xx answers without an end'));
    head = isInterim ? Buffer.alloc(0) : undefined;
    const hasRoom = push(Buffer.from(repaired(text.slice(0, size)), 'latin1'));
    return rest.length > 0 ? socket.push(rest) : hasRoom;
  };
}

/** The head with names next to their colons, and with one length where equal ones were repeated. */
function repaired(head: string): string {
  const named = head.replace(/^([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]+:/gm, '$1:');
  const lengths = [...named.matchAll(/^content-length:(.*)$/gim)].flatMap(([, value = '']) =>
    value.split(','),
  );
  const [first = '', ...more] = lengths.map((value) => value.trim());
  if (more.length === 0 || !/^\d+$/.test(first) || more.some((value) => value !== first)) return named;
  let isKept = false;
  return named.replace(/^(content-length:).*(\r?\n)/gim, (_line, name: string, end: string) => {
    if (isKept) return '';
    isKept = true;
    return `${name} ${first}${end}`;
  });
}

// Bodies in the encoding that scripts read: UTF-8 without a byte order mark.

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** @param contentType the header; a charset that is not known, or none, leaves the bytes as they are */
function bodyText(body: Buffer, contentType = ''): Buffer {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1];
  const decoder = charset === undefined ? undefined : decoderOf(charset);
  if (decoder !== undefined) return Buffer.from(decoder.decode(body));
  return body.subarray(0, 3).equals(BYTE_ORDER_MARK) ? body.subarray(3) : body;
}

/** UTF-8 needs none, and bytes that only claim to be UTF-8 stay as they are. */
function decoderOf(charset: string): TextDecoder | undefined {
  try {
    const decoder = new TextDecoder(charset);
    return decoder.encoding === 'utf-8' ? undefined : decoder;
  } catch {
    return undefined;
  }
}

// The connections of scripts to servers of HTTP: kept for the next request. A request that must not be carried out twice has a
// connection of its own, because a server may close a kept one at the moment when it is used again.

const KEPT = { keepAlive: true, maxFreeSockets: 4, timeout: 60_000 };
/** Methods that may be carried out twice without harm (RFC 9110, 9.2.1). */
const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

interface Client {
  request: typeof Request;
  /** Keeps connections for the next request. */
  kept: Agent;
  /** One request, one connection. */
  single: Agent;
}

let clients: Record<'plain' | 'strict' | 'lenient', Client> | undefined;

/** The function and the agent for one request to a server of `protocol`. */
function connectionFor(
  method: string,
  protocol: string,
  insecureTls: boolean,
): { request: typeof Request; agent: Agent } {
  const { kept, single, request } = clientOf(protocol, insecureTls);
  return { request, agent: REPEATABLE.has(method) ? kept : single };
}

/**
 * Loaded with the first request, because most scripts never ask; and not by `import`, which fetches all that `node:http`
 * offers, an engine for `fetch` among it: 16 MB in every thread of scripts.
 */
function loadClients(): NonNullable<typeof clients> {
  const http = process.getBuiltinModule('node:http');
  const https = process.getBuiltinModule('node:https');
  const plain = { request: http.request, kept: new http.Agent(KEPT), single: new http.Agent() };
  const overTls = (options: object): Client => ({
    request: https.request,
    kept: new https.Agent({ ...KEPT, ...options }),
    single: new https.Agent(options),
  });
  return { plain, strict: overTls({}), lenient: overTls({ rejectUnauthorized: false }) };
}

function clientOf(protocol: string, insecureTls: boolean): Client {
  clients ??= loadClients();
  if (protocol === 'http:') return clients.plain;
  return insecureTls ? clients.lenient : clients.strict;
}
