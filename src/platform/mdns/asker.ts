/** Questions to the group from ports of their own, which are answered to the asker. Source: RFC 6762 sections 5.1 and 6.7. */
import type { Buffer } from 'node:buffer';
import { createSocket } from 'node:dgram';

/** A way to ask on one network. */
export interface Asker {
  ask(question: Buffer, group: { address: string; port: number }): void;
  close(): void;
}

/** One for each network: the system would ask on one of them only, and on none without a default route. */
export async function openAskers(
  addresses: readonly string[],
  onAnswer: (bytes: Buffer, from: { address: string }) => void,
): Promise<Asker[]> {
  const opened = await Promise.all(addresses.map((address) => openAsker(address, onAnswer)));
  return opened.filter((asker) => asker !== undefined);
}

function openAsker(
  address: string,
  onAnswer: (bytes: Buffer, from: { address: string }) => void,
): Promise<Asker | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    let isOpen = true;
    const close = (): void => {
      if (isOpen) socket.close();
      isOpen = false;
    };
    // The network went away.
    socket.on('error', () => {
      close();
      resolve(undefined);
    });
    socket.on('message', onAnswer);
    socket.bind(0, address, () => {
      socket.setMulticastInterface(address);
      resolve({
        // A question that cannot be sent is repeated later.
        ask: (question, group) => {
          if (isOpen) socket.send(question, group.port, group.address, () => undefined);
        },
        close,
      });
    });
  });
}
