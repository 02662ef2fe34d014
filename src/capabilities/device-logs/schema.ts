/** Shapes on the wire. Source: docs/interface/http.md#device-logs and docs/interface/http.md#streams. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { formatTimestamp } from '../../lib/time.ts';
import { query, shape } from '../../platform/http/index.ts';
import { LOG_SEVERITIES } from '../../protocol/device-log.ts';
import type { LogEntry, LogFilter } from './model.ts';
import type { LogQuery } from './service.ts';

/** Names of both revisions; each parameter takes either. */
const PERSIST_OF = {
  ALL: undefined,
  PERSISTENT: true,
  EPHEMERAL: false,
  PERSISTED_ONLY: true,
  TEMPORARY_ONLY: false,
} as const;
const KINDS = ['ALL', 'PERSISTENT', 'EPHEMERAL', 'PERSISTED_ONLY', 'TEMPORARY_ONLY'] as const;

const filterEntries = {
  retention: query.optionalChoice(KINDS, {
    default: 'ALL',
    description: 'Entries that are kept, or that are not.',
  }),
  show: query.optionalChoice(KINDS, {
    default: 'ALL',
    description: 'Older name of retention, which counts when both are given.',
  }),
  severity: query.optionalChoices(LOG_SEVERITIES, 'Only entries of exactly these severities. Absent: all.'),
};

export const streamQuery = v.object(filterEntries);

export const listQuery = v.object({
  ...filterEntries,
  order: query.choice(['RECEIVED_AT_ASC', 'RECEIVED_AT_DESC'], 'RECEIVED_AT_ASC', 'Oldest or newest first.'),
  limit: query.limit(LIMITS.deviceLogs.pageItems, LIMITS.deviceLogs.pageItems, true),
  offset: query.offset(),
  'received_at.gte': query.instant('Entries received at this moment or later.'),
  'received_at.lt': query.instant('Entries received before this moment.'),
  received_at_from: query.instant('Older name of `received_at.gte`, which counts when both are given.'),
  received_at_to: query.instant('Older name of `received_at.lt`, which counts when both are given.'),
});

export function filterOf(input: v.InferOutput<typeof streamQuery>): LogFilter {
  return {
    persist: PERSIST_OF[input.retention ?? input.show ?? 'ALL'],
    severities: input.severity,
  };
}

export function listQueryOf(input: v.InferOutput<typeof listQuery>): LogQuery {
  return {
    ...filterOf(input),
    receivedFromMs: input['received_at.gte'] ?? input.received_at_from,
    receivedBeforeMs: input['received_at.lt'] ?? input.received_at_to,
    descending: input.order === 'RECEIVED_AT_DESC',
    limit: input.limit,
    offset: input.offset,
  };
}

/**
 * Whether the member `timestamp` is shown. Two released decoders of Go clients contradict each other about
 * its type, and both accept its absence; they send no User-Agent of their own.
 */
export function showsTimestamp(userAgent: string | undefined): boolean {
  return userAgent !== undefined && userAgent !== '' && !userAgent.startsWith('Go-http-client/');
}

/** A log entry as it stands on the wire. */
export function toWire(entry: LogEntry, withTimestamp: boolean) {
  return {
    device_id: entry.deviceId,
    received_at: formatTimestamp(entry.receivedAtMs),
    ...(withTimestamp && entry.deviceTimeS !== undefined && { timestamp: entry.deviceTimeS }),
    severity: entry.severity,
    message: entry.message,
    persist: entry.persist,
  };
}

const entryShape = v.object({
  device_id: shape.id(),
  received_at: shape.instant(),
  timestamp: v.optional(
    v.pipe(
      v.number(),
      v.integer(),
      v.minValue(0),
      v.description(
        "The device's own time in Unix seconds; not shown to clients without a User-Agent of their own.",
      ),
      v.examples([1_772_352_000]),
    ),
  ),
  severity: v.picklist(LOG_SEVERITIES),
  message: v.string(),
  persist: v.boolean(),
});

export type LogEntryOnWire = v.InferOutput<typeof entryShape>;

const LOG_EXAMPLE = {
  device_id: 'c1a5b8b2-0f0e-4a36-8a55-5b1f3b8a9d01',
  received_at: '2026-03-01T08:00:00.123Z',
  timestamp: 1_772_352_000,
  severity: 'warning',
  message: 'Cell 3 is warm.',
  persist: true,
} as const;

export const logShapes = {
  list: shape.listOf('logs', shape.named('DeviceLogEntry', entryShape, LOG_EXAMPLE)),
  message: shape.named(
    'DeviceLogMessage',
    v.object({
      ...entryShape.entries,
      log: v.object({ severity: v.picklist(LOG_SEVERITIES), message: v.string() }),
    }),
    { ...LOG_EXAMPLE, log: { severity: 'warning', message: 'Cell 3 is warm.' } },
  ),
};

/** A streamed entry: flat for one family of clients, nested in `log` for the other. */
export function toStreamMessage(entry: LogEntry, withTimestamp: boolean) {
  const { severity, message } = entry;
  return { ...toWire(entry, withTimestamp), log: { severity, message } };
}
