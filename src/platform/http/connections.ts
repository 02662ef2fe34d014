/** Open sockets of all listeners: counted, limited in number, share and rate, destroyed together at the end. */
import type { Server, Socket } from 'node:net';
import { Admission } from '../../lib/admission.ts';
import { addressKey } from '../../lib/address.ts';
import { tooManyRequests } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import { Rates } from '../../lib/token-bucket.ts';
import type { Clock } from '../clock/index.ts';
import type { Metrics } from '../metrics/index.ts';
import { SocketsByEnds } from '../sockets/index.ts';
import type { Callers } from './callers.ts';

export type Connections = ReturnType<typeof createConnections>;

export function createConnections(limits: Limits['http'], metrics: Metrics, clock: Clock, callers: Callers) {
  const connectRate = new Rates({ perSecond: limits.connectsPerSecond, burst: limits.connectBurst });
  const sockets = new SocketsByEnds();
  /** Identity that was last seen on a socket. */
  const identities = new WeakMap<Socket, string>();
  /** Caller that a trusted proxy last passed on over a socket. */
  const servedNow = new WeakMap<Socket, string>();
  const gaveWay = metrics.counter(
    'http_connections_gave_way_total',
    'Connections without a login that were closed for the next.',
  );
  const refused = metrics.counter(
    'http_connections_refused_total',
    'Connections beyond a limit of number or rate.',
  );
  const admission = new Admission<Socket>(limits, (socket) => {
    gaveWay.inc();
    socket.destroy();
  });
  metrics.measured('http_connections', 'Open connections to HTTP and HTTPS.', () => admission.size);

  function accept(socket: Socket): void {
    const isLet =
      (callers.isTrusted(socket.remoteAddress) ||
        connectRate.take(addressKey(socket.remoteAddress), clock.monotonicMs()) === 0) &&
      admission.admit(socket.remoteAddress, () => socket) === undefined;
    if (isLet) return sockets.add(socket, () => admission.leave(socket));
    refused.inc();
    socket.destroy();
  }

  /** A proxy sends the requests of all callers over connections of its own; each counts for the caller it serves now. */
  function attribute(socket: Socket, address: string): void {
    const counted = sockets.get(socket);
    if (!counted || servedNow.get(socket) === address) return;
    servedNow.set(socket, address);
    identities.delete(socket);
    admission.leave(counted);
    if (admission.admit(address, () => counted) === undefined) return;
    refused.inc();
    servedNow.delete(socket);
    throw tooManyRequests('Too many connections of this address are open.');
  }

  return {
    attribute,
    /** Counts a connection that sent too many requests ahead against its address, like so many connections. */
    charge: ({ remoteAddress }: Socket): void => {
      if (callers.isTrusted(remoteAddress)) return;
      connectRate.spend(addressKey(remoteAddress), clock.monotonicMs(), limits.connectsPerPipeline);
    },
    /** Takes part in every connection of a listener from now on. */
    attach: (server: Server): void => void server.on('connection', accept),
    /** The caller on this connection is authenticated. */
    authenticate: (socket: Socket, identity: string): void => {
      if (identities.get(socket) === identity) return;
      identities.set(socket, identity);
      const counted = sockets.get(socket);
      if (counted) admission.authenticate(counted, identity);
    },
    destroyAll: (): void => {
      for (const socket of admission.connections()) socket.destroy();
    },
  };
}
