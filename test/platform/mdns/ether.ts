/** A local network in memory: a message of one machine to the group reaches all, itself too. */
import type { Buffer } from 'node:buffer';
import { decodeMessage, encodeMessage, type Message } from '../../../src/platform/mdns/message.ts';
import type { MulticastLink, Network, Sender } from '../../../src/platform/mdns/network.ts';

type Listener = (bytes: Buffer, from: Sender) => void;

export interface Heard {
  from: string;
  /** Undefined: to the group. */
  to: string | undefined;
  message: Message;
}

export interface Ether {
  /** Everything that was sent. */
  readonly heard: Heard[];
  /** A machine with these addresses, which may change. */
  machine(addresses: string[]): Network;
  /** What somebody else says to the group; the port tells multicast DNS from other askers. */
  say(message: Partial<Message> | Buffer, from?: Partial<Sender>): void;
  /** Their interfaces are replaced by others with the same addresses. */
  replaceInterfaces(): void;
  /** A network that can be joined no more, with links that break. */
  cut(): void;
}

export function ether(): Ether {
  const deaf = new Set<MulticastLink>();
  const links = new Map<MulticastLink, { listeners: Listener[]; onLost: (error: Error) => void }>();
  const heard: Heard[] = [];
  let isCut = false;

  function deliver(bytes: Buffer, from: Sender): void {
    for (const [link, { listeners }] of links)
      if (!deaf.has(link)) for (const listener of listeners) listener(bytes, from);
  }

  return {
    heard,
    machine: (addresses) => ({
      addresses: () => [...addresses],
      open: async (address, onLost) => {
        if (isCut) throw new Error('no network');
        const link: MulticastLink = {
          address,
          isJoined: () => !deaf.has(link),
          onPacket: (listener) => void links.get(link)?.listeners.push(listener),
          send: (bytes, to) => {
            if (!links.has(link)) return;
            const message = decodeMessage(bytes);
            if (message === undefined) throw new Error('a packet of ours cannot be read');
            heard.push({ from: address, to: to && `${to.address}:${to.port}`, message });
            if (to === undefined) deliver(bytes, { address, port: 5_353 });
          },
          close: () => void links.delete(link),
        };
        links.set(link, { listeners: [], onLost });
        return link;
      },
    }),
    say: (message, from) =>
      deliver(message instanceof Uint8Array ? message : encodeMessage(message), {
        address: '10.0.0.99',
        port: 5_353,
        ...from,
      }),
    replaceInterfaces: () => {
      for (const link of links.keys()) deaf.add(link);
    },
    cut: () => {
      isCut = true;
      for (const [link, { onLost }] of links) {
        links.delete(link);
        onLost(new Error('the network is gone'));
      }
    },
  };
}
