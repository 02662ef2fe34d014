import type { SecretSealer } from '../../platform/files/index.ts';
import { randomUUID } from 'node:crypto';
import {
  inRehearsal,
  invalidBody,
  requireFound,
  requireUnderLimit,
  tooManyRequests,
} from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { Rates } from '../../lib/token-bucket.ts';
import type { EpochMs } from '../../lib/time.ts';
import { type Clock, correctMoments, type StampCorrection } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import { DeliveryError } from '../../platform/outbound/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { Alerts } from '../alerts/index.ts';
import type { Devices } from '../devices/index.ts';
import type { Site } from '../site/index.ts';
import { type ChannelChange, changedChannel, newChannel } from './changes.ts';
import { composeAlerts, composeRuleMessage, composeTest, type NotifiedAlert } from './compose.ts';
import { DiskNotice, refusedDisk } from './disk-notice.ts';
import type { Channel, RuleMessage } from './model.ts';
import { Outbox } from './outbox.ts';
import { type NewDelivery, Sender } from './sender.ts';
import { createNotificationStore, type NotificationStore } from './store.ts';
import type { Delivery } from './tables.ts';
import { send } from './transports.ts';

interface NotificationsOptions {
  database: Database;
  sealer: SecretSealer;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  site: Pick<Site, 'get'>;
  devices: Devices;
  alerts: Alerts;
  /** True when a restored copy must not notify anybody. Default: false. */
  isRehearsal?: boolean;
  limits?: Limits['notifications'];
  newId?: () => string;
}

/** Channels that notify people of alerts. */
export class Notifications {
  readonly #options: NotificationsOptions;
  readonly #log: Log;
  readonly #limits: Limits['notifications'];
  readonly #store: NotificationStore;
  readonly #outbox: Outbox;
  readonly #channels = new Map<string, Channel>();
  readonly #senders = new Map<string, Sender>();
  readonly #diskNotice: DiskNotice;
  readonly #testRates: Rates;
  readonly #newDelivery: NewDelivery = (channelId, kind) => {
    const counts = { raisedCount: 0, clearedCount: 0, omittedCount: 0, attempts: 0 };
    return { ...this.#newRecord(), channelId, kind, status: 'SENDING', ...counts };
  };
  #stopFollowing: () => void = () => undefined;
  readonly #stopping = new AbortController();

  constructor(options: NotificationsOptions) {
    const { database, limits = LIMITS.notifications } = options;
    this.#options = options;
    this.#log = options.log.child({ component: 'notifications' });
    this.#limits = limits;
    this.#store = createNotificationStore(database, options.sealer);
    this.#outbox = new Outbox({ ...options, store: this.#store, limits, newDelivery: this.#newDelivery });
    this.#diskNotice = new DiskNotice({
      ...options,
      log: this.#log,
      limits,
      channels: () => this.#channels.values(),
      send: (channel) => this.#sendDiskNotice(channel),
    });
    this.#testRates = new Rates({ perSecond: limits.testsPerMinute / 60, burst: limits.testBurst });
  }

  /** Begins to send, beginning with what the last run left. Call before alerts start. */
  start(): void {
    const { alerts, database, isRehearsal } = this.#options;
    for (const channel of this.#store.channels()) this.#channels.set(channel.id, channel);
    if (isRehearsal) return;
    for (const id of this.#channels.keys()) this.#senderOf(id).wake();
    alerts.alsoStore = (changes) => {
      const notified = this.#outbox.add([...this.#channels.values()], changes);
      database.afterCommit(() => {
        this.#diskNotice.noteStored();
        for (const channelId of notified) this.#senderOf(channelId).wake();
      });
    };
    this.#stopFollowing = alerts.events.on('store_refused', 'notifications', () =>
      this.#diskNotice.noteRefused(),
    );
  }

  async stop(): Promise<void> {
    this.#stopFollowing();
    this.#diskNotice.stop();
    this.#stopping.abort(new Error('the gateway stops'));
    await Promise.all([...this.#senders.values()].map((sender) => sender.stop()));
  }

  /** Sends what a rule says to all channels of its severity; they answer later. False: there is none. */
  notifyOf(message: RuleMessage): boolean {
    const takers = this.#outbox.addMessage([...this.#channels.values()], message);
    for (const channelId of takers) this.#senderOf(channelId).wake();
    return takers.length > 0;
  }

  /** Moments in memory that a wrong clock gave. */
  restamp(correction: StampCorrection): void {
    for (const [id, channel] of this.#channels) this.#channels.set(id, correctMoments(channel, correction));
  }

  /** In the order of creation. */
  list(): Channel[] {
    return [...this.#channels.values()];
  }

  /** @throws GatewayError notification_channel_limit_reached (422), invalid_body, device_not_found */
  create(change: ChannelChange): Channel {
    const { channels: limit } = this.#limits;
    const message = `The gateway has ${limit} notification channels.`;
    requireUnderLimit('notification_channel_limit_reached', message, this.#channels.size, limit);
    return this.#put(newChannel(this.#newRecord(), this.#withDeviceIds(change)));
  }

  /**
   * Absent members stay. Another server needs its secrets again.
   * @throws GatewayError notification_channel_not_found (404), invalid_body, device_not_found
   */
  update(id: string, change: ChannelChange): Channel {
    const changed = changedChannel(this.require(id), this.#withDeviceIds(change));
    this.#put(changed);
    // A channel that is switched on again does not send alerts of the past.
    if (!changed.isEnabled) this.#outbox.clear(id);
    else if (!this.#options.isRehearsal) this.#senderOf(id).retrySoon();
    return changed;
  }

  /** @throws GatewayError notification_channel_not_found (404) */
  async remove(id: string): Promise<void> {
    this.require(id);
    this.#store.removeChannel(id);
    this.#channels.delete(id);
    const sender = this.#senders.get(id);
    this.#senders.delete(id);
    await sender?.stop();
  }

  /** @throws GatewayError notification_channel_not_found (404) */
  require(id: string): Channel {
    const message = `There is no notification channel "${id.slice(0, 64)}".`;
    return requireFound('notification_channel_not_found', message, this.#channels.get(id));
  }

  /**
   * Sends a test message, also when the channel is switched off. The outcome is returned and stored in the log of
   * deliveries. @throws GatewayError notification_channel_not_found (404), in_rehearsal (409), too_many_requests (429)
   */
  async test(id: string): Promise<Delivery> {
    const { clock, site } = this.#options;
    const channel = this.require(id);
    if (this.#options.isRehearsal) throw inRehearsal();
    const waitMs = this.#testRates.take(id, clock.monotonicMs());
    if (waitMs > 0)
      throw tooManyRequests(
        'This channel was tested too often; try again in a moment.',
        Math.ceil(waitMs / 1_000),
      );
    const made = this.#newDelivery(id, 'TEST');
    const message = composeTest(made, channel.name, { site: site.get(), nowMs: made.createdAtMs });
    let status: Delivery['status'] = 'DELIVERED';
    let error: string | undefined;
    try {
      error = await send(channel, message, { clock, limits: this.#limits, signal: this.#stopping.signal });
    } catch (failure) {
      if (!(failure instanceof DeliveryError)) throw failure;
      status = 'FAILED';
      error = failure.message;
    }
    // The channel may have been deleted meanwhile.
    this.require(id);
    const delivery: Omit<Delivery, 'number'> = {
      ...made,
      status,
      attempts: 1,
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

  /** @throws GatewayError notification_delivery_not_found (404) */
  requireDelivery(id: string): Delivery {
    const message = 'There is no such delivery; only the newest of each channel are kept.';
    return requireFound('notification_delivery_not_found', message, this.#store.delivery(id));
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

  /** Id and moment of a new channel or delivery. */
  #newRecord(): { id: string; createdAtMs: EpochMs } {
    const { clock, newId = randomUUID } = this.#options;
    return { id: newId(), createdAtMs: Math.floor(clock.wallMs()) };
  }

  #put(channel: Channel): Channel {
    this.#store.putChannel(channel);
    this.#channels.set(channel.id, channel);
    return channel;
  }

  /** The change with ids of devices in place of slugs. */
  #withDeviceIds(change: ChannelChange): ChannelChange {
    if (change.deviceIds === undefined) return change;
    if (change.deviceIds.length > this.#limits.devicesPerChannel)
      throw invalidBody('device_ids', `A channel names ${this.#limits.devicesPerChannel} devices at most.`);
    return { ...change, deviceIds: change.deviceIds.map((name) => this.#options.devices.require(name).id) };
  }

  #senderOf(channelId: string): Sender {
    return this.#senders.getOrInsertComputed(
      channelId,
      () =>
        new Sender({
          ...this.#options,
          log: this.#log.child({ channel_id: channelId }),
          limits: this.#limits,
          waiting: this.#outbox.waitingOf(channelId),
          send: (delivery, signal) => this.#send(delivery, signal),
        }),
    );
  }

  async #send(delivery: Delivery, signal: AbortSignal): Promise<{ remark: string | undefined } | undefined> {
    const channel = this.require(delivery.channelId);
    if (!channel.isEnabled) return undefined;
    if (delivery.message) {
      const { clock, site } = this.#options;
      const around = { site: site.get(), nowMs: clock.wallMs() };
      const message = composeRuleMessage(delivery, delivery.message, around);
      return { remark: await send(channel, message, { clock, limits: this.#limits, signal }) };
    }
    const alerts = this.#alertsOf(delivery);
    if (alerts.length === 0) return undefined;
    return { remark: await this.#sendAlerts(channel, delivery, alerts, signal) };
  }

  async #sendDiskNotice(channel: Channel): Promise<void> {
    const gateway = this.#options.devices.all().find(({ type }) => type === 'GATEWAY');
    if (!gateway) return;
    const delivery = { ...this.#newDelivery(channel.id, 'ALERTS'), raisedCount: 1 };
    await this.#sendAlerts(channel, delivery, [refusedDisk(gateway, delivery)], this.#stopping.signal);
  }

  async #sendAlerts(
    channel: Channel,
    delivery: Omit<Delivery, 'number'>,
    alerts: readonly NotifiedAlert[],
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { clock, site } = this.#options;
    const around = { site: site.get(), nowMs: clock.wallMs(), namedMax: this.#limits.namedAlerts };
    const message = composeAlerts(delivery, alerts, around);
    return send(channel, message, { clock, limits: this.#limits, signal });
  }

  #alertsOf(delivery: Delivery): NotifiedAlert[] {
    const { alerts, devices } = this.#options;
    const byAlert = new Map<number, Set<'RAISED' | 'CLEARED'>>();
    for (const { alertNumber, kind } of this.#store.pendingOf(delivery.number))
      byAlert.getOrInsertComputed(alertNumber, () => new Set()).add(kind);
    return [...byAlert].flatMap(([number, kinds]): NotifiedAlert[] => {
      const alert = alerts.ofNumber(number);
      return alert ? [{ alert, device: devices.get(alert.deviceId), kinds }] : [];
    });
  }
}
