/** Rows of the audit trail. */
import { and, asc, desc, eq, lt, type SQL, sql } from 'drizzle-orm';
import type { EpochMs } from '../../lib/time.ts';
import type { StampCorrection, StampRange } from '../../platform/clock/index.ts';
import {
  countOf,
  type Database,
  highestOf,
  isWithin,
  placeholdersBut,
  present,
  removalOf,
  restampOf,
  unlessNull,
} from '../../platform/sqlite/index.ts';
import type { AuditEntry, AuditFilter, StoredEntry } from './model.ts';
import { audit } from './tables.ts';

export type AuditStore = ReturnType<typeof createAuditStore>;

const { number, atMs, originKind, originId, originName, operation } = audit;
const { target, status, remoteAddress } = audit;

export function createAuditStore({ orm }: Database) {
  const insert = orm.insert(audit).values(placeholdersBut(audit, 'number')).prepare();
  const matches = matching();
  const origin = { kind: originKind, id: originId, name: originName };
  const entries = (condition: SQL | undefined) =>
    orm
      .select({ number, atMs, origin, operation, target, status, remoteAddress })
      .from(audit)
      .where(condition)
      .orderBy(desc(number))
      .limit(sql.placeholder('limit'));
  const page = entries(matches).offset(sql.placeholder('offset')).prepare();
  const below = entries(and(lt(number, sql.placeholder('number')), matches)).prepare();
  const counted = countOf(orm, audit, matches);
  const lastDone = orm
    .select({ atMs })
    .from(audit)
    .where(and(eq(operation, sql.placeholder('operation')), lt(status, 400)))
    .orderBy(desc(number))
    .limit(1)
    .prepare();

  return {
    insert: ({ origin: by, ...entry }: AuditEntry): void =>
      void insert.run({
        remoteAddress: null,
        ...entry,
        atMs: Math.round(entry.atMs),
        originKind: by.kind,
        originId: by.id,
        originName: by.name,
      }),
    /** Newest first. */
    page: (filter: AuditFilter, limit: number, offset: number): StoredEntry[] =>
      page.all({ ...parametersOf(filter), limit, offset }).map(present),
    /** Newest first, those with a number below `before`. */
    below: (filter: AuditFilter, before: number, limit: number): StoredEntry[] =>
      below.all({ ...parametersOf(filter), number: before, limit }).map(present),
    count: (filter: AuditFilter): number => counted(parametersOf(filter)),
    /** When the operation last succeeded; undefined: never, as far as entries are kept. */
    lastDoneMs: (name: string): EpochMs | undefined => lastDone.get({ operation: name })?.atMs,
    newestNumber: highestOf(orm, number),
    ...cleaningStatements(orm),
  };
}

function cleaningStatements(orm: Database['orm']) {
  const limit = sql.placeholder('limit');
  const numbers = () => orm.select({ number }).from(audit).limit(limit).$dynamic();
  const removeThose = (rows: ReturnType<typeof numbers>) => removalOf(orm, number, sql`${rows}`);
  /** All but the newest `keep` of the fitting entries. */
  const excess = (fitting?: SQL) =>
    numbers()
      .where(
        and(
          fitting,
          sql`${number} <= ${orm
            .select({ number })
            .from(audit)
            .where(fitting)
            .orderBy(desc(number))
            .limit(1)
            .offset(sql.placeholder('keep'))}`,
        ),
      )
      .orderBy(asc(number));
  const removeOld = removeThose(numbers().where(isWithin(atMs)).orderBy(asc(atMs)));
  const removeExcess = removeThose(excess());
  // As the index of migration 0015 has it.
  const removeAutomatic = removeThose(excess(sql`${originKind} IN ('rule', 'device', 'target')`));
  const restamp = restampOf({ orm }, atMs);

  return {
    /** Returns how many were removed. */
    removeOld: (old: StampRange, most: number): number => removeOld.run({ ...old, limit: most }).changes,
    /** All but the newest `keep`. Returns how many were removed. */
    removeExcess: (keep: number, most: number): number => removeExcess.run({ keep, limit: most }).changes,
    /** Entries of rules, device scripts and targets but the newest `keep`. Returns how many were removed. */
    removeAutomatic: (keep: number, most: number): number =>
      removeAutomatic.run({ keep, limit: most }).changes,
    restamp: (correction: StampCorrection): void => void restamp.run({ ...correction }),
  };
}

/** One condition with a parameter for each filter; NULL does not restrict. */
function matching(): SQL | undefined {
  const who = sql.placeholder('origin');
  return and(
    unlessNull('from', sql`${atMs} >= ${sql.placeholder('from')}`),
    unlessNull('before', sql`${atMs} < ${sql.placeholder('before')}`),
    unlessNull('origin', sql`${originId} = ${who} OR ${originName} = ${who}`),
    unlessNull('operation', sql`${operation} = ${sql.placeholder('operation')}`),
  );
}

function parametersOf({ fromMs, beforeMs, origin, operation: name }: AuditFilter): Record<string, unknown> {
  return { from: fromMs ?? null, before: beforeMs ?? null, origin: origin ?? null, operation: name ?? null };
}
