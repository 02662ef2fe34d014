/** Rows of the targets. */
import { and, asc, eq, gt, lt, lte, or, sql } from 'drizzle-orm';
import { hiddenParts, shownUrl } from '../../lib/shown-url.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { SecretSealer } from '../../platform/files/index.ts';
import {
  countOf,
  type Database,
  given,
  highestOf,
  placeholders,
  upsert,
} from '../../platform/sqlite/index.ts';
import {
  NO_TOTALS,
  type RecordContent,
  type RequestOutcome,
  type TargetRecord,
  type TargetSecrets,
  type TargetSettings,
} from './model.ts';
import {
  carriedChange,
  carriedContent,
  NOTED_CONTENTS,
  type NotedContent,
  target,
  targetCursor,
  targetRequest,
} from './tables.ts';

/** How far a target has come. */
export type Cursor = Omit<typeof targetCursor.$inferSelect, 'targetId'>;

/** `url`: whole, where `settings` have it with a part hidden. */
type StoredSecrets = TargetSecrets & { url?: string };

export function createTargetStore({ orm }: Database, sealer: SecretSealer) {
  const all = orm.select().from(target).orderBy(target.name).prepare();
  const insert = orm.insert(target).values(placeholders(target)).prepare();
  const cursors = orm.select().from(targetCursor).prepare();
  const putCursor = upsert({ orm }, targetCursor);

  /** The secret parts of an address are sealed with the others, as part of the whole address. */
  const sealed = ({ secrets, settings, ...record }: TargetRecord) =>
    'url' in settings && hiddenParts(settings.url).length > 0
      ? {
          ...record,
          settings: { ...settings, url: shownUrl(settings.url) },
          secrets: sealer.seal({ ...secrets, url: settings.url }),
        }
      : { ...record, settings, secrets: sealer.seal(secrets) };
  const update = (record: TargetRecord): void =>
    void orm.update(target).set(sealed(record)).where(eq(target.id, record.id)).run();

  return {
    all: (): TargetRecord[] =>
      all.all().map(({ secrets: stored, ...row }) => {
        const { url, ...secrets } = sealer.open<StoredSecrets>(stored) ?? {};
        const settings = url === undefined ? row.settings : ({ ...row.settings, url } as TargetSettings);
        const record = { ...row, settings, secrets };
        if (sealer.isClear(stored)) update(record);
        return record;
      }),
    insert: (record: TargetRecord): void => void insert.run(sealed(record)),
    update,
    remove: (id: string): void => void orm.delete(target).where(eq(target.id, id)).run(),
    cursors: (): Map<string, Cursor> =>
      new Map(
        cursors
          .all()
          .map(({ targetId, totals, ...place }) => [
            targetId,
            { ...place, totals: { ...NO_TOTALS, ...totals } },
          ]),
      ),
    putCursor: (targetId: string, { position, records, totals }: Cursor): void =>
      void putCursor.run({ targetId, position, records, totals }),
  };
}

export type ChangeStore = ReturnType<typeof createChangeStore>;

/** Which rows of state.db changed since, by content and number. */
export function createChangeStore({ orm }: Database) {
  const ofContent = given(carriedChange.content);
  const contents = orm.select().from(carriedContent).prepare();
  const newest = orm
    .select({ newest: carriedContent.newest })
    .from(carriedContent)
    .where(given(carriedContent.content))
    .prepare();
  const after = orm
    .select({ number: carriedChange.number, rowId: carriedChange.rowId })
    .from(carriedChange)
    .where(and(ofContent, gt(carriedChange.number, sql.placeholder('number'))))
    .orderBy(asc(carriedChange.number))
    .limit(sql.placeholder('limit'))
    .prepare();
  const remove = orm
    .delete(carriedChange)
    .where(and(ofContent, lte(carriedChange.number, sql.placeholder('number'))))
    .prepare();
  const highest = highestOf(orm, carriedChange.number, ofContent);
  const note = sql`INSERT INTO carried (content, row_id) VALUES`;
  let wanted: ReadonlySet<string> = new Set();
  return {
    isWanted: (content: NotedContent): boolean => wanted.has(content),
    newest: (content: NotedContent): number => newest.get({ content })?.newest ?? 0,
    after: (content: NotedContent, number: number, limit: number) => after.all({ content, number, limit }),
    /** As the triggers do. */
    note: (content: NotedContent, rowId: string): void => void orm.run(sql`${note} (${content}, ${rowId})`),
    /** From now on changes of these contents are noted, and of no others. Within a transaction. */
    setWanted(contentsWanted: ReadonlySet<RecordContent>): void {
      const known = new Map(contents.all().map((row) => [row.content, row]));
      for (const content of NOTED_CONTENTS) {
        const isWanted = contentsWanted.has(content);
        if ((known.get(content)?.isWanted ?? false) === isWanted) continue;
        const values = {
          content,
          isWanted,
          newest: known.get(content)?.newest ?? highest({ content }),
        };
        orm
          .insert(carriedContent)
          .values(values)
          .onConflictDoUpdate({ target: carriedContent.content, set: { isWanted } })
          .run();
      }
      wanted = contentsWanted;
    },
    /** Removes changes that no target needs any more. */
    removeUpTo: (content: NotedContent, number: number): void => void remove.run({ content, number }),
  };
}

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
