/** The hosts that a search may ask: those of the gateway's own IPv4 networks, and not too many. Pure. */
import { invalidBody } from '../../lib/errors.ts';
import type { OwnNetwork } from '../../platform/host/index.ts';

interface Network {
  /** Its first address, as a number. */
  base: number;
  prefix: number;
  /** The gateway's own address there. */
  from: string;
}

interface HostLimits {
  /** Addresses in one search. */
  hosts: number;
  /** A network that is larger is narrowed to this one around the gateway's address. */
  narrowPrefix: number;
}

const ADDRESS = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;

function numberOf(address: string): number | undefined {
  const bytes = ADDRESS.exec(address)?.slice(1).map(Number);
  if (!bytes || bytes.some((byte) => byte > 255)) return undefined;
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}

const textOf = (address: number): string =>
  [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join('.');

const sizeOf = (prefix: number): number => 2 ** (32 - prefix);

const baseOf = (address: number, prefix: number): number => address - (address % sizeOf(prefix));

const networkText = ({ base, prefix }: Pick<Network, 'base' | 'prefix'>): string =>
  `${textOf(base)}/${prefix}`;

/** The range of a search. */
interface Covered {
  /** Addresses to ask, without those of the gateway itself. */
  hosts: string[];
  /** Addresses of the gateway on these networks. */
  from: string[];
}

/**
 * The networks of the gateway, or those of them that are asked for. The loopback is searched only where it is named.
 * @throws GatewayError invalid_body for a network that is not the gateway's, or is too large
 */
export function hostsToSearch(
  own: readonly OwnNetwork[],
  asked: readonly string[] | undefined,
  limits: HostLimits,
): Covered {
  const networks = asked
    ? asked.map((text) => requireOwn(text, own))
    : own.filter(({ isLoopback }) => !isLoopback).map((network) => narrowed(network, limits));
  const ownAddresses = new Set(own.filter(({ isLoopback }) => !isLoopback).map(({ address }) => address));
  const hosts = new Set<string>();
  for (const { base, prefix } of networks) {
    const size = sizeOf(prefix);
    if (hosts.size + size > limits.hosts + 2)
      throw invalidBody(
        'networks',
        `Field "networks" has more than ${limits.hosts} addresses: search smaller networks one after the other.`,
      );
    // The first and the last address of a network belong to no host.
    const edge = size > 2 ? 1 : 0;
    for (let address = base + edge; address < base + size - edge; address += 1) hosts.add(textOf(address));
  }
  return {
    hosts: [...hosts].filter((host) => !ownAddresses.has(host)),
    from: [...new Set(networks.map(({ from }) => from))],
  };
}

function narrowed({ address, prefix }: OwnNetwork, { narrowPrefix }: HostLimits): Network {
  const used = Math.max(prefix, narrowPrefix);
  return { base: baseOf(numberOf(address) ?? 0, used), prefix: used, from: address };
}

/** @throws GatewayError invalid_body for a host that is no address in a network of the gateway */
export function requireOwnAddress(field: string, host: string, own: readonly OwnNetwork[]): void {
  if (numberOf(host) === undefined)
    throw invalidBody(field, `Field "${field}" has "${host}": must be a number such as 192.168.1.20.`);
  requireOwn(host, own, field);
}

function requireOwn(text: string, own: readonly OwnNetwork[], field = 'networks'): Network {
  const [address = '', prefixText = '32'] = text.split('/');
  const number = numberOf(address);
  const prefix = Number(prefixText);
  if (number === undefined || !/^\d{1,2}$/.test(prefixText) || prefix > 32)
    throw invalidBody('networks', `Field "networks" has "${text}": must be such as 192.168.1.0/24.`);
  const containing = own.find(
    (network) =>
      prefix >= network.prefix &&
      baseOf(number, network.prefix) === baseOf(numberOf(network.address) ?? -1, network.prefix),
  );
  if (containing) return { base: baseOf(number, prefix), prefix, from: containing.address };
  const known = own.map(({ address: at, prefix: bits }) =>
    networkText({ base: baseOf(numberOf(at) ?? 0, bits), prefix: bits }),
  );
  throw invalidBody(
    field,
    `Field "${field}" has "${text}": must be part of a network of the gateway: ${known.join(', ')}.`,
  );
}
