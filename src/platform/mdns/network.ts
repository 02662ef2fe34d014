/** Sockets of multicast DNS: one for each IPv4 network of the machine. Source: RFC 6762 sections 3, 11, 15. */
import type { Buffer } from 'node:buffer';
import { createSocket, type Socket } from 'node:dgram';
import { BlockList } from 'node:net';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';

export const GROUP = { address: '224.0.0.251', port: 5_353 };

/** Where a packet came from, or goes to. */
export interface Sender {
  address: string;
  port: number;
}

/** One network. */
export interface MulticastLink {
  /** Address of this machine in that network. */
  readonly address: string;
  /**
   * False when the address came back with another interface, as of an adapter that was reset, or with another size of its
   * network: nothing would be received there.
   */
  isJoined(): boolean;
  onPacket(listener: (bytes: Buffer, from: Sender) => void): void;
  /** To everybody, or to one. What cannot be sent is lost, as any packet may be. */
  send(bytes: Buffer, to?: Sender): void;
  close(): void;
}

export interface Network {
  /** Addresses of this machine on networks where others may be. */
  addresses(): string[];
  /** Resolves when the group is joined. @throws Error when that is not possible */
  open(address: string, onLost: (error: Error) => void): Promise<MulticastLink>;
}

/** The machine's networks; those of the loopback only when `isLoopback`, which is for tests. */
export function systemNetwork(isLoopback = false): Network {
  let known: NetworkInterfaceInfo[] = [];
  const interfaces = () => {
    try {
      known = Object.values(networkInterfaces())
        .flatMap((addresses) => addresses ?? [])
        .filter(({ family, internal }) => family === 'IPv4' && internal === isLoopback);
    } catch (error) {
      // Without a free descriptor the system does not list them; the last list stays valid.
      if (!(error instanceof Error && 'code' in error)) throw error;
    }
    return known;
  };
  const cidrOf = (address: string): string =>
    interfaces().find((one) => one.address === address)?.cidr ?? `${address}/32`;
  return {
    addresses: () => interfaces().map(({ address }) => address),
    open: async (address, onLost) => {
      const cidr = cidrOf(address);
      const neighbours = new BlockList();
      neighbours.addSubnet(address, Number(cidr.split('/')[1]), 'ipv4');
      const socket = await joined(address);
      let isClosed = false;
      let sending = 0;
      const closeWhenSent = (): void => {
        if (isClosed && sending === 0) socket.close();
      };
      socket.on('error', (error) => {
        if (!isClosed) onLost(error);
      });
      return {
        address,
        isJoined: () => cidrOf(address) === cidr && isMember(socket, address),
        onPacket: (listener) =>
          // Packets from farther away are not of this network (RFC 6762 section 11).
          void socket.on('message', (bytes, from) => {
            if (neighbours.check(from.address, 'ipv4')) listener(bytes, from);
          }),
        send: (bytes, to = GROUP) => {
          if (isClosed) return;
          sending += 1;
          socket.send(bytes, to.port, to.address, () => {
            sending -= 1;
            closeWhenSent();
          });
        },
        close: () => {
          if (isClosed) return;
          isClosed = true;
          closeWhenSent();
        },
      };
    },
  };
}

/** Each interface has its own members, and the system names none of them. */
function isMember(socket: Socket, address: string): boolean {
  try {
    socket.addMembership(GROUP.address, address);
    return false;
  } catch {
    // Refused, because it is one. An address that is gone is noticed by itself.
    return true;
  }
}

const TTL = 255;

function joined(address: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    // Others on this machine listen at the same port.
    const socket = createSocket({ type: 'udp4', reuseAddr: true });
    const fail = (error: Error): void => {
      socket.close();
      reject(error);
    };
    socket.once('error', fail);
    socket.bind(GROUP.port, '0.0.0.0', () => {
      socket.off('error', fail);
      try {
        socket.addMembership(GROUP.address, address);
        socket.setMulticastInterface(address);
        socket.setMulticastTTL(TTL);
        // Programs on this machine ask, too.
        socket.setMulticastLoopback(true);
        resolve(socket);
      } catch (error) {
        fail(error instanceof Error ? error : new Error(String(error)));
      }
    });
  });
}
