/** The cookies that a client of a script remembers (RFC 6265, without the list of public suffixes). Pure. */
import type { EpochMs } from '../../lib/time.ts';

export interface Cookie {
  name: string;
  value: string;
  /** Host it came from, or the domain it is for. */
  domain: string;
  isHostOnly: boolean;
  path: string;
  isSecure: boolean;
  /** Undefined: as long as the client lives. */
  expiresAtMs: EpochMs | undefined;
}

type HeaderLines = readonly (readonly [name: string, value: string])[];

/** Name, value and attributes of one `Set-Cookie` line; undefined when it has no name. */
export function parseSetCookie(
  line: string,
): { name: string; value: string; attributes: ReadonlyMap<string, string> } | undefined {
  const [pair = '', ...rest] = line.split(';');
  const split = pair.indexOf('=');
  const name = pair.slice(0, Math.max(0, split)).trim();
  if (name === '') return undefined;
  const attributes = new Map(
    rest.map((part) => {
      const at = part.indexOf('=');
      const key = (at === -1 ? part : part.slice(0, at)).trim().toLowerCase();
      return [key, at === -1 ? '' : part.slice(at + 1).trim()];
    }),
  );
  return { name, value: pair.slice(split + 1).trim(), attributes };
}

/** The jar after an answer; the oldest go when there are too many. */
export function rememberCookies(
  jar: readonly Cookie[],
  from: string,
  headers: HeaderLines,
  nowMs: EpochMs,
  cookiesMax: number,
): Cookie[] {
  const url = new URL(from);
  let kept = jar.filter((cookie) => cookie.expiresAtMs === undefined || cookie.expiresAtMs > nowMs);
  for (const [name, line] of headers) {
    if (name.toLowerCase() !== 'set-cookie') continue;
    const cookie = cookieOf(line, url, nowMs);
    if (cookie === undefined) continue;
    const isSame = (other: Cookie): boolean =>
      other.name === cookie.name && other.domain === cookie.domain && other.path === cookie.path;
    kept = kept.filter((other) => !isSame(other));
    if (cookie.expiresAtMs === undefined || cookie.expiresAtMs > nowMs) kept.push(cookie);
  }
  return kept.slice(-cookiesMax);
}

function cookieOf(line: string, url: URL, nowMs: EpochMs): Cookie | undefined {
  const parsed = parseSetCookie(line);
  if (parsed === undefined) return undefined;
  const { name, value, attributes } = parsed;
  const asked = attributes.get('domain')?.replace(/^\./, '').toLowerCase();
  const host = url.hostname.toLowerCase();
  // A cookie for somebody else's domain is refused.
  if (asked && asked !== host && !host.endsWith(`.${asked}`)) return undefined;
  const path = attributes.get('path');
  return {
    name,
    value,
    domain: asked ?? host,
    isHostOnly: !asked,
    path: path?.startsWith('/') ? path : url.pathname.replace(/\/[^/]*$/, '') || '/',
    isSecure: attributes.has('secure'),
    expiresAtMs: expiryOf(attributes, nowMs),
  };
}

function expiryOf(attributes: ReadonlyMap<string, string>, nowMs: EpochMs): number | undefined {
  const maxAge = attributes.get('max-age');
  if (maxAge !== undefined && /^-?\d+$/.test(maxAge)) return nowMs + Number(maxAge) * 1_000;
  const expires = attributes.get('expires');
  const atMs = expires === undefined ? Number.NaN : Date.parse(expires);
  return Number.isNaN(atMs) ? undefined : atMs;
}

/** The value of the `Cookie` header for a URL; empty when there is none. */
export function cookieHeader(jar: readonly Cookie[], url: URL, nowMs: EpochMs): string {
  const host = url.hostname.toLowerCase();
  const fits = (cookie: Cookie): boolean =>
    (host === cookie.domain || (!cookie.isHostOnly && host.endsWith(`.${cookie.domain}`))) &&
    (url.pathname === cookie.path || url.pathname.startsWith(cookie.path.replace(/\/?$/, '/'))) &&
    (!cookie.isSecure || url.protocol === 'https:') &&
    (cookie.expiresAtMs === undefined || cookie.expiresAtMs > nowMs);
  return jar
    .filter(fits)
    .map(({ name, value }) => `${name}=${value}`)
    .join('; ');
}
