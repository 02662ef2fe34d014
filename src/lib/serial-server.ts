/** Serial lines behind serial servers: the path of a port may be `socket://host:port` instead of a device file. Pure. */
import { hostInUrl, hostOf, leadingZeros } from './address.ts';

/** A serial server and the TCP port of one of its lines. */
export interface SerialServer {
  host: string;
  port: number;
}

/** All mean the bytes of a serial line over TCP; whoever reads them knows whether they are Modbus RTU. */
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
