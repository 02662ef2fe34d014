/** A UDP socket of a script: it sends to addresses that the owner gave, and takes datagrams of these, of a group, or of a broadcast. */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { WaitingCall } from './waiting-call.ts';

type Take = (bytes: Buffer, from: RemoteInfo) => void;

interface Shared {
  socket: Socket;
  /** Resolves when the system gave the port. */
  bound: Promise<void>;
  takers: Set<Take>;
}

/**
 * The sockets of the scripts of a thread. Those with the same port share one, because some devices answer to a fixed
 * port instead of the sender's (KEBA chargers to 7090; evcc issue 7486), and the system gives a port once.
 */
export class UdpSockets {
  readonly #shared = new Map<number, Shared>();

  /** @throws Error of the system when it does not give the port */
  async join(
    port: number,
    group: string | undefined,
    take: Take,
  ): Promise<[socket: Socket, leave: () => void]> {
    const isOwn = port === 0 || group !== undefined;
    const { socket, bound, takers } = isOwn
      ? opened(port, group !== undefined)
      : this.#shared.getOrInsertComputed(port, () => opened(port, false));
    takers.add(take);
    const leave = (): void => {
      takers.delete(take);
      if (takers.size > 0) return;
      if (!isOwn) this.#shared.delete(port);
      socket.close();
    };
    await bound.catch((error: unknown) => {
      leave();
      throw error;
    });
    return [socket, leave];
  }
}

function opened(port: number, reuseAddr: boolean): Shared {
  const socket = createSocket({ type: 'udp4', reuseAddr });
  const takers = new Set<Take>();
  socket.on('message', (bytes, from) => {
    for (const take of takers) take(bytes, from);
  });
  const bound = new Promise<void>((resolve, reject) => {
    // Later errors report a datagram that did not arrive; the next one may arrive.
    socket.on('error', reject);
    socket.bind(port, resolve);
  });
  return { socket, bound, takers };
}

interface UdpPortOptions {
  sockets: UdpSockets;
  /** Port of this machine; 0: any that is free. */
  port: number;
  /** Multicast group whose datagrams it takes. */
  group: string | undefined;
  /** It may send to broadcast addresses, and takes what anybody answers. */
  isBroadcast: boolean;
  clock: Pick<Clock, 'setTimer' | 'monotonicMs'>;
  limits: Limits['lua']['sockets'];
  /** Why a host is not one that the owner gave. */
  refusal: (host: string) => string | undefined;
  wordsOf: (error: unknown) => string;
}

interface Datagram {
  bytes: Buffer;
  host: string;
  port: number;
}

/** A UDP port of one script; IPv4. */
export class UdpPort {
  readonly #options: UdpPortOptions;
  #socket: Socket | undefined;
  #leave: () => void = () => undefined;
  readonly #sends: TokenBucket;
  /** Addresses of names that it has sent to. */
  readonly #known = new Set<string>();
  #waiting: Datagram[] = [];
  #waitingBytes = 0;
  readonly #reader: WaitingCall;
  #isClosed = false;

  /** A text is what went wrong. */
  static async open(options: UdpPortOptions): Promise<UdpPort | string> {
    const { group } = options;
    const refused = group === undefined ? undefined : options.refusal(group);
    if (refused !== undefined) return refused;
    const own = new UdpPort(options);
    try {
      const take: Take = (bytes, from) => own.#take(bytes, from);
      const [socket, leave] = await options.sockets.join(options.port, group, take);
      own.#socket = socket;
      own.#leave = leave;
      if (group !== undefined) joinGroup(socket, group);
      if (options.isBroadcast) socket.setBroadcast(true);
      return own;
    } catch (error) {
      own.close();
      const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      return isTaken ? `port ${options.port} is in use by another program` : options.wordsOf(error);
    }
  }

  constructor(options: UdpPortOptions) {
    const { sendsPerSecond, sendBurst } = options.limits;
    this.#options = options;
    this.#reader = new WaitingCall(options.clock);
    this.#sends = new TokenBucket(sendsPerSecond, sendBurst, options.clock.monotonicMs());
  }

  /** Sends a datagram. Resolves with the fault; undefined when the system has it. */
  async send(bytes: Uint8Array, host: string, port: number): Promise<string | undefined> {
    const { refusal, clock, limits, wordsOf, isBroadcast } = this.#options;
    const socket = this.#socket;
    if (this.#isClosed || socket === undefined) return 'the socket is closed';
    if (bytes.length > limits.datagramBytes) return `a datagram has at most ${limits.datagramBytes} bytes`;
    const refused = refusal(host);
    if (refused !== undefined) return refused;
    if (!this.#sends.take(clock.monotonicMs())) return 'too many datagrams';
    try {
      const { address } = await lookup(host, { family: 4 });
      if (this.#known.size < limits.senders) this.#known.add(address);
      await new Promise<void>((resolve, reject) => {
        socket.send(bytes, port, address, (error) => (error ? reject(error) : resolve()));
      });
      return undefined;
    } catch (error) {
      const isRefused = error instanceof Error && 'code' in error && error.code === 'EACCES';
      return isRefused && !isBroadcast ? 'a broadcast needs the option broadcast' : wordsOf(error);
    }
  }

  /** The oldest datagram that waits, or the next one. A text is why there is none. */
  async receive(timeoutMs: DurationMs): Promise<Datagram | string> {
    if (this.#reader.isWaiting) return 'another call receives from this socket';
    return this.#reader.wait((isLate) => {
      if (this.#isClosed) return 'the socket is closed';
      return this.#shift() ?? (isLate ? 'timeout' : undefined);
    }, timeoutMs);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#leave();
    this.#reader.wake();
  }

  #take(bytes: Buffer, from: RemoteInfo): void {
    const { limits } = this.#options;
    if (!this.#isWanted(from.address)) return;
    this.#waiting.push({ bytes, host: from.address, port: from.port });
    this.#waitingBytes += bytes.length;
    while (this.#waiting.length > limits.queuedMessages || this.#waitingBytes > limits.queuedBytes)
      this.#shift();
    this.#reader.wake();
  }

  #shift(): Datagram | undefined {
    const oldest = this.#waiting.shift();
    this.#waitingBytes -= oldest?.bytes.length ?? 0;
    return oldest;
  }

  #isWanted(address: string): boolean {
    const { group, isBroadcast, refusal } = this.#options;
    if (group !== undefined || this.#known.has(address)) return true;
    return (isBroadcast && isOnOwnNetwork(address)) || refusal(address) === undefined;
  }
}

/** On every network; one without the group does not keep the others out. @throws Error when none takes it */
function joinGroup(socket: Socket, group: string): void {
  const failures: unknown[] = [];
  const own = ownAddresses();
  for (const { address } of own) {
    try {
      socket.addMembership(group, address);
    } catch (error) {
      failures.push(error);
    }
  }
  if (own.length === failures.length) throw failures[0] ?? new Error('there is no network');
}

function ownAddresses(): { address: string; netmask: string }[] {
  return Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).filter(({ family }) => family === 'IPv4'),
  );
}

const numberOf = (address: string): number =>
  address.split('.').reduce((number, octet) => number * 256 + Number(octet), 0);

function isOnOwnNetwork(address: string): boolean {
  return ownAddresses().some(({ address: own, netmask }) => {
    const addressCount = 2 ** 32 - numberOf(netmask);
    return Math.floor(numberOf(own) / addressCount) === Math.floor(numberOf(address) / addressCount);
  });
}
