/**
 * Names that a page from elsewhere cannot have. A page of `attacker.example` may let its name lead to the
 * gateway's address ("DNS rebinding"): the browser then takes the gateway for a part of that page and sends
 * its requests with `Host: attacker.example`. Addresses and names that no public registry gives out cannot be
 * used so.
 */
import { isIP } from 'node:net';

/** Ends of names that are never delegated: RFC 6761, 6762, 8375, ICANN's `internal`, and what routers use. */
const LOCAL_SUFFIX = /\.(localhost|local|home\.arpa|internal|lan|home|intranet|private|corp)$/;

/** Whether a host, without its port, is an address, a name for local networks, or one of those given. */
export function isLocalHost(host: string, ownNames: readonly string[]): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  // A zone of an IPv6 address says by which network of the caller.
  if (isIP(name.replace(/%.*$/, '')) > 0) return true;
  return !name.includes('.') || LOCAL_SUFFIX.test(name) || ownNames.some((own) => own.toLowerCase() === name);
}
