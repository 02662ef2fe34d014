/**
 * Changes that a channel sends from memory, because the disk takes nothing: above all that the disk fails. Bounded, and
 * gone with a restart; what can be stored in time goes the usual way.
 */
import type { Limits } from '../../lib/limits.ts';
import { type AlertChange, keyOfAlert } from '../alerts/index.ts';
import type { NewDelivery, Waiting } from './sender.ts';
import type { Delivery } from './tables.ts';

interface UnstoredOptions {
  channelId: string;
  limits: Limits['notifications'];
  newDelivery: NewDelivery;
}

export class UnstoredChanges implements Waiting {
  readonly #options: UnstoredOptions;
  #waiting: AlertChange[] = [];
  #omittedCount = 0;
  #open: { delivery: Delivery; changes: readonly AlertChange[] } | undefined;
  /** Alerts that the channel sent as raised, and that may still be stored. */
  readonly #notified = new Set<string>();

  constructor(options: UnstoredOptions) {
    this.#options = options;
  }

  add(change: AlertChange): void {
    this.#waiting.push(change);
    if (change.kind === 'CLEARED') this.#notified.delete(keyOfAlert(change.alert));
    const excess = this.#waiting.length - this.#options.limits.pendingPerChannel;
    if (excess <= 0) return;
    this.#waiting.splice(0, excess);
    this.#omittedCount += excess;
  }

  /** Whether the channel has sent, or is about to send, an alert that is stored only now. */
  knows({ alert }: AlertChange): boolean {
    const key = keyOfAlert(alert);
    const isOnTheWay = this.#open?.changes.some((change) => keyOfAlert(change.alert) === key) ?? false;
    return isOnTheWay || this.#notified.has(key);
  }

  /** It is stored from now on: what waits here is sent from there. */
  forget({ alert }: AlertChange): void {
    const key = keyOfAlert(alert);
    this.#notified.delete(key);
    this.#waiting = this.#waiting.filter((change) => keyOfAlert(change.alert) !== key);
  }

  /** What the delivery carries. */
  get changes(): readonly AlertChange[] {
    return this.#open?.changes ?? [];
  }

  async next(): Promise<Delivery | undefined> {
    if (!this.#open && this.#waiting.length > 0) {
      const changes = this.#waiting;
      const raisedCount = changes.filter(({ kind }) => kind === 'RAISED').length;
      const { channelId, newDelivery } = this.#options;
      const delivery: Delivery = {
        ...newDelivery(channelId, 'ALERTS'),
        number: 0,
        raisedCount,
        clearedCount: changes.length - raisedCount,
        omittedCount: this.#omittedCount,
      };
      this.#open = { delivery, changes };
      this.#waiting = [];
      this.#omittedCount = 0;
    }
    return this.#open?.delivery;
  }

  note(delivery: Delivery): void {
    if (!this.#open) return;
    this.#open = { ...this.#open, delivery };
    if (delivery.status === 'RETRYING') return;
    if (delivery.status === 'DELIVERED')
      for (const { kind, alert } of this.changes)
        if (kind === 'RAISED') this.#notified.add(keyOfAlert(alert));
        else this.#notified.delete(keyOfAlert(alert));
    this.#open = undefined;
  }

  hasMore(): boolean {
    return this.#waiting.length > 0;
  }
}
