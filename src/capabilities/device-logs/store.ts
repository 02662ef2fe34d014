/** Rows of the logs of devices. */
import { and, asc, desc, eq, gt, type SQL, sql, sum } from 'drizzle-orm';
import { unionAll } from 'drizzle-orm/sqlite-core';
import type { EpochS } from '../../lib/time.ts';
import type { StampCorrection, StampRange } from '../../platform/clock/index.ts';
import {
  correctedStamp,
  countOf,
  given,
  highestOf,
  isWithin,
  isWrongStamp,
  placeholders,
  removalOf,
  type SqlDatabase,
} from '../../platform/sqlite/index.ts';
import { severityMask } from '../../protocol/device-log.ts';
import type { LogEntry, LogFilter } from './model.ts';
import { deviceLog, deviceLogSize, logDevice } from './tables.ts';

/** A device that has, or had, entries. */
export type LogDevice = typeof logDevice.$inferSelect;

export type DeviceLogStore = ReturnType<typeof createDeviceLogStore>;

export function createDeviceLogStore({ orm }: Pick<SqlDatabase, 'orm'>) {
  return {
    ...createReader(orm),
    ...createFollower(orm),
    ...createWriter(orm),
    ...createCleaner(orm),
    ...createSizes(orm),
  };
}

type Orm = SqlDatabase['orm'];

const { id, deviceNumber, receivedAtMs, deviceTimeS, severity, persist, message } = deviceLog;

const isOfNumber = eq(deviceNumber, sql.placeholder('number'));
// A placeholder in a condition takes what SQLite stores: 0 or 1.
const isKind = given(persist);
// Both values, so that the index serves.
const isAnyKind = sql`${persist} IN (0, 1)`;

function createReader(orm: Orm) {
  const numberOfDevice = sql`(SELECT ${logDevice.number} FROM ${logDevice}
    WHERE ${logDevice.deviceId} = ${sql.placeholder('deviceId')})`;
  const inWindow = and(
    eq(deviceNumber, numberOfDevice),
    isWithin(receivedAtMs),
    sql`(${sql.placeholder('severities')} >> ${severity}) & 1`,
  );
  const half = (isPersistent: boolean) =>
    orm
      .select({ receivedAtMs, id })
      .from(deviceLog)
      .where(and(eq(persist, isPersistent), inWindow));
  // Both halves are walked along the index and merged; nothing is sorted but the page itself.
  const statements = (halves: ReturnType<typeof both> | ReturnType<typeof one>, kinds: SQL) => {
    const newest = halves
      .orderBy(desc(receivedAtMs), desc(id))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
      .as('newest');
    return {
      page: orm
        .select({ receivedAtMs, deviceTimeS, severity, persist, message })
        .from(newest)
        .innerJoin(deviceLog, eq(id, newest.id))
        .orderBy(desc(receivedAtMs), desc(id))
        .prepare(),
      count: countOf(orm, deviceLog, and(sql`${persist} IN ${kinds}`, inWindow)),
    };
  };
  const both = () => unionAll(half(false), half(true));
  const one = (isPersistent: boolean) => half(isPersistent).$dynamic();
  const all = statements(both(), sql`(0, 1)`);
  const persistent = statements(one(true), sql`(1)`);
  const ephemeral = statements(one(false), sql`(0)`);

  function chosen(deviceId: string, filter: LogFilter) {
    const parameters = {
      deviceId,
      fromMs: filter.receivedFromMs ?? Number.MIN_SAFE_INTEGER,
      beforeMs: filter.receivedBeforeMs ?? Number.MAX_SAFE_INTEGER,
      severities: severityMask(filter.severities),
    };
    if (filter.persist === undefined) return { ...all, parameters };
    return { ...(filter.persist ? persistent : ephemeral), parameters };
  }

  return {
    /** Newest first; `offset` counts from the newest. */
    newest(deviceId: string, filter: LogFilter, limit: number, offset: number): LogEntry[] {
      const { page, parameters } = chosen(deviceId, filter);
      return page.all({ ...parameters, limit, offset }).map((row) => entryOf({ ...row, deviceId }));
    },
    count(deviceId: string, filter: LogFilter): number {
      const { count, parameters } = chosen(deviceId, filter);
      return count(parameters);
    },
  };
}

/** For targets, which send the entries elsewhere. */
function createFollower(orm: Orm) {
  const after = orm
    .select({
      number: id,
      deviceId: logDevice.deviceId,
      receivedAtMs,
      deviceTimeS,
      severity,
      persist,
      message,
    })
    .from(deviceLog)
    .innerJoin(logDevice, eq(logDevice.number, deviceNumber))
    .where(gt(id, sql.placeholder('number')))
    .orderBy(asc(id))
    .limit(sql.placeholder('limit'))
    .prepare();
  return {
    /** Entries of all devices with a number above, in order. */
    after: (number: number, limit: number): (LogEntry & { number: number })[] =>
      after.all({ number, limit }).map(entryOf),
    newestNumber: highestOf(orm, id),
  };
}

function createWriter(orm: Orm) {
  const addDevice = orm
    .insert(logDevice)
    .values(placeholders(logDevice, ['deviceId']))
    .onConflictDoNothing()
    .prepare();
  const numberOf = orm
    .select({ number: logDevice.number })
    .from(logDevice)
    .where(given(logDevice.deviceId))
    .prepare();
  const insert = orm
    .insert(deviceLog)
    .values({
      ...placeholders(deviceLog, ['id', 'deviceNumber', 'receivedAtMs', 'severity', 'persist', 'message']),
      deviceTimeS: sql.placeholder('deviceTimeS'),
    })
    .prepare();

  function numberFor(deviceId: string): number | undefined {
    addDevice.run({ deviceId });
    return numberOf.get({ deviceId })?.number;
  }

  return {
    /** Within a transaction; the first entry gets the number after `newestNumber`. */
    insert(entries: readonly LogEntry[], newestNumber: number): void {
      const numbers = new Map<string, number | undefined>();
      for (const [index, entry] of entries.entries()) {
        if (!numbers.has(entry.deviceId)) numbers.set(entry.deviceId, numberFor(entry.deviceId));
        insert.run({
          ...entry,
          id: newestNumber + index + 1,
          deviceNumber: numbers.get(entry.deviceId),
          receivedAtMs: Math.floor(entry.receivedAtMs),
          deviceTimeS: entry.deviceTimeS ?? null,
        });
      }
    },
  };
}

/** Each statement touches at most `most` rows. */
function createCleaner(orm: Orm) {
  const devices = orm.select().from(logDevice).orderBy(logDevice.number).prepare();
  const counted = countOf(orm, deviceLog, and(isOfNumber, isKind));
  const some = (...conditions: (SQL | undefined)[]) =>
    orm
      .select({ id })
      .from(deviceLog)
      .where(and(isOfNumber, ...conditions))
      .limit(sql.placeholder('most'));
  const oldest = (condition?: SQL) => some(isKind, condition).orderBy(asc(receivedAtMs), asc(id));
  const removeOld = removalOf(orm, id, sql`${oldest(isWithin(receivedAtMs))}`);
  const removeOldest = removalOf(orm, id, sql`${oldest()}`);
  const removeAny = removalOf(orm, id, sql`${some(isAnyKind)}`);
  const removeDevice = orm.delete(logDevice).where(given(logDevice.number)).prepare();
  const wrong = some(isAnyKind, isWrongStamp(receivedAtMs));
  const restamp = orm
    .update(deviceLog)
    .set({ receivedAtMs: correctedStamp(receivedAtMs) })
    .where(sql`${id} IN ${wrong}`)
    .prepare();

  return {
    devices: (): LogDevice[] => devices.all(),
    countOf: (number: number, isPersistent: boolean): number =>
      counted({ number, persist: Number(isPersistent) }),
    removeOld: (number: number, isPersistent: boolean, old: StampRange, limit: number): number =>
      removeOld.run({ number, persist: Number(isPersistent), ...old, most: limit }).changes,
    removeOldest: (number: number, isPersistent: boolean, limit: number): number =>
      removeOldest.run({ number, persist: Number(isPersistent), most: limit }).changes,
    /** Deletes entries of a deleted device, and with the last of them the device itself. */
    purge(number: number, limit: number): number {
      const { changes } = removeAny.run({ number, most: limit });
      if (changes < limit) removeDevice.run({ number });
      return changes;
    },
    /** Corrects moments that a wrong clock gave. */
    restamp: (number: number, correction: StampCorrection, limit: number): number =>
      restamp.run({ number, ...correction, most: limit }).changes,
  };
}

function createSizes(orm: Orm) {
  const total = orm
    .select({ sizeBytes: sum(deviceLogSize.sizeBytes).mapWith(Number) })
    .from(deviceLogSize)
    .prepare();
  const largest = orm
    .select({ number: logDevice.number, deviceId: logDevice.deviceId })
    .from(deviceLogSize)
    .innerJoin(logDevice, eq(logDevice.number, deviceLogSize.deviceNumber))
    .orderBy(desc(deviceLogSize.sizeBytes))
    .limit(1)
    .prepare();
  return {
    /** Approximate size of all entries. */
    totalBytes: (): number => total.get()?.sizeBytes ?? 0,
    /** The device with the largest log. */
    largest: (): LogDevice | undefined => largest.get(),
  };
}

function entryOf<Row extends { deviceTimeS: EpochS | null }>(row: Row) {
  return { ...row, deviceTimeS: row.deviceTimeS ?? undefined };
}
