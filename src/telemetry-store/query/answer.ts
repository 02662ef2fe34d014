/** The kinds of queries to the store, and their answers in pieces. */
import { type AmountMinutes, amountMinutes } from './amounts.ts';
import { createColumnCursors, type LiveSource } from './column-cursor.ts';
import { csvRows } from './csv-rows.ts';
import {
  ALL_IN_ONE,
  type AmountsPlan,
  type NumberPlan,
  type QueryPlan,
  type SamplesPlan,
} from './query-plan.ts';
import { type SampleRows, sampleRows } from './sample-rows.ts';

export type StorePlan = QueryPlan | NumberPlan | SamplesPlan | AmountsPlan;

/** CSV text as bytes, or values for the gateway itself. */
export type Piece = Uint8Array | number | SampleRows | AmountMinutes;

export type PieceOf<Plan extends StorePlan> = Plan extends QueryPlan
  ? Uint8Array
  : Plan extends NumberPlan
    ? number
    : Plan extends SamplesPlan
      ? SampleRows
      : AmountMinutes;

/** The answer in pieces of a few milliseconds of work. Undefined is a pause, in which the caller may do other work. */
export function answer(plan: StorePlan, source: LiveSource): Generator<Piece | undefined> {
  if ('columns' in plan) return csvRows(plan, source);
  if ('amounts' in plan) return amountMinutes(plan, source);
  return 'number' in plan ? numberOf(plan, source) : sampleRows(plan, source);
}

function* numberOf(
  { number: column, fromS, toS }: NumberPlan,
  live: LiveSource,
): Generator<number | undefined> {
  const source = live.asOfNow(column.seriesId === undefined ? [] : [column.seriesId]);
  const [cursor] = createColumnCursors({ fromS, toS, ...ALL_IN_ONE, columns: [column] }, source);
  if (!cursor) return;
  while (!cursor.isReady()) {
    cursor.advance();
    yield undefined;
  }
  const startS = cursor.next();
  if (startS < toS) yield Number(cursor.cell(startS));
}
