/** Rows of the commands that targets sent. */
import { and, eq, lt, or, sql } from 'drizzle-orm';
import type { EpochMs } from '../../../lib/time.ts';
import { countOf, type Database, given, placeholders } from '../../../platform/sqlite/index.ts';
import type { RequestOutcome } from '../model.ts';
import { targetRequest } from '../tables.ts';

export type RememberedRequest = typeof targetRequest.$inferSelect;

export function createRequestStore({ orm }: Database) {
  const { targetId, requestId, expiresAtMs, isTold } = targetRequest;
  const ofTarget = given(targetId);
  const isIt = and(ofTarget, given(requestId));
  const find = orm.select().from(targetRequest).where(isIt).prepare();
  const waiting = orm
    .select()
    .from(targetRequest)
    .where(and(ofTarget, eq(isTold, false)))
    .prepare();
  const counted = countOf(orm, targetRequest, ofTarget);
  const insert = orm.insert(targetRequest).values(placeholders(targetRequest)).prepare();
  const isPast = lt(expiresAtMs, sql.placeholder('provenMs'));
  const isForgotten = lt(expiresAtMs, sql.placeholder('unansweredBeforeMs'));
  const removePast = orm
    .delete(targetRequest)
    .where(and(ofTarget, isPast, or(eq(isTold, true), isForgotten)))
    .prepare();

  const change = (target: string, request: string, values: Partial<RememberedRequest>): void =>
    void orm
      .update(targetRequest)
      .set(values)
      .where(and(eq(targetId, target), eq(requestId, request)))
      .run();

  return {
    find: (target: string, request: string): RememberedRequest | undefined =>
      find.get({ targetId: target, requestId: request }),
    /** Requests whose last answer was not acknowledged yet. */
    waiting: (target: string): RememberedRequest[] => waiting.all({ targetId: target }),
    count: (target: string): number => counted({ targetId: target }),
    insert: (row: RememberedRequest): void => void insert.run({ ...row }),
    note: (target: string, request: string, outcome: RequestOutcome): void =>
      change(target, request, { outcome }),
    /** The broker has acknowledged the last answer. */
    setAnswered: (target: string, request: string): void => change(target, request, { isTold: true }),
    /** Removes requests that are certainly past their deadline and were answered or given up. */
    removePast: (target: string, past: { provenMs: EpochMs; unansweredBeforeMs: EpochMs }): void =>
      void removePast.run({ targetId: target, ...past }),
  };
}
