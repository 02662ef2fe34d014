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

// Serial lines behind serial servers: the path of a port may be `socket://host:port` instead of a device file. Pure.

/** A serial server and the TCP port of one of its lines. */
export interface SerialServer {
  host: string;
  port: number;
}

/** All mean the bytes of a serial line over TCP; the caller knows whether they are Modbus RTU. */
const SCHEME = /^\s*(socket|rtu\+tcp|tcp\+serial):\/\//i;

/** Whether it names a serial server, rightly or not. */
export function isSerialServer(uri: string): boolean {
  return SCHEME.test(uri);
}

/** The serial server that a URI or the path of a port names; a text is the problem, for people. */
export function parseSerialServer(uri: string): SerialServer | string {
  const scheme = SCHEME.exec(uri)?.[1]?.toLowerCase();
  const url = scheme === undefined ? undefined : URL.parse(uri.trim());
  if (!url || url.hostname === '' || url.port === '' || url.port === '0')
    return `${scheme ?? 'socket'}:// needs a host, and a port from 1 to 65535`;
  const zeros = leadingZeros(hostOf(uri) ?? '');
  if (zeros !== undefined) return zeros;
  return { host: url.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase(), port: Number(url.port) };
}

/** The path of its line, the same however its URI is spelled. */
export function serialServerPath({ host, port }: SerialServer): string {
  return `socket://${hostInUrl(host)}:${port}`;
}

const DECLARED_PORT =
  /^(?<name>[A-Za-z0-9_-]{1,64})=(?<path>\/[^,:=]+|[A-Za-z+]+:\/\/(?:\[[^\]]*\]|[^,:=[\]]*):\d+)(?::(?<baudRate>\d{2,7})(?::(?<format>[5-8][NEO][12]))?)?$/;

/** The parts of `rs485=/dev/ttyUSB0:9600:8N1` or `rs485=socket://host:port`; undefined: it is not like that. */
export function parseDeclaredPort(text: string) {
  const { name, path, baudRate = '9600', format = '8N1' } = DECLARED_PORT.exec(text)?.groups ?? {};
  if (name === undefined || path === undefined) return undefined;
  if (!path.startsWith('/') && typeof parseSerialServer(path) === 'string') return undefined;
  return { name, path: canonicalPortPath(path), baudRate: Number(baudRate), format };
}

/** The path of a port in one spelling: serial servers as `socket://host:port`, device files as they are. */
export function canonicalPortPath(path: string): string {
  const server = isSerialServer(path) ? parseSerialServer(path) : path;
  return typeof server === 'string' ? path : serialServerPath(server);
}
