/** Which hosts the owner of a device gave: those in the values of its configuration. Pure. */
import { isIP } from 'node:net';
import { leadingZeros } from '../../lib/address.ts';
import type { ConfigurationGroups } from '../thread-messages.ts';

/** What may be part of a host; a colon as well, for IPv6. */
const PART = /[A-Za-z0-9._-]/;

/** Why a script may not speak with the host; undefined when a value of the configuration has it. */
export function hostRefusal(host: string, groups: ConfigurationGroups): string | undefined {
  const zeros = leadingZeros(host);
  if (zeros !== undefined) return zeros;
  if (isIP(host) === 0 && !/[a-z]/i.test(host)) return `${host} is no host`;
  const wanted = host.toLowerCase();
  const isGiven = Object.values(groups).some((group) =>
    Object.values(group).some((value) => has(value, wanted)),
  );
  if (isGiven) return undefined;
  return `the host ${host} is not in the configuration of the device: scripts speak TCP and UDP only with addresses that its owner gave`;
}

/** Whether a text has the host as a whole, alone or within a URI or a list. */
function has(value: unknown, host: string): boolean {
  if (Array.isArray(value)) return value.some((item) => has(item, host));
  if (typeof value !== 'string') return false;
  const text = value.toLowerCase();
  const isIPv6 = host.includes(':');
  const isPart = (char: string): boolean => PART.test(char) || (isIPv6 && char === ':');
  for (let at = text.indexOf(host); at >= 0; at = text.indexOf(host, at + 1))
    if (!isPart(text.charAt(at - 1)) && !isPart(text.charAt(at + host.length))) return true;
  return false;
}
