/**
 * Every series and its newest sample, in memory. Built at start from what the history holds; new ones are
 * defined in the journal before their first sample.
 */
import { type BatchWriter, createCoding, type SeriesCoding } from './batch.ts';
import type { LatestValue } from './latest-value.ts';
import { kindOf, type Series } from './model.ts';
import type { TelemetryType } from '../../protocol/telemetry.ts';

export interface SeriesState {
  readonly series: Series;
  readonly coding: SeriesCoding;
  latest: LatestValue | undefined;
  /** Time of what the store takes for the latest value; it follows the times it is not told otherwise of. */
  storedLatestS: number | undefined;
}

export interface SeriesRegistry {
  /** The series, or undefined while it has no sample. */
  find(deviceId: string, attribute: string, type: TelemetryType): SeriesState | undefined;
  /** The series; a new one is defined in the batch. */
  obtain(deviceId: string, attribute: string, type: TelemetryType): SeriesState;
  /** Forgets all series of a device; returns their ids. */
  dropDevice(deviceId: string): number[];
  /** Devices that have a series. */
  deviceIds(): string[];
  states(): Iterable<SeriesState>;
  readonly count: number;
  /** Rises with every series that comes or goes. */
  readonly version: number;
  all(): Iterable<Series>;
  /** Takes over values that are newer than those known here. */
  takeLatest(from: SeriesRegistry): void;
}

export interface KnownSeries {
  series: Series;
  latest: LatestValue | undefined;
}

export function createSeriesRegistry(options: {
  known: Iterable<KnownSeries>;
  /** No series was ever given an id from here on. */
  nextId: number;
  batch: Pick<BatchWriter, 'define'>;
}): SeriesRegistry {
  const byDevice = new Map<string, Map<string, SeriesState>>();
  let nextId = options.nextId;
  let count = 0;
  let version = 0;

  const keyOf = (attribute: string, type: TelemetryType): string => `${type} ${attribute}`;

  function add(series: Series, latest: LatestValue | undefined): SeriesState {
    const state = {
      series,
      coding: createCoding(series.id, kindOf(series.type)),
      latest,
      storedLatestS: latest?.timestampS,
    };
    let ofDevice = byDevice.get(series.deviceId);
    if (!ofDevice) byDevice.set(series.deviceId, (ofDevice = new Map()));
    ofDevice.set(keyOf(series.attribute, series.type), state);
    count++;
    version++;
    return state;
  }

  for (const { series, latest } of options.known) add(series, latest);

  const find = (deviceId: string, attribute: string, type: TelemetryType): SeriesState | undefined =>
    byDevice.get(deviceId)?.get(keyOf(attribute, type));

  function obtain(deviceId: string, attribute: string, type: TelemetryType): SeriesState {
    const known = find(deviceId, attribute, type);
    if (known) return known;
    const series = { id: nextId++, deviceId, attribute, type };
    options.batch.define(series);
    return add(series, undefined);
  }

  function* states(): Iterable<SeriesState> {
    for (const ofDevice of byDevice.values()) yield* ofDevice.values();
  }

  return {
    find,
    obtain,
    states,
    get version() {
      return version;
    },
    all: () => [...states()].map(({ series }) => series),
    takeLatest: (from) => {
      for (const { series, latest } of from.states()) {
        if (!latest) continue;
        const state = obtain(series.deviceId, series.attribute, series.type);
        if (!state.latest || state.latest.timestampS <= latest.timestampS) state.latest = latest;
      }
    },
    dropDevice: (deviceId) => {
      const dropped = [...(byDevice.get(deviceId)?.values() ?? [])].map((state) => state.series.id);
      byDevice.delete(deviceId);
      count -= dropped.length;
      if (dropped.length > 0) version++;
      return dropped;
    },
    deviceIds: () => [...byDevice.keys()],
    get count() {
      return count;
    },
  };
}
