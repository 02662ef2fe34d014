/**
 * What channels are still to tell. It is written in the transaction that stores the alert, so that neither a fall of the
 * gateway nor a dead receiver loses it, and nothing is told that did not happen.
 */
import type { Limits } from '../../lib/limits.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import { ALERT_SEVERITIES, type AlertChange, isNewsFor } from '../alerts/index.ts';
import { type Channel, CHANNEL_ROLE } from './model.ts';
import type { NotificationStore } from './store.ts';
import type { Delivery, Pending } from './tables.ts';

export class Outbox {
  readonly #store: NotificationStore;
  readonly #limits: Limits['notifications'];
  /** Of the channel that has most to tell. */
  readonly #queue: { dropped: () => void };
  /** By channel: what had no place since the last delivery. */
  readonly #omitted = new Map<string, number>();

  constructor(store: NotificationStore, limits: Limits['notifications'], metrics: Metrics) {
    this.#store = store;
    this.#limits = limits;
    this.#queue = metrics.queue('notifications', {
      limit: limits.pendingPerChannel,
      depth: () => Math.max(0, ...store.channels().map(({ id }) => store.countPending(id))),
    });
  }

  /** Within a transaction. Ids of the channels that have something to tell now. */
  add(channels: readonly Channel[], changes: readonly AlertChange[]): string[] {
    const told = new Set<string>();
    for (const change of changes) {
      const { kind, alert } = change;
      const what = toldAs(kind, alert);
      if (!what || !isNewsFor(change, CHANNEL_ROLE)) continue;
      for (const channel of channels) {
        if (!isWanted(channel, change, what)) continue;
        // It was about to be told as over, and is not.
        if (what === 'RAISED' && this.#store.takeBackCleared(channel.id, alert.number)) continue;
        this.#put({ channelId: channel.id, alertNumber: alert.number, kind: what });
        told.add(channel.id);
      }
    }
    return [...told];
  }

  /**
   * Within a transaction: the delivery that was begun, or one of everything that waits. Undefined when there is nothing to
   * tell.
   */
  next(channelId: string, newDelivery: { id: string; createdAtMs: EpochMs }): Delivery | undefined {
    const open = this.#store.openDelivery(channelId);
    if (open) return open;
    if (this.#store.countPending(channelId) === 0) return undefined;
    const delivery: Omit<Delivery, 'number'> = {
      ...newDelivery,
      channelId,
      kind: 'ALERTS',
      status: 'SENDING',
      raisedCount: 0,
      clearedCount: 0,
      omittedCount: this.#omitted.get(channelId) ?? 0,
      attempts: 0,
    };
    const number = this.#store.addDelivery(delivery);
    this.#store.assignPending(channelId, number);
    this.#omitted.delete(channelId);
    return this.#store.countDelivery(number);
  }

  forget(channelId: string): void {
    this.#omitted.delete(channelId);
  }

  #put(pending: Omit<Pending, 'number' | 'deliveryNumber'>): void {
    const { channelId } = pending;
    if (this.#store.countPending(channelId) < this.#limits.pendingPerChannel) this.#store.addPending(pending);
    else {
      this.#omitted.set(channelId, (this.#omitted.get(channelId) ?? 0) + 1);
      this.#queue.dropped();
    }
  }
}

/** An alert counts once it has outlasted its grace period; what ends before is told to nobody. */
function toldAs(kind: AlertChange['kind'], alert: AlertChange['alert']): Pending['kind'] | undefined {
  if (kind === 'CLEARED') return alert.isLasting ? 'CLEARED' : undefined;
  if (kind === 'ACKNOWLEDGED' || !alert.isLasting) return undefined;
  // Somebody knows already.
  return alert.acknowledgedAtMs === undefined ? 'RAISED' : undefined;
}

function isWanted(channel: Channel, { alert }: AlertChange, what: Pending['kind']): boolean {
  const { deviceIds, isEnabled, minimumSeverity, notifiesCleared } = channel;
  if (!isEnabled || (what === 'CLEARED' && !notifiesCleared)) return false;
  if (ALERT_SEVERITIES.indexOf(alert.severity) < ALERT_SEVERITIES.indexOf(minimumSeverity)) return false;
  return deviceIds.length === 0 || deviceIds.includes(alert.deviceId);
}
