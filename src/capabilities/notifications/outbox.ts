/**
 * Changes that channels have not sent yet. Each is written in the transaction that stores the alert, so that neither a crash of
 * the gateway nor a dead receiver loses it, and nothing is sent that did not happen. Messages of rules wait behind alerts.
 */
import type { Limits } from '../../lib/limits.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import {
  type Alert,
  ALERT_SEVERITIES,
  type AlertChange,
  type AlertSeverity,
  isNewsFor,
} from '../alerts/index.ts';
import { type Channel, CHANNEL_ROLE, type RuleMessage } from './model.ts';
import type { NewDelivery, Waiting } from './sender.ts';
import type { NotificationStore } from './store.ts';
import type { Delivery, Pending } from './tables.ts';

const TOO_MANY = 'Given up, because too many newer messages of rules wait.';
const SWITCHED_OFF = 'The channel was switched off.';

interface OutboxOptions {
  database: Database;
  store: NotificationStore;
  limits: Limits['notifications'];
  metrics: Metrics;
  newDelivery: NewDelivery;
}

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #store: NotificationStore;
  /** Measured by the longest queue of all channels. */
  readonly #queue: { dropped: (count?: number) => void };

  constructor(options: OutboxOptions) {
    const { limits, metrics, store } = options;
    this.#options = options;
    this.#store = store;
    this.#queue = metrics.queue('notifications', {
      limit: limits.pendingPerChannel,
      depth: () => Math.max(0, ...store.channels().map(({ id }) => store.countPending(id))),
    });
  }

  /** Within a transaction. Returns the ids of the channels that have something to send now. */
  add(channels: readonly Channel[], changes: readonly AlertChange[]): string[] {
    const notified = new Set<string>();
    for (const change of changes) {
      const { kind, alert } = change;
      const what = pendingKindOf(kind, alert);
      if (!what || !isNewsFor(change, CHANNEL_ROLE)) continue;
      for (const channel of channels) {
        if (!isWanted(channel, alert, what)) continue;
        // The clearing was not sent yet, so the alert that came back needs no message.
        if (what === 'RAISED' && this.#store.takeBackCleared(channel.id, alert.number)) continue;
        this.#store.addPending({ channelId: channel.id, alertNumber: alert.number, kind: what });
        notified.add(channel.id);
      }
    }
    for (const channelId of notified) this.#omitExcess(channelId);
    return [...notified];
  }

  /** Stores what a rule says. Returns the ids of the channels that send it. */
  addMessage(channels: readonly Channel[], message: RuleMessage): string[] {
    const { database, limits, newDelivery } = this.#options;
    const takers = channels.filter(
      // It is about no device, so it goes nowhere where only certain devices are of interest.
      (channel) => takesSeverity(channel, message.severity) && channel.deviceIds.length === 0,
    );
    database.transaction(() => {
      for (const { id } of takers) {
        this.#store.addDelivery({ ...newDelivery(id, 'RULE'), message });
        this.#queue.dropped(this.#store.giveUpMessages(id, limits.messagesPerChannel, TOO_MANY));
      }
    });
    return takers.map(({ id }) => id);
  }

  /** The queue of a channel, which survives a restart. */
  waitingOf(channelId: string): Waiting {
    const { database } = this.#options;
    return {
      next: async () => {
        const delivery = database.transaction(() => this.#next(channelId));
        // The begun delivery is on disk, so that a crash does not repeat it as another one. With a failing disk it may be sent twice.
        await database.durable().catch((error: unknown) => {
          if (database.failure === undefined) throw error;
        });
        return delivery;
      },
      note: (delivery) => this.#note(delivery),
      hasMore: () =>
        this.#store.countPending(channelId) > 0 || this.#store.openDelivery(channelId, 'RULE') !== undefined,
    };
  }

  /** Drops everything that waits. */
  clear(channelId: string): void {
    this.#options.database.transaction(() => {
      this.#store.removePendingOfChannel(channelId);
      this.#store.giveUpMessages(channelId, 0, SWITCHED_OFF);
      this.#store.setOmitted(channelId, 0);
    });
  }

  #next(channelId: string): Delivery | undefined {
    const open = this.#store.openDelivery(channelId, 'ALERTS');
    if (open) return open;
    if (this.#store.countPending(channelId) === 0) return this.#store.openDelivery(channelId, 'RULE');
    const number = this.#store.addDelivery({
      ...this.#options.newDelivery(channelId, 'ALERTS'),
      omittedCount: this.#store.omitted(channelId),
    });
    this.#store.assignPending(channelId, number);
    this.#store.setOmitted(channelId, 0);
    return this.#store.countDelivery(number);
  }

  #note(delivery: Delivery): void {
    const { database, limits } = this.#options;
    const { number, channelId, status } = delivery;
    database.transaction(() => {
      this.#store.updateDelivery(delivery);
      if (status === 'FAILED') this.#store.releaseRaised(number);
      if (status !== 'RETRYING') this.#store.removePendingOf(number);
      this.#omitExcess(channelId);
      this.#store.removeDeliveries(channelId, limits.deliveriesKept);
    });
  }

  /** Beyond the limit cleared alerts are dropped before raised ones, the oldest first; they are counted. */
  #omitExcess(channelId: string): void {
    const excess = this.#store.countPending(channelId) - this.#options.limits.pendingPerChannel;
    if (excess <= 0) return;
    this.#store.removeLeast(channelId, excess);
    this.#store.setOmitted(channelId, this.#store.omitted(channelId) + excess);
    this.#queue.dropped(excess);
  }
}

/** An alert counts once it has outlasted its grace period; one that is cleared before is never sent. */
function pendingKindOf(kind: AlertChange['kind'], alert: Alert): Pending['kind'] | undefined {
  if (kind === 'CLEARED') return alert.isLasting ? 'CLEARED' : undefined;
  if (kind === 'ACKNOWLEDGED' || !alert.isLasting) return undefined;
  // A person who acknowledged the alert needs no message.
  return alert.acknowledgedAtMs === undefined ? 'RAISED' : undefined;
}

function takesSeverity({ isEnabled, minimumSeverity }: Channel, severity: AlertSeverity): boolean {
  return isEnabled && ALERT_SEVERITIES.indexOf(severity) >= ALERT_SEVERITIES.indexOf(minimumSeverity);
}

function isWanted(channel: Channel, alert: Alert, what: Pending['kind']): boolean {
  const { deviceIds, notifiesCleared } = channel;
  if (!takesSeverity(channel, alert.severity) || (what === 'CLEARED' && !notifiesCleared)) return false;
  return deviceIds.length === 0 || deviceIds.includes(alert.deviceId);
}
