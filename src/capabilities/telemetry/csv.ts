/** Rows of a query as CSV text (http-contract.md section 10.3). */
import { type ColumnCursor, createColumnCursor, type LiveSource } from './column-cursor.ts';
import type { StoredValue } from './model.ts';
import type { ColumnType, QueryPlan } from './query-plan.ts';

/** Text is handed over in pieces of about this size. */
const PIECE_LENGTH = 32_768;
/** Cells gone through between two pauses, with or without a value. */
const CELLS_PER_TURN = 8_192;

/**
 * The rows, in pieces. An empty piece is a pause: the caller may do something else before it asks for the
 * next one. Memory does not grow with the length of the answer, which says what was known at its beginning.
 */
export function* csvRows(plan: QueryPlan, live: LiveSource): Generator<string> {
  const source = live.asOfNow(plan.columns.flatMap(({ seriesId }) => seriesId ?? []));
  const cursors = plan.columns.map((column) => createColumnCursor(plan, column, source));
  const types = plan.columns.map((column) => column.type);
  const { granularityS } = plan;
  const isFilled = plan.columns.some((column) => column.gapMethod !== 'none');
  let text = '';
  let cells = 0;
  let startS = plan.fromS - (plan.fromS % granularityS);
  for (;;) {
    for (const cursor of cursors)
      while (!cursor.isReady()) {
        cursor.advance();
        yield '';
      }
    if (!isFilled) startS = nextStart(cursors);
    if (startS >= plan.toS) break;
    const row = rowAt(startS, cursors, types);
    if (row !== undefined) text += row;
    startS += granularityS;
    cells += cursors.length;
    if (text.length < PIECE_LENGTH && cells < CELLS_PER_TURN) continue;
    yield text;
    text = '';
    cells = 0;
  }
  if (text !== '') yield text;
}

function nextStart(cursors: readonly ColumnCursor[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (const cursor of cursors) {
    const start = cursor.next();
    if (start < least) least = start;
  }
  return least;
}

function rowAt(
  startS: number,
  cursors: readonly ColumnCursor[],
  types: readonly ColumnType[],
): string | undefined {
  let row = '';
  let isEmpty = true;
  for (let index = 0; index < cursors.length; index++) {
    const value = (cursors[index] as ColumnCursor).cell(startS);
    row += ',';
    if (value === undefined) continue;
    isEmpty = false;
    row += formatCell(value, types[index] as ColumnType);
  }
  return isEmpty ? undefined : `${startS}${row}\n`;
}

function formatCell(value: StoredValue, type: ColumnType): string {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : '';
  if (typeof value !== 'string') return String(value);
  return type === 'string_array' ? quoted(value) : csvField(value);
}

const NEEDS_QUOTES = /[",\r\n]/;

/** Quoted where RFC 4180 asks for it; line breaks become blanks, because clients read line by line. */
export function csvField(text: string): string {
  return NEEDS_QUOTES.test(text) ? quoted(text.replaceAll(/\r\n|\r|\n/g, ' ')) : text;
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
