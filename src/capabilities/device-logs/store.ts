/** Rows of `device_log` and `log_device` in history.db. */
import type { StampCorrection, StampRange } from '../../platform/clock/index.ts';
import type { SqlDatabase } from '../../platform/sqlite/index.ts';
import { LOG_SEVERITIES, type LogSeverity } from '../../protocol/device-log.ts';
import type { LogEntry, LogFilter } from './model.ts';

interface Row {
  received_at_ms: number;
  device_time_s: number | null;
  severity: number;
  persist: number;
  message: string;
}

/** A device that has, or had, entries. */
export interface LogDevice {
  number: number;
  deviceId: string;
}

export type DeviceLogStore = ReturnType<typeof createDeviceLogStore>;

export function createDeviceLogStore(database: SqlDatabase) {
  return { ...createReader(database), ...createWriter(database), ...createCleaner(database) };
}

/** Bit n stands for severity n. */
function maskOf(severities: readonly LogSeverity[] | undefined): number {
  return (severities ?? LOG_SEVERITIES).reduce(
    (mask, severity) => mask | (1 << LOG_SEVERITIES.indexOf(severity)),
    0,
  );
}

function createReader(database: SqlDatabase) {
  const inWindow = `device_number = (SELECT number FROM log_device WHERE device_id = :deviceId)
    AND received_at_ms >= :fromMs AND received_at_ms < :beforeMs AND (:severities >> severity) & 1`;
  const half = (persist: 0 | 1): string =>
    `SELECT received_at_ms, id FROM device_log WHERE persist = ${persist} AND ${inWindow}`;
  // Both halves are walked along the index and merged; nothing is sorted but the page itself.
  const page = (halves: string) =>
    database.prepare<object, Row>(`
      SELECT l.received_at_ms, l.device_time_s, l.severity, l.persist, l.message
      FROM (${halves} ORDER BY received_at_ms DESC, id DESC LIMIT :limit OFFSET :offset) AS newest
      JOIN device_log AS l ON l.id = newest.id
      ORDER BY l.received_at_ms DESC, l.id DESC`);
  const count = (persists: string) =>
    database.prepare<object, { count: number }>(
      `SELECT COUNT(*) AS count FROM device_log WHERE persist IN (${persists}) AND ${inWindow}`,
    );
  const statements = {
    all: { page: page(`${half(0)} UNION ALL ${half(1)}`), count: count('0, 1') },
    persistent: { page: page(half(1)), count: count('1') },
    ephemeral: { page: page(half(0)), count: count('0') },
  };

  function chosen(deviceId: string, filter: LogFilter) {
    const parameters = {
      deviceId,
      fromMs: filter.receivedFromMs ?? Number.MIN_SAFE_INTEGER,
      beforeMs: filter.receivedBeforeMs ?? Number.MAX_SAFE_INTEGER,
      severities: maskOf(filter.severities),
    };
    if (filter.persist === undefined) return { ...statements.all, parameters };
    return { ...(filter.persist ? statements.persistent : statements.ephemeral), parameters };
  }

  return {
    /** Newest first; `offset` counts from the newest. */
    newest(deviceId: string, filter: LogFilter, limit: number, offset: number): LogEntry[] {
      const { page, parameters } = chosen(deviceId, filter);
      return page.all({ ...parameters, limit, offset }).map((row) => fromRow(deviceId, row));
    },
    count(deviceId: string, filter: LogFilter): number {
      const { count, parameters } = chosen(deviceId, filter);
      return count.get(parameters)?.count ?? 0;
    },
  };
}

function createWriter(database: SqlDatabase) {
  const addDevice = database.prepare(
    'INSERT INTO log_device (device_id) VALUES (?) ON CONFLICT (device_id) DO NOTHING',
  );
  const numberOf = database.prepare<[string], { number: number }>(
    'SELECT number FROM log_device WHERE device_id = ?',
  );
  const insert = database.prepare(`
    INSERT INTO device_log (device_number, received_at_ms, device_time_s, severity, persist, message)
    VALUES (:deviceNumber, :receivedAtMs, :deviceTimeS, :severity, :persist, :message)`);

  function numberFor(deviceId: string): number | undefined {
    addDevice.run(deviceId);
    return numberOf.get(deviceId)?.number;
  }

  return {
    /** Within a transaction. */
    insert(entries: readonly LogEntry[]): void {
      const numbers = new Map<string, number | undefined>();
      for (const entry of entries) {
        if (!numbers.has(entry.deviceId)) numbers.set(entry.deviceId, numberFor(entry.deviceId));
        insert.run({
          deviceNumber: numbers.get(entry.deviceId),
          receivedAtMs: Math.floor(entry.receivedAtMs),
          deviceTimeS: entry.deviceTimeS ?? null,
          severity: LOG_SEVERITIES.indexOf(entry.severity),
          persist: entry.persist ? 1 : 0,
          message: entry.message,
        });
      }
    },
  };
}

/** Each statement touches at most `most` rows. */
function createCleaner(database: SqlDatabase) {
  const devices = database.prepare<[], LogDevice>(
    'SELECT number, device_id AS deviceId FROM log_device ORDER BY number',
  );
  const count = database.prepare<[number, number], { count: number }>(
    'SELECT COUNT(*) AS count FROM device_log WHERE device_number = ? AND persist = ?',
  );
  const removeOld = database.prepare(`
    DELETE FROM device_log WHERE id IN (
      SELECT id FROM device_log
      WHERE device_number = :number AND persist = :persist AND received_at_ms >= :fromMs
        AND received_at_ms < :beforeMs
      ORDER BY received_at_ms, id LIMIT :most)`);
  const removeOldest = database.prepare(`
    DELETE FROM device_log WHERE id IN (
      SELECT id FROM device_log WHERE device_number = :number AND persist = :persist
      ORDER BY received_at_ms, id LIMIT :most)`);
  const removeAny = database.prepare(`
    DELETE FROM device_log WHERE id IN (
      SELECT id FROM device_log WHERE device_number = :number AND persist IN (0, 1) LIMIT :most)`);
  const total = database.prepare<[], { bytes: number | null }>(
    'SELECT sum(size_bytes) AS bytes FROM device_log_size',
  );
  const largest = database.prepare<[], LogDevice>(`
    SELECT number, device_id AS deviceId FROM device_log_size JOIN log_device ON number = device_number
    ORDER BY size_bytes DESC LIMIT 1`);
  const removeDevice = database.prepare('DELETE FROM log_device WHERE number = ?');
  const restamp = database.prepare(`
    UPDATE device_log SET received_at_ms =
      MIN(MAX(received_at_ms + IIF(received_at_ms < :plausibleFromMs, :jumpMs, :backMs), :earliestMs), :nowMs)
    WHERE id IN (
      SELECT id FROM device_log
      WHERE device_number = :number AND persist IN (0, 1)
        AND (received_at_ms < :plausibleFromMs OR received_at_ms > :aheadFromMs)
      LIMIT :most)`);

  return {
    devices: (): LogDevice[] => devices.all(),
    countOf: (number: number, persist: boolean): number => count.get(number, persist ? 1 : 0)?.count ?? 0,
    removeOld: (number: number, persist: boolean, old: StampRange, most: number): number =>
      removeOld.run({ number, persist: persist ? 1 : 0, ...old, most }).changes,
    removeOldest: (number: number, persist: boolean, most: number): number =>
      removeOldest.run({ number, persist: persist ? 1 : 0, most }).changes,
    /** What all entries take, about. */
    totalBytes: (): number => total.get()?.bytes ?? 0,
    /** The device whose entries take the most. */
    largest: (): LogDevice | undefined => largest.get(),
    /** Entries of a device that is gone; with the last of them the device itself. */
    purge(number: number, most: number): number {
      const { changes } = removeAny.run({ number, most });
      if (changes < most) removeDevice.run(number);
      return changes;
    },
    /** Corrects moments that a wrong clock gave. */
    restamp: (number: number, correction: StampCorrection, most: number): number =>
      restamp.run({ number, ...correction, most }).changes,
  };
}

function fromRow(deviceId: string, row: Row): LogEntry {
  return {
    deviceId,
    receivedAtMs: row.received_at_ms,
    deviceTimeS: row.device_time_s ?? undefined,
    severity: LOG_SEVERITIES[row.severity] ?? 'info',
    persist: row.persist === 1,
    message: row.message,
  };
}
