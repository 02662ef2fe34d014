import type { EpochS } from '../../lib/time.ts';

/** How far a reader is in the order of arrival. */
export interface ReadPlace {
  /** Everything up to this journal record was read. */
  sequence: number;
  /** Part of the samples up to `upTo` that was read: lower series, and this series before this second. */
  within?: { upTo: number; seriesId: number; fromS: EpochS; isWhole: boolean } | undefined;
}

/** A backlog that the reader skipped: from a place to a journal record. */
export interface OwedRange extends ReadPlace {
  upTo: number;
}

/** How far a reader is, and the backlog that it skipped to have the newest first. Kept by the reader. */
export interface ChangePosition extends ReadPlace {
  /** Oldest first; absent: nothing was skipped. */
  owed?: OwedRange[];
}

/** A reader at this position still needs changes after this journal record. */
export function neededAfter({ owed = [], ...place }: ChangePosition): number {
  return Math.min(
    ...[place, ...owed].map(({ sequence, within }) => (within?.isWhole ? within.upTo : sequence)),
  );
}

/** Beyond the limit the oldest ranges are merged, and what lies between them is read again. */
export function withOwed(owed: readonly OwedRange[], range: OwedRange, rangesMax: number): OwedRange[] {
  const all = [...owed, range];
  const merged = all.slice(0, Math.max(1, all.length - rangesMax + 1));
  const [first, last] = [merged[0], merged.at(-1)];
  return first && last ? [{ ...first, upTo: last.upTo }, ...all.slice(merged.length)] : all;
}
