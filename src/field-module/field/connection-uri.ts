/** Where a device is: `tcp://host:port` or `port://name` (docs/interface/lua-devices.md#connection-uris). Pure. */

export type FieldAddress =
  | { kind: 'tcp'; host: string; port: number }
  /** A serial port of the module by its name. */
  | { kind: 'port'; name: string };

const MODBUS_PORT = 502;

/** The name in `port://name`, which may be a device file: `port:///dev/ttyS0`. Undefined: it has none. */
export function portOfUri(uri: string): string | undefined {
  return /^port:\/\/([A-Za-z0-9_-]{1,64}|\/dev\/[A-Za-z0-9_./-]{1,248}?)\/?(?:\?.*)?$/i.exec(uri)?.[1];
}

/** The name under which a port is known: its own, a second one, its device file, or the last part of that. */
export function portNamed(ports: ReadonlyMap<string, string>, wanted: string): string | undefined {
  if (ports.has(wanted)) return wanted;
  return [...ports].find(([, path]) => path === wanted || path === `/dev/${wanted}`)?.[0];
}

/** Said of a port that the module has not. */
export function noPort(name: string): string {
  return `hardware port "${name}" is not available on this module`;
}

/** Reads a connection URI; a text is the problem, for people. Parameters after `?` mean nothing here. */
export function parseConnectionUri(text: string): FieldAddress | string {
  const uri = text.trim();
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(uri)?.[1]?.toLowerCase();
  if (scheme === undefined) return 'a connection URI begins with tcp:// or port://';
  if (scheme === 'port') {
    const name = portOfUri(uri);
    return name === undefined ? 'port:// needs the name of a port' : { kind: 'port', name };
  }
  if (scheme !== 'tcp') return `connections by ${scheme}:// are not supported by this module`;
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  if (url === undefined || url.hostname === '' || url.port === '0')
    return 'tcp:// needs a host, and a port from 1 to 65535';
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return { kind: 'tcp', host, port: url.port === '' ? MODBUS_PORT : Number(url.port) };
}
