/** Samples that are in the journal only: one growing column set per series. */
import type { BatchSink } from './batch.ts';
import { kindOf, type Series } from './model.ts';
import { Samples } from './samples.ts';

export interface OpenData extends BatchSink {
  readonly series: ReadonlyMap<number, Samples>;
  /** Samples of all series. */
  readonly sampleCount: number;
  clear(): void;
}

export function createOpenData(options: {
  /** What the series is; undefined when it was dropped or never defined. */
  lookUp: (seriesId: number) => Series | undefined;
  onDefine: (series: Series) => void;
  onDrop: (seriesId: number) => void;
}): OpenData {
  const series = new Map<number, Samples>();
  let sampleCount = 0;

  function samplesOf(seriesId: number): Samples | undefined {
    const known = series.get(seriesId);
    if (known) return known;
    const definition = options.lookUp(seriesId);
    if (!definition) return undefined;
    const samples = new Samples(kindOf(definition.type));
    series.set(seriesId, samples);
    return samples;
  }

  return {
    series,
    get sampleCount() {
      return sampleCount;
    },
    define: options.onDefine,
    drop: (seriesId) => {
      sampleCount -= series.get(seriesId)?.count ?? 0;
      series.delete(seriesId);
      options.onDrop(seriesId);
    },
    number: (seriesId, timestampS, value) => {
      sampleCount++;
      samplesOf(seriesId)?.push(timestampS, value);
    },
    integer: (seriesId, timestampS, value) => {
      sampleCount++;
      samplesOf(seriesId)?.pushInteger(timestampS, value);
    },
    boolean: (seriesId, timestampS, value) => {
      sampleCount++;
      samplesOf(seriesId)?.push(timestampS, value ? 1 : 0);
    },
    text: (seriesId, timestampS, value) => {
      sampleCount++;
      samplesOf(seriesId)?.pushText(timestampS, value);
    },
    clear: () => {
      series.clear();
      sampleCount = 0;
    },
  };
}
