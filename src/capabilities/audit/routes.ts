import { nextTurn } from '../../platform/clock/index.ts';
import { attachmentHeaders, route, type Route } from '../../platform/http/index.ts';
import type { AuditFilter } from './model.ts';
import { auditShapes, CSV_HEAD, exportQuery, filterOf, listQuery, toCsv, toWire } from './schema.ts';
import type { Audit } from './service.ts';

/** The audit trail: an extension of the interface. */
export function auditRoutes(audit: Audit): Route[] {
  return [
    route({
      operation: 'list_audit',
      about: 'Changes and commands with their origin, newest first; `origin` is an id or a name.',
      answer: auditShapes.list,
      GET: ['/v3/audit'],
      role: 'OWNER',
      query: listQuery,
      handle: ({ query }) => {
        const { entries, totalCount } = audit.list(filterOf(query), query.limit, query.offset);
        return { entries: entries.map(toWire), total_count: totalCount };
      },
    }),
    route({
      operation: 'get_audit_entry',
      about: 'One entry, by its number.',
      answer: auditShapes.one,
      GET: ['/v3/audit/{entry_number}'],
      role: 'OWNER',
      errors: ['404 audit_entry_not_found'],
      handle: (call) => ({ entry: toWire(audit.require(call.param('entry_number'))) }),
    }),
    route({
      operation: 'export_audit',
      about: 'The same as CSV, all entries that match.',
      answer: { mediaType: 'text/csv', about: 'One line for each entry.', example: CSV_HEAD },
      GET: ['/v3/audit/export'],
      role: 'OWNER',
      query: exportQuery,
      handle: (call) =>
        call.streamed(csvOf(audit, filterOf(call.query)), attachmentHeaders('text/csv', 'audit.csv')),
    }),
  ];
}

async function* csvOf(audit: Audit, filter: AuditFilter): AsyncGenerator<Uint8Array> {
  yield Buffer.from(CSV_HEAD);
  for (const page of audit.pages(filter)) {
    yield Buffer.from(toCsv(page));
    await nextTurn();
  }
}
