/** Samples of one series, as they cross threads. */
import { DAY_S, type EpochS } from '../../lib/time.ts';
import type { TelemetryType } from '../../protocol/telemetry.ts';
import { lastOf } from '../codec/rollup.ts';
import { fromStored, type Latest, type StoredSample, type StoredValue } from '../codec/series.ts';
import type { LiveSource } from './column-cursor.ts';
import type { SamplesPlan } from './query-plan.ts';

/** G: bytes of a sample beside its text. */
const SAMPLE_BYTES = 16;

/** One piece of the answer, in order of time. */
export interface SampleRows {
  /** In the first piece: the last sample before the range. */
  before?: StoredSample | undefined;
  timesS: EpochS[];
  values: StoredValue[];
  /** True when the range has no more samples. */
  isEnd: boolean;
}

/** In pieces of a day each. */
export function* sampleRows(plan: SamplesPlan, live: LiveSource): Generator<SampleRows> {
  const { seriesId, fromS, toS } = plan;
  const source = live.asOfNow([seriesId]);
  const room = { samples: plan.samplesMax, bytes: plan.bytesMax, isExceeded: false };
  let rows: SampleRows = { before: source.last(seriesId, 0, fromS), timesS: [], values: [], isEnd: false };

  function take(timestampS: EpochS, value: StoredValue): void {
    room.isExceeded ||= room.samples === 0 || room.bytes <= 0;
    if (room.isExceeded) return;
    room.samples--;
    room.bytes -= SAMPLE_BYTES + (typeof value === 'string' ? value.length : 0);
    rows.timesS.push(timestampS);
    rows.values.push(value);
  }

  for (let nextS = source.nextData(seriesId, fromS, toS); nextS < toS && !room.isExceeded;) {
    const endS = Math.min(toS, nextS - (nextS % DAY_S) + DAY_S);
    source.visit(seriesId, nextS, endS, 1, {
      samples: (samples, from, to) => {
        for (let index = from; index < to && !room.isExceeded; index++)
          take(samples.times[index] as number, samples.valueAt(index));
      },
      cells: (cells, from, to) => {
        for (let cell = from; cell < to; cell++) take(cells.starts[cell] as number, lastOf(cells, cell));
      },
    });
    yield rows;
    rows = { timesS: [], values: [], isEnd: false };
    nextS = source.nextData(seriesId, endS, toS);
  }
  yield { ...rows, isEnd: !room.isExceeded };
}

/** Samples in order of time. */
export interface SampleStretch {
  /** The last one before the range. */
  before: Latest | undefined;
  samples: Latest[];
  /** False: there are more in the range. */
  isComplete: boolean;
}

/** Collects streamed rows of one series into a stretch of samples with the one before it. */
export async function stretchOf(
  pieces: AsyncIterable<SampleRows>,
  type: TelemetryType,
): Promise<SampleStretch> {
  const sample = (timestampS: EpochS, value: StoredValue): Latest => ({
    timestampS,
    value: fromStored(type, value),
  });
  const stretch: SampleStretch = { before: undefined, samples: [], isComplete: false };
  for await (const { before, timesS, values, isEnd } of pieces) {
    if (before) stretch.before = sample(before.timestampS, before.value);
    for (const [index, timeS] of timesS.entries())
      stretch.samples.push(sample(timeS, values[index] as StoredValue));
    stretch.isComplete ||= isEnd;
  }
  return stretch;
}
