/** Query and answers of the audit trail as they stand on the wire. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { formatTimestamp } from '../../lib/timestamp.ts';
import { query } from '../../platform/http/index.ts';
import type { AuditFilter, StoredEntry } from './model.ts';

const filters = {
  from: query.instant(),
  to: query.instant(),
  origin: query.text(),
  operation: query.text(),
};

export const listQuery = v.object({
  ...filters,
  limit: query.limit(LIMITS.audit.listItems, LIMITS.http.pageItems),
  offset: query.offset(),
});

export const exportQuery = v.object(filters);

export function filterOf(input: v.InferOutput<typeof exportQuery>): AuditFilter {
  return { fromMs: input.from, beforeMs: input.to, origin: input.origin, operation: input.operation };
}

export function toWire(entry: StoredEntry): Record<string, unknown> {
  const { origin, remoteAddress } = entry;
  return {
    number: entry.number,
    at: formatTimestamp(entry.atMs),
    origin: { kind: origin.kind, id: origin.id, name: origin.name },
    operation: entry.operation,
    target: entry.target,
    status: entry.status,
    ...(remoteAddress !== undefined && { remote_address: remoteAddress }),
  };
}

const COLUMNS = [
  'number',
  'at',
  'origin_kind',
  'origin_id',
  'origin_name',
  'operation',
  'target',
  'status',
  'remote_address',
];

export const CSV_HEAD = `${COLUMNS.join(',')}\n`;

export function toCsv(entries: readonly StoredEntry[]): string {
  return entries.map((entry) => `${fieldsOf(entry).map(csvField).join(',')}\n`).join('');
}

function fieldsOf({ number, atMs, origin, operation, target, status, remoteAddress }: StoredEntry): string[] {
  const place = Object.entries(target).map(([name, value]) => `${name}=${value}`);
  return [
    String(number),
    formatTimestamp(atMs),
    origin.kind,
    origin.id,
    origin.name,
    operation,
    place.join(' '),
    String(status),
    remoteAddress ?? '',
  ];
}

/** RFC 4180; a text that a spreadsheet would take for a formula gets an apostrophe in front. */
function csvField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
