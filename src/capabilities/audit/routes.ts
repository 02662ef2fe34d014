/** The audit trail: an extension of the interface. */
import { nextTurn } from '../../platform/clock/index.ts';
import { route, type Route } from '../../platform/http/index.ts';
import type { AuditFilter } from './model.ts';
import { CSV_HEAD, exportQuery, filterOf, listQuery, toCsv, toWire } from './schema.ts';
import type { Audit } from './service.ts';

export function auditRoutes(audit: Audit): Route[] {
  return [
    route({
      operation: 'list_audit',
      method: 'GET',
      paths: ['/v3/audit'],
      role: 'OWNER',
      query: listQuery,
      handle: ({ query }) => {
        const { entries, totalCount } = audit.list(filterOf(query), query.limit, query.offset);
        return { entries: entries.map(toWire), total_count: totalCount };
      },
    }),
    route({
      operation: 'export_audit',
      method: 'GET',
      paths: ['/v3/audit/export'],
      role: 'OWNER',
      query: exportQuery,
      handle: ({ query }) =>
        new Response(ReadableStream.from(csvOf(audit, filterOf(query))), {
          headers: {
            'Content-Type': 'text/csv',
            'Content-Disposition': 'attachment; filename="audit.csv"',
            'Cache-Control': 'no-store',
          },
        }),
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
