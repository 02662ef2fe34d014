/**
 * Answers: JSON with the exact content type of the contract, the one error envelope, and the only mapping
 * from error kind to status (docs/interface/http.md#answers and docs/interface/http.md#errors).
 */
import { STATUS_CODES } from 'node:http';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type ErrorKind, GatewayError, gatewayError, type Problem } from '../../lib/errors.ts';
import { asSystemFault } from '../../lib/system-fault.ts';
import type { EpochMs } from '../../lib/time.ts';

const STATUS: Record<ErrorKind, number> = {
  invalid_argument: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  unsupported_media_type: 415,
  conflict: 409,
  too_large: 413,
  unprocessable: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
  timeout: 504,
};

/** Kinds that are told with `Retry-After` (docs/interface/http.md#errors), and how long when nobody knows better. */
const PASSES_BY: ReadonlySet<ErrorKind> = new Set(['rate_limited', 'unavailable']);
const RETRY_AFTER_S = 5;

/** A whole answer, lighter than a `Response`: its headers are neither copied nor checked nor sorted before they go out. */
export interface Answer {
  status: number;
  /** Names in lower case; of several values each has a line of its own. */
  headers: Record<string, string | string[]>;
  /** A stream of the runtime's own kind is written without another one around it. */
  body: string | Uint8Array | Readable | ReadableStream<Uint8Array> | AsyncGenerator<Uint8Array> | null;
  /** Told when a body that comes bit by bit breaks. */
  onFailed?: (error: unknown) => void;
}

/** Headers of every JSON answer: no charset, clients compare the whole string. */
export const JSON_HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' } as const;

/**
 * Headers of every answer, of whatever status. What is no page may load nothing and be shown in no frame
 * (W3C Content Security Policy Level 3); pages bring a policy of their own, which stays.
 */
export function addCommonHeaders(headers: Answer['headers'], requestId: string): Answer['headers'] {
  headers['x-request-id'] = requestId;
  headers['x-content-type-options'] = 'nosniff';
  headers['x-frame-options'] = 'DENY';
  headers['referrer-policy'] = 'no-referrer';
  headers['content-security-policy'] ??= "default-src 'none'; frame-ancestors 'none'";
  return headers;
}

export function commonHeaders(requestId: string): Answer['headers'] {
  return addCommonHeaders({}, requestId);
}

/** RFC 6797; for this host only, because other hosts of its domain are not ours. */
export const STRICT_TRANSPORT = { 'strict-transport-security': 'max-age=15552000' } as const;

/** The HTTP status of a kind of error; the only mapping between the two. */
export function statusOf(kind: ErrorKind): number {
  return STATUS[kind];
}

/** Texts of this many characters or more are compressed for callers that offer it. */
const COMPRESSED_FROM = 1_400;
const compress = promisify(gzip);

/** A successful answer; compressed when the caller offers gzip and it pays. */
export function jsonAnswer(body: unknown, acceptEncoding: string | undefined): Answer | Promise<Answer> {
  const text = JSON.stringify(body ?? {});
  if (text.length < COMPRESSED_FROM || !acceptsGzip(acceptEncoding))
    return { status: 200, headers: { ...JSON_HEADERS }, body: text };
  const headers = { ...JSON_HEADERS, 'content-encoding': 'gzip', vary: 'Accept-Encoding' };
  return compress(text).then((bytes) => ({ status: 200, headers, body: bytes }));
}

const GZIP = /(?:^|,)\s*gzip\s*(?:;\s*q=([\d.]+)\s*)?(?:,|$)/i;
const ANY_CODING = /(?:^|,)\s*\*\s*(?:;\s*q=([\d.]+)\s*)?(?:,|$)/i;

/** Whether a header Accept-Encoding offers gzip: by name, or with all that it does not name (RFC 9110 section 12.5.3). */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  const offer = GZIP.exec(acceptEncoding) ?? ANY_CODING.exec(acceptEncoding);
  return offer !== null && Number(offer[1] ?? 1) > 0;
}

/** The error envelope; what is neither a `GatewayError` nor the system's fault becomes a bare 500 without inner text. */
export function errorAnswer(error: unknown, extraHeaders: Answer['headers'] = {}): Answer {
  const fault = asSystemFault(error);
  const known = fault instanceof GatewayError ? fault : internalError(error);
  const retryAfterS = known.retryAfterS ?? (PASSES_BY.has(known.kind) ? RETRY_AFTER_S : undefined);
  const headers: Answer['headers'] = {
    ...JSON_HEADERS,
    ...(retryAfterS !== undefined && { 'retry-after': String(retryAfterS) }),
    ...extraHeaders,
  };
  return { status: statusOf(known.kind), headers, body: envelope(known.problems) };
}

export function answerOf({ status, headers, body }: Response): Answer {
  const cookies = headers.getSetCookie();
  // Of other headers with several values those are joined already.
  const joined: Answer['headers'] = Object.fromEntries(headers);
  return { status, headers: cookies.length > 0 ? { ...joined, 'set-cookie': cookies } : joined, body };
}

/** A file that a browser saves under this name, and nobody keeps on the way. */
export function attachment(
  body: string | Uint8Array | ReadableStream<Uint8Array>,
  mediaType: string,
  fileName: string,
): Response {
  return new Response(body instanceof Uint8Array ? Buffer.from(body) : body, {
    headers: {
      'Content-Type': mediaType,
      'Content-Disposition': `attachment; filename="${fileName}"`,
      'Cache-Control': 'no-store',
      ...(body instanceof Uint8Array && { 'Content-Length': String(body.length) }),
    },
  });
}

/** For callers without a socket. @param isHeadOnly leaves the body out */
export function responseOf({ status, headers, body }: Answer, isHeadOnly = false): Response {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((each): [string, string] => [name, each]),
  );
  return new Response(isHeadOnly ? null : forResponse(body), { status, headers: lines });
}

function forResponse(body: Answer['body']) {
  if (body instanceof Readable) return Readable.toWeb(body) as ReadableStream<Uint8Array>;
  return isGenerator(body) ? ReadableStream.from(body) : body;
}

/** As bytes of HTTP/1.1, for a socket that ends with it and on which Node answers nothing itself. */
export function httpText({ status, headers, body }: Answer, wallMs: EpochMs): string {
  const text = typeof body === 'string' ? body : '';
  const all = {
    ...headers,
    date: httpDate(wallMs),
    connection: 'close',
    'content-length': Buffer.byteLength(text),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, '', text].join('\r\n');
}

/** RFC 9110 section 5.6.7; devices set their clocks by it. */
export function httpDate(wallMs: EpochMs): string {
  return new Date(wallMs).toUTCString();
}

export function isGenerator(body: Answer['body']): body is AsyncGenerator<Uint8Array> {
  return typeof body === 'object' && body !== null && 'next' in body;
}

export function envelope(problems: readonly Problem[]): string {
  return JSON.stringify({ errors: problems });
}

function internalError(cause: unknown): GatewayError {
  return gatewayError(
    'internal',
    'internal_error',
    'The gateway failed to answer this request.',
    undefined,
    cause,
  );
}

/** The answer of a list that is at hand as a whole: the page that is asked for, and how many items there are. */
export function listed<const Name extends string, Item, OnWire>(
  name: Name,
  all: readonly Item[],
  toWire: (item: Item) => OnWire,
  { limit, offset }: { limit: number; offset: number },
) {
  const items = all.slice(offset, offset + limit).map((item) => toWire(item));
  return { [name]: items, total_count: all.length } as Record<Name, OnWire[]> & { total_count: number };
}
