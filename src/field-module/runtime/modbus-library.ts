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

/** Methods of a client, shared by all kinds of clients; each carries out the request of its name. */
const METHODS = String.raw`
local KINDS = {
  'read_coils', 'read_discrete_inputs', 'read_holdings', 'read_inputs', 'read_write_holdings',
  'read_device_identification', 'write_coil', 'write_holding', 'write_multiple_coils', 'write_multiple_holdings',
  'mask_write_holding',
}
local request = kit.wait('modbus_request')
local new_object, uri_of = kit.objects('the client')

local function is_read(kind) return kind:sub(1, 4) == 'read' end

local function values_of(values, message, code)
  if is_old then return values, code or 0 end
  return values, message
end

local function outcome_of(_, message, code)
  if is_old then return code or 0 end
  return message
end

local methods = {}
for _, kind in ipairs(KINDS) do
  local results_of = is_read(kind) and values_of or outcome_of
  methods[kind] = function(client, ...) return results_of(request(uri_of(client), kind, ...)) end
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
      if is_read(kind) then return nil, 5 end
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
const IDENTIFY = 'read_device_identification';
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
    modbus_request: waiting(async ([uri, kind, ...given], deadlineMs) => {
      const name = textArgument(kind, 1, 'request');
      const address = textArgument(uri, 1, name);
      const unitId = numberArgument(given[0], 1, name);
      if (name !== IDENTIFY) return resultOf(await run(address, queryOf(name, unitId, given), deadlineMs));
      const timeoutMs = numberArgumentOr(given[1], 2, name, undefined);
      return resultOf(await host.call({ kind: 'identify', uri: address, unitId, timeoutMs }, deadlineMs));
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

/** The request that a method makes of its arguments, which begin with the unit. @throws LuaError */
function queryOf(kind: string, unitId: number, given: LuaValue[]): Query {
  const number = (place: number): number => numberArgument(given[place - 1], place, kind);
  const values = (place: number): number[] => valuesOf(given[place - 1], place, kind);
  const query = (timeoutPlace: number, request: ModbusRequest): Query => {
    const timeoutMs = numberArgumentOr(given[timeoutPlace - 1], timeoutPlace, kind, undefined);
    return { unitId, request, timeoutMs };
  };
  const start = number(2);
  if (kind === 'mask_write_holding') return query(5, { kind, start, andMask: number(3), orMask: number(4) });
  if (kind === 'read_write_holdings')
    return query(6, { kind, start, count: number(3), writeStart: number(4), values: values(5) });
  if (kind.startsWith('read')) return query(4, { kind: kind as ReadKind, start, count: number(3) });
  return query(4, { kind: kind as WriteKind, start, values: values(3) });
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
