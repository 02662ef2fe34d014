/** Reads the time series that the API answers as CSV (RFC 4180 quoting, LF lines). */

import { parseCsv } from '../lib/csv.ts';

export interface Series {
  /** Starts of the buckets in Unix seconds, without a gap. */
  timesS: number[];
  /** One list per asked attribute; null where there is no value. */
  columns: (number | null)[][];
}

/**
 * The answer on a grid without holes: the API leaves out buckets in which nothing came, and a line drawn over
 * them would hide that.
 */
export function seriesOf(
  text: string,
  attributes: readonly string[],
  range: { fromS: number; toS: number; stepS: number },
): Series {
  const [header = [], ...rows] = parseCsv(text);
  const names = header.map((title) => /^telemetry=(\S+)/.exec(title)?.[1]);
  const startS = Math.floor(range.fromS / range.stepS) * range.stepS;
  const count = Math.max(0, Math.ceil((range.toS - startS) / range.stepS));
  const timesS = Array.from({ length: count }, (_, index) => startS + index * range.stepS);
  const columns = attributes.map((name) => {
    const at = names.indexOf(name);
    const column: (number | null)[] = timesS.map(() => null);
    if (at < 0) return column;
    for (const row of rows) {
      const index = Math.round((Number(row[0]) - startS) / range.stepS);
      if (index >= 0 && index < count) column[index] = numberOf(row[at]);
    }
    return column;
  });
  return { timesS, columns };
}

function numberOf(cell: string | undefined): number | null {
  if (cell === undefined || cell === '') return null;
  if (cell === 'true') return 1;
  if (cell === 'false') return 0;
  const value = Number(cell);
  return Number.isFinite(value) ? value : null;
}
