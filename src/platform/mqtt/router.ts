/**
 * Aedes behind a small face: it holds a client per session, the subscription table and the routing of what
 * the gateway publishes. It is given requests that were checked, never bytes of a client. Publications of
 * clients do not pass through it: its QoS 2 store acknowledges a repeated PUBLISH before the first one was
 * taken, it forgets a message whose handler failed, and it does not read on while an acknowledgement is
 * pending (docs/decisions/0010-mqtt-guard.md).
 */
import { Duplex } from 'node:stream';
import { Aedes, type Client } from 'aedes';
import { generate, writeToStream } from 'mqtt-packet';

export interface Router {
  /** Makes a client; resolves when it can subscribe, rejects when Aedes refuses it. */
  attach(port: RouterPort): Promise<RouterClient>;
  /** Delivers at QoS 1 at most to every subscribed client; resolves when written to all of them. */
  publish(topic: string, payload: Buffer): Promise<void>;
  close(): Promise<void>;
}

/** What a client of the router needs from its connection. */
export interface RouterPort {
  /** Unique among all clients ever attached. */
  readonly id: string;
  /** Takes whole PUBLISH packets. */
  write(chunks: readonly Buffer[]): void;
  /** QoS at which this client gets a publication; `undefined` when it is not to get it. */
  deliveryQos(topic: string): 0 | 1 | undefined;
  /** Aedes gave the client up. */
  lost(): void;
}

export interface RouterClient {
  subscribe(filters: readonly string[]): Promise<void>;
  unsubscribe(filters: readonly string[]): Promise<void>;
  detach(): void;
}

/** Bytes of the CONNACK that Aedes writes; the connection has written its own. */
const CONNACK_BYTES = 4;
/** The longest timer; heartbeats serve clusters of brokers. */
const NEVER_MS = 500_000_000;

export async function createRouter(onError: (error: unknown) => void): Promise<Router> {
  // Otherwise the package keeps a buffer for each number of two bytes: 65 536 of them, 8 MB.
  writeToStream.cacheNumbers = false;
  const ports = new Map<string, RouterPort>();
  const aedes = new Aedes({
    // No bound on parallel deliveries: writes never wait, queues are bounded per connection.
    concurrency: 0,
    drainTimeout: 0,
    heartbeatInterval: NEVER_MS,
    maxTopicLevels: 100,
    authorizeForward: (client, packet) => {
      const qos = ports.get(client.id)?.deliveryQos(packet.topic);
      return qos === undefined ? null : Object.assign(packet, { qos });
    },
  });
  const publishAny = aedes.publish.bind(aedes);
  // Aedes reports connects and subscriptions of clients as `$SYS` messages; nobody may read them.
  aedes.publish = (packet, callback) => {
    if (packet.topic.startsWith('$SYS/')) callback();
    else publishAny(packet, callback);
  };
  await aedes.listen();
  // Aedes is an emitter whose `error` event would end the process when nobody listens.
  const emitter: NodeJS.EventEmitter = aedes;
  emitter.on('error', onError);

  return {
    attach: (port) => {
      ports.set(port.id, port);
      return attach(aedes, port, () => ports.delete(port.id));
    },
    publish: (topic, payload) =>
      settled((done) =>
        aedes.publish({ cmd: 'publish', topic, payload, qos: 1, retain: false, dup: false }, done),
      ),
    close: () => new Promise((resolve) => aedes.close(resolve)),
  };
}

async function attach(aedes: Aedes, port: RouterPort, forget: () => void): Promise<RouterClient> {
  const stream = portStream(port, forget);
  const client: Client = aedes.handle(stream);
  const ready = new Promise<void>((resolve, reject) => {
    client.on('connected', resolve);
    stream.once('close', () => reject(new Error('the broker library closed a new client')));
  });
  stream.push(
    generate({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 4,
      clientId: port.id,
      clean: true,
      keepalive: 0,
    }),
  );
  await ready;
  return {
    subscribe: (filters) =>
      settled((done) =>
        client.subscribe(
          // Always 1: `deliveryQos` decides for each publication.
          filters.map((topic) => ({ topic, qos: 1 as const })),
          done,
        ),
      ),
    unsubscribe: (filters) =>
      settled((done) => client.unsubscribe({ cmd: 'unsubscribe', unsubscriptions: [...filters] }, done)),
    detach: () => {
      forget();
      stream.destroy();
    },
  };
}

/** The stream that Aedes takes for a socket. It never makes Aedes wait; the connection bounds its queue. */
function portStream(port: RouterPort, forget: () => void): Duplex {
  let skipBytes = CONNACK_BYTES;
  const write = (chunks: readonly Buffer[]): void => {
    let rest = chunks;
    while (skipBytes > 0) {
      const [first, ...others] = rest;
      if (first === undefined) return;
      const skippedBytes = Math.min(skipBytes, first.length);
      skipBytes -= skippedBytes;
      rest = skippedBytes < first.length ? [first.subarray(skippedBytes), ...others] : others;
    }
    if (rest.length > 0) port.write(rest);
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
