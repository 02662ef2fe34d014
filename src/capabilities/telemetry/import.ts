/**
 * Reads back what a time series query answered: the same head, the same rows, through the same checks and the same
 * journal as what devices send, without events. Importing twice changes nothing, because of one instant the later value
 * wins and it is the same one.
 */
import { invalidBody } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { EpochS } from '../../lib/time.ts';
import { nextTurn } from '../../platform/clock/index.ts';
import type { Journal } from '../../platform/journal/index.ts';
import { parseExactJson, type TelemetryType } from '../../protocol/telemetry.ts';
import type { Device, Devices } from '../devices/index.ts';
import type { Ingest } from './intake/ingest.ts';
import type { AttributePlan, IngestPlans } from './intake/ingest-plans.ts';

export interface ImportReport {
  rows: number;
  /** Values stored. */
  values: number;
  /** Values that do not fit their attribute. */
  rejected: number;
}

/** G: bytes given to the journal at once; between two the event loop has its turn. */
const BYTES_PER_REQUEST = 32_768;
/** G: rows between two looks at how much was written. */
const ROWS_PER_TURN = 64;

/** Resolves when everything is on disk. @throws GatewayError invalid_body, device_not_found, unavailable */
export async function importCsv(
  chunks: AsyncIterable<Uint8Array>,
  parts: { devices: Devices; plans: IngestPlans; ingest: Ingest; journal: Journal },
): Promise<ImportReport> {
  const { devices, plans, ingest, journal } = parts;
  const report: ImportReport = { rows: 0, values: 0, rejected: 0 };
  let targets: { device: Device; plan: AttributePlan }[] = [];
  let pendingBytes = 0;
  let rows = 0;
  let stored: Promise<void> = Promise.resolve();
  report.rows = await readCsv(chunks, {
    columns: (columns) => {
      targets = columns.map(({ device: idOrSlug, attribute }) => {
        const device = devices.require(idOrSlug);
        const plan = plans.of(device).attributes.get(attribute);
        if (!plan) throw invalidBody('line 1', `Device ${idOrSlug} has no telemetry "${attribute}".`);
        return { device, plan };
      });
      return targets.map(({ plan }) => plan.type);
    },
    value: (column, timestampS, value) => {
      const { device, plan } = targets[column] ?? {};
      if (!device || !plan) return;
      const sizeBytes = ingest.restore(device, plan, timestampS, value);
      if (sizeBytes === undefined) report.rejected++;
      else {
        report.values++;
        pendingBytes += sizeBytes;
      }
    },
    rowDone: async () => {
      if (++rows % ROWS_PER_TURN !== 0) return;
      await nextTurn();
      if (pendingBytes < BYTES_PER_REQUEST) return;
      // One group is on its way while the next one is read.
      await stored;
      stored = journal.commits.request(pendingBytes);
      // How it ends is asked before the next one.
      stored.catch(() => undefined);
      pendingBytes = 0;
    },
  });
  await stored;
  if (pendingBytes > 0) await journal.commits.request(pendingBytes);
  return report;
}

interface ImportColumn {
  /** Id or slug, as written in the head. */
  device: string;
  attribute: string;
  /** Its text is JSON text. */
  isExactText: boolean;
}

interface ImportSink {
  /** Called once, before the first row. @throws GatewayError, when a column cannot be imported */
  columns(columns: readonly ImportColumn[]): readonly TelemetryType[];
  /** One cell that is not empty. */
  value(column: number, timestampS: EpochS, value: unknown): void;
  /** After each row; a promise asks to wait. */
  rowDone(): Promise<void> | void;
}

/** G: longer lines are no answer of ours; a thousand columns of long texts fit. */
const LINE_MAX = 4 * 1_048_576;

/** Resolves with the number of rows. @throws GatewayError invalid_body, naming the line */
async function readCsv(chunks: AsyncIterable<Uint8Array>, sink: ImportSink): Promise<number> {
  let types: readonly TelemetryType[] | undefined;
  let columns: ImportColumn[] = [];
  let line = 0;
  for await (const text of linesOf(chunks)) {
    line++;
    const fields = fieldsOf(text, line);
    if (types === undefined) {
      columns = columnsOf(fields);
      types = sink.columns(columns);
      continue;
    }
    if (fields.length !== types.length + 1)
      throw wrongLine(line, `has ${fields.length} fields instead of ${types.length + 1}`);
    const [time = '', ...cells] = fields;
    if (!/^\d{1,10}$/.test(time) || Number(time) >= LIMITS.telemetry.timeEndS)
      throw wrongLine(line, 'does not begin with Unix seconds before 2100');
    for (const [column, cell] of cells.entries())
      if (cell !== '') {
        const text = columns[column]?.isExactText === true ? exactText(cell, line) : cell;
        sink.value(column, Number(time), parseCell(text, types[column] as TelemetryType, line));
      }
    await sink.rowDone();
  }
  if (types === undefined) throw wrongLine(1, 'is missing: the head of the columns is expected');
  return line - 1;
}

async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  for await (const chunk of chunks) {
    rest += decoded(decoder, chunk);
    let from = 0;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n', from)) {
      yield rest.slice(from, end);
      from = end + 1;
    }
    rest = rest.slice(from);
    if (rest.length > LINE_MAX) throw invalidBody('', 'A line of the CSV text is too long.');
  }
  rest += decoded(decoder);
  if (rest !== '') yield rest;
}

/** Without bytes: what is left at the end. @throws GatewayError invalid_body */
function decoded(decoder: TextDecoder, chunk?: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch (error) {
    throw invalidBody('', 'The CSV text is not UTF-8.', error);
  }
}

/** Fields of one line; quoted ones have their quotes doubled inside (RFC 4180), and end where they began: on this line. */
function fieldsOf(line: string, number: number): string[] {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  if (!text.includes('"')) return text.split(',');
  const fields: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",][^,]*)?)(?:,|$)/y;
  while (field.lastIndex <= text.length) {
    const match = field.exec(text);
    if (!match) throw wrongLine(number, 'has a field with a quotation mark that does not end the field');
    fields.push(match[1] === undefined ? (match[2] ?? '') : match[1].replaceAll('""', '"'));
    if (!match[0].endsWith(',')) break;
  }
  return fields;
}

function columnsOf([first, ...heads]: readonly string[]): ImportColumn[] {
  if (first !== 'ts' || heads.length === 0) throw wrongLine(1, 'must begin with ts and have columns');
  return heads.map((head) => {
    const pairs = new Map(head.split(' ').map((pair) => [pair.slice(0, pair.indexOf('=')), pair]));
    const valueOf = (key: string): string => pairs.get(key)?.slice(key.length + 1) ?? '';
    const column = {
      device: valueOf('device'),
      attribute: valueOf('telemetry'),
      isExactText: valueOf('text_format') === 'json',
    };
    if (column.device === '' || column.attribute === '')
      throw wrongLine(1, `has a column without telemetry and device: "${head.slice(0, 200)}"`);
    return column;
  });
}

function exactText(cell: string, line: number): string {
  const text = parsedJson(cell, 'JSON text', line);
  if (typeof text !== 'string') throw wrongLine(line, `has "${cell.slice(0, 100)}" for JSON text`);
  return text;
}

function parseCell(cell: string, type: TelemetryType, line: number): unknown {
  if (type === 'string') return cell;
  if (type === 'boolean') return cell === 'true' ? true : cell === 'false' ? false : cell;
  return parsedJson(cell, `a ${type}`, line);
}

function parsedJson(cell: string, what: string, line: number): unknown {
  try {
    return parseExactJson(cell);
  } catch (error) {
    if (error instanceof SyntaxError) throw wrongLine(line, `has "${cell.slice(0, 100)}" for ${what}`);
    throw error;
  }
}

function wrongLine(line: number, fault: string): Error {
  return invalidBody(`line ${line}`, `Line ${line} ${fault}.`);
}
