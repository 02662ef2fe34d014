/** Reads telemetry for charts. */
import { callForText } from '../api.ts';
import { type Aggregation, type Grid, type Lines, linesOf, type Wanted } from './series.ts';

/** The lines of what is wanted, and the CSV that they are from. @throws ApiError, NoAnswer */
export async function queryLines(
  wanted: readonly (Wanted & { aggregations: readonly Aggregation[] })[],
  grid: Grid,
): Promise<{ text: string; lines: Lines }> {
  const body = {
    from: grid.fromS,
    to: grid.toS,
    granularity: `${grid.stepS}s`,
    telemetry: wanted.flatMap(({ device, attribute, aggregations }) =>
      aggregations.map((aggregation) => ({ device, attribute, aggregation })),
    ),
  };
  const text = await callForText('POST', '/v3/telemetry/query_timeseries', body, 'text/csv');
  return { text, lines: linesOf(text, wanted, grid) };
}
