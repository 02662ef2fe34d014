/**
 * The cookie that carries the token of a login in a browser. A browser adds it to whatever page asks, so it
 * counts only for requests that the gateway's own pages made: `SameSite=Strict` keeps it from other sites,
 * and changes need a sign that no other site can send (OWASP, Cross-Site Request Forgery Prevention).
 */
const NAME = 'gateway_session';

/** Value of `Set-Cookie`; a life of 0 takes the cookie away. */
export function sessionCookie(token: string, lifetimeMs: number, isEncrypted: boolean): string {
  const parts = [`${NAME}=${token}`, 'Path=/', 'HttpOnly', 'SameSite=Strict'];
  parts.push(`Max-Age=${Math.floor(lifetimeMs / 1_000)}`);
  if (isEncrypted) parts.push('Secure');
  return parts.join('; ');
}

/** The token in the cookie, if the request may use it. */
export function sessionTokenOf(
  method: string,
  isUpgrade: boolean,
  header: (name: string) => string | undefined,
): string | undefined {
  const token = new RegExp(`(?:^|;)\\s*${NAME}=([^;\\s]+)`).exec(header('cookie') ?? '')?.[1];
  if (token === undefined) return undefined;
  const isReading = !isUpgrade && (method === 'GET' || method === 'HEAD');
  return isReading || isFromOwnPage(isUpgrade, header) ? token : undefined;
}

/**
 * Another site's script cannot set `X-Requested-With` without our leave (CORS) nor `Sec-Fetch-Site` and
 * `Origin` at all. Only the last two come with an upgrade.
 */
function isFromOwnPage(isUpgrade: boolean, header: (name: string) => string | undefined): boolean {
  const site = header('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  if (!isUpgrade) return header('x-requested-with') !== undefined;
  const origin = header('origin');
  return origin !== undefined && hostOf(origin) === header('host')?.toLowerCase();
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
