import type { Server, Socket } from 'node:net';

/** Where a connection comes from and goes to, as far as it tells two of them apart. */
type Ends = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>;

/** Open sockets by their ends: over TLS what follows the handshake is another object with the same ends. */
export class SocketsByEnds {
  readonly #sockets = new Map<string, Socket>();

  /** Keeps the socket until it is closed; then `onClosed` is called, also when it was taken before. */
  add(socket: Socket, onClosed?: () => void): void {
    // A closed socket has forgotten its ends.
    const key = keyOf(socket);
    this.#sockets.set(key, socket);
    socket.once('close', () => {
      if (this.#sockets.get(key) === socket) this.#sockets.delete(key);
      onClosed?.();
    });
  }

  /** The socket that was added with these ends. */
  get(ends: Ends): Socket | undefined {
    return this.#sockets.get(keyOf(ends));
  }

  /** The same, which is not kept any more. */
  take(ends: Ends): Socket | undefined {
    const socket = this.get(ends);
    this.#sockets.delete(keyOf(ends));
    return socket;
  }

  destroyAll(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
  }
}

function keyOf({ remoteAddress, remotePort, localPort }: Ends): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}

// Binding and closing a listener as promises.

/** Resolves with the port really used; rejects when the address is taken. */
export function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });
}

/** Resolves when the last connection is closed. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
