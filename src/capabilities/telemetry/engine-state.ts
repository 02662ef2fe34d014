/** What the parts of the engine share: the store, and what of it is held in memory. */
import type { Log } from '../../platform/log/index.ts';
import type { BlockStore } from './block-store.ts';
import type { DeviceSizes } from './device-sizes.ts';
import type { PlacedValue } from './column-cursor.ts';
import { kindOf, type Series, type SeriesKind } from './model.ts';
import type { OpenData, OpenSeries } from './open-data.ts';
import type { PartDirectory } from './part-directory.ts';

/** What keeping house consists of. */
export type Housework = 'sealing' | 'roll-up' | 'retention';

export interface EngineState {
  readonly store: BlockStore;
  readonly sizes: DeviceSizes;
  readonly log: Log;
  /** Tells what the store is at; called before every piece of it. */
  readonly working: (housework: Housework) => void;
  readonly definitions: Map<number, Series>;
  readonly parts: PartDirectory;
  /** Newest sample of each series among everything sealed. */
  readonly latest: Map<number, PlacedValue>;
  /** In the journal only, growing. */
  open: OpenData;
  /** In the journal only, being sealed now. */
  sealing: ReadonlyMap<number, OpenSeries> | undefined;
  /** Blocks and records that could not be read since the start. */
  damaged: number;
  /** Blocks and parts removed since the start before they were old enough, to make room. */
  removedEarly: number;
  /** Lets everything else of the thread run. */
  pause: () => Promise<void>;
}

export function dayOf(timestampS: number): number {
  return Math.floor(timestampS / 86_400);
}

export function kindOfSeries(state: EngineState, seriesId: number): SeriesKind {
  const series = state.definitions.get(seriesId);
  return series ? kindOf(series.type) : 'number';
}

/** A damaged block costs that block: it is reported and skipped. */
export function reportDamage(state: EngineState, what: string, seriesId: number, error: unknown): void {
  state.damaged++;
  state.log.warnLimited(
    `damaged:${what}`,
    60_000,
    'part of the telemetry history is damaged and was skipped',
    {
      what,
      series_id: seriesId,
      error,
    },
  );
}
