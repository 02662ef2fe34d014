/**
 * Imports what a time series query answered: the same head and rows, with the checks and the journal of what devices
 * send, but without events. Importing twice changes nothing: of two values of one instant the later one wins, and it
 * is the same.
 */
import { invalidBody } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { EpochS } from '../../lib/time.ts';
import { nextTurn } from '../../platform/clock/index.ts';
import type { Journal } from '#telemetry-store';
import { JsonExcess, parseExactJson } from '../../lib/json.ts';
import type { TelemetryType } from '../../protocol/telemetry.ts';
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

interface Column {
  device: Device;
  plan: AttributePlan;
  /** Its text is JSON text. */
  isExactText: boolean;
}

/** Resolves when everything is on disk. @throws GatewayError invalid_body, device_not_found, unavailable; what the disk refuses */
export async function importCsv(
  chunks: AsyncIterable<Uint8Array>,
  parts: { devices: Devices; plans: IngestPlans; ingest: Ingest; journal: Journal },
): Promise<ImportReport> {
  const { ingest, journal } = parts;
  const report: ImportReport = { rows: 0, values: 0, rejected: 0 };
  let columns: Column[] | undefined;
  let pendingBytes = 0;
  let line = 0;
  let stored: Promise<void> = Promise.resolve();
  for await (const text of linesOf(chunks)) {
    const fields = fieldsOf(text, ++line);
    if (columns === undefined) {
      columns = columnsOf(fields, parts);
      continue;
    }
    const timestampS = timeOf(fields, columns.length, line);
    for (const [index, { device, plan, isExactText }] of columns.entries()) {
      const cell = fields[index + 1] ?? '';
      if (cell === '') continue;
      const value = parseCell(isExactText ? exactText(cell, line) : cell, plan.type, line);
      const sizeBytes = ingest.restore(device, plan, timestampS, value);
      if (sizeBytes === undefined) report.rejected++;
      else report.values++;
      pendingBytes += sizeBytes ?? 0;
    }
    if (++report.rows % ROWS_PER_TURN !== 0) continue;
    await nextTurn();
    if (pendingBytes < BYTES_PER_REQUEST) continue;
    // One group is on its way while the next one is read.
    await stored;
    stored = journal.commits.requestOrFail(pendingBytes);
    // Its failure shows where it is awaited, before the next request.
    stored.catch(() => undefined);
    pendingBytes = 0;
  }
  if (columns === undefined) throw wrongLine(1, 'is missing: the head of the columns is expected');
  await stored;
  if (pendingBytes > 0) await journal.commits.requestOrFail(pendingBytes);
  return report;
}

/** @throws GatewayError invalid_body for another number of fields, or a time that is none */
function timeOf(fields: readonly string[], columns: number, line: number): EpochS {
  if (fields.length !== columns + 1)
    throw wrongLine(line, `has ${fields.length} fields instead of ${columns + 1}`);
  const [time = ''] = fields;
  if (!/^\d{1,10}$/.test(time) || Number(time) >= LIMITS.telemetry.timeEndS)
    throw wrongLine(line, 'does not begin with Unix seconds before 2100');
  return Number(time);
}

/** G: a line of our own answers is shorter, also with a thousand columns of long texts. */
const LINE_MAX = 4 * 1_048_576;

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

/** @throws GatewayError invalid_body, device_not_found */
function columnsOf(
  [first, ...heads]: readonly string[],
  { devices, plans }: { devices: Devices; plans: IngestPlans },
): Column[] {
  if (first !== 'ts' || heads.length === 0) throw wrongLine(1, 'must begin with ts and have columns');
  const named = heads.map((head) => {
    const pairs = new Map(head.split(' ').map((pair) => [pair.slice(0, pair.indexOf('=')), pair]));
    const valueOf = (key: string): string => pairs.get(key)?.slice(key.length + 1) ?? '';
    const [idOrSlug, attribute] = [valueOf('device'), valueOf('telemetry')];
    if (idOrSlug === '' || attribute === '')
      throw wrongLine(1, `has a column without telemetry and device: "${head.slice(0, 200)}"`);
    return { idOrSlug, attribute, isExactText: valueOf('text_format') === 'json' };
  });
  return named.map(({ idOrSlug, attribute, isExactText }) => {
    const device = devices.require(idOrSlug);
    const plan = plans.of(device).attributes.get(attribute);
    if (!plan) throw invalidBody('line 1', `Device ${idOrSlug} has no telemetry "${attribute}".`);
    return { device, plan, isExactText };
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
    if (error instanceof SyntaxError || error instanceof JsonExcess)
      throw wrongLine(line, `has "${cell.slice(0, 100)}" for ${what}`);
    throw error;
  }
}

function wrongLine(line: number, fault: string): Error {
  return invalidBody(`line ${line}`, `Line ${line} ${fault}.`);
}
