/**
 * Imports what a time series query answered: the same head and rows, with the checks and the journal of what devices
 * send, but without events. Importing twice changes nothing: of two values of one instant the later one wins, and it
 * is the same.
 */
import { invalidBody } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { nextTurn } from '../../platform/clock/index.ts';
import type { Journal, ThreadedHistory } from '#telemetry-store';
import { JsonExcess, parseExactJson } from '../../lib/json.ts';
import type { TelemetryType } from '../../protocol/telemetry.ts';
import type { Device, Devices } from '../devices/index.ts';
import { type CsvLine, csvLines, numberText, timeOf, wrongLine } from './import-lines.ts';
import type { Ingest } from './intake/ingest.ts';
import type { AttributePlan, IngestPlans } from './intake/ingest-plans.ts';

export interface ImportReport {
  rows: number;
  /** Values stored. */
  values: number;
  /** Values that do not fit their attribute. */
  rejected: number;
}

/**
 * Bytes given to the journal at once: enough for it to commit them without a window, and few enough for a message of a
 * device that waits for the commit before its own.
 */
const BYTES_PER_REQUEST = LIMITS.commits.busyBytes * 4;
/**
 * Measured: values and characters between two turns of the event loop, which take less than 2 ms; devices and requests have
 * theirs in between.
 */
const VALUES_PER_TURN = 1_024;
const CHARACTERS_PER_TURN = 32_768;

interface Column {
  device: Device;
  plan: AttributePlan;
  /** Its text is JSON text. */
  isExactText: boolean;
}

/** Resolves when everything is on disk. @throws GatewayError invalid_body, device_not_found, unavailable; what the disk refuses */
export async function importCsv(
  chunks: AsyncIterable<Uint8Array>,
  parts: {
    devices: Devices;
    plans: IngestPlans;
    ingest: Ingest;
    journal: Journal;
    history: Pick<ThreadedHistory, 'caughtUp'>;
  },
): Promise<ImportReport> {
  const { ingest, journal, history } = parts;
  const report: ImportReport = { rows: 0, values: 0, rejected: 0 };
  let columns: Column[] | undefined;
  let pendingBytes = 0;
  let turnWork = 0;
  let stored: Promise<void> = Promise.resolve();
  for await (const line of csvLines(chunks)) {
    if (columns === undefined) {
      columns = columnsOf(withoutEmptyEnd(line.fields, 2), parts);
      continue;
    }
    const fields = withoutEmptyEnd(line.fields, columns.length + 1);
    if (fields.length !== columns.length + 1)
      throw wrongLine(line.number, `has ${fields.length} fields instead of ${columns.length + 1}`);
    const timestampS = timeOf(fields[0] ?? '', line.number);
    for (const [index, { device, plan, isExactText }] of columns.entries()) {
      const cell = fields[index + 1] ?? '';
      if (cell === '') continue;
      const value = parseCell(isExactText ? exactText(cell, line.number) : cell, plan.type, line);
      const sizeBytes = ingest.restore(device, plan, timestampS, value);
      if (sizeBytes === undefined) report.rejected++;
      else report.values++;
      pendingBytes += sizeBytes ?? 0;
    }
    report.rows++;
    turnWork += columns.length / VALUES_PER_TURN + line.length / CHARACTERS_PER_TURN;
    if (turnWork < 1) continue;
    turnWork = 0;
    await nextTurn();
    if (pendingBytes < BYTES_PER_REQUEST) continue;
    // One group is on its way while the next one is read. Were it awaited, it would open a window that devices wait for.
    await stored;
    // Acknowledgements of devices wait for a store that is far behind, so only this import may be behind.
    await history.caughtUp();
    stored = journal.commits.requestOrFail(pendingBytes, false);
    // Its failure shows where it is awaited, before the next request.
    stored.catch(() => undefined);
    pendingBytes = 0;
  }
  if (columns === undefined) throw wrongLine(1, 'is missing: the head of the columns is expected');
  await stored;
  if (pendingBytes > 0) {
    const last = journal.commits.requestOrFail(pendingBytes);
    journal.commits.expedite();
    await last;
  }
  return report;
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

/** Words for true and false that spreadsheets write. */
const FLAGS: Readonly<Record<string, boolean>> = { true: true, wahr: true, false: false, falsch: false };

function parseCell(cell: string, type: TelemetryType, line: CsvLine): unknown {
  if (type === 'string') return cell;
  if (type === 'boolean') return FLAGS[cell.toLowerCase()] ?? cell;
  const isNumber = type === 'float' || type === 'integer';
  return parsedJson(isNumber ? numberText(cell, line) : cell, `a ${type}`, line.number);
}

/** Empty fields behind the last of `least` fields are columns of nothing. */
function withoutEmptyEnd(fields: readonly string[], least: number): readonly string[] {
  const last = fields.findLastIndex((field) => field !== '');
  return fields.length > least ? fields.slice(0, Math.max(last + 1, least)) : fields;
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
