/** A store that keeps every sample of the journal in memory and lets the journal grow. */
import type { Log } from '../../platform/log/index.ts';
import { readJournal } from '../../platform/journal/index.ts';
import { createBatchReader } from './batch.ts';
import type { SampleSource } from './column-cursor.ts';
import { csvRows } from './csv.ts';
import type { History } from './history.ts';
import { fromStored, kindOf, type Series } from './model.ts';
import { createOpenData } from './open-data.ts';
import { Samples } from './samples.ts';

export function createMemoryHistory(options: {
  journalFolder: string;
  log: Log;
  pause: () => Promise<void>;
}): History {
  const definitions = new Map<number, Series>();
  const open = createOpenData({
    lookUp: (id) => definitions.get(id),
    onDefine: (series) => void definitions.set(series.id, series),
    onDrop: (id) => void definitions.delete(id),
  });
  const reader = createBatchReader((id) => {
    const series = definitions.get(id);
    return series && kindOf(series.type);
  });
  const scratch = new Samples('number', 1_024);

  const source: SampleSource = {
    samples: (seriesId, fromS, toS) => {
      const found = open.series.get(seriesId);
      scratch.reset(found?.kind ?? 'number');
      found?.normalize();
      if (found) scratch.append(found, fromS, toS);
      return scratch;
    },
    last: (seriesId, fromS, toS) => {
      const found = source.samples(seriesId, fromS, toS);
      if (found.count === 0) return undefined;
      return { timestampS: found.lastS, value: found.valueAt(found.count - 1) };
    },
    first: (seriesId, fromS, toS) => {
      const found = source.samples(seriesId, fromS, toS);
      return found.count === 0 ? undefined : { timestampS: found.firstS, value: found.valueAt(0) };
    },
    visit: (seriesId, fromS, toS, _granularityS, visitor) => {
      const found = source.samples(seriesId, fromS, toS);
      if (found.count > 0) visitor.samples(found, 0, found.count);
    },
    nextData: (seriesId, fromS, toS) => {
      const found = open.series.get(seriesId);
      if (!found) return toS;
      found.normalize();
      const index = found.indexFrom(fromS);
      return index < found.count ? Math.min(toS, found.times[index] as number) : toS;
    },
  };

  return {
    start: async () => {
      let lastSequence = 0;
      const onDamage = (damage: object): void =>
        options.log.error('part of the journal is damaged and was skipped', { ...damage });
      for (const { sequence, payload } of readJournal(options.journalFolder, 0, onDamage)) {
        if (sequence !== lastSequence + 1) reader.interrupt();
        lastSequence = sequence;
        reader.read(payload, open);
      }
      const known = [...definitions.values()].map((series) => {
        const samples = open.series.get(series.id);
        samples?.normalize();
        if (!samples || samples.count === 0) return { series, latest: undefined };
        const value = fromStored(series.type, samples.valueAt(samples.count - 1));
        return { series, latest: { timestampS: samples.lastS, value } };
      });
      return { known, nextSeriesId: Math.max(0, ...definitions.keys()) + 1, lastSequence };
    },
    apply: (_sequence, record) => void reader.read(record, open),
    rows: async function* rows(plan, signal) {
      for (const piece of csvRows(plan, source)) {
        signal.throwIfAborted();
        if (piece !== '') yield piece;
        await options.pause();
      }
    },
    stop: async () => undefined,
  };
}
