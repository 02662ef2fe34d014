/**
 * Messages on topics of guests: which session may send and get them, and where they go. A module may use the topics of all
 * guests, so that scripts talk to their devices.
 */
import type { Log } from '../../platform/log/index.ts';
import {
  DISCOVERY_PREFIX,
  DISCOVERY_STATUS_TOPIC,
  guestOfKey,
  type MqttGuests,
} from '../mqtt-guests/index.ts';

const WARNING_INTERVAL_MS = 60_000;
/** Devices that listen for it announce themselves again. */
const ONLINE = 'online';

interface GuestTrafficOptions {
  guests: MqttGuests;
  /** Whether a communication module has this hardware id. */
  isModule: (hardwareId: string) => boolean;
  /** Keeps the message for sessions that subscribe later; an empty payload removes it. */
  retain: (topic: string, payload: Buffer) => void;
  /** Delivers to every session that subscribed. */
  publish: (topic: string, payload: string | Buffer) => Promise<number> | undefined;
  log: Log;
}

export class GuestTraffic {
  readonly #options: GuestTrafficOptions;

  constructor(options: GuestTrafficOptions) {
    this.#options = options;
  }

  /** @param key of the identity: a guest, or a hardware id */
  mayPublish(key: string, topic: string): boolean {
    const { guests, isModule } = this.#options;
    const guestId = guestOfKey(key);
    if (guestId !== undefined) return guests.mayPublish(guestId, topic);
    return guests.isTopicOfGuests(topic) && isModule(key);
  }

  maySubscribe(key: string, filter: string): boolean {
    const { guests, isModule } = this.#options;
    const guestId = guestOfKey(key);
    if (guestId !== undefined) return guests.maySubscribe(guestId, filter);
    return guests.isTopicOfGuests(filter) && isModule(key);
  }

  /** Hands a message to every session that subscribed, and to who listens within the gateway. */
  take(message: {
    topic: string;
    payload: Buffer;
    isRetained: boolean;
    session?: { identity: { key: string } } | undefined;
  }): Promise<void> | void {
    const { guests, retain } = this.#options;
    const { topic, payload, isRetained } = message;
    // Retained announcements are kept by their reader.
    if (isRetained && !topic.startsWith(`${DISCOVERY_PREFIX}/`)) retain(topic, payload);
    this.#publish(topic, payload);
    const guestId = guestOfKey(message.session?.identity.key ?? '');
    return guestId === undefined ? undefined : guests.onMessage?.({ guestId, topic, payload });
  }

  /** Answers a device that subscribes to Home Assistant's status that its announcements are read. */
  subscribed(key: string, filters: readonly string[]): void {
    if (guestOfKey(key) !== undefined && filters.includes(DISCOVERY_STATUS_TOPIC))
      this.#publish(DISCOVERY_STATUS_TOPIC, ONLINE);
  }

  #publish(topic: string, payload: string | Buffer): void {
    this.#options.publish(topic, payload)?.catch((error: unknown) =>
      this.#options.log.warnLimited('guest traffic', WARNING_INTERVAL_MS, 'a message for guests was lost', {
        error,
      }),
    );
  }
}
