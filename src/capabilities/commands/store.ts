/** Rows of executions and of their responses. */
import { and, asc, count, desc, eq, gte, lt, not, or, type SQL, sql } from 'drizzle-orm';
import { unionAll } from 'drizzle-orm/sqlite-core';
import { parseWritableJson } from '../../lib/json.ts';
import type { Limits } from '../../lib/limits.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { StampCorrection, StampRange } from '../../platform/clock/index.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import { RetentionLoop, type ScarceRoom } from '../../platform/retention/index.ts';
import {
  correctedStamp,
  countOf,
  type Database,
  given,
  isWithin,
  isWrongStamp,
  placeholders,
  placeholdersBut,
  removalOf,
} from '../../platform/sqlite/index.ts';
import type { ResponseState } from '../../protocol/command.ts';
import type { CommandResponse, Execution, ExecutionFilter, OwnState } from './model.ts';
import { execution, executionResponse } from './tables.ts';

/** A response to add to the log of an execution. */
export interface NewResponse {
  executionId: string;
  state: ResponseState;
  /** JSON object. */
  payload: string;
  receivedAtMs: EpochMs;
  /** The state of the execution after it; undefined for a late response, which changes nothing. */
  executionState: OwnState | undefined;
}

export type CommandStore = ReturnType<typeof createCommandStore>;

export function createCommandStore({ orm }: Database) {
  return {
    ...createWriter(orm),
    ...createCleaner(orm),
    ...createReader(orm),
    ...createCounter(orm),
    ...createListReader(orm),
  };
}

type Orm = Database['orm'];

const { number, id, deviceId, state, ephemeral, createdAtMs, responseSequence } = execution;
const { executionNumber, sequence, payload, receivedAtMs } = executionResponse;

const isIt = given(id);
const isUnfinished = sql`${state} IN ('NEW', 'IN_PROGRESS')`;
const isFinished = not(isUnfinished);
/** Written as the index has it, so that the index is used. */
const isGuarded = sql.raw(`read_role IS NOT 'READONLY'`);
// A placeholder in a condition takes what SQLite stores: 0 or 1.
const isKind = given(ephemeral);
/** A column of JSON, parsed with all digits of its integers. */
const writable = (column: typeof execution.arguments | typeof payload): SQL<Record<string, unknown>> =>
  sql`${column}`.mapWith((text: string) => parseWritableJson(text) as Record<string, unknown>);
/** Number of the execution with an id; NULL for one that was deleted meanwhile. */
const numberOfId = sql`(SELECT ${number} FROM ${execution} WHERE ${isIt})`;
/** The newest response of the execution at hand. */
const newestSequence = sql`(SELECT max(${sequence}) FROM ${executionResponse} WHERE ${executionNumber} = ${number})`;

function createWriter(orm: Orm) {
  const insert = orm
    .insert(execution)
    .values(placeholdersBut(execution, 'number', 'responseSequence'))
    .prepare();
  // Selects from the execution, so that a response to one deleted meanwhile is no row instead of a failure.
  const addResponse = orm
    .insert(executionResponse)
    .select(
      orm
        .select({
          executionNumber: number,
          sequence: sql<number>`1 + coalesce(${newestSequence}, 0)`.as('sequence'),
          state: sql<ResponseState>`${sql.placeholder('state')}`.as('state'),
          payload: sql<Record<string, unknown>>`${sql.placeholder('payload')}`.as('payload'),
          receivedAtMs: sql<number>`${sql.placeholder('receivedAtMs')}`.as('received_at_ms'),
        })
        .from(execution)
        .where(isIt),
    )
    .prepare();
  const follow = orm
    .update(execution)
    .set({ ...placeholders(execution, ['state']), responseSequence: newestSequence })
    .where(isIt)
    .prepare();
  const remove = orm.delete(execution).where(isIt).prepare();

  return {
    /** The response of a new execution is not written: it has none. */
    insert(given: Execution): void {
      const { name: requestedName, manifestName, arguments: values } = given.request;
      insert.run({ ...given, requestedName, manifestName, arguments: values });
    },
    addResponse({ executionId, executionState, ...response }: NewResponse): void {
      addResponse.run({ id: executionId, ...response });
      if (executionState !== undefined) follow.run({ id: executionId, state: executionState });
    },
    remove: (wanted: string): void => void remove.run({ id: wanted }),
  };
}

function createCleaner(orm: Orm) {
  const finished = (condition?: SQL) =>
    orm.select({ number }).from(execution).where(and(condition, isFinished)).limit(sql.placeholder('most'));
  // Ordered by number: the order of arrival, which no wrong clock can change.
  const ofDevice = finished(and(given(deviceId), isKind)).orderBy(number);
  const trim = removalOf(orm, number, sql`${ofDevice}`);
  const trimAll = removalOf(orm, number, sql`${finished().orderBy(number)}`);
  const old = finished(and(isKind, isWithin(createdAtMs))).orderBy(createdAtMs);
  const removeOld = removalOf(orm, number, sql`${old}`);
  const isWrong = and(sql`${ephemeral} IN (0, 1)`, isWrongStamp(createdAtMs));
  const restamp = orm
    .update(execution)
    .set({ createdAtMs: correctedStamp(createdAtMs) })
    .where(isWrong)
    .prepare();
  const restampResponses = orm
    .update(executionResponse)
    .set({ receivedAtMs: correctedStamp(receivedAtMs) })
    .where(
      and(
        isWrongStamp(receivedAtMs),
        sql`${executionNumber} IN ${orm.select({ number }).from(execution).where(isWrong)}`,
      ),
    )
    .prepare();

  return {
    /** Deletes the oldest finished ones of a device. */
    trim: (device: string, isEphemeral: boolean, surplus: number): void =>
      void trim.run({ deviceId: device, ephemeral: Number(isEphemeral), most: surplus }),
    /** Deletes the oldest finished ones of all; the number deleted. */
    trimAll: (surplus: number): number => trimAll.run({ most: surplus }).changes,
    removeOld: (isEphemeral: boolean, old: StampRange, most: number): number =>
      removeOld.run({ ephemeral: Number(isEphemeral), ...old, most }).changes,
    /** Corrects moments that a wrong clock gave. */
    restamp(correction: StampCorrection): void {
      restampResponses.run({ ...correction });
      restamp.run({ ...correction });
    },
  };
}

function createReader(orm: Orm) {
  const { requestedName, manifestName, origin, readRole } = execution;
  const values = writable(execution.arguments);
  const response = { state: executionResponse.state, payload: writable(payload), receivedAtMs };
  const get = orm
    .select({
      id,
      deviceId,
      state,
      ephemeral,
      createdAtMs,
      request: { name: requestedName, manifestName, arguments: values },
      origin,
      readRole,
      response,
    })
    .from(execution)
    .leftJoin(executionResponse, and(eq(executionNumber, number), eq(sequence, responseSequence)))
    .where(isIt)
    .prepare();
  const log = orm
    .select(response)
    .from(executionResponse)
    .where(eq(executionNumber, numberOfId))
    .orderBy(desc(sequence))
    .prepare();
  const summary = orm
    .select({
      deviceId,
      state,
      count: count(sequence),
      sizeBytes: sql<number>`coalesce(sum(octet_length(${payload})), 0)`,
      newestReceivedAtMs: sql<number>`coalesce(max(${receivedAtMs}), ${createdAtMs})`,
    })
    .from(execution)
    .leftJoin(executionResponse, eq(executionNumber, number))
    .where(isIt)
    .groupBy(number)
    .prepare();
  const hasResponse = orm
    .select({ sequence })
    .from(executionResponse)
    .where(
      and(
        eq(executionNumber, numberOfId),
        given(executionResponse.state),
        sql`${payload} = ${sql.placeholder('payload')}`,
      ),
    )
    .limit(1)
    .prepare();
  return {
    get(wanted: string): Execution | undefined {
      const row = get.get({ id: wanted });
      if (!row) return undefined;
      const { response: last, ...rest } = row;
      return { ...rest, ...(last && { response: last }) };
    },
    /** Newest first. */
    log: (wanted: string): CommandResponse[] => log.all({ id: wanted }),
    /** Facts about a finished execution that decide on a late response. */
    summary: (wanted: string) => summary.get({ id: wanted }),
    hasResponse: ({
      executionId,
      ...given
    }: Pick<NewResponse, 'executionId' | 'state' | 'payload'>): boolean =>
      hasResponse.get({ id: executionId, ...given }) !== undefined,
  };
}

function createCounter(orm: Orm) {
  const unfinished = orm.select({ id }).from(execution).where(isUnfinished).orderBy(number).prepare();
  const countOfDevice = countOf(orm, execution, and(given(deviceId), isKind));

  return {
    unfinishedIds: (): string[] => unfinished.all().map((row) => row.id),
    countOf: (device: string, isEphemeral: boolean): number =>
      countOfDevice({ deviceId: device, ephemeral: Number(isEphemeral) }),
    countAll: countOf(orm, execution),
  };
}

/** A page of ids, and how many match in all. Statements are kept by shape, of which there are few. */
function createListReader(orm: Orm) {
  const prepared = new Map<string, ReturnType<typeof prepare>>();

  function prepare(filter: ExecutionFilter, isDescending: boolean) {
    const order = isDescending ? desc : asc;
    const conditions = conditionsOf(filter);
    // One branch per value of `ephemeral` lets SQLite merge two walks of an index instead of sorting.
    const branch = (isEphemeral: boolean) =>
      orm
        .select({ createdAtMs, id })
        .from(execution)
        .where(and(eq(ephemeral, isEphemeral), ...conditions));
    const rows =
      filter.retention === 'ALL'
        ? unionAll(branch(false), branch(true))
        : branch(filter.retention === 'EPHEMERAL').$dynamic();
    const counted =
      filter.retention === 'ALL' ? sql`(0, 1)` : sql.raw(filter.retention === 'EPHEMERAL' ? '(1)' : '(0)');
    return {
      page: rows
        .orderBy(order(createdAtMs), order(id))
        .limit(sql.placeholder('limit'))
        .offset(sql.placeholder('offset'))
        .prepare(),
      count: countOf(orm, execution, and(sql`${ephemeral} IN ${counted}`, ...conditions)),
    };
  }

  function statementsOf(filter: ExecutionFilter, isDescending: boolean): ReturnType<typeof prepare> {
    const shape = `${isDescending} ${filter.retention} ${Object.keys(parametersOf(filter)).join(' ')}`;
    return prepared.getOrInsertComputed(shape, () => prepare(filter, isDescending));
  }

  const guarded = orm.select({ id }).from(execution).where(isGuarded).limit(1).prepare();
  /** Most gateways have no guarded execution; then a list need not check each one. */
  const needed = (filter: ExecutionFilter): ExecutionFilter =>
    guarded.get() === undefined ? { ...filter, hiddenRoles: [] } : filter;

  return {
    count: (asked: ExecutionFilter): number => {
      const filter = needed(asked);
      return statementsOf(filter, false).count(parametersOf(filter));
    },
    pageIds: (asked: ExecutionFilter, isDescending: boolean, limit: number, offset: number): string[] => {
      const filter = needed(asked);
      const { page } = statementsOf(filter, isDescending);
      return page.all({ ...parametersOf(filter), limit, offset }).map((row) => row.id);
    },
  };
}

/** Lists travel as JSON, so that the statement's shape does not depend on their length. */
function parametersOf(filter: ExecutionFilter): Record<string, unknown> {
  const { deviceIds, createdFromMs, createdBeforeMs, states, names, hidden, hiddenRoles } = filter;
  return {
    ...(deviceIds?.length === 1 && { deviceId: deviceIds[0] }),
    ...(deviceIds && deviceIds.length !== 1 && { deviceIds: JSON.stringify(deviceIds) }),
    ...(createdFromMs !== undefined && { createdFromMs }),
    ...(createdBeforeMs !== undefined && { createdBeforeMs }),
    ...(states && { states: JSON.stringify(states) }),
    ...(names && { names: JSON.stringify(names) }),
    ...(hidden.length > 0 && { hidden: JSON.stringify(hidden) }),
    ...(hiddenRoles.length > 0 && { hiddenRoles: JSON.stringify(hiddenRoles) }),
  };
}

/** One condition for each parameter. */
function conditionsOf(filter: ExecutionFilter): (SQL | undefined)[] {
  const { requestedName, manifestName } = execution;
  const listed = (name: string): SQL => sql`(SELECT value FROM json_each(${sql.placeholder(name)}))`;
  const conditions: Record<string, SQL | undefined> = {
    deviceId: given(deviceId),
    // The sign keeps the walk in order of creation; several devices would need a sort.
    deviceIds: sql`+${deviceId} IN ${listed('deviceIds')}`,
    createdFromMs: gte(createdAtMs, sql.placeholder('createdFromMs')),
    createdBeforeMs: lt(createdAtMs, sql.placeholder('createdBeforeMs')),
    states: sql`+${state} IN ${listed('states')}`,
    names: or(sql`${requestedName} IN ${listed('names')}`, sql`${manifestName} IN ${listed('names')}`),
    hidden: sql`${deviceId} || '/' || ${manifestName} NOT IN ${listed('hidden')}`,
    // Compares ids, which every step has at hand, so that counting reads no row.
    hiddenRoles: sql`${id} NOT IN (SELECT id FROM ${execution} WHERE ${isGuarded} AND coalesce(read_role, 'SYSTEM') IN ${listed('hiddenRoles')})`,
  };
  return Object.keys(parametersOf(filter)).map((name) => conditions[name]);
}

// Deletes executions that are too old or too many, in small batches. Source: docs/interface/http.md#commands: ephemeral
// ones live 24 hours, others 90 days. Insertion limits the number per device; this limits the total.

export function createRetention(
  options: Instruments & {
    database: Database;
    store: CommandStore;
    limits: Limits['commands'];
    room?: ScarceRoom | undefined;
  },
): RetentionLoop {
  const { database, store, clock, log, limits, room } = options;
  const deleted = options.metrics.counter('executions_deleted_total', 'Executions deleted by retention.');
  const lifetimes = [
    { ephemeral: true, lifetimeMs: limits.ephemeralLifetimeMs },
    { ephemeral: false, lifetimeMs: limits.persistentLifetimeMs },
  ];

  /** True when a full batch was taken. */
  function removed(remove: () => number): boolean {
    const count = database.transaction(remove);
    deleted.inc(count);
    return count === limits.deletedAtOnce;
  }

  return new RetentionLoop({
    clock,
    log,
    limits,
    room,
    what: 'executions',
    failures: options.metrics.counter('execution_retention_failures_total', 'Retention rounds that failed.'),
    deleteBatch: () => {
      let hasMore = false;
      for (const { ephemeral, lifetimeMs } of lifetimes) {
        const old = clock.proven.olderThan(lifetimeMs);
        if (old && removed(() => store.removeOld(ephemeral, old, limits.deletedAtOnce))) hasMore = true;
      }
      const kept = room?.isScarce
        ? Math.min(limits.executions, limits.executionsWhenScarce)
        : limits.executions;
      const surplus = store.countAll() - kept;
      if (surplus > 0 && removed(() => store.trimAll(Math.min(surplus, limits.deletedAtOnce))))
        hasMore = true;
      return hasMore;
    },
    restamp: (correction) => database.transaction(() => store.restamp(correction)),
  });
}
