import { randomBytes as systemRandomBytes, randomUUID } from 'node:crypto';
import { Emitter } from '../../lib/emitter.ts';
import { alreadyExists, requireFound, requireUnderLimit } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { MqttRefusal } from '../../platform/mqtt/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import { isPassword, type RandomBytes, storedPassword } from '../provisioning/index.ts';
import { filterOf, type MqttGuest, mayPublishTo, maySubscribeTo } from './model.ts';
import { createGuestStore, type StoredGuest } from './store.ts';

/** 120 bits; some devices take no password of more than 32 characters. */
const PASSWORD_BYTES = 15;

interface MqttGuestEvents {
  /** Its sessions must end. */
  guest_revoked: { guestId: string };
  guest_removed: { guestId: string };
  /** Its first session began, or its last one ended. */
  guest_connected: { guestId: string; isConnected: boolean };
}

/** A message of a guest. */
export interface GuestMessage {
  guestId: string;
  topic: string;
  payload: Buffer;
}

/** Takes what guests publish; the acknowledgement waits for the promise. */
type GuestListener = (message: GuestMessage) => Promise<void> | void;

interface MqttGuestsOptions {
  database: Database;
  clock: Clock;
  log: Log;
  newId?: () => string;
  randomBytes?: RandomBytes;
}

interface NewGuest {
  name: string;
  username: string;
  password?: string | undefined;
  topics: readonly string[];
}

/** The last refusal of an account, which MQTT 3.1.1 does not send to it. */
export interface GuestRefusal {
  what: MqttRefusal['what'];
  topic: string;
  atMs: EpochMs;
}

/**
 * Accounts for MQTT devices of other makers, which publish and subscribe on topics of their own and never below `v1/`.
 * Their messages go to modules that subscribe to them, and to the reader of announcements
 * (docs/mqtt-devices-of-others.md).
 */
export class MqttGuests {
  readonly events: Emitter<MqttGuestEvents>;
  /** Receives the messages of guests. */
  onMessage: GuestListener | undefined;
  readonly #options: MqttGuestsOptions;
  readonly #store;
  readonly #guests: Map<string, StoredGuest>;
  readonly #sessions = new Map<string, number>();
  readonly #refusals = new Map<string, GuestRefusal>();

  constructor(options: MqttGuestsOptions) {
    this.#options = options;
    this.events = new Emitter(options.log);
    this.#store = createGuestStore(options.database);
    this.#guests = new Map(this.#store.all().map((guest) => [guest.id, guest]));
  }

  /** All by name. */
  list(): MqttGuest[] {
    return [...this.#guests.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** @throws GatewayError mqtt_guest_not_found (404) */
  require(id: string): MqttGuest {
    return this.#require(id);
  }

  isConnected(id: string): boolean {
    return this.#sessions.has(id);
  }

  lastRefusal(id: string): GuestRefusal | undefined {
    return this.#refusals.get(id);
  }

  /** A new account with its password, which is shown once. @throws GatewayError already_exists, mqtt_guest_limit_reached */
  create({ name, username, password = this.#newPassword(), topics }: NewGuest): {
    guest: MqttGuest;
    password: string;
  } {
    const { clock, newId = randomUUID } = this.#options;
    const { guests: limit } = LIMITS.mqttGuests;
    requireUnderLimit(
      'mqtt_guest_limit_reached',
      `The gateway has ${limit} accounts of this kind.`,
      this.#guests.size,
      limit,
    );
    this.#refuseTaken({ name, username });
    const guest: StoredGuest = {
      id: newId(),
      name,
      username,
      ...storedPassword(password, this.#options.randomBytes ?? systemRandomBytes),
      topics: topics.map(filterOf),
      createdAtMs: clock.wallMs(),
    };
    this.#store.insert(guest);
    this.#guests.set(guest.id, guest);
    return { guest, password };
  }

  /** Absent members stay; other topics or another user name end its sessions. @throws mqtt_guest_not_found, already_exists */
  update(
    id: string,
    { topics, ...changes }: Partial<Pick<NewGuest, 'name' | 'username' | 'topics'>>,
  ): MqttGuest {
    const guest = this.#require(id);
    const changed = { ...guest, ...changes, topics: topics?.map(filterOf) ?? guest.topics };
    this.#refuseTaken({ name: changed.name, username: changed.username }, id);
    this.#put(changed);
    return changed;
  }

  /** A new password; the old one is void. @throws GatewayError mqtt_guest_not_found */
  renewPassword(id: string, password = this.#newPassword()): { guest: MqttGuest; password: string } {
    const guest = this.#require(id);
    const random = this.#options.randomBytes ?? systemRandomBytes;
    this.#put({ ...guest, ...storedPassword(password, random) });
    return { guest, password };
  }

  /** @throws GatewayError mqtt_guest_not_found */
  remove(id: string): void {
    this.#require(id);
    this.events.emit('guest_removed', { guestId: id });
    this.#store.remove(id);
    this.#guests.delete(id);
    this.#refusals.delete(id);
    this.events.emit('guest_revoked', { guestId: id });
  }

  /** The account of a login, or undefined. */
  verify(username: string, password: Buffer): string | undefined {
    const guest = [...this.#guests.values()].find((known) => known.username === username);
    return isPassword(guest, password) ? guest?.id : undefined;
  }

  mayPublish(id: string, topic: string): boolean {
    return mayPublishTo(this.#guests.get(id)?.topics ?? [], topic);
  }

  maySubscribe(id: string, filter: string): boolean {
    const guest = this.#guests.get(id);
    return guest !== undefined && maySubscribeTo(guest.topics, filter);
  }

  /** Whether the topic or filter is within those of any account: scripts may use it. */
  isTopicOfGuests(topic: string): boolean {
    return [...this.#guests.values()].some(({ topics }) => maySubscribeTo(topics, topic));
  }

  sessionOpened(id: string): void {
    const count = this.#sessions.get(id) ?? 0;
    this.#sessions.set(id, count + 1);
    if (count === 0) this.events.emit('guest_connected', { guestId: id, isConnected: true });
  }

  sessionClosed(id: string): void {
    const count = (this.#sessions.get(id) ?? 1) - 1;
    if (count > 0) this.#sessions.set(id, count);
    else {
      this.#sessions.delete(id);
      this.events.emit('guest_connected', { guestId: id, isConnected: false });
    }
  }

  noteRefusal(id: string, what: MqttRefusal['what'], topic: string): void {
    this.#refusals.set(id, { what, topic, atMs: this.#options.clock.wallMs() });
  }

  #require(id: string): StoredGuest {
    return requireFound('mqtt_guest_not_found', `There is no MQTT account "${id}".`, this.#guests.get(id));
  }

  #put(guest: StoredGuest): void {
    this.#store.update(guest);
    this.#guests.set(guest.id, guest);
    this.#refusals.delete(guest.id);
    this.events.emit('guest_revoked', { guestId: guest.id });
  }

  #newPassword(): string {
    return (this.#options.randomBytes ?? systemRandomBytes)(PASSWORD_BYTES).toString('base64url');
  }

  #refuseTaken(names: { name: string; username: string }, but?: string): void {
    for (const field of ['name', 'username'] as const)
      for (const guest of this.#guests.values())
        if (guest.id !== but && guest[field] === names[field])
          throw alreadyExists(`Another account has the ${field} "${names[field]}".`, field, names[field]);
  }
}
