/** IPv4 networks that this machine is on, now. */
import { networkInterfaces } from 'node:os';

/** An IPv4 network that this machine is on. */
export interface OwnNetwork {
  /** Address of this machine. */
  address: string;
  /** Bits of the network. */
  prefix: number;
  isLoopback: boolean;
}

/** By interface; none without an address. */
export function ownNetworks(): OwnNetwork[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family }) => family === 'IPv4')
    .map(({ address, cidr, internal }) => ({
      address,
      prefix: Number(cidr?.split('/')[1] ?? 32),
      isLoopback: internal,
    }));
}
