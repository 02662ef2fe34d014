/** Addresses of the network as text. */

/** The address as people write it: on a socket for both families an IPv4 address looks like one of IPv6. */
export function plainAddress(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}

/** Whether a listener on this host takes connections to every address of the machine; with `::` those of IPv4 too. */
export function isAnyAddress(host: string): boolean {
  return /^(?:[0.]+|[0:]+)$/.test(host);
}

/** The host under which a program of this machine reaches a listener. */
export function localAddress(host: string): string {
  return isAnyAddress(host) ? '127.0.0.1' : host;
}

/** A URL with one of these protocols, no login and no leading zeros in it; undefined for anything else. */
export function plainUrl(text: string, ...protocols: readonly string[]): URL | undefined {
  const url = leadingZeros(hostOf(text) ?? '') === undefined ? URL.parse(text) : undefined;
  return url && protocols.includes(url.protocol) && url.username + url.password === '' ? url : undefined;
}

/** The host as a URL has it (RFC 3986 section 3.2.2). */
export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * The key by which limits count an address. A machine owns a whole IPv6 network of 64 bits, and an IPv4 address
 * looks different on a socket that takes both families.
 */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  const plain = plainAddress(address);
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = (address.split('%')[0] ?? '').toLowerCase().split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const gap = tail === undefined ? 0 : Math.max(0, 8 - front.length - back.length);
  const groups = [...front, ...Array.from({ length: gap }, () => '0'), ...back];
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** The host of a URL as it is written: parsers read 010 as 8. Undefined: there is none. */
export function hostOf(url: string): string | undefined {
  return /^\s*[a-z][a-z0-9+.-]*:[\\/]*(?:[^\\/?#@]*@)?(\[[^\]]*\]|[^\\/?#:]*)/i.exec(url)?.[1];
}

/** Why an IPv4 address with leading zeros is refused: programs disagree on whether 010 is 8 or 10. */
export function leadingZeros(host: string): string | undefined {
  const octets = host.split('.');
  const isNumeric = octets.every((octet) => /^(?:\d+|0x[\da-f]*)$/i.test(octet));
  if (!isNumeric || !octets.some((octet) => /^0[\dx]/i.test(octet))) return undefined;
  return `the address ${host} has leading zeros: write its numbers without them`;
}
