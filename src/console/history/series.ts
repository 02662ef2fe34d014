/** The CSV of the API as lines on a time grid, connected as far as the device's own rhythm reaches. */
import { parseCsv } from '../../lib/csv.ts';
import type { DurationS, EpochS } from '../../lib/time.ts';

/** A number; null where there is a gap; undefined between two values that belong together. */
export type Cell = number | null | undefined;

export interface Wanted {
  device: string;
  attribute: string;
}

export interface Lines {
  /** Starts of the steps in Unix seconds. */
  timesS: EpochS[];
  /** By what was wanted. */
  mean: Cell[][];
  least: Cell[][];
  most: Cell[][];
}

const AGGREGATIONS = ['auto', 'min', 'max'] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

/** The steps of a chart. */
export interface Grid {
  fromS: EpochS;
  toS: EpochS;
  stepS: DurationS;
}

/** G: bands of more lines than these cover each other. */
const BANDS_MAX = 6;

/** The aggregations to read of each of so many series. */
export const aggregationsOf = (series: number, isNumber: boolean): readonly Aggregation[] =>
  isNumber && series <= BANDS_MAX ? AGGREGATIONS : ['auto'];

export function linesOf(text: string, wanted: readonly Wanted[], { fromS, toS, stepS }: Grid): Lines {
  const [head = [], ...rows] = parseCsv(text);
  const startS = Math.floor(fromS / stepS) * stepS;
  const count = Math.max(0, Math.ceil((toS - startS) / stepS));
  const columns = AGGREGATIONS.map((aggregation) =>
    wanted.map(({ device, attribute }) => {
      const column: Cell[] = Array.from({ length: count }, () => null);
      const at = head.findIndex((title) =>
        [`telemetry=${attribute}`, `device=${device}`, `aggregation=${aggregation}`].every((part) =>
          title.split(' ').includes(part),
        ),
      );
      for (const row of at < 0 ? [] : rows) {
        const index = Math.round((Number(row[0]) - startS) / stepS);
        if (index >= 0 && index < count) column[index] = cellOf(row[at]);
      }
      return connected(column);
    }),
  );
  const [mean = [], least = [], most = []] = columns;
  return { timesS: Array.from({ length: count }, (_, index) => startS + index * stepS), mean, least, most };
}

/** Adds the lines of the time range before, at the times of the present one and without bands. */
export function withLinesBefore(lines: Lines, before: Lines): Lines {
  const none = before.mean.map(() => lines.timesS.map(() => null));
  return {
    timesS: lines.timesS,
    mean: [
      ...lines.mean,
      ...before.mean.map((column) =>
        lines.timesS.map((_, index) => (index < column.length ? column[index] : null)),
      ),
    ],
    least: [...lines.least, ...none],
    most: [...lines.most, ...none],
  };
}

function cellOf(text: string | undefined): number | null {
  if (text === undefined || text === '') return null;
  if (text === 'true' || text === 'false') return text === 'true' ? 1 : 0;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}

/** A device is late when it is silent for longer than this many of its usual pauses. */
const LATE_AFTER = 2.5;

/**
 * Steps without a value between two that follow each other in the usual pause of the series are no gap: a device that
 * reports every quarter of an hour is drawn as a line, and its real gaps as gaps.
 */
export function connected(column: readonly Cell[]): Cell[] {
  const places = column.flatMap((value, index) => (typeof value === 'number' ? [index] : []));
  const pauses = places.slice(1).map((place, index) => place - (places[index] ?? place));
  const usual = pauses.toSorted((a, b) => a - b)[Math.floor(pauses.length / 2)] ?? 1;
  const shown = [...column];
  for (const [index, pause] of pauses.entries())
    if (pause > 1 && pause <= usual * LATE_AFTER) {
      const from = places[index] ?? 0;
      shown.fill(undefined, from + 1, from + pause);
    }
  return shown;
}
