/**
 * Limits how many may be connected at once. When there is no room, a connection that has not authenticated gives way
 * to the next, the oldest first: a client that only holds connections cannot keep out one that logs in at once.
 */
import { addressKey } from './address.ts';

/** Label of the metric for what was full. */
export type Full = 'connections' | 'address_connections';

interface AdmissionLimits {
  connections: number;
  connectionsPerAddress: number;
  /** Connections of one identity; further ones count as unauthenticated. Default: any number. */
  connectionsPerIdentity?: number;
}

interface Entry {
  address: string;
  identity: string | undefined;
}

interface Origin<Connection> {
  count: number;
  unauthenticated: Set<Connection>;
}

export class Admission<Connection> {
  readonly #limits: AdmissionLimits;
  readonly #giveWay: (connection: Connection, limit: Full) => void;
  readonly #entries = new Map<Connection, Entry>();
  readonly #origins = new Map<string, Origin<Connection>>();
  readonly #perIdentity = new Map<string, number>();
  readonly #unauthenticated = new Set<Connection>();

  /** @param giveWay called with a connection that must end; it is not counted any more */
  constructor(limits: AdmissionLimits, giveWay: (connection: Connection, limit: Full) => void) {
    this.#limits = limits;
    this.#giveWay = giveWay;
  }

  /**
   * Admits a connection as unauthenticated; another unauthenticated one may have to go for it. Returns the limit that is
   * reached, if any; otherwise `open` gives the connection.
   */
  admit(remoteAddress: string | undefined, open: () => Connection): Full | undefined {
    const address = addressKey(remoteAddress);
    const known = this.#origins.get(address);
    if (known && known.count >= this.#limits.connectionsPerAddress) {
      if (!this.#makeRoom(known.unauthenticated, 'address_connections')) return 'address_connections';
    } else if (this.#entries.size >= this.#limits.connections) {
      if (!this.#makeRoom(this.#unauthenticated, 'connections')) return 'connections';
    }
    // The last of its address may just have gone.
    const origin = this.#origins.get(address) ?? { count: 0, unauthenticated: new Set<Connection>() };
    const connection = open();
    this.#origins.set(address, origin);
    origin.count += 1;
    origin.unauthenticated.add(connection);
    this.#unauthenticated.add(connection);
    this.#entries.set(connection, { address, identity: undefined });
    return undefined;
  }

  /** The connection has authenticated: it keeps its place from now on, within the share of the identity. */
  authenticate(connection: Connection, identity?: string): void {
    const entry = this.#entries.get(connection);
    if (!entry || entry.identity !== undefined) return;
    if (identity !== undefined) {
      const count = this.#perIdentity.get(identity) ?? 0;
      if (count >= (this.#limits.connectionsPerIdentity ?? Number.POSITIVE_INFINITY)) return;
      this.#perIdentity.set(identity, count + 1);
      entry.identity = identity;
    }
    this.#unauthenticated.delete(connection);
    this.#origins.get(entry.address)?.unauthenticated.delete(connection);
  }

  /** May be called twice. */
  leave(connection: Connection): void {
    const entry = this.#entries.get(connection);
    if (!entry) return;
    this.#entries.delete(connection);
    this.#unauthenticated.delete(connection);
    if (entry.identity !== undefined) {
      const left = (this.#perIdentity.get(entry.identity) ?? 1) - 1;
      if (left > 0) this.#perIdentity.set(entry.identity, left);
      else this.#perIdentity.delete(entry.identity);
    }
    const origin = this.#origins.get(entry.address);
    if (!origin) return;
    origin.unauthenticated.delete(connection);
    origin.count -= 1;
    if (origin.count === 0) this.#origins.delete(entry.address);
  }

  /** All admitted connections. */
  connections(): Iterable<Connection> {
    return this.#entries.keys();
  }

  get size(): number {
    return this.#entries.size;
  }

  /** False when none of them can go. */
  #makeRoom(candidates: ReadonlySet<Connection>, limit: Full): boolean {
    for (const oldest of candidates) {
      this.leave(oldest);
      this.#giveWay(oldest, limit);
      return true;
    }
    return false;
  }
}
