/**
 * Devices that are gone. The history deletes what it has of a device that a person deleted, even if the gateway ended in
 * between, because the deletion is stored. A device that is merely unknown, because the state was restored from an
 * older backup, keeps its history for `unknownKeptHours` of running, and has it back when it is known again.
 */
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { type Database, given, upsert } from '../../platform/sqlite/index.ts';
import { departedDevice } from './tables.ts';

const HOUR_MS = 3_600_000;

export class DepartedDevices {
  readonly #limits: Limits['devices'];
  readonly #clock: Clock;
  readonly #put;
  readonly #remove;
  readonly #byId: Map<string, typeof departedDevice.$inferSelect>;
  /** Monotonic moment when the last hour of an unknown device was counted. */
  readonly #countedAtMs = new Map<string, number>();

  constructor(options: { database: Database; clock: Clock; limits: Limits['devices'] }) {
    const { orm } = options.database;
    this.#limits = options.limits;
    this.#clock = options.clock;
    this.#put = upsert({ orm }, departedDevice);
    this.#remove = orm.delete(departedDevice).where(given(departedDevice.deviceId)).prepare();
    this.#byId = new Map(
      orm
        .select()
        .from(departedDevice)
        .all()
        .map((row) => [row.deviceId, row]),
    );
  }

  /** Within the transaction that deletes the device. */
  recordDeletion(deviceId: string): void {
    this.#store({ deviceId, isDeleted: true, runningHours: 0 });
    const deleted = [...this.#byId.values()].filter(({ isDeleted }) => isDeleted);
    for (const old of deleted.slice(0, -this.#limits.deletionsKept)) this.#forget(old.deviceId);
  }

  /**
   * Whether the history may delete the data of an unknown device. The first call starts its time, and each call counts it:
   * call it at least once an hour.
   */
  mayForget(deviceId: string): boolean {
    const known = this.#byId.get(deviceId);
    if (known?.isDeleted) return true;
    const nowMs = this.#clock.monotonicMs();
    const countedAtMs = this.#countedAtMs.get(deviceId);
    if (countedAtMs === undefined) this.#countedAtMs.set(deviceId, nowMs);
    const hours = Math.floor((nowMs - (countedAtMs ?? nowMs)) / HOUR_MS);
    if (hours > 0) {
      this.#countedAtMs.set(deviceId, nowMs);
      this.#store({ deviceId, isDeleted: false, runningHours: (known?.runningHours ?? 0) + hours });
    }
    return (known?.runningHours ?? 0) + hours >= this.#limits.unknownKeptHours;
  }

  /** The device is known again; its time begins anew if it becomes unknown once more. */
  returned(deviceId: string): void {
    this.#countedAtMs.delete(deviceId);
    if (this.#byId.has(deviceId)) this.#forget(deviceId);
  }

  #store(row: typeof departedDevice.$inferSelect): void {
    this.#byId.set(row.deviceId, row);
    this.#put.run(row);
  }

  #forget(deviceId: string): void {
    this.#byId.delete(deviceId);
    this.#remove.run({ deviceId });
  }
}
