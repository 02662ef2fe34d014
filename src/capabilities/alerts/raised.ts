/**
 * Alerts that are raised now, in memory: enough to tell new reports of a device from known ones without the disk. It keeps
 * no moments of the wall clock, so that corrections of the clock change nothing.
 */
import type { Limits } from '../../lib/limits.ts';
import type { Role } from '../../lib/role.ts';
import type { EpochMs, MonotonicMs } from '../../lib/time.ts';
import type { Alert, AlertSeverity, AlertSource } from './model.ts';

interface RaisedAlert {
  readonly number: number;
  readonly name: string;
  readonly source: AlertSource;
  readonly severity: AlertSeverity;
  readRole: Role | undefined;
  isLasting: boolean;
  /** Monotonic; in an earlier run: the start of this one. */
  readonly sinceMs: MonotonicMs;
}

/** An alert that was cleared, and may come back. */
interface Cleared {
  readonly number: number;
  readonly clearedAtMs: EpochMs;
}

const keyOf = ({ source, name }: Pick<RaisedAlert, 'source' | 'name'>): string => `${source} ${name}`;

export class RaisedAlerts {
  readonly #limits: Limits['alerts'];
  readonly #ofDevice = new Map<string, Map<string, RaisedAlert>>();
  /** In the order of clearing. */
  readonly #cleared = new Map<string, Cleared>();
  #count = 0;

  constructor(limits: Limits['alerts']) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  /** Device ids with what is raised for them. */
  all(): Iterable<[string, ReadonlyMap<string, RaisedAlert>]> {
    return this.#ofDevice;
  }

  of(deviceId: string, source: AlertSource): RaisedAlert[] {
    return [...(this.#ofDevice.get(deviceId)?.values() ?? [])].filter((alert) => alert.source === source);
  }

  has(deviceId: string, alert: Pick<RaisedAlert, 'source' | 'name'>): boolean {
    return this.#ofDevice.get(deviceId)?.has(keyOf(alert)) ?? false;
  }

  /** How many more may be raised for the device. */
  roomOf(deviceId: string): number {
    const { raised, raisedPerDevice } = this.#limits;
    const ofThis = this.#ofDevice.get(deviceId)?.size ?? 0;
    return Math.max(0, Math.min(raisedPerDevice - ofThis, raised - this.#count));
  }

  add(alert: Alert, sinceMs: MonotonicMs): void {
    const { deviceId, number, name, source, severity, readRole, isLasting } = alert;
    const ofDevice = this.#ofDevice.getOrInsertComputed(deviceId, () => new Map());
    this.#count += ofDevice.has(keyOf(alert)) ? 0 : 1;
    ofDevice.set(keyOf(alert), { number, name, source, severity, readRole, isLasting, sinceMs });
    this.#cleared.delete(`${deviceId} ${keyOf(alert)}`);
  }

  /** More roles may see it now. */
  show(alert: Alert): void {
    const known = this.#ofDevice.get(alert.deviceId)?.get(keyOf(alert));
    if (known) known.readRole = alert.readRole;
  }

  clear(alert: Alert): void {
    const ofDevice = this.#ofDevice.get(alert.deviceId);
    if (!ofDevice?.delete(keyOf(alert))) return;
    this.#count--;
    if (ofDevice.size === 0) this.#ofDevice.delete(alert.deviceId);
    const { number, deviceId, clearedAtMs = 0 } = alert;
    this.#cleared.set(`${deviceId} ${keyOf(alert)}`, { number, clearedAtMs });
    for (const [oldest] of this.#cleared) {
      if (this.#cleared.size <= this.#limits.remembered) break;
      this.#cleared.delete(oldest);
    }
  }

  /** Number of the alert that comes back, if it was cleared only a moment ago. */
  comesBack(
    deviceId: string,
    alert: Pick<RaisedAlert, 'source' | 'name'>,
    atMs: EpochMs,
  ): number | undefined {
    const cleared = this.#cleared.get(`${deviceId} ${keyOf(alert)}`);
    if (!cleared || Math.abs(atMs - cleared.clearedAtMs) >= this.#limits.sameAlertMs) return undefined;
    return cleared.number;
  }

  forgetDevice(deviceId: string): void {
    this.#count -= this.#ofDevice.get(deviceId)?.size ?? 0;
    this.#ofDevice.delete(deviceId);
    for (const key of this.#cleared.keys()) if (key.startsWith(`${deviceId} `)) this.#cleared.delete(key);
  }

  /** Called when moments of the wall clock were corrected: cleared alerts do not come back. */
  forgetCleared(): void {
    this.#cleared.clear();
  }
}
