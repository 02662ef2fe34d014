/** Rows of a query as CSV text (docs/interface/http.md#csv). */
import { type ColumnCursor, createColumnCursor, type LiveSource } from './column-cursor.ts';
import type { PlannedColumn, QueryPlan } from './query-plan.ts';
import type { StoredValue } from '../codec/series.ts';

/** Text is handed over in pieces of about this size. */
const PIECE_LENGTH = 32_768;
/** Cells gone through between two pauses, with or without a value. */
const CELLS_PER_TURN = 8_192;

/**
 * The rows, in pieces, with pauses between them. Memory does not grow with the length of the answer, which says what was known at its beginning.
 */
export function* csvRows(plan: QueryPlan, live: LiveSource): Generator<string | undefined> {
  const source = live.asOfNow(plan.columns.flatMap(({ seriesId }) => seriesId ?? []));
  const cursors = plan.columns.map((column) => createColumnCursor(plan, column, source));
  const { granularityS } = plan;
  const isFilled = plan.columns.some((column) => column.gapMethod !== 'none');
  let text = '';
  let cells = 0;
  const edges = plan.bucketEdgesS;
  let bucket = 0;
  let startS = edges?.[0] ?? plan.fromS - (plan.fromS % granularityS);
  for (;;) {
    for (const cursor of cursors)
      while (!cursor.isReady()) {
        cursor.advance();
        yield undefined;
      }
    if (!isFilled) startS = nextStart(cursors);
    if (startS >= plan.toS) break;
    const row = rowAt(startS, cursors, plan.columns);
    if (row !== undefined) text += row;
    startS = edges ? (edges[++bucket] ?? Number.POSITIVE_INFINITY) : startS + granularityS;
    cells += cursors.length;
    if (text.length < PIECE_LENGTH && cells < CELLS_PER_TURN) continue;
    yield text === '' ? undefined : text;
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
  columns: readonly PlannedColumn[],
): string | undefined {
  let row = '';
  let isEmpty = true;
  for (let index = 0; index < cursors.length; index++) {
    const value = (cursors[index] as ColumnCursor).cell(startS);
    row += ',';
    if (value === undefined) continue;
    isEmpty = false;
    row += formatCell(value, columns[index] as PlannedColumn);
  }
  return isEmpty ? undefined : `${startS}${row}\n`;
}

function formatCell(value: StoredValue, { type, isExactText }: PlannedColumn): string {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : '';
  if (typeof value !== 'string') return String(value);
  if (isExactText === true) return quoted(onOneLine(JSON.stringify(value)));
  return type === 'string_array' ? quoted(onOneLine(value)) : csvField(value);
}

/** All that some reader takes for the end of a line: those of Unicode and those of Python's `splitlines`. */
// oxlint-disable-next-line no-control-regex
const LINE_BREAK = /\r\n|[\n\r\u000b\u000c\u001c-\u001e\u0085\u2028\u2029]/g;
const NEEDS_QUOTES = /[",]/;

/** Quoted where RFC 4180 asks for it; line breaks become blanks, because clients read line by line. */
export function csvField(text: string): string {
  const line = text.replaceAll(LINE_BREAK, ' ');
  return line !== text || NEEDS_QUOTES.test(line) ? quoted(line) : line;
}

/** JSON text says the same with the escapes of what would end the line; its control characters have theirs. */
function onOneLine(json: string): string {
  return json.replaceAll(
    LINE_BREAK,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
