/** Query and answers of the audit trail as they stand on the wire. */
import * as v from 'valibot';
import { quotedField } from '../../lib/csv.ts';
import { LIMITS } from '../../lib/limits.ts';
import { formatTimestamp } from '../../lib/time.ts';
import { query, shape } from '../../platform/http/index.ts';
import { type AuditFilter, ORIGIN_KINDS, type StoredEntry } from './model.ts';

const filters = {
  from: query.bound('First moment of the entries.'),
  to: query.bound('Entries before this moment.'),
  origin: query.text('Id or name of who did it.'),
  operation: query.text('Name of the operation, such as `update_device`.'),
};

export const listQuery = v.object({ ...filters, ...query.page(LIMITS.audit.listItems) });

export const exportQuery = v.object(filters);

export function filterOf(input: v.InferOutput<typeof exportQuery>): AuditFilter {
  return { fromMs: input.from, beforeMs: input.to, origin: input.origin, operation: input.operation };
}

const entryShape = shape.named(
  'AuditEntry',
  v.object({
    number: v.pipe(v.number(), v.integer(), v.description('Grows with every entry.')),
    at: shape.instant(),
    origin: v.object({
      kind: v.picklist(ORIGIN_KINDS),
      id: v.string(),
      name: v.string(),
    }),
    operation: v.string(),
    target: v.record(v.string(), v.string()),
    status: v.pipe(v.number(), v.integer(), v.description('Of the answer; 0 for a local command.')),
    remote_address: v.optional(v.string()),
  }),
  {
    number: 17,
    at: '2026-03-01T08:00:00.123Z',
    origin: { kind: 'user', id: '3f0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a11', name: 'anna' },
    operation: 'update_device',
    target: { device_id: 'c1a5b8b2-0f0e-4a36-8a55-5b1f3b8a9d01' },
    status: 200,
    remote_address: '192.168.0.20',
  },
);

export type AuditEntryOnWire = v.InferOutput<typeof entryShape>;

/** An entry of the audit trail as it stands on the wire. */
export const toWire = (entry: StoredEntry) => shape.filled(entryShape, entry);

export const auditShapes = {
  one: v.object({ entry: entryShape }),
  list: shape.listOf('entries', entryShape),
};

/** Content of each column of the CSV form. */
const COLUMNS: Record<string, (entry: StoredEntry) => string> = {
  number: ({ number }) => String(number),
  at: ({ atMs }) => formatTimestamp(atMs),
  origin_kind: ({ origin }) => origin.kind,
  origin_id: ({ origin }) => origin.id,
  origin_name: ({ origin }) => origin.name,
  operation: ({ operation }) => operation,
  target: ({ target }) =>
    Object.entries(target)
      .map((pair) => pair.join('='))
      .join(' '),
  status: ({ status }) => String(status),
  remote_address: ({ remoteAddress }) => remoteAddress ?? '',
};

export const CSV_HEAD = `${Object.keys(COLUMNS).join(',')}\n`;

export function toCsv(entries: readonly StoredEntry[]): string {
  const fields = Object.values(COLUMNS);
  return entries.map((entry) => `${fields.map((of) => csvField(of(entry))).join(',')}\n`).join('');
}

/** RFC 4180; a text that a spreadsheet would take for a formula gets an apostrophe in front. */
function csvField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? quotedField(safe) : safe;
}
