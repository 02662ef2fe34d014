/** Table `audit` of state.db. */
import type { StampCorrection, StampRange } from '../../platform/clock/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { AuditEntry, AuditFilter, AuditOrigin, StoredEntry } from './model.ts';

interface Row {
  number: number;
  at_ms: number;
  origin_kind: string;
  origin_id: string;
  origin_name: string;
  operation: string;
  target: string;
  status: number;
  remote_address: string | null;
}

interface FilterParameters {
  from: number | null;
  before: number | null;
  origin: string | null;
  operation: string | null;
}

const MATCHES = `(:from IS NULL OR at_ms >= :from) AND (:before IS NULL OR at_ms < :before)
  AND (:origin IS NULL OR origin_id = :origin OR origin_name = :origin)
  AND (:operation IS NULL OR operation = :operation)`;

export type AuditStore = ReturnType<typeof createAuditStore>;

export function createAuditStore(database: Database) {
  const insert = database.prepare<unknown[]>(
    `INSERT INTO audit (at_ms, origin_kind, origin_id, origin_name, operation, target, status, remote_address)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const page = database.prepare<FilterParameters & { limit: number; offset: number }, Row>(
    `SELECT * FROM audit WHERE ${MATCHES} ORDER BY number DESC LIMIT :limit OFFSET :offset`,
  );
  const below = database.prepare<FilterParameters & { number: number; limit: number }, Row>(
    `SELECT * FROM audit WHERE number < :number AND ${MATCHES} ORDER BY number DESC LIMIT :limit`,
  );
  const count = database.prepare<FilterParameters, { count: number }>(
    `SELECT COUNT(*) AS count FROM audit WHERE ${MATCHES}`,
  );
  const newest = database.prepare<[], { number: number }>(
    'SELECT COALESCE(MAX(number), 0) AS number FROM audit',
  );
  const removeOld = database.prepare<StampRange & { limit: number }>(
    `DELETE FROM audit WHERE number IN (SELECT number FROM audit
       WHERE at_ms >= :fromMs AND at_ms < :beforeMs ORDER BY at_ms LIMIT :limit)`,
  );
  const removeExcess = database.prepare<[number, number]>(
    `DELETE FROM audit WHERE number IN
       (SELECT number FROM audit WHERE number <=
         (SELECT number FROM audit ORDER BY number DESC LIMIT 1 OFFSET ?) ORDER BY number LIMIT ?)`,
  );
  const removeAutomatic = database.prepare<[number, number]>(
    `DELETE FROM audit WHERE number IN
       (SELECT number FROM audit WHERE origin_kind IN ('rule', 'device')
         AND number <= (SELECT number FROM audit WHERE origin_kind IN ('rule', 'device')
           ORDER BY number DESC LIMIT 1 OFFSET ?) ORDER BY number LIMIT ?)`,
  );
  const restamp = database.prepare<StampCorrection>(
    `UPDATE audit SET at_ms =
       MIN(MAX(at_ms + IIF(at_ms < :plausibleFromMs, :jumpMs, :backMs), :earliestMs), :nowMs)
     WHERE at_ms < :plausibleFromMs OR at_ms > :aheadFromMs`,
  );

  return {
    insert: (entry: AuditEntry): void =>
      void insert.run(
        Math.round(entry.atMs),
        entry.origin.kind,
        entry.origin.id,
        entry.origin.name,
        entry.operation,
        JSON.stringify(entry.target),
        entry.status,
        entry.remoteAddress ?? null,
      ),
    /** Newest first. */
    page: (filter: AuditFilter, limit: number, offset: number): StoredEntry[] =>
      page.all({ ...parametersOf(filter), limit, offset }).map(fromRow),
    /** Newest first, those with a number below `number`. */
    below: (filter: AuditFilter, number: number, limit: number): StoredEntry[] =>
      below.all({ ...parametersOf(filter), number, limit }).map(fromRow),
    count: (filter: AuditFilter): number => count.get(parametersOf(filter))?.count ?? 0,
    newestNumber: (): number => newest.get()?.number ?? 0,
    /** Returns how many were removed. */
    removeOld: (old: StampRange, limit: number): number => removeOld.run({ ...old, limit }).changes,
    /** All but the newest `keep`. Returns how many were removed. */
    removeExcess: (keep: number, limit: number): number => removeExcess.run(keep, limit).changes,
    /** Those of rules and scripts of devices but the newest `keep`. Returns how many were removed. */
    removeAutomatic: (keep: number, limit: number): number => removeAutomatic.run(keep, limit).changes,
    restamp: (correction: StampCorrection): void => void restamp.run(correction),
  };
}

function parametersOf({ fromMs, beforeMs, origin, operation }: AuditFilter): FilterParameters {
  return {
    from: fromMs ?? null,
    before: beforeMs ?? null,
    origin: origin ?? null,
    operation: operation ?? null,
  };
}

function fromRow(row: Row): StoredEntry {
  return {
    number: row.number,
    atMs: row.at_ms,
    origin: {
      kind: row.origin_kind as AuditOrigin['kind'],
      id: row.origin_id,
      name: row.origin_name,
    },
    operation: row.operation,
    target: JSON.parse(row.target) as Record<string, string>,
    status: row.status,
    ...(row.remote_address !== null && { remoteAddress: row.remote_address }),
  };
}
