import { createHash } from 'node:crypto';
import { conflict, messageOf, requireFound, unprocessable } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { Blueprints } from '../blueprints/index.ts';
import type { Connectivity } from '../connectivity/index.ts';
import type { Device, DeviceService } from '../devices/index.ts';
import { type GuestMessage, type MqttGuests } from '../mqtt-guests/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import { AcceptedDevice } from './accepted-device.ts';
import { isAnnouncementTopic } from './announcement.ts';
import { isMeant, type Proposal } from './model.ts';
import { type Announced, announcedDevices } from './proposals.ts';
import { createAnnouncementStore, type StoredDecision } from './store.ts';

interface AnnouncementsOptions {
  database: Database;
  clock: Clock;
  log: Log;
  blueprints: Blueprints;
  devices: DeviceService;
  provisioning: Provisioning;
  connectivity: Connectivity;
  mqttGuests: MqttGuests;
}

const WARNING_INTERVAL_MS = 3_600_000;

/**
 * Devices that announce themselves in the format of Home Assistant (docs/mqtt-devices-of-others.md). What guests
 * announce is kept, so that it is there after a start; a person accepts a device, which gets a blueprint made of the
 * announcements and then is a device like any other.
 */
export class Announcements {
  readonly #options: AnnouncementsOptions;
  readonly #store;
  /** Guest → topic → payload. */
  readonly #announcements = new Map<string, Map<string, string>>();
  /** By announced device: what a person decided. */
  readonly #decisions = new Map<string, StoredDecision>();
  /** Guests whose announcements changed; their devices are put together again. */
  readonly #stale = new Set<string>();
  /** Guests whose accepted devices have to follow their announcements. */
  readonly #unsettled = new Set<string>();
  /** Guest → its announced devices. */
  readonly #announced = new Map<string, Announced[]>();
  /** By announced device. */
  readonly #accepted = new Map<string, AcceptedDevice>();
  /** Guest → topic of a state → last message, for devices that are accepted later. */
  readonly #last = new Map<string, Map<string, string>>();
  #settling: Timer | undefined;
  #count = 0;

  constructor(options: AnnouncementsOptions) {
    this.#options = options;
    this.#store = createAnnouncementStore(options.database);
  }

  /** Reads what was announced before, and follows the devices that were accepted. */
  start(): void {
    const { mqttGuests, devices } = this.#options;
    for (const { guestId, topic, payload } of this.#store.announcements())
      this.#keep(guestId, topic, payload);
    for (const decision of this.#store.decisions()) this.#decisions.set(decision.id, decision);
    mqttGuests.onMessage = (message) => this.#take(message);
    const owner = 'announcements';
    mqttGuests.events.on('guest_connected', owner, ({ guestId, isConnected }) => {
      for (const device of this.#acceptedOf(guestId)) device.setConnected(isConnected);
    });
    mqttGuests.events.on('guest_revoked', owner, ({ guestId }) => this.#changed(guestId));
    mqttGuests.events.on('guest_removed', owner, ({ guestId }) => this.#forgetGuest(guestId));
    devices.events.on('device_deleted', owner, ({ device }) => this.#forgetDevice(device));
    for (const guestId of this.#announcements.keys()) this.#renew(guestId);
  }

  stop(): void {
    this.#settling?.cancel();
    for (const device of this.#accepted.values()) device.close();
  }

  /** All announced devices by name. */
  list(): Proposal[] {
    const all = [...this.#announcements.keys()].flatMap((guestId) => this.#of(guestId));
    return all.map((announced) => this.#proposalOf(announced)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** @throws GatewayError announced_device_not_found (404) */
  require(id: string): Proposal {
    return this.#proposalOf(this.#require(id));
  }

  /**
   * Makes a device of it. @throws GatewayError announced_device_not_found (404), already_accepted (409),
   * nothing_announced (422), already_exists (409), device_limit_reached (422)
   */
  async accept(
    id: string,
    { name, slug }: { name?: string | undefined; slug?: string | undefined },
  ): Promise<Device> {
    const { blueprints, provisioning } = this.#options;
    const announced = this.#require(id);
    if (this.#isAccepted(id)) throw conflict('already_accepted', `"${announced.name}" is a device already.`);
    if (announced.attributes.length === 0 && announced.commands.length === 0)
      throw unprocessable(
        'nothing_announced',
        `"${announced.name}" announces nothing that the gateway can use.`,
      );
    const { id: blueprintId } = await blueprints.uploadManifest(announced.manifest);
    const device = provisioning.announced({ name: name ?? announced.name, slug, blueprintId });
    this.#decide(announced, device.id);
    this.#follow(this.#require(id));
    return device;
  }

  /** Sets it aside, until a person accepts it after all. @throws announced_device_not_found, already_accepted */
  ignore(id: string): void {
    const announced = this.#require(id);
    if (this.#isAccepted(id)) throw conflict('already_accepted', `"${announced.name}" is a device already.`);
    this.#decide(announced, null);
  }

  #take({ guestId, topic, payload }: GuestMessage): Promise<void> | void {
    const text = payload.toString('utf8');
    if (isAnnouncementTopic(topic)) return this.#announce(guestId, topic, text);
    // The first state follows its announcement at once, and may be the only one for hours.
    this.#of(guestId);
    const last = this.#last.get(guestId);
    for (const announced of last?.keys() ?? []) if (isMeant(announced, topic)) last?.set(announced, text);
    const stored = this.#acceptedOf(guestId).map((device) => device.take(topic, text));
    const waiting = stored.filter((one) => one !== undefined);
    if (waiting.length > 0) return Promise.all(waiting).then(() => undefined);
  }

  /** An empty message takes an announcement back. Devices repeat themselves at every start: only changes are stored. */
  async #announce(guestId: string, topic: string, payload: string): Promise<void> {
    const { database, log } = this.#options;
    const { announcements: limit, announcementBytes } = LIMITS.mqttGuests;
    const known = this.#announcements.get(guestId)?.get(topic);
    if ((known ?? '') === payload) return;
    if (payload === '') {
      this.#store.remove({ guestId, topic });
      this.#announcements.get(guestId)?.delete(topic);
      this.#count--;
    } else if (
      Buffer.byteLength(payload) > announcementBytes ||
      (known === undefined && this.#count >= limit)
    ) {
      const sentence = 'an announcement was dropped: it is too large, or there are too many';
      log.warnLimited('announcements', WARNING_INTERVAL_MS, sentence, { topic });
      return;
    } else {
      this.#store.put({ guestId, topic, payload });
      this.#keep(guestId, topic, payload);
    }
    this.#changed(guestId);
    await database.durable();
  }

  #keep(guestId: string, topic: string, payload: string): void {
    const own = this.#announcements.getOrInsertComputed(guestId, () => new Map());
    if (!own.has(topic)) this.#count++;
    own.set(topic, payload);
    this.#stale.add(guestId);
  }

  /** Entities of a device come one by one: accepted devices follow when no more come. */
  #changed(guestId: string): void {
    this.#stale.add(guestId);
    this.#unsettled.add(guestId);
    this.#settling?.cancel();
    this.#settling = this.#options.clock.setTimer(LIMITS.mqttGuests.settleMs, () => {
      for (const unsettled of this.#unsettled) this.#renew(unsettled);
      this.#unsettled.clear();
    });
  }

  /** The announced devices of a guest as they are now. */
  #of(guestId: string): readonly Announced[] {
    if (!this.#stale.has(guestId)) return this.#announced.get(guestId) ?? [];
    const { mqttGuests } = this.#options;
    this.#stale.delete(guestId);
    const announced = announcedDevices(guestId, this.#announcements.get(guestId) ?? new Map(), {
      mayRead: (topic) => mqttGuests.mayPublish(guestId, topic),
      mayWrite: (topic) => mqttGuests.maySubscribe(guestId, topic),
    });
    this.#announced.set(guestId, announced);
    this.#awaitStates(guestId, announced);
    return announced;
  }

  /** Keeps the last message of announced topics, since some are sent only once. */
  #awaitStates(guestId: string, announced: readonly Announced[]): void {
    const before = this.#last.get(guestId);
    const last = new Map<string, string>();
    for (const { readings, availabilities } of announced)
      for (const { topic } of [...readings, ...availabilities.flatMap(({ topics }) => topics)])
        last.set(topic, before?.get(topic) ?? '');
    this.#last.set(guestId, last);
  }

  /** Accepted devices get what their announcements say now. */
  #renew(guestId: string): void {
    const present = this.#of(guestId);
    for (const announced of present) if (this.#isAccepted(announced.id)) this.#follow(announced);
    for (const [id, accepted] of this.#accepted) {
      if (accepted.announced.guestId !== guestId || present.some((announced) => announced.id === id))
        continue;
      accepted.log('The device took its announcements back. It is offline until it announces itself again.');
      accepted.close();
      this.#accepted.delete(id);
    }
  }

  /** Opens the way between an accepted device and its account, with the blueprint of its present announcements. */
  #follow(announced: Announced): void {
    const { clock, devices, connectivity, mqttGuests } = this.#options;
    const device = devices.get(this.#decisions.get(announced.id)?.deviceId ?? '');
    if (!device) return;
    this.#accepted.get(announced.id)?.close();
    const isConnected = mqttGuests.isConnected(announced.guestId);
    const accepted = new AcceptedDevice({ clock, connectivity, device, announced, isConnected });
    this.#accepted.set(announced.id, accepted);
    void this.#assign(announced, device)
      .catch((error: unknown) =>
        accepted.log(`The changed announcements have no effect: ${messageOf(error)}`),
      )
      .then(() => this.#repeatStates(accepted));
  }

  /** Once the blueprint declares what is announced now. */
  #repeatStates(accepted: AcceptedDevice): void {
    const { id, guestId } = accepted.announced;
    if (this.#accepted.get(id) !== accepted) return;
    for (const [topic, payload] of this.#last.get(guestId) ?? [])
      if (payload !== '') void accepted.take(topic, payload);
  }

  /** A blueprint that a person assigned stays until the announcements change. */
  async #assign(announced: Announced, device: Device): Promise<void> {
    const { blueprints, devices } = this.#options;
    if (this.#decisions.get(announced.id)?.manifestSha256 === digestOf(announced.manifest)) return;
    const { id: blueprintId } = await blueprints.uploadManifest(announced.manifest);
    const now = devices.get(device.id);
    if (!now) return;
    devices.assignBlueprint(now, blueprintId);
    this.#decide(announced, now.id);
  }

  #decide({ id, guestId, manifest }: Announced, deviceId: string | null): void {
    const decision = { id, guestId, deviceId, manifestSha256: digestOf(manifest) };
    this.#store.decide(decision);
    this.#decisions.set(id, decision);
  }

  #forgetDevice({ id: deviceId }: Device): void {
    for (const [id, decision] of this.#decisions) {
      if (decision.deviceId !== deviceId) continue;
      this.#decisions.delete(id);
      this.#store.undecide(id);
      this.#accepted.get(id)?.close();
      this.#accepted.delete(id);
    }
  }

  #forgetGuest(guestId: string): void {
    for (const [id, accepted] of this.#accepted) {
      if (accepted.announced.guestId !== guestId) continue;
      accepted.log('The account of the device was deleted.');
      accepted.close();
      this.#accepted.delete(id);
    }
    for (const { id } of this.#of(guestId)) this.#decisions.delete(id);
    this.#count -= this.#announcements.get(guestId)?.size ?? 0;
    for (const kept of [this.#announcements, this.#announced, this.#last]) kept.delete(guestId);
    this.#stale.delete(guestId);
  }

  #acceptedOf(guestId: string): AcceptedDevice[] {
    return [...this.#accepted.values()].filter(({ announced }) => announced.guestId === guestId);
  }

  #isAccepted(id: string): boolean {
    return typeof this.#decisions.get(id)?.deviceId === 'string';
  }

  #require(id: string): Announced {
    const all = [...this.#announcements.keys()].flatMap((guestId) => this.#of(guestId));
    const found = all.find((announced) => announced.id === id);
    return requireFound('announced_device_not_found', `There is no announced device "${id}".`, found);
  }

  #proposalOf(announced: Announced): Proposal {
    const decision = this.#decisions.get(announced.id);
    if (!decision) return { ...announced, state: 'NEW', deviceId: undefined };
    const { deviceId } = decision;
    return deviceId === null
      ? { ...announced, state: 'IGNORED', deviceId: undefined }
      : { ...announced, state: 'ACCEPTED', deviceId };
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
