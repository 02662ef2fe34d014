/** Open sockets of all listeners: counted, limited in number, share and rate, destroyed together at the end. */
import type { Server, Socket } from 'node:net';
import { Admission } from '../../lib/admission.ts';
import { addressKey } from '../../lib/address.ts';
import type { Limits } from '../../lib/limits.ts';
import { Rates } from '../../lib/rates.ts';
import type { Clock } from '../clock/index.ts';
import type { Metrics } from '../metrics/index.ts';
import { SocketsByEnds } from '../sockets/index.ts';

export class Connections {
  readonly #admission: Admission<Socket>;
  readonly #sockets = new SocketsByEnds();
  /** Who was last seen on a socket. */
  readonly #identities = new WeakMap<Socket, string>();
  readonly #mayConnect: (address: string | undefined) => boolean;
  readonly #refused;

  constructor(limits: Limits['http'], metrics: Metrics, clock: Clock) {
    const connectRate = new Rates({ perSecond: limits.connectsPerSecond, burst: limits.connectBurst });
    this.#mayConnect = (address) => connectRate.take(addressKey(address), clock.monotonicMs()) === 0;
    const gaveWay = metrics.counter(
      'http_connections_gave_way_total',
      'Connections without a login that were closed for the next.',
    );
    this.#admission = new Admission(limits, (socket) => {
      gaveWay.inc();
      socket.destroy();
    });
    this.#refused = metrics.counter(
      'http_connections_refused_total',
      'Connections beyond a limit of number or rate.',
    );
    metrics.measured('http_connections', 'Open connections to HTTP and HTTPS.', () => this.#admission.size);
  }

  /** Takes part in every connection of a listener from now on. */
  attach(server: Server): void {
    server.on('connection', (socket: Socket) => this.#accept(socket));
  }

  /** The caller on this connection has shown who he is. */
  authenticate(socket: Socket, identity: string): void {
    if (this.#identities.get(socket) === identity) return;
    this.#identities.set(socket, identity);
    const counted = this.#sockets.get(socket);
    if (counted) this.#admission.authenticate(counted, identity);
  }

  destroyAll(): void {
    for (const socket of this.#admission.connections()) socket.destroy();
  }

  #accept(socket: Socket): void {
    const isLet =
      this.#mayConnect(socket.remoteAddress) &&
      this.#admission.admit(socket.remoteAddress, () => socket) === undefined;
    if (!isLet) {
      this.#refused.inc();
      socket.destroy();
      return;
    }
    this.#sockets.add(socket, () => this.#admission.leave(socket));
  }
}
