/**
 * Every series and its newest sample, in memory. Built at start from the history; new series are defined in the journal
 * before their first sample.
 */
import type { EpochS } from '../../../lib/time.ts';
import { type BatchWriter, createCoding, kindOf, type Series, type SeriesCoding } from '#telemetry-store';
import type { LatestValue } from './latest-value.ts';
import type { TelemetryType } from '../../../protocol/telemetry.ts';

export interface SeriesState {
  readonly series: Series;
  readonly coding: SeriesCoding;
  latest: LatestValue | undefined;
  /** Time of the latest value as the store knows it: the latest time, unless a `supersede` said otherwise. */
  storedLatestS: EpochS | undefined;
}

interface KnownSeries {
  series: Series;
  latest: LatestValue | undefined;
}

export class SeriesRegistry {
  readonly #byDevice = new Map<string, Map<string, SeriesState>>();
  readonly #batch: Pick<BatchWriter, 'define'>;
  #nextId: number;
  #version = 0;

  constructor(options: {
    known: Iterable<KnownSeries>;
    /** This id and higher ones were never used. */
    nextId: number;
    batch: Pick<BatchWriter, 'define'>;
  }) {
    this.#nextId = options.nextId;
    this.#batch = options.batch;
    for (const { series, latest } of options.known) this.#add(series, latest);
  }

  /** Rises with every series that comes or goes. */
  get version(): number {
    return this.#version;
  }

  /** The series, or undefined while it has no sample. */
  find(deviceId: string, attribute: string, type: TelemetryType): SeriesState | undefined {
    return this.#byDevice.get(deviceId)?.get(keyOf(attribute, type));
  }

  /** The series; a new one is defined in the batch. */
  obtain(deviceId: string, attribute: string, type: TelemetryType): SeriesState {
    const known = this.find(deviceId, attribute, type);
    if (known) return known;
    const series = { id: this.#nextId++, deviceId, attribute, type };
    this.#batch.define(series);
    return this.#add(series, undefined);
  }

  *states(): Iterable<SeriesState> {
    for (const ofDevice of this.#byDevice.values()) yield* ofDevice.values();
  }

  all(): Series[] {
    return [...this.states()].map(({ series }) => series);
  }

  /** Devices that have a series. */
  deviceIds(): string[] {
    return [...this.#byDevice.keys()];
  }

  /** Takes over values that are newer than those known here. */
  takeLatest(from: SeriesRegistry): void {
    for (const { series, latest } of from.states()) {
      if (!latest) continue;
      const state = this.obtain(series.deviceId, series.attribute, series.type);
      if (!state.latest || state.latest.timestampS <= latest.timestampS) state.latest = latest;
    }
  }

  /** Forgets all series of a device; returns their ids. */
  dropDevice(deviceId: string): number[] {
    const dropped = [...(this.#byDevice.get(deviceId)?.values() ?? [])].map((state) => state.series.id);
    this.#byDevice.delete(deviceId);
    if (dropped.length > 0) this.#version++;
    return dropped;
  }

  #add(series: Series, latest: LatestValue | undefined): SeriesState {
    const coding = createCoding(series.id, kindOf(series.type));
    const state = { series, coding, latest, storedLatestS: latest?.timestampS };
    const ofDevice = this.#byDevice.getOrInsertComputed(series.deviceId, () => new Map());
    ofDevice.set(keyOf(series.attribute, series.type), state);
    this.#version++;
    return state;
  }
}

const keyOf = (attribute: string, type: TelemetryType): string => `${type} ${attribute}`;
