/** State that the parts of the engine share: the store, and what memory holds of it. */
import type { EpochS } from '../../lib/time.ts';
import type { Log } from '../../platform/log/index.ts';
import type { BlockStore } from './block-store.ts';
import type { DeviceSizes } from './device-sizes.ts';
import type { Head, HeadSeries } from './head.ts';
import { PartDirectory } from './part-directory.ts';
import { type StoredSample, kindOf, type Series, type SeriesKind } from '../codec/series.ts';

/** Kinds of maintenance work. */
export type Work = 'sealing' | 'roll-up' | 'retention';

/** The head that is being sealed: it does not grow any more. */
export interface Sealing {
  readonly series: ReadonlyMap<number, HeadSeries>;
  /** Last journal record in it. */
  readonly sequence: number;
  /** First journal record that is needed to read later ones. */
  readonly fromSequence: number;
  readonly nextSeriesId: number;
  /** When its first record came. */
  readonly sinceS: EpochS;
}

export interface EngineState {
  readonly store: BlockStore;
  readonly sizes: DeviceSizes;
  readonly log: Log;
  /** Reports the present kind of work; called before every piece of it. */
  readonly working: (work: Work) => void;
  readonly definitions: Map<number, Series>;
  readonly parts: PartDirectory;
  /** Newest sample of each series among everything sealed. */
  readonly latest: Map<number, StoredSample>;
  /** In the journal only, growing. */
  head: Head;
  /** In the journal only, being sealed now. */
  sealing: Sealing | undefined;
  /** Blocks and records that could not be read since the start. */
  damaged: number;
  /** Blocks and parts removed since the start before they were old enough, to make room. */
  removedEarly: number;
  /** Lets other work of the thread run. */
  pause: () => Promise<void>;
}

/** The state before anything was read. */
export function createEngineState(
  given: Pick<EngineState, 'store' | 'sizes' | 'log' | 'working' | 'pause'>,
  head: Head,
): EngineState {
  return {
    ...given,
    definitions: new Map(),
    parts: new PartDirectory(),
    latest: new Map(),
    head,
    sealing: undefined,
    damaged: 0,
    removedEarly: 0,
  };
}

export function dayOf(timestampS: EpochS): number {
  return Math.floor(timestampS / 86_400);
}

export function kindOfSeries(state: EngineState, seriesId: number): SeriesKind {
  const series = state.definitions.get(seriesId);
  return series ? kindOf(series.type) : 'number';
}

/** Reports a damaged block, which is skipped. */
export function reportDamage(state: EngineState, what: string, seriesId: number, error: unknown): void {
  state.damaged++;
  state.log.warnLimited(
    `damaged:${what}`,
    60_000,
    'part of the telemetry history is damaged and was skipped',
    { what, series_id: seriesId, error },
  );
}
