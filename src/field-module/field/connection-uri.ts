/** Where a device is (docs/interface/lua-devices.md#connection-uris). Pure. */
import {
  hostOf,
  isSerialServer,
  leadingZeros,
  parseSerialServer,
  type SerialServer,
} from '../../lib/address.ts';

export type FieldAddress =
  | {
      kind: 'tcp';
      host: string;
      port: number;
      /** Answers may have another unit id or transaction id. */
      isLoose: boolean;
      /** So many connections at once. */
      connections: number;
    }
  /** A serial line behind a serial server. */
  | ({ kind: 'socket' } & SerialServer)
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

/** The message for a port that the module has not. */
export function noPort(name: string): string {
  return `hardware port "${name}" is not available on this module`;
}

/** Reads a connection URI; a text is the problem, for people. Unknown parameters after `?` mean nothing. */
export function parseConnectionUri(text: string): FieldAddress | string {
  const uri = text.trim();
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(uri)?.[1]?.toLowerCase();
  if (scheme === undefined) return 'a connection URI begins with tcp:// or port://';
  if (scheme === 'port') {
    const name = portOfUri(uri);
    return name === undefined ? 'port:// needs the name of a port' : { kind: 'port', name };
  }
  if (isSerialServer(uri)) {
    const server = parseSerialServer(uri);
    return typeof server === 'string' ? server : { kind: 'socket', ...server };
  }
  if (scheme !== 'tcp') return `connections by ${scheme}:// are not supported by this module`;
  const url = URL.parse(uri);
  if (!url || url.hostname === '' || url.port === '0')
    return 'tcp:// needs a host, and a port from 1 to 65535';
  const zeros = leadingZeros(hostOf(uri) ?? '');
  if (zeros !== undefined) return zeros;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  const connections = url.searchParams.get('connections') ?? '1';
  const ids = url.searchParams.get('ids') ?? 'strict';
  if (!/^[1-8]$/.test(connections)) return 'connections must be a number from 1 to 8';
  if (ids !== 'strict' && ids !== 'loose') return 'ids must be strict or loose';
  return {
    kind: 'tcp',
    host,
    port: url.port === '' ? MODBUS_PORT : Number(url.port),
    isLoose: ids === 'loose',
    connections: Number(connections),
  };
}
