/**
 * From a device's message to samples: names, types, time (docs/interface/mqtt-devices.md#telemetry). Runs
 * on every message, so it allocates little and touches no disk: the batch is written by the group commit.
 */
import type { Emitter } from '../../../lib/emitter.ts';
import type { Limits } from '../../../lib/limits.ts';
import type { DurationMs, EpochMs, EpochS } from '../../../lib/time.ts';
import type { Clock } from '../../../platform/clock/index.ts';
import { checkDeviceValue, type ValueDeclaration } from '../../blueprints/index.ts';
import type { Device } from '../../devices/index.ts';
import {
  ALERTS_KEY,
  checkValue,
  isRejection,
  measurementTime,
  type TelemetryValue,
  TIMESTAMP_KEY,
} from '../../../protocol/telemetry.ts';
import {
  type BatchWriter,
  type SeriesCoding,
  type Shape,
  type StoredValue,
  toStored,
} from '#telemetry-store';
import { type Arrival, arrivalNow, LatestValue } from './latest-value.ts';
import { type AttributePlan, type DevicePlan, type IngestPlans, mismatchOf } from './ingest-plans.ts';
import type { ReceivedValue, Rejections, TelemetryEvents } from './events.ts';
import type { SeriesRegistry, SeriesState } from './series-registry.ts';

/** Shapes kept per device; further combinations of attributes are written without a shape. */
const SHAPES_PER_DEVICE = 16;

const NO_ALERTS: readonly string[] = [];

export interface IncomingMessage {
  device: Device;
  body: Record<string, unknown>;
  receivedAtMs: EpochMs;
  /** True for values of the gateway or a module about itself, whose storage is not awaited. */
  isOwn?: boolean;
}

interface IngestOptions {
  plans: IngestPlans;
  registry: SeriesRegistry;
  batch: BatchWriter;
  events: Emitter<TelemetryEvents>;
  rejections: Rejections;
  clock: Clock;
  limits: Limits['telemetry'];
  /** False while the disk does not take data: then only the latest values are updated. */
  canStore: () => boolean;
}

export class Ingest {
  readonly #options: IngestOptions;
  // Filled per message and used before the next one.
  readonly #codings: SeriesCoding[] = [];
  readonly #stored: StoredValue[] = [];
  #valueCount = 0;
  #isShowing = false;
  /** Whether the values of the present message are stored; asked once for all of them. */
  #isStoring = false;

  constructor(options: IngestOptions) {
    this.#options = options;
  }

  /** Values taken in since the start. */
  get valueCount(): number {
    return this.#valueCount;
  }

  /**
   * Takes one message into the batch and the latest values; returns the bytes it added to the batch. `isRepeated`: the
   * message was shown before but not stored, so there are no events.
   */
  take(message: IncomingMessage, isRepeated = false): number {
    const { device, body, receivedAtMs } = message;
    const { plans, events, rejections, limits } = this.#options;
    const plan = plans.of(device);
    const arrival = this.#timeOf(message);
    if (arrival === undefined) return 0;
    arrival.isRepeated = isRepeated;
    this.#isStoring = this.#canStore();
    const { timestampS } = arrival;
    const values =
      !isRepeated && events.has('telemetry_received') ? new Map<string, ReceivedValue>() : undefined;
    this.#codings.length = 0;
    this.#stored.length = 0;
    let seen = 0;
    let saysAlerts = false;
    let tellsAlerts = false;
    for (const key in body) {
      if (key === TIMESTAMP_KEY) continue;
      if (++seen > limits.attributesPerMessage) {
        rejections.report(device, undefined, 'too_many', tooManyText(limits.attributesPerMessage));
        break;
      }
      const raw = body[key];
      if (raw === null || raw === undefined) continue;
      const attribute = plan.attributes.get(key);
      if (!attribute) this.#reportUndeclared(device, plan, key);
      else {
        const isTaken = this.#takeValue(device, attribute, raw, arrival, values);
        saysAlerts ||= isTaken && key === ALERTS_KEY;
        tellsAlerts ||= isTaken && attribute.type === 'alerts';
      }
    }
    if (saysAlerts) this.#clearOtherAlerts(plan, arrival, values);
    this.#valueCount += this.#codings.length;
    if (this.#codings.length > 0 && !isRepeated) plan.heardAtMs = arrival.atMonotonicMs;
    let sizeBytes = this.#codings.length > 0 && this.#isStoring ? this.#store(plan, timestampS) : 0;
    if (tellsAlerts) sizeBytes += this.#endLateAlerts(plan, arrival, values);
    if (values && values.size > 0)
      events.emit('telemetry_received', { device, timestampS, receivedAtMs, values });
    if (tellsAlerts && !isRepeated) events.emit('alerts_told', { device });
    return sizeBytes;
  }

  /**
   * Updates the latest values and emits events for a message that cannot be stored yet: rules and people see the present
   * state, whether or not the clock is set.
   */
  show(message: IncomingMessage): void {
    this.#isShowing = true;
    try {
      this.take(message);
    } finally {
      this.#isShowing = false;
    }
  }

  /** Takes one sample of any age, without an event; returns the bytes it added, or undefined when the value does not fit. */
  restore(device: Device, plan: AttributePlan, timestampS: EpochS, raw: unknown): number | undefined {
    const value = this.#acceptedValue(device, plan, raw);
    if (value === undefined) return undefined;
    const { batch, registry, clock, limits } = this.#options;
    const state = (plan.state ??= registry.obtain(device.id, plan.attribute, plan.type));
    const before = batch.sizeBytes;
    this.#isStoring = this.#canStore();
    const arrival = arrivalNow(clock, { timestampS, isReceipt: false }, limits.futureToleranceMs);
    // A sample from the future is stored, but it is not the latest value.
    if (timestampS <= arrival.futureFromS) this.#noteLatest(state, arrival, value);
    else state.storedLatestS = Math.max(state.storedLatestS ?? timestampS, timestampS);
    batch.sample(state.coding, timestampS, toStored(plan.type, value));
    return batch.sizeBytes - before;
  }

  /** The wall clock jumped: times of receipt of latest values move along. Returns the bytes added to the batch. */
  stepped(jumpMs: DurationMs): number {
    const { batch, registry, clock, limits } = this.#options;
    const before = batch.sizeBytes;
    const { futureToleranceMs } = limits;
    for (const state of registry.states()) {
      const { latest, series } = state;
      if (!latest?.stepped(clock, jumpMs, futureToleranceMs)) continue;
      const aheadS = (state.storedLatestS ?? latest.timestampS) - latest.timestampS;
      // Stored again at its right time: a restart must not find it in the future.
      if (aheadS * 1_000 < futureToleranceMs || !this.#canStore()) continue;
      this.#noteStored(state, latest.timestampS, true);
      batch.sample(state.coding, latest.timestampS, toStored(series.type, latest.value));
    }
    return batch.sizeBytes - before;
  }

  #timeOf({ device, body, receivedAtMs }: IncomingMessage): Arrival | undefined {
    const { clock, limits, rejections } = this.#options;
    // A box whose clock was never set trusts the device (decision 0025).
    const isSet = clock.isSet();
    const nowMs = isSet ? receivedAtMs : Number.MAX_SAFE_INTEGER;
    const lateMs = isSet ? limits.lateMs : Number.POSITIVE_INFINITY;
    const { futureToleranceMs } = limits;
    // A clock that is ahead must not make data late, which cannot come again: proven time decides.
    const time = measurementTime(body[TIMESTAMP_KEY], nowMs, { futureToleranceMs, lateMs }, clock.proven);
    if (time.problem === 'late') {
      rejections.report(device, undefined, 'late', 'Telemetry older than 7 days was dropped.');
      return undefined;
    }
    if (time.problem === 'future')
      rejections.report(
        device,
        undefined,
        'future',
        'The clock of the device is more than 60 s ahead; the time of receipt is used.',
      );
    if (time.problem === 'not_a_number')
      rejections.report(
        device,
        undefined,
        'not_a_number',
        'The timestamp is not a number of seconds or milliseconds; the time of receipt is used.',
      );
    // While the clock is not set, a time of receipt is wrong, but not in the far future.
    if (time.isReceipt) time.timestampS = Math.floor(receivedAtMs / 1_000);
    return arrivalNow(clock, time, futureToleranceMs);
  }

  #reportUndeclared(device: Device, plan: DevicePlan, key: string): void {
    if (plan.isSilent) return;
    this.#options.rejections.report(
      device,
      key,
      'undeclared',
      `The blueprint does not declare telemetry "${key}".`,
    );
  }

  #takeValue(
    device: Device,
    plan: AttributePlan,
    raw: unknown,
    arrival: Arrival,
    values: Map<string, ReceivedValue> | undefined,
  ): boolean {
    const value = this.#acceptedValue(device, plan, raw);
    if (value === undefined) return false;
    const state = (plan.state ??= this.#options.registry.obtain(device.id, plan.attribute, plan.type));
    const isLatest = this.#noteLatest(state, arrival, value);
    this.#codings.push(state.coding);
    this.#stored.push(toStored(plan.type, value));
    values?.set(plan.attribute, { value, isLatest });
    return true;
  }

  /**
   * A message with `alerts` lists all alerts: those that another attribute raised end unless the message has that
   * attribute, too. Scripts report a lost connection in such an attribute and never take it back.
   */
  #clearOtherAlerts(
    plan: DevicePlan,
    arrival: Arrival,
    values: Map<string, ReceivedValue> | undefined,
  ): void {
    for (const { attribute, type, state } of plan.alerts) {
      const raised = state?.latest?.value;
      if (!state || !Array.isArray(raised) || raised.length === 0 || this.#codings.includes(state.coding))
        continue;
      if (!this.#noteLatest(state, arrival, NO_ALERTS)) continue;
      this.#codings.push(state.coding);
      this.#stored.push(toStored(type, NO_ALERTS));
      values?.set(attribute, { value: NO_ALERTS, isLatest: true });
    }
  }

  /**
   * Alerts of a late message end if a newer message with `alerts` left them out, as if both had come in order. Returns
   * the bytes added to the batch.
   */
  #endLateAlerts(plan: DevicePlan, arrival: Arrival, values: Map<string, ReceivedValue> | undefined): number {
    const told = plan.attributes.get(ALERTS_KEY)?.state?.latest;
    if (!told || told.isReplacedBy(arrival)) return 0;
    const { batch } = this.#options;
    const before = batch.sizeBytes;
    for (const { attribute, type, state } of plan.alerts) {
      if (!state?.latest || !this.#codings.includes(state.coding)) continue;
      const { timestampS, value } = state.latest;
      if (timestampS >= told.timestampS || (value as string[]).length === 0) continue;
      state.latest = told.with(NO_ALERTS);
      const received = values?.get(attribute);
      if (received) received.isLatest = false;
      if (!this.#isStoring) continue;
      this.#noteStored(state, told.timestampS, true);
      batch.sample(state.coding, told.timestampS, toStored(type, NO_ALERTS));
    }
    return batch.sizeBytes - before;
  }

  #acceptedValue(device: Device, plan: AttributePlan, raw: unknown): TelemetryValue | undefined {
    const value = checkValue(plan.type, plan.declaration ? ofDeclaredKind(plan.declaration, raw) : raw);
    const rejection = isRejection(value) ? value : mismatchOf(plan, value);
    if (!rejection) return value as TelemetryValue;
    this.#options.rejections.report(device, plan.attribute, rejection.reason, rejection.message);
    return undefined;
  }

  #store(plan: DevicePlan, timestampS: EpochS): number {
    const { batch } = this.#options;
    const before = batch.sizeBytes;
    const shape = this.#shapeOf(plan);
    if (shape) batch.samples(shape, timestampS, this.#stored);
    else
      for (const [index, coding] of this.#codings.entries())
        batch.sample(coding, timestampS, this.#stored[index] as StoredValue);
    return batch.sizeBytes - before;
  }

  /** True when the value is the newest now. Marks it for the store when its time does not show that. */
  #noteLatest(state: SeriesState, arrival: Arrival, value: TelemetryValue): boolean {
    const { timestampS } = arrival;
    const isLatest = state.latest === undefined || state.latest.isReplacedBy(arrival);
    if (state.latest === undefined) state.latest = new LatestValue(arrival, value);
    else if (isLatest) state.latest.replace(arrival, value);
    if (this.#isStoring) this.#noteStored(state, timestampS, isLatest);
    return isLatest;
  }

  #noteStored(state: SeriesState, timestampS: EpochS, isLatest: boolean): void {
    const { storedLatestS = timestampS } = state;
    if (isLatest && timestampS < storedLatestS) this.#options.batch.supersede(state.coding);
    state.storedLatestS = isLatest ? timestampS : Math.max(storedLatestS, timestampS);
  }

  #canStore(): boolean {
    return !this.#isShowing && this.#options.canStore();
  }

  #shapeOf(plan: DevicePlan): Shape | undefined {
    for (const shape of plan.shapes) if (isSame(shape.codings, this.#codings)) return shape;
    if (plan.shapes.length >= SHAPES_PER_DEVICE) return undefined;
    const shape = { id: 0, epoch: -1, codings: [...this.#codings] };
    plan.shapes.push(shape);
    return shape;
  }
}

/** An empty Lua table arrives as `{}` or `[]`: it is read as the declared type. */
function ofDeclaredKind(declaration: ValueDeclaration, raw: unknown): unknown {
  if (typeof raw !== 'object' || raw === null || Object.keys(raw).length > 0) return raw;
  return checkDeviceValue(declaration, raw).value ?? raw;
}

function isSame(a: readonly SeriesCoding[], b: readonly SeriesCoding[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}

function tooManyText(limit: number): string {
  return `The message has more than ${limit} attributes; the rest was dropped.`;
}
