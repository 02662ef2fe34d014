/** Rows of alerts, and of the rhythms of devices. */
import { and, asc, desc, isNotNull, isNull, or, type SQL, sql } from 'drizzle-orm';
import type { SQLiteUpdateSetSource } from 'drizzle-orm/sqlite-core';
import { type Role, roleIncludes, ROLES } from '../../lib/role.ts';
import type { DurationMs, EpochMs } from '../../lib/time.ts';
import type { StampCorrection, StampRange } from '../../platform/clock/index.ts';
import {
  absent,
  countOf,
  type Database,
  given,
  highestOf,
  isWithin,
  placeholders,
  present,
  presentRow,
  removalOf,
  restampOf,
  unlessNull,
  upsert,
} from '../../platform/sqlite/index.ts';
import { type Alert, type AlertFilter, UNKNOWN_READ_ROLE } from './model.ts';
import { alert, deviceRhythm } from './tables.ts';

const { number, id, deviceId, severity, readRole, raisedAtMs, clearedAtMs } = alert;
const { acknowledgedAtMs, acknowledgedUntilMs } = alert;

const ofNumber = given(number);
/** Raised, and acknowledged until a moment that has passed. */
const isSnoozeOver = and(isNull(clearedAtMs), sql`${acknowledgedUntilMs} <= ${sql.placeholder('nowMs')}`);

export function createAlertStore({ orm }: Database) {
  return { ...createReader(orm), ...createWriter(orm), ...createCleaner(orm), ...createRhythms(orm) };
}

type Orm = Database['orm'];

function createReader(orm: Orm) {
  const matches = matching();
  const raised = orm.select().from(alert).where(isNull(clearedAtMs)).orderBy(number).prepare();
  const woken = orm.select({ number }).from(alert).where(isSnoozeOver).limit(1).prepare();
  const byId = orm.select().from(alert).where(given(id)).prepare();
  const byNumber = orm.select().from(alert).where(ofNumber).prepare();
  const page = orm
    .select()
    .from(alert)
    .where(matches)
    .orderBy(desc(raisedAtMs), desc(number))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
    .prepare();
  const counted = countOf(orm, alert, matches);
  return {
    raised: (): Alert[] => raised.all().map(present),
    hasSnoozeOver: (nowMs: EpochMs): boolean => woken.get({ nowMs }) !== undefined,
    byId: (wanted: string): Alert | undefined => presentRow(byId.get({ id: wanted })),
    ofNumber: (wanted: number): Alert | undefined => presentRow(byNumber.get({ number: wanted })),
    /** The most recently raised first. */
    page: (filter: AlertFilter, limit: number, offset: number): Alert[] =>
      page.all({ ...parametersOf(filter), limit, offset }).map(present),
    count: (filter: AlertFilter): number => counted(parametersOf(filter)),
    newestNumber: highestOf(orm, number),
  };
}

function createWriter(orm: Orm) {
  const insert = orm.insert(alert).values(placeholders(alert)).prepare();
  const changeBy = (set: SQLiteUpdateSetSource<typeof alert>, condition?: SQL) => {
    const change = orm.update(alert).set(set).where(and(ofNumber, condition)).returning().prepare();
    return (of: number, parameters: object = {}): Alert | undefined =>
      presentRow(change.all({ number: of, ...parameters })[0]);
  };
  const atMs = sql.placeholder('atMs');
  // A device that stamps backwards must not end an alert before it began.
  const clear = changeBy({ clearedAtMs: sql`max(${raisedAtMs}, ${atMs})` });
  const raiseAgain = changeBy({ clearedAtMs: null, timesRaised: sql`${alert.timesRaised} + 1` });
  const show = changeBy(placeholders(alert, ['readRole']));
  const setLasting = changeBy({ isLasting: true });
  const by = sql`${sql.placeholder('by')}`;
  const acknowledge = changeBy(
    {
      acknowledgedAtMs: sql`${atMs}`,
      acknowledgedBy: by,
      acknowledgedUntilMs: sql`${sql.placeholder('untilMs')}`,
    },
    or(isNull(acknowledgedAtMs), isNotNull(acknowledgedUntilMs)),
  );
  const wake = orm
    .update(alert)
    .set({ acknowledgedAtMs: null, acknowledgedBy: null, acknowledgedUntilMs: null })
    .where(isSnoozeOver)
    .returning()
    .prepare();
  return {
    insert: (added: Alert): void => void insert.run({ ...absent(alert), ...added }),
    /** These return the changed alert; undefined when there is none, or nothing to change. */
    clear: (of: number, givenMs: EpochMs) => clear(of, { atMs: givenMs }),
    raiseAgain: (of: number) => raiseAgain(of),
    show: (of: number, role: Role) => show(of, { readRole: role }),
    setLasting: (of: number) => setLasting(of),
    acknowledge: (of: number, givenMs: EpochMs, name: string, untilMs: EpochMs | undefined) =>
      acknowledge(of, { atMs: givenMs, by: name, untilMs: untilMs ?? null }),
    /** Takes back acknowledgements whose time is over. */
    wake: (nowMs: EpochMs): Alert[] => wake.all({ nowMs }).map(present),
  };
}

function createRhythms(orm: Orm) {
  const all = orm.select().from(deviceRhythm).prepare();
  const put = upsert({ orm }, deviceRhythm);
  return {
    rhythms: (): (typeof deviceRhythm.$inferSelect)[] => all.all(),
    putRhythm: (ofDevice: string, longestPausesMs: readonly DurationMs[]): void =>
      void put.run({ deviceId: ofDevice, longestPausesMs }),
  };
}

/** These delete no raised alert. */
function createCleaner(orm: Orm) {
  const limit = sql.placeholder('limit');
  const keep = sql.placeholder('keep');
  const isOver = isNotNull(clearedAtMs);
  const removeThose = (rows: SQL) => removalOf(orm, number, sql`(${rows})`);
  const some = (condition: SQL | undefined) =>
    sql`${orm
      .select({ number })
      .from(alert)
      .where(and(isOver, condition))
      .orderBy(asc(raisedAtMs), asc(number))
      .limit(limit)}`;
  const removeOld = removeThose(some(isWithin(clearedAtMs)));
  const oldestKept = sql`(SELECT kept.number FROM alert AS kept ORDER BY kept.number DESC LIMIT 1 OFFSET ${keep})`;
  const removeExcess = removeThose(some(sql`${number} <= ${oldestKept}`));
  const place = sql`row_number() OVER (PARTITION BY ${deviceId} ORDER BY ${raisedAtMs} DESC, ${number} DESC)`;
  const removeExcessOfOne = removeThose(
    sql`SELECT ranked.number FROM (SELECT ${number} AS number, ${clearedAtMs} AS cleared, ${place} AS place FROM ${alert}) AS ranked
      WHERE ranked.place > ${keep} AND ranked.cleared IS NOT NULL LIMIT ${limit}`,
  );
  const restamps = [raisedAtMs, clearedAtMs, acknowledgedAtMs].map((column) => restampOf({ orm }, column));
  return {
    removeOld: (old: StampRange, most: number): number => removeOld.run({ ...old, limit: most }).changes,
    /** Deletes all but the newest `kept`. */
    removeExcess: (kept: number, most: number): number =>
      removeExcess.run({ keep: kept, limit: most }).changes,
    /** Deletes all but the newest `kept` of each device. */
    removeExcessOfOne: (kept: number, most: number): number =>
      removeExcessOfOne.run({ keep: kept, limit: most }).changes,
    restamp: (correction: StampCorrection): void => {
      for (const restamp of restamps) restamp.run({ ...correction });
    },
  };
}

/** One condition with a parameter for each filter; NULL does not restrict. */
function matching(): SQL | undefined {
  const isIn = (name: string, column: SQL): SQL =>
    unlessNull(name, sql`${column} IN (SELECT value FROM json_each(${sql.placeholder(name)}))`);
  return and(
    unlessNull('isActive', sql`(${clearedAtMs} IS NULL) = ${sql.placeholder('isActive')}`),
    unlessNull(
      'isAcknowledged',
      sql`(${acknowledgedAtMs} IS NOT NULL) = ${sql.placeholder('isAcknowledged')}`,
    ),
    isIn('deviceIds', sql`${deviceId}`),
    isIn('severities', sql`${severity}`),
    isIn('readRoles', sql`coalesce(${readRole}, ${UNKNOWN_READ_ROLE})`),
    unlessNull('from', sql`coalesce(${clearedAtMs} >= ${sql.placeholder('from')}, 1)`),
    unlessNull('before', sql`${raisedAtMs} < ${sql.placeholder('before')}`),
  );
}

function parametersOf({ role, ...filter }: AlertFilter): Record<string, unknown> {
  const flag = (value: boolean | undefined): number | null => (value === undefined ? null : Number(value));
  const list = (values: readonly string[] | undefined): string | null =>
    values === undefined ? null : JSON.stringify(values);
  return {
    isActive: flag(filter.isActive),
    isAcknowledged: flag(filter.isAcknowledged),
    deviceIds: list(filter.deviceIds),
    severities: list(filter.severities),
    readRoles: list(role && ROLES.filter((needed) => roleIncludes(role, needed))),
    from: filter.fromMs ?? null,
    before: filter.beforeMs ?? null,
  };
}
