import { randomUUID } from 'node:crypto';
import { invalidBody, limitReached, notFound, tooManyRequests } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { Rates } from '../../lib/rates.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import { DeliveryError } from '../../platform/outbound/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import { type Alert, type Alerts, keyOfAlert } from '../alerts/index.ts';
import type { Devices } from '../devices/index.ts';
import type { Site } from '../site/index.ts';
import { type ChannelChange, changedChannel, newChannel } from './changes.ts';
import { composeAlerts, composeTest, type NotifiedAlert } from './compose.ts';
import type { Channel } from './model.ts';
import { channelsFor, Outbox } from './outbox.ts';
import { Sender } from './sender.ts';
import { createNotificationStore, type NotificationStore } from './store.ts';
import type { Delivery } from './tables.ts';
import { send } from './transports.ts';
import { UnstoredChanges } from './unstored.ts';

interface NotificationsOptions {
  database: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  site: Pick<Site, 'get'>;
  devices: Devices;
  alerts: Alerts;
  limits?: Limits['notifications'];
  newId?: () => string;
}

/** Channels by which people outside are notified of alerts. */
export class Notifications {
  readonly #options: NotificationsOptions;
  readonly #log: Log;
  readonly #limits: Limits['notifications'];
  readonly #newId: () => string;
  readonly #store: NotificationStore;
  readonly #outbox: Outbox;
  readonly #channels = new Map<string, Channel>();
  readonly #senders = new Map<string, ChannelSenders>();
  readonly #newDelivery: () => { id: string; createdAtMs: EpochMs };
  readonly #testRates: Rates;
  #stopFollowing: () => void = () => undefined;
  readonly #stopping = new AbortController();

  constructor(options: NotificationsOptions) {
    const { database, limits = LIMITS.notifications, newId = randomUUID } = options;
    this.#options = options;
    this.#log = options.log.child({ component: 'notifications' });
    this.#limits = limits;
    this.#newId = newId;
    this.#store = createNotificationStore(database);
    const newDelivery = () => ({ id: newId(), createdAtMs: Math.floor(options.clock.wallMs()) });
    this.#newDelivery = newDelivery;
    this.#outbox = new Outbox({ ...options, store: this.#store, limits, newDelivery });
    this.#testRates = new Rates({ perSecond: limits.testsPerMinute / 60, burst: limits.testBurst });
  }

  /** Begins to send, what the last run left first. Call before alerts begin to follow. */
  start(): void {
    const { alerts, database } = this.#options;
    for (const channel of this.#store.channels()) {
      this.#channels.set(channel.id, channel);
      this.#sendersOf(channel.id).stored.wake();
    }
    alerts.alsoStore = (changes) => {
      const channels = [...this.#channels.values()];
      const notified = this.#outbox.add(channels, changes, (id, change) =>
        this.#sendersOf(id).unstoredChanges.knows(change),
      );
      database.afterCommit(() => {
        for (const { unstoredChanges } of this.#senders.values())
          for (const change of changes) unstoredChanges.forget(change);
        for (const channelId of notified) this.#sendersOf(channelId).stored.wake();
      });
    };
    this.#stopFollowing = alerts.events.on('alert_not_stored', 'notifications', (change) => {
      for (const channel of channelsFor([...this.#channels.values()], change)) {
        const { unstoredChanges, unstored } = this.#sendersOf(channel.id);
        unstoredChanges.add(change);
        unstored.wake();
      }
    });
  }

  async stop(): Promise<void> {
    this.#stopFollowing();
    this.#stopping.abort(new Error('the gateway stops'));
    await Promise.all([...this.#senders.values()].map(stopSenders));
  }

  /** In the order in which they were made. */
  list(): Channel[] {
    return [...this.#channels.values()];
  }

  /** @throws GatewayError notification_channel_limit_reached (422), invalid_body, device_not_found */
  create(change: ChannelChange): Channel {
    const { channels } = this.#limits;
    if (this.#channels.size >= channels)
      throw limitReached(
        'notification_channel_limit_reached',
        `The gateway has ${channels} notification channels.`,
        channels,
      );
    const { clock } = this.#options;
    const base = { id: this.#newId(), createdAtMs: Math.floor(clock.wallMs()) };
    return this.#put(newChannel(base, this.#withDeviceIds(change)));
  }

  /**
   * What is absent stays. Secrets do not go along to another server.
   * @throws GatewayError notification_channel_not_found (404), invalid_body, device_not_found
   */
  update(id: string, change: ChannelChange): Channel {
    const changed = changedChannel(this.require(id), this.#withDeviceIds(change));
    this.#put(changed);
    // Whoever switches it on again does not want to hear of last week.
    const { stored, unstored } = this.#sendersOf(id);
    if (!changed.isEnabled) this.#outbox.clear(id);
    else for (const sender of [stored, unstored]) sender.retrySoon();
    return changed;
  }

  /** @throws GatewayError notification_channel_not_found (404) */
  async remove(id: string): Promise<void> {
    this.require(id);
    this.#store.removeChannel(id);
    this.#channels.delete(id);
    const senders = this.#senders.get(id);
    this.#senders.delete(id);
    if (senders) await stopSenders(senders);
  }

  /** @throws GatewayError notification_channel_not_found (404) */
  require(id: string): Channel {
    const channel = this.#channels.get(id);
    if (!channel)
      throw notFound(
        'notification_channel_not_found',
        `There is no notification channel "${id.slice(0, 64)}".`,
      );
    return channel;
  }

  /**
   * Sends something to try the channel, also when it is switched off. What became of it is in the answer and in the log of
   * deliveries. @throws GatewayError notification_channel_not_found (404), too_many_requests (429)
   */
  async test(id: string): Promise<Delivery> {
    const { clock, site } = this.#options;
    const channel = this.require(id);
    const waitMs = this.#testRates.take(id, clock.monotonicMs());
    if (waitMs > 0)
      throw tooManyRequests(
        'This channel was tested too often; try again in a moment.',
        Math.ceil(waitMs / 1_000),
      );
    const nowMs = Math.floor(clock.wallMs());
    const message = composeTest({ id: this.#newId() }, channel.name, { site: site.get(), nowMs });
    let status: Delivery['status'] = 'DELIVERED';
    let error: string | undefined;
    try {
      error = await send(channel, message, { clock, limits: this.#limits, signal: this.#stopping.signal });
    } catch (failure) {
      if (!(failure instanceof DeliveryError)) throw failure;
      status = 'FAILED';
      error = failure.message;
    }
    // It may have been deleted meanwhile.
    this.require(id);
    const delivery: Omit<Delivery, 'number'> = {
      id: message.id,
      channelId: id,
      kind: 'TEST',
      status,
      raisedCount: 0,
      clearedCount: 0,
      omittedCount: 0,
      attempts: 1,
      createdAtMs: nowMs,
      attemptedAtMs: Math.floor(clock.wallMs()),
      ...(error !== undefined && { error }),
    };
    const number = this.#options.database.transaction(() => {
      const added = this.#store.addDelivery(delivery);
      this.#store.removeDeliveries(id, this.#limits.deliveriesKept);
      return added;
    });
    return { ...delivery, number };
  }

  /** Newest first. @throws GatewayError notification_channel_not_found (404) */
  deliveries(
    channelId: string | undefined,
    limit: number,
    offset: number,
  ): { deliveries: Delivery[]; totalCount: number } {
    const of = channelId === undefined ? null : this.require(channelId).id;
    return {
      deliveries: this.#store.deliveries(of, limit, offset),
      totalCount: this.#store.countDeliveries(of),
    };
  }

  #put(channel: Channel): Channel {
    this.#store.putChannel(channel);
    this.#channels.set(channel.id, channel);
    return channel;
  }

  /** Devices may be named by their slugs, too. */
  #withDeviceIds(change: ChannelChange): ChannelChange {
    if (change.deviceIds === undefined) return change;
    if (change.deviceIds.length > this.#limits.devicesPerChannel)
      throw invalidBody('device_ids', `A channel names ${this.#limits.devicesPerChannel} devices at most.`);
    return { ...change, deviceIds: change.deviceIds.map((name) => this.#options.devices.require(name).id) };
  }

  #sendersOf(channelId: string): ChannelSenders {
    let senders = this.#senders.get(channelId);
    if (!senders) {
      const unstoredChanges = new UnstoredChanges({
        channelId,
        limits: this.#limits,
        newDelivery: this.#newDelivery,
      });
      const common = {
        ...this.#options,
        log: this.#log.child({ channel_id: channelId }),
        limits: this.#limits,
      };
      senders = {
        unstoredChanges,
        stored: new Sender({
          ...common,
          waiting: this.#outbox.waitingOf(channelId),
          send: (delivery, signal) => this.#send(delivery, this.#storedAlerts(delivery), signal),
        }),
        unstored: new Sender({
          ...common,
          waiting: unstoredChanges,
          send: (delivery, signal) => this.#send(delivery, this.#unstoredAlerts(unstoredChanges), signal),
        }),
      };
      this.#senders.set(channelId, senders);
    }
    return senders;
  }

  async #send(
    delivery: Delivery,
    notified: readonly NotifiedAlert[],
    signal: AbortSignal,
  ): Promise<{ remark: string | undefined } | undefined> {
    const { clock, site } = this.#options;
    const channel = this.require(delivery.channelId);
    if (notified.length === 0 || !channel.isEnabled) return undefined;
    const around = { site: site.get(), nowMs: clock.wallMs(), namedMax: this.#limits.namedAlerts };
    const message = composeAlerts(delivery, notified, around);
    return { remark: await send(channel, message, { clock, limits: this.#limits, signal }) };
  }

  #unstoredAlerts({ changes }: UnstoredChanges): NotifiedAlert[] {
    const byAlert = new Map<string, { alert: Alert; kinds: Set<'RAISED' | 'CLEARED'> }>();
    for (const { kind, alert } of changes) {
      const kinds = byAlert.get(keyOfAlert(alert))?.kinds ?? new Set();
      byAlert.set(keyOfAlert(alert), { alert, kinds: kinds.add(kind === 'CLEARED' ? kind : 'RAISED') });
    }
    return [...byAlert.values()].map((one) => ({
      ...one,
      device: this.#options.devices.get(one.alert.deviceId),
    }));
  }

  #storedAlerts(delivery: Delivery): NotifiedAlert[] {
    const { alerts, devices } = this.#options;
    const byAlert = new Map<number, Set<'RAISED' | 'CLEARED'>>();
    for (const { alertNumber, kind } of this.#store.pendingOf(delivery.number))
      byAlert.set(alertNumber, (byAlert.get(alertNumber) ?? new Set()).add(kind));
    return [...byAlert].flatMap(([number, kinds]): NotifiedAlert[] => {
      const alert = alerts.ofNumber(number);
      return alert ? [{ alert, device: devices.get(alert.deviceId), kinds }] : [];
    });
  }
}

/** Of one channel: for changes that are stored, and for those that cannot be. */
interface ChannelSenders {
  unstoredChanges: UnstoredChanges;
  stored: Sender;
  unstored: Sender;
}

const stopSenders = ({ stored, unstored }: ChannelSenders): Promise<unknown> =>
  Promise.all([stored.stop(), unstored.stop()]);
