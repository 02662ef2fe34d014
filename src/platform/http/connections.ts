/** Open sockets of all listeners: counted, limited per remote address, destroyed together at the end. */
import type { Server, Socket } from 'node:net';
import { addressKey } from '../../lib/address.ts';
import { createArrivals } from '../../lib/arrivals.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../clock/index.ts';
import type { Metrics } from '../metrics/index.ts';

export interface Connections {
  /** Takes part in every connection of a listener from now on. */
  attach(server: Server): void;
  destroyAll(): void;
}

export function createConnections(limits: Limits['http'], metrics: Metrics, clock: Clock): Connections {
  const arrivals = createArrivals({ perSecond: limits.connectsPerSecond, burst: limits.connectBurst });
  const open = new Set<Socket>();
  const perAddress = new Map<string, number>();
  const refused = metrics.counter(
    'http_connections_refused_total',
    'Connections beyond a limit of number or rate.',
  );
  metrics.gauge('http_connections', 'Open connections to HTTP and HTTPS.', [], (gauge) =>
    gauge.set(open.size),
  );

  function accept(socket: Socket): void {
    const address = addressKey(socket.remoteAddress);
    const count = perAddress.get(address) ?? 0;
    const isTooMany = count >= limits.connectionsPerAddress || open.size >= limits.connections;
    if (isTooMany || !arrivals.take(socket.remoteAddress, clock.monotonicMs())) {
      refused.inc();
      socket.destroy();
      return;
    }
    open.add(socket);
    perAddress.set(address, count + 1);
    socket.once('close', () => {
      open.delete(socket);
      const left = (perAddress.get(address) ?? 1) - 1;
      if (left > 0) perAddress.set(address, left);
      else perAddress.delete(address);
    });
  }

  return {
    attach: (server) => void server.on('connection', accept),
    destroyAll: () => {
      for (const socket of open) socket.destroy();
    },
  };
}
