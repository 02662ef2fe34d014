/**
 * Names that a page from elsewhere cannot have. A page of `attacker.example` may let its name lead to the
 * gateway's address ("DNS rebinding"): the browser then takes the gateway for a part of that page and sends
 * its requests with `Host: attacker.example`. Addresses and names that no public registry gives out cannot be
 * used so.
 */
import { isIP } from 'node:net';
import { hostInUrl } from '../../lib/address.ts';

/** Ends of names that are never delegated: RFC 6761, 6762, 8375, ICANN's `internal`, and what routers use. */
const LOCAL_SUFFIX = /\.(localhost|local|home\.arpa|internal|lan|home|intranet|private|corp)$/;

/** Whether a host, without its port, is an address, a name for local networks, or one of those given. */
export function isLocalHost(host: string, ownNames: readonly string[]): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  // A zone of an IPv6 address says by which network of the caller.
  if (isIP(name.replace(/%.*/s, '')) > 0) return true;
  return !name.includes('.') || LOCAL_SUFFIX.test(name) || ownNames.some((own) => own.toLowerCase() === name);
}

/**
 * Whether pages of an origin are the gateway's own. A proxy may lead to the gateway under another name than the browser
 * knows, or leave out the port.
 * @param hosts by which the gateway was asked for in this request
 * @param publicHost its name from outside, with whatever port a proxy has; except that of a page beside the gateway, which
 * shows in a host of the same name with a port of its own
 */
export function isOwnOrigin(
  origin: string,
  hosts: readonly (string | undefined)[],
  publicHost: string | undefined,
): boolean {
  const page = URL.parse(origin);
  if (!page || page.host === '') return false;
  // The usual port of the page's own protocol goes without saying.
  const asked = hosts.flatMap((host) => URL.parse(`${page.protocol}//${host}`) ?? []);
  if (asked.some(({ host }) => host === page.host)) return true;
  const isPublic = publicHost !== undefined && page.hostname === hostInUrl(publicHost.toLowerCase());
  return isPublic && !asked.some(({ hostname, port }) => hostname === page.hostname && port !== '');
}
