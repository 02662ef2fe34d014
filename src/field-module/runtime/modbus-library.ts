/**
 * Modbus for scripts: `modbus` of the newer generation (docs/interface/lua-devices.md#modbus), `modbustcp`,
 * `modbusrtu` and the global functions of the older one. Connections and lines belong to the main thread.
 */
import { serialServerPath } from '../../lib/address.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import { noPort, parseConnectionUri, portNamed } from '../field/connection-uri.ts';
import type { ModbusRequest, ReadKind, SerialSettings, WriteKind } from '../field/index.ts';
import {
  type HostFunction,
  type HostResult,
  type Library,
  LuaError,
  LuaJson,
  type LuaValue,
  numberOf,
  textOf,
  numberArgument,
  numberArgumentOr,
  numberInText,
  tableArgument,
  textArgument,
  waiting,
} from '#scripting/lua';
import type { CallResult } from '../thread-messages.ts';
import { failedResult, resultOf, type ScriptHost } from './script-host.ts';

/** Methods of a client over `call(client, name, …)`, shared by all kinds of clients. */
const METHODS = String.raw`
local read, write = kit.wait('modbus_read'), kit.wait('modbus_write')
local READS = { 'read_coils', 'read_discrete_inputs', 'read_holdings', 'read_inputs' }
local WRITES = { 'write_coil', 'write_holding', 'write_multiple_coils', 'write_multiple_holdings' }
local mask_write, read_write = kit.wait('modbus_mask_write'), kit.wait('modbus_read_write')
local identify = kit.wait('modbus_identify')
local new_object, uri_of = kit.objects('the client')

local function values_of(values, message, code)
  if is_old then return values, code or 0 end
  return values, message
end

local function outcome_of(_, message, code)
  if is_old then return code or 0 end
  return message
end

local methods = {}
for _, kind in ipairs(READS) do
  methods[kind] = function(client, unit, start, count, timeout)
    return values_of(read(uri_of(client), kind, unit, start, count, timeout))
  end
end
for _, kind in ipairs(WRITES) do
  methods[kind] = function(client, unit, start, values, timeout)
    return outcome_of(write(uri_of(client), kind, unit, start, values, timeout))
  end
end
function methods.mask_write_holding(client, unit, register, and_mask, or_mask, timeout)
  return outcome_of(mask_write(uri_of(client), unit, register, and_mask, or_mask, timeout))
end

function methods.read_write_holdings(client, unit, start, count, write_start, values, timeout)
  return values_of(read_write(uri_of(client), unit, start, count, write_start, values, timeout))
end

function methods.read_device_identification(client, unit, timeout)
  return values_of(identify(uri_of(client), unit, timeout))
end

local function new_client(uri) return new_object(methods, uri) end
`;

const NEW_SOURCE = String.raw`
local modbus = kit.library('modbus', {})

function modbus.new(uri)
  local message = host.modbus_check(uri)
  if message then return nil, message end
  return new_client(uri)
end

local read_batch, write_batch = kit.wait('modbus_read_batch'), kit.wait('modbus_write_batch')
function methods.read(client, queries) return values_of(read_batch(uri_of(client), queries)) end
function methods.write(client, queries) return values_of(write_batch(uri_of(client), queries)) end
`;

const OLD_SOURCE = String.raw`
local modbustcp = kit.library('modbustcp', { err_to_str = kit.err_to_str })
local modbusrtu = kit.library('modbusrtu', { err_to_str = kit.err_to_str })
local modbus = kit.library('modbus', { err_to_str = kit.err_to_str })

function modbustcp.new(address)
  -- As tostring(nil) it would be the name of a host.
  if type(address) ~= 'string' then return nil end
  local uri = address:match('^%s*(%a[%w+.-]*://.*)$') or 'tcp://' .. address:match('^%s*(.-)%s*$')
  if host.modbus_check(uri) then return nil end
  return new_client(uri)
end

local configure = kit.wait('modbus_port')
function modbusrtu.new(port, options)
  local uri = configure(port, options or {})
  if not uri then return nil end
  return new_client(uri)
end

-- Functions without a client speak over the port that the script set up, else over the one that such hardware has.
for kind, method in pairs(methods) do
  modbus[kind] = function(...)
    local uri = host.modbus_only_port(kit.serial_port)
    if not uri then
      if kind:sub(1, 4) == 'read' then return nil, 5 end
      return 5
    end
    return method(new_client(uri), ...)
  end
end

function methods.err_to_str(client, code)
  if code == nil then code = client end
  return kit.err_to_str(code)
end
`;

export function modbusLibrary(isOld: boolean): Library {
  return {
    name: 'modbus',
    source: `local is_old = ${isOld}\n${METHODS}\n${isOld ? OLD_SOURCE : NEW_SOURCE}`,
  };
}

const INVALID_ARGUMENT = 3;
/** Types of queries in a batch: the kinds of requests without the word in front. */
const BATCH_READS: ReadonlySet<unknown> = new Set(['inputs', 'holdings', 'coils', 'discrete_inputs']);
const BATCH_WRITES: ReadonlySet<unknown> = new Set([
  'holding',
  'coil',
  'multiple_holdings',
  'multiple_coils',
]);
const BATCH_MAX = 100;

interface Query {
  unitId: number;
  request: ModbusRequest;
  timeoutMs: DurationMs | undefined;
}

export function modbusFunctions(host: ScriptHost): Record<string, HostFunction> {
  const run = (
    uri: string,
    { unitId, request, timeoutMs }: Query,
    deadlineMs: MonotonicMs | undefined,
  ): Promise<CallResult> => host.call({ kind: 'modbus', uri, unitId, request, timeoutMs }, deadlineMs);

  /** `deadlineMs`: when the call of the script is given up. */
  async function batch(
    name: 'read' | 'write',
    [uri, list]: LuaValue[],
    deadlineMs: MonotonicMs | undefined,
  ): Promise<HostResult> {
    const queries = tableArgument(list, 1, name);
    if (!Array.isArray(queries)) {
      if (JSON.stringify(queries) === '{}') return [new LuaJson('[]')];
      return failedResult('the queries must be a list', INVALID_ARGUMENT);
    }
    if (queries.length > BATCH_MAX) return failedResult(`at most ${BATCH_MAX} queries`, INVALID_ARGUMENT);
    const parsed = queries.map((query: unknown, index) => readQuery(query, index, name));
    const wrong = parsed.find((query) => typeof query === 'string');
    if (typeof wrong === 'string') return failedResult(wrong, INVALID_ARGUMENT);
    const all = parsed.filter((query) => typeof query !== 'string');
    const address = textArgument(uri, 1, name);
    const results: unknown[] = [];
    // Reads may overtake each other; writes happen in their order.
    const ask = async (query: Query): Promise<unknown> => entryOf(await run(address, query, deadlineMs));
    if (name === 'read') results.push(...(await Promise.all(all.map(ask))));
    else for (const query of all) results.push(await ask(query));
    return [new LuaJson(JSON.stringify(results))];
  }

  return {
    modbus_check: ([uri]) => [uriProblem(textArgument(uri, 1, 'new'), host)],
    modbus_read: waiting(async ([uri, kind, ...given], deadlineMs) => {
      const name = textArgument(kind, 1, 'read') as ReadKind;
      return resultOf(await run(textArgument(uri, 1, name), singleReadOf(name, given), deadlineMs));
    }),
    modbus_write: waiting(async ([uri, kind, ...given], deadlineMs) => {
      const name = textArgument(kind, 1, 'write') as WriteKind;
      return resultOf(await run(textArgument(uri, 1, name), singleWriteOf(name, given), deadlineMs));
    }),
    modbus_mask_write: waiting(async ([uri, ...given], deadlineMs) =>
      resultOf(await run(textArgument(uri, 1, 'mask_write_holding'), maskWriteOf(given), deadlineMs)),
    ),
    modbus_read_write: waiting(async ([uri, ...given], deadlineMs) =>
      resultOf(await run(textArgument(uri, 1, 'read_write_holdings'), readWriteOf(given), deadlineMs)),
    ),
    modbus_identify: waiting(async ([uri, unit, timeout], deadlineMs) => {
      const name = 'read_device_identification';
      const call = {
        kind: 'identify',
        uri: textArgument(uri, 1, name),
        unitId: numberArgument(unit, 1, name),
        timeoutMs: numberArgumentOr(timeout, 2, name, undefined),
      } as const;
      return resultOf(await host.call(call, deadlineMs));
    }),
    modbus_read_batch: waiting((values, deadlineMs) => batch('read', values, deadlineMs)),
    modbus_write_batch: waiting((values, deadlineMs) => batch('write', values, deadlineMs)),
    modbus_port: waiting(([port, options]) => openPort(host, port, options)),
    modbus_only_port: ([chosen]) => {
      const wanted = textOf(chosen);
      const name = (wanted === undefined ? ['rs485', 'rs232'] : [wanted]).find((known) =>
        host.ports.has(known),
      );
      return [name === undefined ? undefined : `port://${name}`];
    },
  };
}

/** A query of the arguments from the unit on; the timeout comes last. @throws LuaError */
function queryOf(kind: string, given: LuaValue[], request: ModbusRequest, timeoutPlace: number): Query {
  return {
    unitId: numberArgument(given[0], 1, kind),
    request,
    timeoutMs: numberArgumentOr(given[timeoutPlace - 1], timeoutPlace, kind, undefined),
  };
}

function singleReadOf(kind: ReadKind, given: LuaValue[]): Query {
  const start = numberArgument(given[1], 2, kind);
  return queryOf(kind, given, { kind, start, count: numberArgument(given[2], 3, kind) }, 4);
}

function singleWriteOf(kind: WriteKind, given: LuaValue[]): Query {
  const start = numberArgument(given[1], 2, kind);
  return queryOf(kind, given, { kind, start, values: valuesOf(given[2], 3, kind) }, 4);
}

/** Function 22. */
function maskWriteOf(given: LuaValue[]): Query {
  const kind = 'mask_write_holding';
  const number = (place: number): number => numberArgument(given[place - 1], place, kind);
  return queryOf(kind, given, { kind, start: number(2), andMask: number(3), orMask: number(4) }, 5);
}

/** Function 23. */
function readWriteOf(given: LuaValue[]): Query {
  const kind = 'read_write_holdings';
  const number = (place: number): number => numberArgument(given[place - 1], place, kind);
  const values = valuesOf(given[4], 5, kind);
  return queryOf(kind, given, { kind, start: number(2), count: number(3), writeStart: number(4), values }, 6);
}

function uriProblem(uri: string, host: ScriptHost): string | undefined {
  const address = parseConnectionUri(uri);
  if (typeof address === 'string') return address;
  if (address.kind === 'port' && portNamed(host.ports, address.name) === undefined)
    return noPort(address.name);
  return undefined;
}

/** The port of an older script by its name or device file, with the settings that the script wants. */
async function openPort(host: ScriptHost, port: LuaValue, options: LuaValue): Promise<HostResult> {
  const wanted = textArgument(port, 1, 'new').trim();
  const server = parseConnectionUri(wanted);
  if (typeof server === 'object' && server.kind === 'socket') return [serialServerPath(server)];
  const path = host.ports.get(portNamed(host.ports, wanted) ?? '');
  const name = [...host.ports].find(([known, of]) => of === path && !known.startsWith('/'))?.[0];
  if (name === undefined) return [];
  const settings = serialSettings(tableArgument(options, 2, 'new') as Record<string, unknown>);
  if (settings === undefined) return [];
  const result = await host.call({ kind: 'serial', port: name, operation: { do: 'configure', settings } });
  return result.kind === 'done' ? [`port://${name}`] : [];
}

/** Undefined: not possible. */
export function serialSettings(given: Record<string, unknown>): SerialSettings | undefined {
  const baudRate = Number(given['baud_rate'] ?? 9_600);
  const dataBits = ([5, 6, 7, 8] as const).find((bits) => bits === Number(given['data_bits'] ?? 8));
  const stopBits = ([1, 2] as const).find((bits) => bits === Number(given['stop_bits'] ?? 1));
  const word = given['parity'] ?? 'N';
  const parity = (['N', 'E', 'O'] as const).find((known) => known === word);
  if (!Number.isInteger(baudRate) || baudRate < 50 || !dataBits || !stopBits || !parity) return undefined;
  return { baudRate, dataBits, parity, stopBits };
}

function readQuery(query: unknown, index: number, name: 'read' | 'write'): Query | string {
  if (typeof query !== 'object' || query === null) return `query ${index + 1} is no table`;
  const parsed = (name === 'read' ? readOf : writeOf)(query as Record<string, unknown>);
  return typeof parsed === 'string' ? `query ${index + 1}: ${parsed}` : parsed;
}

function readOf(query: Record<string, unknown>): Query | string {
  const { type, addr, reg, count, timeout } = query;
  if (!BATCH_READS.has(type)) return `there is no type ${JSON.stringify(type) ?? 'nil'} to read`;
  const [unitId, start, items] = [addr, reg, count].map(numberOfField);
  if (unitId === undefined || start === undefined || items === undefined)
    return 'addr, reg and count must be numbers';
  const kind = `read_${String(type)}` as ReadKind;
  return { unitId, request: { kind, start, count: items }, timeoutMs: numberOfField(timeout) };
}

function writeOf(query: Record<string, unknown>): Query | string {
  const { type, addr, reg, value, timeout } = query;
  if (!BATCH_WRITES.has(type)) return `there is no type ${JSON.stringify(type) ?? 'nil'} to write`;
  const values = query['values'] ?? [value];
  const [unitId, start] = [addr, reg].map(numberOfField);
  if (unitId === undefined || start === undefined) return 'addr and reg must be numbers';
  if (!Array.isArray(values)) return 'value or values is missing';
  const numbers = values.map(numberOfJson);
  if (numbers.some((number) => number === undefined)) return 'a value is no number';
  const kind = `write_${String(type)}` as WriteKind;
  const request = { kind, start, values: numbers.map((number) => number ?? 0) };
  return { unitId, request, timeoutMs: numberOfField(timeout) };
}

function numberOfField(value: unknown): number | undefined {
  return typeof value === 'string' ? numberInText(value) : typeof value === 'number' ? value : undefined;
}

function entryOf(result: CallResult): unknown {
  if (result.kind === 'fault') return { errcode: result.fault.number, errmsg: result.fault.text };
  return result.kind === 'values' && result.values.length > 0 ? { data: result.values } : {};
}

function valuesOf(given: LuaValue, place: number, name: string): number[] {
  const list = given instanceof LuaJson ? tableArgument(given, place, name) : [plainOf(given)];
  // One value where the list should be, as some scripts write a single register.
  const values = Array.isArray(list) ? list.map(numberOfJson) : [];
  if (values.length === 0 || values.some((value) => value === undefined))
    throw new LuaError(`bad argument #${place} to '${name}' (numbers expected)`);
  return values.map((value) => value ?? 0);
}

function plainOf(value: LuaValue): unknown {
  if (typeof value === 'boolean') return value;
  return numberOf(value) ?? textOf(value);
}

function numberOfJson(value: unknown): number | undefined {
  return typeof value === 'boolean' ? Number(value) : numberOfField(value);
}
