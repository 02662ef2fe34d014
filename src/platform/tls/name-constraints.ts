/**
 * The names and addresses that our authority may speak for (RFC 5280 section 4.2.1.10): those of local networks, and
 * what the gateway is called when the authority is made. Whoever lets a browser trust it trusts it with nothing else, even if its key
 * is stolen. Not critical, because small TLS stacks of devices know no such extension and would refuse the authority; those of
 * browsers and operating systems heed it in any case.
 */
import type { X509Certificate } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import type { ServerNames } from './model.ts';

export const NAME_CONSTRAINTS_OID = '2.5.29.30';
/** The same in DER. */
const OID_BYTES = Buffer.from([0x06, 0x03, 0x55, 0x1d, 0x1e]);

/** With everything below them. Nobody can have them on the internet (RFC 6762, RFC 6761, RFC 8375, ICANN 2024). */
const LOCAL_DOMAINS = ['local', 'localhost', 'home.arpa', 'internal', 'lan', 'home'];

/** Private, link-local, loopback and shared addresses (RFC 1918, 3927, 6598, 4193, 4291). */
const LOCAL_NETWORKS: readonly (readonly [address: string, prefix: number])[] = [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['fc00::', 7],
  ['fe80::', 10],
  ['::1', 128],
];

export interface PermittedNames {
  domains: readonly string[];
  networks: readonly (readonly [address: string, prefix: number])[];
}

/** Names that an authority made now may certify; `own`: names of this gateway. */
export function permittedNames(own: ServerNames): PermittedNames {
  const isLocal = (domain: string): boolean => LOCAL_DOMAINS.some((local) => isBelow(domain, local));
  const known = blockListOf(LOCAL_NETWORKS);
  const others = own.ips.filter((address) => !known.check(address, familyOf(address)));
  return {
    domains: [...LOCAL_DOMAINS, ...own.dns.filter((domain) => !isLocal(domain))],
    networks: [
      ...LOCAL_NETWORKS,
      ...others.map((address) => [address, isIP(address) === 6 ? 128 : 32] as const),
    ],
  };
}

/** Names that a certificate of this authority may have; and those that would make verifiers refuse all of it. */
export function dividedNames(
  { dns, ips }: ServerNames,
  permitted: PermittedNames | undefined,
): { permitted: ServerNames; refused: string[] } {
  if (!permitted) return { permitted: { dns, ips }, refused: [] };
  const networks = blockListOf(permitted.networks);
  const isNamed = (name: string): boolean => permitted.domains.some((domain) => isBelow(name, domain));
  const isWithin = (address: string): boolean => networks.check(address, familyOf(address));
  return {
    permitted: { dns: dns.filter(isNamed), ips: ips.filter(isWithin) },
    refused: [...dns.filter((name) => !isNamed(name)), ...ips.filter((address) => !isWithin(address))],
  };
}

/** Value of the extension, DER: a sequence of permitted subtrees. */
export function encodeNameConstraints({ domains, networks }: PermittedNames): Buffer {
  const subtrees = [
    ...domains.map((domain) => element(0x82, Buffer.from(domain, 'latin1'))),
    ...networks.map(([address, prefix]) =>
      element(0x87, Buffer.concat([addressBytes(address), maskBytes(address, prefix)])),
    ),
  ].map((name) => element(0x30, name));
  return element(0x30, element(0xa0, Buffer.concat(subtrees)));
}

/** Those of an authority; undefined: it may speak for everything. */
export function constraintsOf({ raw }: X509Certificate): PermittedNames | undefined {
  const at = raw.indexOf(OID_BYTES);
  if (at < 0) return undefined;
  const value = elementAt(raw, at + OID_BYTES.length);
  const permitted = elementAt(elementAt(value.content, 0).content, 0);
  const domains: string[] = [];
  const networks: [string, number][] = [];
  for (let offset = 0; offset < permitted.content.length;) {
    const subtree = elementAt(permitted.content, offset);
    offset = subtree.end;
    const { tag, content } = elementAt(subtree.content, 0);
    if (tag === 0x82) domains.push(content.toString('latin1'));
    if (tag === 0x87) {
      const half = content.length / 2;
      networks.push([addressText(content.subarray(0, half)), prefixOf(content.subarray(half))]);
    }
  }
  return { domains, networks };
}

function isBelow(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`);
}

function blockListOf(networks: PermittedNames['networks']): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of networks) list.addSubnet(address, prefix, familyOf(address));
  return list;
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

function element(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function elementAt(bytes: Buffer, offset: number): { tag: number; content: Buffer; end: number } {
  const first = bytes[offset + 1] ?? 0;
  const sizeBytes = first < 0x80 ? 0 : first & 0x7f;
  const length = sizeBytes === 0 ? first : bytes.readUIntBE(offset + 2, sizeBytes);
  const begin = offset + 2 + sizeBytes;
  return { tag: bytes[offset] ?? 0, content: bytes.subarray(begin, begin + length), end: begin + length };
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = address.split('::');
  const groups = (part: string | undefined): number[] =>
    (part ?? '')
      .split(':')
      .filter((group) => group !== '')
      .map((group) => Number.parseInt(group, 16));
  const [left, right] = [groups(head), groups(tail)];
  const middle = Array.from({ length: 8 - left.length - right.length }, () => 0);
  return Buffer.from([...left, ...middle, ...right].flatMap((group) => [group >> 8, group & 0xff]));
}

function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  return Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16)).join(':');
}

function maskBytes(address: string, prefix: number): Buffer {
  const size = isIP(address) === 6 ? 16 : 4;
  return Buffer.from(
    Array.from(
      { length: size },
      (_, index) => (0xff00 >> Math.min(8, Math.max(0, prefix - index * 8))) & 0xff,
    ),
  );
}

function prefixOf(mask: Buffer): number {
  return [...mask].reduce((bits, byte) => bits + byte.toString(2).replaceAll('0', '').length, 0);
}
