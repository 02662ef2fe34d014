import type { EpochS } from '../../../lib/time.ts';

/** Up to where what came in order was read. */
export interface ReadPlace {
  /** All that came up to this record of the journal. */
  sequence: number;
  /** And a part of what came up to `upTo`: what lies before this second of this series, and series before it. */
  within?: { upTo: number; seriesId: number; fromS: EpochS; isWhole: boolean } | undefined;
}

/** What was passed over: from a place to a record of the journal. */
export interface OwedRange extends ReadPlace {
  upTo: number;
}

/** How far somebody has read changes, and what he passed over to have the newest first. Kept by the reader. */
export interface ChangePosition extends ReadPlace {
  /** The oldest first; absent: nothing is owed. */
  owed?: OwedRange[];
}

/** Changes after this record of the journal are still wanted by who stands there. */
export function neededAfter({ owed = [], ...place }: ChangePosition): number {
  return Math.min(
    ...[place, ...owed].map(({ sequence, within }) => (within?.isWhole ? within.upTo : sequence)),
  );
}

/** Beyond the limit the oldest become one: what lies between them is read again. */
export function withOwed(owed: readonly OwedRange[], range: OwedRange, rangesMax: number): OwedRange[] {
  const all = [...owed, range];
  const merged = all.slice(0, Math.max(1, all.length - rangesMax + 1));
  const [first, last] = [merged[0], merged.at(-1)];
  return first && last ? [{ ...first, upTo: last.upTo }, ...all.slice(merged.length)] : all;
}
