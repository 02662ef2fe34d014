/**
 * The cookie that carries the token of a login in a browser. A browser adds it to whatever page asks, so it
 * counts only for requests that the gateway's own pages made: `SameSite=Strict` keeps it from other sites,
 * and changes need a sign that no other site can send (OWASP, Cross-Site Request Forgery Prevention).
 */
import { type GatewayError, gatewayError } from '../../lib/errors.ts';
import type { DurationMs, DurationS } from '../../lib/time.ts';

/**
 * A browser refuses to set over plain HTTP what it holds as `Secure` under the same name, so that each has a name of
 * its own; the prefix keeps other origins from setting the first one (RFC 6265bis, "Cookie Name Prefixes").
 */
const ENCRYPTED = '__Host-gateway_session';
const PLAIN = 'gateway_session_http';
/** The first ones count first. */
export const SESSION_COOKIES = [ENCRYPTED, PLAIN] as const;
/** Tokens that are checked in one request. */
const TOKENS_MAX = 4;

/** A request, as far as its cookies and its origin go. */
interface Headed {
  header(name: string): string | undefined;
}

/** A request whose origin may have to be judged. */
interface Placed extends Headed {
  /** Whether pages of this origin are the gateway's own. */
  isOwnOrigin(origin: string): boolean;
}

/** Value of `Set-Cookie` that a login answers with. */
export function sessionCookie(token: string, lifetimeMs: DurationMs, isEncrypted: boolean): string {
  const own = isEncrypted ? ENCRYPTED : PLAIN;
  return cookie(own, token, Math.floor(lifetimeMs / 1_000), isEncrypted);
}

/** Values of `Set-Cookie` that take away what the browser sent, and its own in any case. */
export function endedSessionCookies(isEncrypted: boolean, request: Headed): string[] {
  const own = isEncrypted ? ENCRYPTED : PLAIN;
  const sent = new Set(cookiesOf(request).map(([name]) => name));
  const ended = SESSION_COOKIES.filter((name) => name !== own && sent.has(name));
  return [own, ...ended].map((name) => cookie(name, '', 0, isEncrypted || name === ENCRYPTED));
}

function cookie(name: string, value: string, lifetimeS: DurationS, isSecure: boolean): string {
  const parts = [`${name}=${value}`, 'Path=/', 'HttpOnly', 'SameSite=Strict', `Max-Age=${lifetimeS}`];
  return (isSecure ? [...parts, 'Secure'] : parts).join('; ');
}

/** The tokens in the cookies of the request, if it may use them; the first that is valid counts. */
export function sessionTokensOf(method: string, isUpgrade: boolean, request: Placed): string[] {
  const cookies = cookiesOf(request);
  if (cookies.length === 0) return [];
  const isReading = !isUpgrade && (method === 'GET' || method === 'HEAD');
  if (!isReading && !isFromOwnPage(isUpgrade, request)) return [];
  const inOrder = SESSION_COOKIES.flatMap((wanted) => cookies.filter(([name]) => name === wanted));
  return inOrder.slice(0, TOKENS_MAX).map(([, token]) => token);
}

/** Cookies of a session with a value, in the order in which they came. */
function cookiesOf(request: Headed): [name: string, token: string][] {
  const found: [string, string][] = [];
  for (const part of (request.header('cookie') ?? '').split(';')) {
    const [, name = '', token = ''] = /^\s*([^=\s]+)=(\S+)\s*$/.exec(part) ?? [];
    if ((SESSION_COOKIES as readonly string[]).includes(name)) found.push([name, token]);
  }
  return found;
}

/**
 * Another site's script cannot set `X-Requested-With` without our leave (CORS) nor `Sec-Fetch-Site` and
 * `Origin` at all. Only the last two come with an upgrade.
 */
function isFromOwnPage(isUpgrade: boolean, request: Placed): boolean {
  const site = request.header('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  if (!isUpgrade) return request.header('x-requested-with') !== undefined;
  const origin = request.header('origin');
  return origin !== undefined && request.isOwnOrigin(origin);
}

/**
 * Why the cookies of an upgrade do not count, where that is not plain: a proxy has led a page of an address that the gateway
 * does not know. Undefined without cookies, and when the browser itself calls the page another site's.
 */
export function unknownOriginOf(request: Placed): GatewayError | undefined {
  const origin = request.header('origin');
  if (origin === undefined || cookiesOf(request).length === 0 || request.isOwnOrigin(origin))
    return undefined;
  const hint = 'set public_host to its name, or trusted_proxies to the address of the proxy';
  return gatewayError(
    'unauthenticated',
    'unknown_origin',
    `The address ${origin} is not known to the gateway; ${hint}.`,
    { origin },
  );
}

/**
 * For operations that set or take away the cookie, which a form of another site could send too: its answer would log
 * the browser in as somebody else, or out. A program says nothing about where it comes from, and a script of another
 * site sends JSON or a header of its own only with our leave (CORS). @throws GatewayError access_denied (403)
 */
export function refuseForeignForm(request: Placed): void {
  const site = request.header('sec-fetch-site');
  const origin = request.header('origin');
  const isForeign =
    site !== undefined
      ? site !== 'same-origin' && site !== 'none'
      : origin !== undefined && !request.isOwnOrigin(origin);
  const isJson = /^application\/json *(;|$)/i.test(request.header('content-type') ?? '');
  if (!isForeign || isJson || request.header('x-requested-with') !== undefined) return;
  throw gatewayError(
    'permission_denied',
    'access_denied',
    "This came from a page of another site; use the gateway's own page, or send the body as application/json.",
  );
}
