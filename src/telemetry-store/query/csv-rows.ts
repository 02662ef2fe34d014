/** Rows of a query as CSV text (docs/interface/http.md#csv). */
import { quotedField } from '../../lib/csv.ts';
import type { EpochS } from '../../lib/time.ts';
import { ByteWriter } from '../codec/byte-writer.ts';
import { type ColumnCursor, createColumnCursors, type LiveSource } from './column-cursor.ts';
import type { Points } from './aggregate.ts';
import { writeNumber, writeWhole } from './csv-numbers.ts';
import type { PlannedColumn, QueryPlan } from './query-plan.ts';
import type { StoredValue } from '../codec/series.ts';

/** Bytes are handed over in pieces of about this size. */
const PIECE_BYTES = 65_536;
/** Room for the rest of the last row of a piece. */
const ROW_BYTES = 1_024;
/** Cells between two pauses, with or without a value. */
const CELLS_PER_TURN = 8_192;
const COMMA = 44;
const LINE_END = 10;

/** The rows as they are at the beginning, in pieces with pauses. Memory does not grow with the length of the answer. */
export function* csvRows(plan: QueryPlan, live: LiveSource): Generator<Uint8Array | undefined> {
  const source = live.asOfNow(plan.columns.flatMap(({ seriesId }) => seriesId ?? []));
  const cursors = createColumnCursors(plan, source);
  const [only] = cursors;
  if (cursors.length === 1 && only?.drain) yield* rowsOfOne(plan, only, only.drain);
  else yield* rowsOfMany(plan, cursors);
}

/** The fast way for a single column, as most charts ask for it. */
function* rowsOfOne(
  { columns, toS }: QueryPlan,
  { isReady, advance, next }: ColumnCursor,
  drain: NonNullable<ColumnCursor['drain']>,
): Generator<Uint8Array | undefined> {
  const rows = new RowWriter(columns);
  const add = (points: Points, from: number): number => rows.addPoints(points, from);
  for (;;) {
    while (!isReady()) {
      advance();
      yield undefined;
    }
    if (next() >= toS) break;
    drain(add);
    if (rows.sizeBytes >= PIECE_BYTES) yield rows.take();
  }
  const last = rows.take();
  if (last) yield last;
}

function* rowsOfMany(plan: QueryPlan, cursors: readonly ColumnCursor[]): Generator<Uint8Array | undefined> {
  const { granularityS } = plan;
  const isFilled = plan.columns.some((column) => column.gapMethod !== 'none');
  const rows = new RowWriter(plan.columns);
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
    rows.add(startS, cursors);
    startS = edges ? (edges[++bucket] ?? Number.POSITIVE_INFINITY) : startS + granularityS;
    cells += cursors.length;
    if (rows.sizeBytes < PIECE_BYTES && cells < CELLS_PER_TURN) continue;
    yield rows.take();
    cells = 0;
  }
  const last = rows.take();
  if (last) yield last;
}

function nextStart(cursors: readonly ColumnCursor[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (const cursor of cursors) {
    const start = cursor.next();
    if (start < least) least = start;
  }
  return least;
}

class RowWriter {
  readonly #columns: readonly PlannedColumn[];
  readonly #out = new ByteWriter(PIECE_BYTES + ROW_BYTES);
  /** Decimals of the last number in each column. */
  readonly #decimals: Uint8Array;

  constructor(columns: readonly PlannedColumn[]) {
    this.#columns = columns;
    this.#decimals = new Uint8Array(columns.length);
  }

  get sizeBytes(): number {
    return this.#out.length;
  }

  /** Adds a row, unless no column has a value. */
  add(startS: EpochS, cursors: readonly ColumnCursor[]): void {
    const out = this.#out;
    const rowStart = out.length;
    let isEmpty = true;
    writeWhole(out, startS);
    for (let index = 0; index < cursors.length; index++) {
      const value = (cursors[index] as ColumnCursor).cell(startS);
      out.byte(COMMA);
      if (value === undefined) continue;
      isEmpty = false;
      this.#addValue(value, index);
    }
    if (isEmpty) out.length = rowStart;
    else out.byte(LINE_END);
  }

  #addValue(value: StoredValue, index: number): void {
    if (typeof value === 'number')
      this.#decimals[index] = writeNumber(this.#out, value, this.#decimals[index] as number);
    else this.#out.plain(formatCell(value, this.#columns[index] as PlannedColumn));
  }

  /** Adds rows of the only column until a piece is full; returns the position after the last one. */
  addPoints(points: Points, from: number): number {
    const { numbers, starts, count } = points;
    const out = this.#out;
    let decimals = 0;
    let position = from;
    for (; position < count && out.length < PIECE_BYTES; position++) {
      writeWhole(out, starts[position] as number);
      out.byte(COMMA);
      if (numbers) decimals = writeNumber(out, numbers[position] as number, decimals);
      else this.#addValue(points.at(position), 0);
      out.byte(LINE_END);
    }
    return position;
  }

  /** The bytes written so far, in memory of their own; undefined when there are none. */
  take(): Uint8Array | undefined {
    if (this.#out.length === 0) return undefined;
    const piece = this.#out.take();
    this.#out.length = 0;
    return piece;
  }
}

function formatCell(value: Exclude<StoredValue, number>, { isExactText, isJson }: PlannedColumn): string {
  if (typeof value !== 'string') return String(value);
  if (isExactText === true) return quotedField(onOneLine(JSON.stringify(value)));
  return isJson === true ? quotedField(onOneLine(value)) : csvField(value);
}

/** Line ends of Unicode and of Python's `splitlines`: some reader takes each for the end of a line. */
// oxlint-disable-next-line no-control-regex
const LINE_BREAK = /\r\n|[\n\r\u000b\u000c\u001c-\u001e\u0085\u2028\u2029]/g;
const NEEDS_QUOTES = /[",]/;

/** Quoted where RFC 4180 asks for it; line breaks become blanks, because clients read line by line. */
export function csvField(text: string): string {
  const line = text.replaceAll(LINE_BREAK, ' ');
  return line !== text || NEEDS_QUOTES.test(line) ? quotedField(line) : line;
}

/** JSON text with line ends as escapes, which means the same; control characters are escaped already. */
function onOneLine(json: string): string {
  return json.replaceAll(
    LINE_BREAK,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
