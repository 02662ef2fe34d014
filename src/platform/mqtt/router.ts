/**
 * Aedes behind a small face. It has a client for each session, their subscriptions, the routing of what the gateway
 * publishes, packet identifiers, deliveries that wait for their acknowledgement, and their repetition; it is given
 * requests that were checked, never bytes of a client. What clients publish does not pass through it
 * (docs/decisions/0010-mqtt-guard.md).
 */
import { Duplex } from 'node:stream';
import { Aedes, type AedesPublishPacket, type Client } from 'aedes';
import { generate, writeToStream } from 'mqtt-packet';
import type { RetainedMessages } from './retained-messages.ts';
import { deliveryQos, type GrantedSubscription, SessionPersistence } from './session-persistence.ts';
import type { SessionState } from './sessions.ts';

/** Parts of a connection that its session needs. */
export interface RouterPort {
  /** Unique among all connections, so that a take-over never meets the remains of the one before. */
  readonly id: string;
  readonly state: SessionState;
  /** Aedes accepted the session: its deliveries follow. */
  accepted(): void;
  /** Takes whole packets. */
  write(chunks: readonly Buffer[]): void;
  /** Accepted, and not ended. */
  isOpen(): boolean;
  /** False when this client is not to get a delivery now. */
  mayDeliver(): boolean;
  /** Aedes gave the client up. */
  lost(): void;
}

/** Bytes of the CONNACK that Aedes writes. */
const CONNACK_BYTES = 4;
/** The longest timer; heartbeats serve clusters of brokers. */
const NEVER_MS = 500_000_000;

export class Router {
  readonly #aedes: Aedes;
  readonly #persistence: SessionPersistence;
  readonly #ports = new Map<string, RouterPort>();
  /** By payload, the one part of a packet that Aedes never copies. */
  readonly #wanted = new WeakMap<Buffer, () => boolean>();

  private constructor(retained: RetainedMessages, onError: (error: unknown) => void) {
    this.#persistence = new SessionPersistence(retained);
    // Without it, the package keeps a buffer for each number of two bytes: 65 536 of them, 8 MB.
    writeToStream.cacheNumbers = false;
    this.#aedes = new Aedes({
      // No bound on parallel deliveries: writes never wait, queues are bounded per connection.
      concurrency: 0,
      drainTimeout: 0,
      heartbeatInterval: NEVER_MS,
      maxTopicLevels: 100,
      persistence: this.#persistence,
      authorizeForward: (client, packet) => this.#forward(client, packet),
    });
    const publishAny = this.#aedes.publish.bind(this.#aedes);
    // Aedes reports connects and subscriptions of clients as `$SYS` messages, which no client may read.
    this.#aedes.publish = (packet, callback) => {
      if (packet.topic.startsWith('$SYS/')) callback();
      else publishAny(packet, callback);
    };
    // Aedes is an emitter whose `error` event would end the process when it has no listener.
    const emitter: NodeJS.EventEmitter = this.#aedes;
    emitter.on('error', onError);
  }

  static async create(retained: RetainedMessages, onError: (error: unknown) => void): Promise<Router> {
    const router = new Router(retained, onError);
    await router.#aedes.listen();
    return router;
  }

  /**
   * Gives Aedes a session. `port.accepted` is called first; then unacknowledged messages of the last connection are
   * sent again, except those that are no longer wanted.
   */
  attach(port: RouterPort) {
    this.#ports.set(port.id, port);
    this.#persistence.open(port.id, port.state);
    const forget = (): void => {
      this.#ports.delete(port.id);
      this.#persistence.close(port.id);
    };
    const stream = portStream(port, forget);
    const client = this.#aedes.handle(stream);
    const session = { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, keepalive: 0 } as const;
    // Clean or not, the state is in our persistence; the guard forgets it with a clean session.
    stream.push(generate({ ...session, clientId: port.id, clean: false }));
    return {
      subscribe: (granted: ReadonlyMap<string, 0 | 1 | 2>): Promise<void> => {
        const subscriptions = Array.from(granted, ([topic, qos]): GrantedSubscription => ({
          topic,
          qos: 1,
          granted: qos,
        }));
        return settled((done) => client.subscribe(subscriptions, done));
      },
      /** Resolves when Aedes has answered with UNSUBACK. */
      unsubscribe: (messageId: number, filters: readonly string[]): Promise<void> => {
        const packet = { cmd: 'unsubscribe' as const, messageId, unsubscriptions: [...filters] };
        return settled((done) => client.unsubscribe(packet, done));
      },
      /** Takes the PUBACK of a delivery. */
      acknowledged: (packetId: number) => this.#persistence.acknowledged(port.id, packetId),
      /** Whether a delivery with this packet identifier waits for PUBACK. */
      isAwaited: (packetId: number) => this.#persistence.isAwaited(port.id, packetId),
      detach: () => void stream.destroy(),
    };
  }

  /** How many connected sessions get what is published there. */
  subscriberCount(topic: string): number {
    let count = 0;
    for (const port of this.#ports.values()) {
      const qos = deliveryQos(port.state, topic);
      // At QoS 1 it is delivered as soon as the session is open.
      if (qos === 1 || (qos === 0 && port.isOpen())) count++;
    }
    return count;
  }

  /**
   * Delivers at QoS 1 at most to every subscribed client; resolves when written to all of them.
   * @param isWanted asked before it is sent again to one that returns
   */
  publish(topic: string, payload: Buffer, isWanted?: () => boolean): Promise<void> {
    if (isWanted) this.#wanted.set(payload, isWanted);
    const packet = {
      cmd: 'publish',
      topic,
      payload,
      qos: 1,
      retain: false,
      dup: false,
    } as const;
    return settled((done) => this.#aedes.publish(packet, done));
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#aedes.close(resolve));
  }

  /** Asked for every delivery; `null` is none. */
  #forward(client: Client, packet: AedesPublishPacket): AedesPublishPacket | null {
    const port = this.#ports.get(client.id);
    const qos = port && deliveryQos(port.state, packet.topic);
    if (!port || qos === undefined) return null;
    // A delivery that has waited has a packet identifier; one that is delivered at once has none yet.
    const hasWaited = packet.messageId !== undefined;
    if (!hasWaited && qos === 1 && this.#persistence.isQueued(client.id, packet)) return null;
    if (hasWaited && this.#wanted.get(packet.payload as Buffer)?.() === false) return null;
    if (!port.mayDeliver()) return null;
    return hasWaited ? packet : Object.assign(packet, { qos });
  }
}

/** One session of Aedes. */
export type RouterClient = ReturnType<Router['attach']>;

/** The stream that Aedes takes for a socket. It never makes Aedes wait; the connection bounds its queue. */
function portStream(port: RouterPort, forget: () => void): Duplex {
  let connackBytes = CONNACK_BYTES;
  const write = (chunks: readonly Buffer[]): void => {
    if (connackBytes === 0) return port.write(chunks);
    const bytes = Buffer.concat(chunks);
    const rest = bytes.subarray(connackBytes);
    connackBytes = Math.max(0, connackBytes - bytes.length);
    // The guard knows whether the session is present, also without subscriptions ([MQTT-3.2.2-2]).
    if (connackBytes === 0) port.accepted();
    if (rest.length > 0) port.write([rest]);
  };
  return new Duplex({
    emitClose: true,
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      write([chunk]);
      done();
    },
    writev: (entries, done) => {
      write(entries.map((entry) => entry.chunk as Buffer));
      done();
    },
    destroy: (_error, done) => {
      forget();
      port.lost();
      done(null);
    },
  });
}

function settled(run: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    run((error) => (error ? reject(error) : resolve()));
  });
}
