/** Two ends of an in-memory connection: what one writes the other reads, with back-pressure. */
import { Duplex } from 'node:stream';

export interface StreamPair {
  client: Duplex;
  server: Duplex & { remoteAddress?: string };
}

/** `remoteAddress` is what the server's end reports of the client. */
export function streamPair(remoteAddress?: string): StreamPair {
  const toServer: Flow = { whenRead: undefined };
  const toClient: Flow = { whenRead: undefined };
  const client: Duplex = end(toClient, toServer, () => server);
  const server: StreamPair['server'] = end(toServer, toClient, () => client);
  if (remoteAddress !== undefined) server.remoteAddress = remoteAddress;
  return { client, server };
}

/** One direction: the writer waits here while the reader is full. */
interface Flow {
  whenRead: (() => void) | undefined;
}

function end(incoming: Flow, outgoing: Flow, peer: () => Duplex): Duplex {
  return new Duplex({
    allowHalfOpen: false,
    read: () => {
      const resume = incoming.whenRead;
      incoming.whenRead = undefined;
      resume?.();
    },
    write: (chunk: Buffer, _encoding, done) => {
      // A turn of its own, as between two sockets.
      setImmediate(() => {
        if (peer().destroyed) done(new Error('the other end is gone'));
        else if (peer().push(chunk)) done();
        else outgoing.whenRead = done;
      });
    },
    final: (done) => {
      setImmediate(() => {
        if (!peer().destroyed) peer().push(null);
        done();
      });
    },
    destroy: (_error, done) => {
      setImmediate(() => void peer().destroy());
      done(null);
    },
  });
}
