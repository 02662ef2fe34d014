/**
 * Responses: JSON with the exact content type of the contract, the one error envelope, and the only mapping
 * from error kind to status (docs/interface/http.md#answers and docs/interface/http.md#errors).
 */
import { STATUS_CODES } from 'node:http';
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

/** Kinds that carry `Retry-After` (docs/interface/http.md#errors), and its value when the error has none of its own. */
const RETRIED: ReadonlySet<ErrorKind> = new Set(['rate_limited', 'unavailable']);
const RETRY_AFTER_S = 5;

type Headed = Record<string, string>;

/** Headers of every JSON response: no charset, clients compare the whole string. */
export const JSON_HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' } as const;

/**
 * Headers of every response, of whatever status. What is no page may load nothing and be shown in no frame
 * (W3C Content Security Policy Level 3); pages bring a policy of their own, which stays.
 */
export function commonHeaders(requestId: string): Headed {
  return {
    'x-request-id': requestId,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  };
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

/** A good response; compressed when the caller offers gzip and it pays. */
export async function jsonResponse(body: unknown, acceptEncoding: string | undefined): Promise<Response> {
  const text = JSON.stringify(body);
  if (text.length < COMPRESSED_FROM) return textResponse(text, 200, JSON_HEADERS);
  const headers = { ...JSON_HEADERS, vary: 'Accept-Encoding' };
  if (!acceptsGzip(acceptEncoding)) return textResponse(text, 200, headers);
  const bytes = new Uint8Array(await compress(text));
  return new Response(bytes, {
    headers: { ...headers, 'content-encoding': 'gzip', 'content-length': String(bytes.length) },
  });
}

/** With its length, which a HEAD request asks for. */
function textResponse(text: string, status: number, headers: Headed): Response {
  return new Response(text, {
    status,
    headers: { ...headers, 'content-length': String(Buffer.byteLength(text)) },
  });
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
export function errorResponse(error: unknown, extraHeaders: Headed = {}): Response {
  const fault = asSystemFault(error);
  const known = fault instanceof GatewayError ? fault : internalError(error);
  const retryAfterS = known.retryAfterS ?? (RETRIED.has(known.kind) ? RETRY_AFTER_S : undefined);
  return problemResponse(statusOf(known.kind), known.problems, {
    ...(retryAfterS !== undefined && { 'retry-after': String(retryAfterS) }),
    ...extraHeaders,
  });
}

/** The error envelope with a status that no kind of error has. */
export function problemResponse(status: number, errors: readonly Problem[], extraHeaders: Headed): Response {
  return textResponse(JSON.stringify({ errors }), status, { ...JSON_HEADERS, ...extraHeaders });
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

/** Headers of a file that a browser saves under this name, and no cache keeps. */
export function attachmentHeaders(mediaType: string, fileName: string): Headed {
  return {
    'content-type': mediaType,
    'content-disposition': `attachment; filename="${fileName}"`,
    'cache-control': 'no-store',
  };
}

/** A file that a browser saves under this name. */
export function attachment(body: string | Uint8Array, mediaType: string, fileName: string): Response {
  const bytes = Buffer.from(body);
  const headers = { ...attachmentHeaders(mediaType, fileName), 'content-length': String(bytes.length) };
  return new Response(bytes, { headers });
}

/** Pieces of a body, in order. */
export type Pieces = AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;

/** A body whose source ends early when its reader leaves. @param onFailed called instead of failing the stream */
export function streamOf(pieces: Pieces, onFailed: (error: unknown) => void): ReadableStream<Uint8Array> {
  const iterator =
    Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
  let isCancelled = false;
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    try {
      const { done, value } = await iterator.next();
      if (isCancelled) return;
      if (done) controller.close();
      else controller.enqueue(typeof value === 'string' ? Buffer.from(value) : value);
    } catch (error) {
      if (isCancelled) return;
      onFailed(error);
      controller.close();
    }
  };
  const cancel = async (): Promise<void> => {
    isCancelled = true;
    await iterator.return?.();
  };
  return new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
}

/** As bytes of HTTP/1.1, for a socket that ends with it and on which Node answers nothing itself. */
export async function httpText(response: Response, wallMs: EpochMs): Promise<string> {
  const { status } = response;
  const headers = [...response.headers, ['date', httpDate(wallMs)], ['connection', 'close']];
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, '', await response.text()].join(
    '\r\n',
  );
}

/** RFC 9110 section 5.6.7; devices set their clocks by it. */
export function httpDate(wallMs: EpochMs): string {
  return new Date(wallMs).toUTCString();
}

/** The response of a list that is at hand as a whole: the page that is asked for, and how many items there are. */
export function listed<const Name extends string, Item, OnWire>(
  name: Name,
  all: readonly Item[],
  toWire: (item: Item) => OnWire,
  { limit, offset }: { limit: number; offset: number },
) {
  const items = all.slice(offset, offset + limit).map((item) => toWire(item));
  return { [name]: items, total_count: all.length } as Record<Name, OnWire[]> & { total_count: number };
}
