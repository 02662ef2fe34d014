/** Rows of `execution` and `execution_response`. */
import type { StampCorrection, StampRange } from '../../platform/clock/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { ResponseState } from '../../protocol/command.ts';
import type { CommandResponse, Execution, ExecutionFilter, OwnState } from './model.ts';

interface Row {
  id: string;
  device_id: string;
  state: OwnState;
  ephemeral: number;
  created_at_ms: number;
  requested_name: string;
  manifest_name: string;
  arguments: string;
  origin: string;
  response_state: ResponseState | null;
  response_payload: string | null;
  response_received_at_ms: number | null;
}

interface ResponseRow {
  state: ResponseState;
  payload: string;
  received_at_ms: number;
}

/** A response to add to the log of an execution. */
export interface NewResponse {
  executionId: string;
  state: ResponseState;
  /** JSON object. */
  payload: string;
  receivedAtMs: number;
  /** The state that the execution has with it; undefined: a late response, which changes nothing. */
  executionState: OwnState | undefined;
}

/** What must be known of a finished execution to judge a late response. */
export interface ResponseSummary {
  deviceId: string;
  state: OwnState;
  count: number;
  sizeBytes: number;
  newestReceivedAtMs: number;
}

const EXECUTION_COLUMNS = `
  e.id, e.device_id, e.state, e.ephemeral, e.created_at_ms, e.requested_name, e.manifest_name, e.arguments,
  e.origin, r.state AS response_state, r.payload AS response_payload,
  r.received_at_ms AS response_received_at_ms
  FROM execution e
  LEFT JOIN execution_response r ON r.execution_number = e.number AND r.sequence = e.response_sequence`;

export type CommandStore = ReturnType<typeof createCommandStore>;

export function createCommandStore(database: Database) {
  return { ...createWriter(database), ...createReader(database) };
}

function createWriter(database: Database) {
  const insert = database.prepare(`
    INSERT INTO execution (id, device_id, state, ephemeral, created_at_ms, requested_name, manifest_name,
                           arguments, origin)
    VALUES (:id, :deviceId, :state, :ephemeral, :createdAtMs, :name, :manifestName, :arguments, :origin)`);
  // Selects from the execution, so that a response to one deleted meanwhile is no row instead of a failure.
  const addResponse = database.prepare(`
    INSERT INTO execution_response (execution_number, sequence, state, payload, received_at_ms)
    SELECT number,
           1 + COALESCE((SELECT MAX(sequence) FROM execution_response WHERE execution_number = execution.number), 0),
           :state, :payload, :receivedAtMs
    FROM execution WHERE id = :executionId`);
  const follow = database.prepare(`
    UPDATE execution
    SET state = :executionState,
        response_sequence =
          (SELECT MAX(sequence) FROM execution_response WHERE execution_number = execution.number)
    WHERE id = :executionId`);
  const remove = database.prepare(`DELETE FROM execution WHERE id = ?`);
  // By number: the order of arrival, which no wrong clock can change.
  const trim = database.prepare(`
    DELETE FROM execution WHERE number IN (
      SELECT number FROM execution
      WHERE device_id = :deviceId AND ephemeral = :ephemeral AND state NOT IN ('NEW', 'IN_PROGRESS')
      ORDER BY number LIMIT :surplus)`);
  const trimAll = database.prepare(`
    DELETE FROM execution WHERE number IN (
      SELECT number FROM execution WHERE state NOT IN ('NEW', 'IN_PROGRESS') ORDER BY number LIMIT :surplus)`);
  const removeOld = database.prepare(`
    DELETE FROM execution WHERE number IN (
      SELECT number FROM execution
      WHERE ephemeral = :ephemeral AND created_at_ms >= :fromMs AND created_at_ms < :beforeMs
        AND state NOT IN ('NEW', 'IN_PROGRESS')
      ORDER BY created_at_ms LIMIT :most)`);
  const isWrong = (column: string): string => `(${column} < :plausibleFromMs OR ${column} > :aheadFromMs)`;
  const corrected = (column: string): string =>
    `MIN(MAX(${column} + IIF(${column} < :plausibleFromMs, :jumpMs, :backMs), :earliestMs), :nowMs)`;
  const restamp = database.prepare(`
    UPDATE execution SET created_at_ms = ${corrected('created_at_ms')}
    WHERE ephemeral IN (0, 1) AND ${isWrong('created_at_ms')}`);
  const restampResponses = database.prepare(`
    UPDATE execution_response SET received_at_ms = ${corrected('received_at_ms')}
    WHERE ${isWrong('received_at_ms')} AND execution_number IN (
      SELECT number FROM execution WHERE ephemeral IN (0, 1) AND ${isWrong('created_at_ms')})`);

  return {
    /** The response of a new execution is not written: it has none. */
    insert(execution: Execution): void {
      insert.run({
        id: execution.id,
        deviceId: execution.deviceId,
        state: execution.state,
        ephemeral: execution.ephemeral ? 1 : 0,
        createdAtMs: execution.createdAtMs,
        name: execution.request.name,
        manifestName: execution.request.manifestName,
        arguments: JSON.stringify(execution.request.arguments),
        origin: JSON.stringify(execution.origin),
      });
    },
    addResponse(response: NewResponse): void {
      const { executionId, executionState, ...row } = response;
      addResponse.run({ executionId, ...row });
      if (executionState !== undefined) follow.run({ executionId, executionState });
    },
    remove: (id: string): void => void remove.run(id),
    /** Deletes the oldest finished ones of a device. */
    trim: (deviceId: string, ephemeral: boolean, surplus: number): void =>
      void trim.run({ deviceId, ephemeral: ephemeral ? 1 : 0, surplus }),
    /** Deletes the oldest finished ones of all; the number deleted. */
    trimAll: (surplus: number): number => trimAll.run({ surplus }).changes,
    removeOld: (ephemeral: boolean, old: StampRange, most: number): number =>
      removeOld.run({ ephemeral: ephemeral ? 1 : 0, ...old, most }).changes,
    /** Corrects moments that a wrong clock gave. */
    restamp(correction: StampCorrection): void {
      restampResponses.run(correction);
      restamp.run(correction);
    },
  };
}

function createReader(database: Database) {
  const get = database.prepare<[string], Row>(`SELECT ${EXECUTION_COLUMNS} WHERE e.id = ?`);
  const log = database.prepare<[string], ResponseRow>(`
    SELECT state, payload, received_at_ms FROM execution_response
    WHERE execution_number = (SELECT number FROM execution WHERE id = ?)
    ORDER BY sequence DESC`);
  const summary = database.prepare<
    [string],
    { device_id: string; state: OwnState; count: number; size_bytes: number; newest_ms: number }
  >(`
    SELECT e.device_id, e.state, COUNT(r.sequence) AS count,
           COALESCE(SUM(OCTET_LENGTH(r.payload)), 0) AS size_bytes,
           COALESCE(MAX(r.received_at_ms), e.created_at_ms) AS newest_ms
    FROM execution e LEFT JOIN execution_response r ON r.execution_number = e.number
    WHERE e.id = ? GROUP BY e.number`);
  const hasResponse = database.prepare<object, unknown>(`
    SELECT 1 FROM execution_response
    WHERE execution_number = (SELECT number FROM execution WHERE id = :executionId)
      AND state = :state AND payload = :payload`);
  const unfinished = database.prepare<[], { id: string }>(
    `SELECT id FROM execution WHERE state IN ('NEW', 'IN_PROGRESS') ORDER BY number`,
  );
  const countOf = database.prepare<[string, number], { count: number }>(
    `SELECT COUNT(*) AS count FROM execution WHERE device_id = ? AND ephemeral = ?`,
  );
  const countAll = database.prepare<[], { count: number }>(`SELECT COUNT(*) AS count FROM execution`);

  return {
    get(id: string): Execution | undefined {
      const row = get.get(id);
      return row && fromRow(row);
    },
    /** Newest first. */
    log: (id: string): CommandResponse[] => log.all(id).map(responseOf),
    summary(id: string): ResponseSummary | undefined {
      const row = summary.get(id);
      return (
        row && {
          deviceId: row.device_id,
          state: row.state,
          count: row.count,
          sizeBytes: row.size_bytes,
          newestReceivedAtMs: row.newest_ms,
        }
      );
    },
    hasResponse: (response: { executionId: string; state: ResponseState; payload: string }): boolean =>
      hasResponse.get(response) !== undefined,
    unfinishedIds: (): string[] => unfinished.all().map(({ id }) => id),
    countOf: (deviceId: string, ephemeral: boolean): number =>
      countOf.get(deviceId, ephemeral ? 1 : 0)?.count ?? 0,
    countAll: (): number => countAll.get()?.count ?? 0,
    ...createListReader(database),
  };
}

/** A page of ids, and how many match in all. Statements are kept by shape, of which there are few. */
function createListReader(database: Database) {
  const prepared = new Map<string, ReturnType<Database['prepare']>>();
  function prepare(sql: string): ReturnType<Database['prepare']> {
    let statement = prepared.get(sql);
    if (!statement) prepared.set(sql, (statement = database.prepare(sql)));
    return statement;
  }

  return {
    count(filter: ExecutionFilter): number {
      const { where, parameters } = conditionsOf(filter);
      const sql = `SELECT COUNT(*) AS count FROM execution
        WHERE ephemeral IN (${ephemeralValues(filter).join(', ')})${where}`;
      return (prepare(sql).get(parameters) as { count: number }).count;
    },
    pageIds(filter: ExecutionFilter, descending: boolean, limit: number, offset: number): string[] {
      const { where, parameters } = conditionsOf(filter);
      const direction = descending ? 'DESC' : 'ASC';
      // One branch per value of `ephemeral` lets SQLite merge two walks of an index instead of sorting.
      const branches = ephemeralValues(filter).map(
        (value) => `SELECT created_at_ms, id FROM execution WHERE ephemeral = ${value}${where}`,
      );
      const sql = `${branches.join(' UNION ALL ')}
        ORDER BY created_at_ms ${direction}, id ${direction} LIMIT :limit OFFSET :offset`;
      return (prepare(sql).all({ ...parameters, limit, offset }) as { id: string }[]).map(({ id }) => id);
    },
  };
}

function ephemeralValues({ retention }: ExecutionFilter): number[] {
  if (retention === 'ALL') return [0, 1];
  return retention === 'EPHEMERAL' ? [1] : [0];
}

/** Lists travel as JSON, so that the statement's shape does not depend on their length. */
function conditionsOf(filter: ExecutionFilter): { where: string; parameters: Record<string, unknown> } {
  const parts: string[] = [];
  const parameters: Record<string, unknown> = {};
  const listed = (name: string, values: readonly string[]): string => {
    parameters[name] = JSON.stringify(values);
    return `(SELECT value FROM json_each(:${name}))`;
  };
  const { deviceIds, createdFromMs, createdBeforeMs, states, names, hidden } = filter;
  if (deviceIds?.length === 1) {
    parts.push('device_id = :deviceId');
    parameters.deviceId = deviceIds[0];
  } else if (deviceIds) {
    // The sign keeps the walk in order of creation; several devices would need a sort.
    parts.push(`+device_id IN ${listed('deviceIds', deviceIds)}`);
  }
  if (createdFromMs !== undefined) {
    parts.push('created_at_ms >= :createdFromMs');
    parameters.createdFromMs = createdFromMs;
  }
  if (createdBeforeMs !== undefined) {
    parts.push('created_at_ms < :createdBeforeMs');
    parameters.createdBeforeMs = createdBeforeMs;
  }
  if (states) parts.push(`+state IN ${listed('states', states)}`);
  if (names) {
    const list = listed('names', names);
    parts.push(`(requested_name IN ${list} OR manifest_name IN ${list})`);
  }
  if (hidden.length > 0) parts.push(`device_id || '/' || manifest_name NOT IN ${listed('hidden', hidden)}`);
  return { where: parts.map((part) => ` AND ${part}`).join(''), parameters };
}

function fromRow(row: Row): Execution {
  return {
    id: row.id,
    deviceId: row.device_id,
    state: row.state,
    ephemeral: row.ephemeral === 1,
    createdAtMs: row.created_at_ms,
    request: {
      name: row.requested_name,
      manifestName: row.manifest_name,
      arguments: JSON.parse(row.arguments) as Record<string, unknown>,
    },
    origin: JSON.parse(row.origin) as Execution['origin'],
    ...(row.response_state !== null && {
      response: responseOf({
        state: row.response_state,
        payload: row.response_payload ?? '{}',
        received_at_ms: row.response_received_at_ms ?? 0,
      }),
    }),
  };
}

function responseOf(row: ResponseRow): CommandResponse {
  return {
    state: row.state,
    payload: JSON.parse(row.payload) as Record<string, unknown>,
    receivedAtMs: row.received_at_ms,
  };
}
