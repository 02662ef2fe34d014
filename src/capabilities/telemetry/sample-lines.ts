/**
 * Samples of one series on their way between threads, as lines of JSON: first the last sample before the range or
 * `null`, then each one as `[timestamp, value]`, at last `"end"` if nothing follows in the range.
 */
import { exactJson, parseExactJson } from '../../protocol/telemetry.ts';
import type { LiveSource, PlacedValue } from './column-cursor.ts';
import { fromStored, type Latest, type StoredValue, type TelemetryType } from './model.ts';
import type { SamplesPlan } from './query-plan.ts';

const DAY_S = 86_400;
const END = '"end"\n';

/** In pieces, a day each; between two of them the caller may do something else. */
export function* sampleLines(plan: SamplesPlan, live: LiveSource): Generator<string> {
  const { seriesId, fromS, toS } = plan;
  const source = live.asOfNow([seriesId]);
  const room = { samples: plan.samplesMax, bytes: plan.bytesMax, isExceeded: false };
  let lines: string[] = [lineOf(source.last(seriesId, 0, fromS))];

  function take(timestampS: number, value: StoredValue): void {
    room.isExceeded ||= room.samples === 0 || room.bytes <= 0;
    if (room.isExceeded) return;
    const line = lineOf({ timestampS, value });
    room.samples--;
    room.bytes -= line.length;
    lines.push(line);
  }

  for (let nextS = source.nextData(seriesId, fromS, toS); nextS < toS && !room.isExceeded;) {
    const endS = Math.min(toS, nextS - (nextS % DAY_S) + DAY_S);
    source.visit(seriesId, nextS, endS, 1, {
      samples: (samples, from, to) => {
        for (let index = from; index < to && !room.isExceeded; index++)
          take(samples.times[index] as number, samples.valueAt(index));
      },
      summary: (timestampS, { last }) => take(timestampS, last),
    });
    yield lines.join('');
    lines = [];
    nextS = source.nextData(seriesId, endS, toS);
  }
  yield lines.join('') + (room.isExceeded ? '' : END);
}

function lineOf(sample: PlacedValue | undefined): string {
  return `${exactJson(sample ? [sample.timestampS, sample.value] : null)}\n`;
}

/** Samples in order of time. */
export interface SampleStretch {
  /** The last one before the range. */
  before: Latest | undefined;
  samples: Latest[];
  /** False: there are more in the range. */
  isComplete: boolean;
}

export function parseSampleLines(text: string, type: TelemetryType): SampleStretch {
  const isComplete = text.endsWith(END);
  const lines = (isComplete ? text.slice(0, -END.length) : text).trimEnd().split('\n');
  const [before, ...samples] = lines.map((line) => {
    const sample = parseExactJson(line) as [number, StoredValue] | null;
    return sample ? { timestampS: sample[0], value: fromStored(type, sample[1]) } : undefined;
  });
  return { before, samples: samples.filter((sample) => sample !== undefined), isComplete };
}
