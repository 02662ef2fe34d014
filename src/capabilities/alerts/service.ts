import { randomUUID } from 'node:crypto';
import { Emitter } from '../../lib/emitter.ts';
import { notFound } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { Rates } from '../../lib/token-bucket.ts';
import type { DurationMs, EpochMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Principal } from '../../platform/http/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import { RetentionLoop, type ScarceRoom } from '../../platform/retention/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { ConnectivityStatus, Device, Devices } from '../devices/index.ts';
import type { ReportedAlerts, Telemetry } from '../telemetry/index.ts';
import {
  type Alert,
  type AlertChange,
  type AlertFilter,
  describeRaised,
  graceMs,
  isShown,
  maySee,
  OFFLINE,
  type RaisingTurn,
  SILENT,
  type Turn,
} from './model.ts';
import { RaisedAlerts } from './raised.ts';
import { Rhythms } from './rhythms.ts';
import { createAlertStore } from './store.ts';
import { ALERT_SEVERITIES } from './tables.ts';

interface AlertEvents {
  /** After it was stored. */
  alert_changed: AlertChange;
  /** The disk refused to store alerts; the next check tries again. */
  store_refused: { device: Device };
}

interface AlertsOptions extends Instruments {
  database: Database;
  devices: Devices;
  telemetry: Pick<Telemetry, 'events' | 'alerts' | 'latest' | 'wasHeard' | 'heardAtMs'>;
  limits?: Limits['alerts'];
  /** Room for state; while it is scarce, fewer alerts are kept. */
  room?: ScarceRoom | undefined;
  newId?: () => string;
}

/**
 * Follows the alerts that devices report, and stores each with the moments when it was raised and cleared. Reports are part of
 * telemetry, so that a restart loses none: reported alerts are compared with stored ones.
 */
export class Alerts {
  readonly events: Emitter<AlertEvents>;
  /** Stores more with each change, in the same transaction; an error that it throws undoes the change. */
  alsoStore: (changes: readonly AlertChange[]) => void = () => undefined;
  readonly #options: AlertsOptions;
  readonly #log: Log;
  readonly #limits: Limits['alerts'];
  readonly #store;
  readonly #raised: RaisedAlerts;
  readonly #absences: Absences;
  readonly #rhythms: Rhythms;
  readonly #rates: Rates;
  readonly #retention: RetentionLoop;
  readonly #dropped: { inc: (labels: { reason: string }, count?: number) => void };
  readonly #ends: (() => void)[] = [];
  #newestNumber = 0;

  constructor(options: AlertsOptions) {
    const { clock, database, devices, metrics, limits = LIMITS.alerts } = options;
    this.#options = options;
    this.#log = options.log.child({ component: 'alerts' });
    this.#limits = limits;
    this.#store = createAlertStore(database);
    this.#raised = new RaisedAlerts(limits);
    this.#absences = new Absences({ clock, devices, offlineAfterMs: limits.offlineAfterMs });
    this.#rhythms = new Rhythms(limits);
    this.#rates = new Rates({
      perSecond: limits.changesPerDevicePerMinute / 60,
      burst: limits.changesPerDevice,
    });
    this.events = new Emitter(this.#log);
    this.#retention = new RetentionLoop({
      ...options,
      log: this.#log,
      limits,
      what: 'alerts',
      failures: metrics.counter(
        'alert_retention_failures_total',
        'Rounds of deleting old alerts that failed.',
      ),
      deleteBatch: () => this.#deleteSome(),
      restamp: (correction) => {
        database.transaction(() => this.#store.restamp(correction));
        this.#raised.forgetCleared();
      },
    });
    this.#dropped = metrics.counter('alerts_dropped_total', 'Raised alerts that were not kept.', {
      reason: ['room'],
    });
    metrics.gauge('alerts_raised', 'Alerts that are raised now.', ['severity'], (gauge) => {
      const all = [...this.#raised.all()].flatMap(([, ofDevice]) => [...ofDevice.values()]);
      for (const severity of ALERT_SEVERITIES)
        gauge.set({ severity }, all.filter((alert) => alert.severity === severity).length);
    });
  }

  /** Loads the alerts that were raised when the last run ended, and follows reports. Telemetry must have started. */
  start(): void {
    const { clock, devices, telemetry } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const alert of this.#store.raised()) this.#raised.add(alert, nowMs);
    for (const { deviceId, longestPausesMs } of this.#store.rhythms())
      this.#rhythms.resume(deviceId, longestPausesMs, nowMs);
    this.#newestNumber = this.#store.newestNumber();
    this.#absences.start();
    const owner = 'alerts';
    const timer = clock.setRepeating(this.#limits.checkIntervalMs, () => this.#check());
    this.#ends.push(
      () => timer.cancel(),
      telemetry.events.on('alerts_told', owner, ({ device }) => {
        // Reports that come too often wait for the next check.
        if (this.#rates.waitMs(device.id, clock.monotonicMs()) > 0) return;
        if (this.#follow(device)) this.#rates.spend(device.id, clock.monotonicMs(), 1);
      }),
      devices.events.on('connectivity_changed', owner, ({ device, status, atMs }) => {
        this.#absences.note(device, status);
        if (status === 'ONLINE') this.#clearOwn(device, IS_OFFLINE, atMs);
      }),
      devices.events.on('blueprint_assigned', owner, ({ device }) => {
        this.#follow(device, true);
        this.#rhythms.beginAnew(device.id, clock.monotonicMs());
      }),
      devices.events.on('device_deleted', owner, ({ device }) => {
        this.#raised.forgetDevice(device.id);
        this.#absences.forget(device.id);
        this.#rhythms.forget(device.id);
      }),
    );
    this.#retention.start();
    this.#check();
  }

  stop(): void {
    for (const end of this.#ends.splice(0)) end();
    this.#retention.stop();
  }

  /** A page of alerts, the most recently raised first, and the number of all matches. */
  list(filter: AlertFilter, limit: number, offset: number): { alerts: Alert[]; totalCount: number } {
    return { alerts: this.#store.page(filter, limit, offset), totalCount: this.#store.count(filter) };
  }

  ofNumber(number: number): Alert | undefined {
    return this.#store.ofNumber(number);
  }

  /** @throws GatewayError alert_not_found (404), also for one that the caller may not see */
  requireFor(caller: Principal, id: string): Alert {
    const known = this.#store.byId(id);
    if (known && maySee(known, caller.role)) return known;
    throw notFound('alert_not_found', `There is no alert "${id.slice(0, 64)}".`);
  }

  /**
   * Notes who has seen the alert; the first acknowledgement for good counts.
   * @param untilMs it counts until then; absent: for good
   * @throws GatewayError alert_not_found (404)
   */
  acknowledge(id: string, caller: Principal, untilMs?: EpochMs): Alert {
    const known = this.requireFor(caller, id);
    return this.#acknowledge([known], caller, untilMs)[0] ?? known;
  }

  /** Acknowledges all raised alerts that the caller may see and nobody has acknowledged. */
  acknowledgeRaised(caller: Principal): Alert[] {
    const seen = this.#store.raised().filter((alert) => maySee(alert, caller.role));
    const open = seen.filter(({ acknowledgedAtMs }) => acknowledgedAtMs === undefined);
    return this.#acknowledge(open, caller);
  }

  #acknowledge(alerts: readonly Alert[], { origin }: Principal, untilMs?: EpochMs): Alert[] {
    const { clock, database } = this.#options;
    const atMs = Math.floor(clock.wallMs());
    const acknowledged = database.transaction(() =>
      alerts.flatMap(({ number }) => this.#store.acknowledge(number, atMs, origin.name, untilMs) ?? []),
    );
    for (const alert of acknowledged) this.events.emit('alert_changed', { kind: 'ACKNOWLEDGED', alert });
    return acknowledged;
  }

  /**
   * Handles changes without an event: grace periods that end, devices that stay offline, imports, a history that was missing,
   * and alerts that the disk refused.
   */
  #check(): void {
    const { clock, devices } = this.#options;
    try {
      for (const device of devices.all()) {
        this.#follow(device);
        const isOnline = devices.connectivity(device.id) === 'ONLINE';
        if (isOnline) this.#clearOwn(device, IS_OFFLINE, clock.wallMs());
        this.#followSilence(device, isOnline);
      }
      this.#raiseOffline();
      this.#passGrace();
      this.#endSnoozes();
      this.#keepRhythms();
    } catch (error) {
      this.#log.warnLimited('check', 3_600_000, 'alerts could not be checked, will be tried again', {
        error,
      });
    }
  }

  /**
   * Compares the alerts that the device reports with those that are raised; true when they differ. `isBlank`: alerts of
   * removed attributes are cleared.
   */
  #follow(device: Device, isBlank = false): boolean {
    const reported = this.#options.telemetry.alerts(device);
    // No value is known yet: they may still be raised.
    if (!reported && !isBlank) return false;
    const known = this.#raised.of(device.id, 'DEVICE');
    const raised: ReportedAlerts['raised'] = reported?.raised ?? new Map();
    if (known.length === raised.size && known.every((alert) => isShown(alert, raised.get(alert.name))))
      return false;
    const clearedAtMs = reported === undefined ? this.#options.clock.wallMs() : reported.timestampS * 1_000;
    const source = 'DEVICE';
    const cleared = known
      .filter(({ name }) => !raised.has(name))
      .map(({ name }): Turn => ({ kind: 'CLEARED', source, name, atMs: clearedAtMs }));
    const added = [...raised]
      .filter(([name]) => Buffer.byteLength(name) <= this.#limits.nameBytes)
      .flatMap(([name, { sinceS, readRole }]): Turn[] => {
        const before = known.find((alert) => alert.name === name);
        if (before && isShown(before, { readRole })) return [];
        return [{ kind: before ? 'SHOWN' : 'RAISED', source, name, atMs: sinceS * 1_000, readRole }];
      });
    return this.#turn(device, [...cleared, ...added]);
  }

  #raiseOffline(): void {
    const { clock, telemetry } = this.#options;
    for (const { device, awayMs } of this.#absences.overdue())
      // A device that never sent anything is being installed.
      if (!this.#raised.has(device.id, IS_OFFLINE) && telemetry.wasHeard(device))
        this.#turn(device, [{ ...IS_OFFLINE, kind: 'RAISED', atMs: clock.wallMs() - awayMs }]);
  }

  #clearOwn(device: Device, which: typeof IS_OFFLINE | typeof IS_SILENT, atMs: EpochMs): void {
    if (this.#raised.has(device.id, which)) this.#turn(device, [{ ...which, kind: 'CLEARED', atMs }]);
  }

  /** Raises and clears SILENT for devices that are connected but send nothing; offline devices have OFFLINE instead. */
  #followSilence(device: Device, isOnline: boolean): void {
    const { clock, telemetry } = this.#options;
    const heardAtMs = telemetry.heardAtMs(device);
    const nowMs = clock.monotonicMs();
    const silentMs = this.#rhythms.follow(device.id, isOnline, heardAtMs, nowMs);
    if (!this.#raised.has(device.id, IS_SILENT)) {
      if (silentMs !== undefined)
        this.#turn(device, [{ ...IS_SILENT, kind: 'RAISED', atMs: clock.wallMs() - silentMs }]);
      return;
    }
    const isHeard = heardAtMs !== undefined && silentMs === undefined;
    // An alert of an earlier run stays until the device sends data.
    if (isHeard || this.#raised.has(device.id, IS_OFFLINE)) this.#clearOwn(device, IS_SILENT, clock.wallMs());
  }

  /** Stores new pauses, once a day for each device, so that the next run need not learn them again. */
  #keepRhythms(): void {
    const learned = this.#rhythms.learned();
    if (learned.length === 0) return;
    this.#options.database.transaction(() => {
      for (const [deviceId, days] of learned) this.#store.putRhythm(deviceId, days);
    });
    this.#rhythms.noteKept();
  }

  /** Alerts that are raised still when their acknowledgement ends are news again. */
  #endSnoozes(): void {
    const nowMs = this.#options.clock.wallMs();
    // A transaction without a change would count as proof that the disk takes writes.
    if (this.#store.hasSnoozeOver(nowMs)) this.#noteLasting(() => this.#store.wake(nowMs));
  }

  #noteLasting(change: () => readonly Alert[]): void {
    const changes = this.#options.database.transaction(() => {
      const made = change().map((alert): AlertChange => ({ kind: 'LASTING', alert }));
      this.alsoStore(made);
      return made;
    });
    for (const made of changes) this.events.emit('alert_changed', made);
  }

  #passGrace(): void {
    const { clock, devices } = this.#options;
    for (const [deviceId, alerts] of this.#raised.all()) {
      const device = devices.get(deviceId);
      if (!device) continue;
      for (const alert of alerts.values()) {
        if (alert.isLasting) continue;
        const { source, name, number, sinceMs } = alert;
        if (clock.monotonicMs() - sinceMs < graceMs(devices.manifest(device), source, name)) continue;
        this.#noteLasting(() => [this.#store.setLasting(number)].filter((stored) => stored !== undefined));
        alert.isLasting = true;
      }
    }
  }

  /** Stores the changes of one device, all or none; true when there were any. The next check repeats what the disk refused. */
  #turn(device: Device, turns: readonly Turn[]): boolean {
    const { clock, database } = this.#options;
    if (turns.length === 0) return false;
    let room = this.#raised.roomOf(device.id);
    let changes: AlertChange[];
    try {
      changes = database.transaction(() => {
        const made = turns.flatMap((turn): AlertChange[] => {
          // Cleared alerts come first, and make room.
          if (turn.kind === 'CLEARED') room++;
          else if (turn.kind === 'RAISED' && room-- <= 0) return [];
          return this.#take(device, turn);
        });
        this.alsoStore(made);
        return made;
      });
    } catch (error) {
      const context = { device_id: device.id, error };
      this.#log.warnLimited('store', 60_000, 'alerts could not be stored, will be tried again', context);
      this.events.emit('store_refused', { device });
      return false;
    }
    if (room < 0) this.#dropped.inc({ reason: 'room' }, -room);
    for (const { kind, alert, knownTo } of changes)
      if (knownTo) this.#raised.show(alert);
      else if (kind === 'RAISED') this.#raised.add(alert, clock.monotonicMs());
      else this.#raised.clear(alert);
    for (const change of changes) this.events.emit('alert_changed', change);
    return true;
  }

  /** Deletes cleared alerts that are too old or too many. */
  #deleteSome(): boolean {
    const { clock, database, room } = this.#options;
    const { deletedAtOnce, kept, keptPerDevice, keptWhenScarce, lifetimeMs } = this.#limits;
    const old = clock.proven.olderThan(lifetimeMs);
    const removed = database.transaction(() => [
      old ? this.#store.removeOld(old, deletedAtOnce) : 0,
      this.#store.removeExcessOfOne(keptPerDevice, deletedAtOnce),
      this.#store.removeExcess(room?.isScarce ? keptWhenScarce : kept, deletedAtOnce),
    ]);
    return removed.includes(deletedAtOnce);
  }

  /** Within a transaction. */
  #raise(device: Device, turn: Turn & RaisingTurn): Alert {
    const { readRole } = turn;
    const again = this.#raised.comesBack(device.id, turn, turn.atMs);
    const before = again === undefined ? undefined : this.#store.raiseAgain(again);
    if (before)
      return isShown(before, { readRole }) ? before : (this.#store.show(before.number, readRole) ?? before);
    const alert = this.#alertOf(device, turn, ++this.#newestNumber);
    this.#store.insert(alert);
    return alert;
  }

  #alertOf(device: Device, turn: Turn & RaisingTurn, number: number): Alert {
    const { devices, telemetry, newId = randomUUID } = this.#options;
    const latest = turn.source === 'DEVICE' ? telemetry.latest(device, ALERT_DETAILS) : undefined;
    const manifest = devices.manifest(device);
    const found = describeRaised(turn, { manifest, latest, limits: this.#limits });
    return { number, id: newId(), deviceId: device.id, ...found };
  }

  /** Within a transaction. */
  #take(device: Device, turn: Turn): AlertChange[] {
    if (turn.kind === 'RAISED') return [{ kind: 'RAISED', alert: this.#raise(device, turn) }];
    const known = this.#raised.of(device.id, turn.source).find(({ name }) => name === turn.name);
    if (!known) return [];
    const { number, readRole: knownTo = 'READONLY' } = known;
    if (turn.kind === 'CLEARED') {
      const cleared = this.#store.clear(number, Math.round(turn.atMs));
      return cleared ? [{ kind: 'CLEARED', alert: cleared }] : [];
    }
    // Alerts of an earlier version were shown to everybody.
    const shown = this.#store.show(number, turn.readRole);
    return shown ? [{ kind: 'RAISED', alert: shown, knownTo }] : [];
  }
}

const ALERT_DETAILS = 'alert_details';
const IS_OFFLINE = { source: 'GATEWAY', name: OFFLINE, readRole: 'READONLY' } as const;
const IS_SILENT = { source: 'GATEWAY', name: SILENT, readRole: 'READONLY' } as const;

// Devices that are offline, and since when by the monotonic clock, which steps of the wall clock do not affect.

class Absences {
  readonly #options: { clock: Clock; devices: Devices; offlineAfterMs: DurationMs };
  /** Monotonic start of the absence, by device id. */
  readonly #sinceMs = new Map<string, number>();

  constructor(options: { clock: Clock; devices: Devices; offlineAfterMs: DurationMs }) {
    this.#options = options;
  }

  /** Absences begin now for devices that are offline at the start, because nobody knows since when they are. */
  start(): void {
    const { devices } = this.#options;
    for (const device of devices.all()) this.note(device, devices.connectivity(device.id));
  }

  note(device: Device, status: ConnectivityStatus): void {
    // The gateway's own device and its built-in module are parts of it.
    if (device.communication.type === 'MQTT_V1_LOCALHOST') return;
    if (status === 'ONLINE') this.#sinceMs.delete(device.id);
    else if (!this.#sinceMs.has(device.id)) this.#sinceMs.set(device.id, this.#options.clock.monotonicMs());
  }

  forget(deviceId: string): void {
    this.#sinceMs.delete(deviceId);
  }

  /** Devices that are away for too long, with the length of their absence. */
  *overdue(): Iterable<{ device: Device; awayMs: DurationMs }> {
    const { clock, devices, offlineAfterMs } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const [deviceId, sinceMs] of this.#sinceMs) {
      const device = devices.get(deviceId);
      if (device && nowMs - sinceMs >= offlineAfterMs) yield { device, awayMs: nowMs - sinceMs };
    }
  }
}
