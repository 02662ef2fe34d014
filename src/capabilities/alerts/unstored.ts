/**
 * Alerts that the disk refuses to store. They are kept here while they are raised, so that people are notified all the same;
 * otherwise nobody would hear of a dying disk. None of them survives a restart.
 */
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Alert, AlertChange } from './model.ts';

interface Unstored {
  alert: Alert;
  readonly sinceMs: MonotonicMs;
  isAnnounced: boolean;
  /** Refused since the last look. */
  isSeen: boolean;
}

type Identity = Pick<Alert, 'deviceId' | 'source' | 'name'>;

/** Key of an alert, whether it was stored or not. */
export const keyOfAlert = ({ deviceId, source, name }: Identity): string => `${deviceId} ${source} ${name}`;

export class UnstoredAlerts {
  readonly #limit: number;
  readonly #byKey = new Map<string, Unstored>();

  /** @param limit alerts kept at once */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The change to announce, once the alert has outlasted its grace period. */
  refused(alert: Alert, graceMs: DurationMs, nowMs: MonotonicMs): AlertChange | undefined {
    const key = keyOfAlert(alert);
    const known = this.#byKey.get(key);
    if (!known && this.#byKey.size >= this.#limit) return undefined;
    const one = known ?? { alert, sinceMs: nowMs, isAnnounced: false, isSeen: true };
    this.#byKey.set(key, one);
    one.isSeen = true;
    if (one.isAnnounced || nowMs - one.sinceMs < graceMs) return undefined;
    one.isAnnounced = true;
    one.alert = { ...one.alert, isLasting: true };
    return { kind: 'RAISED', alert: one.alert };
  }

  /** Forgets alerts that were stored, or whose device was deleted. */
  forget(isOver: (alert: Identity) => boolean): void {
    for (const [key, { alert }] of this.#byKey) if (isOver(alert)) this.#byKey.delete(key);
  }

  /** The clearing of announced alerts that were not refused again since the last look. */
  look(clearedAtMs: number): AlertChange[] {
    const over: AlertChange[] = [];
    for (const [key, one] of this.#byKey) {
      if (!one.isSeen) {
        this.#byKey.delete(key);
        if (one.isAnnounced) over.push({ kind: 'CLEARED', alert: { ...one.alert, clearedAtMs } });
      }
      one.isSeen = false;
    }
    return over;
  }
}
