/**
 * Raw serial ports: `serial` (docs/interface/lua-devices.md#serial), and `rs485` and `rs232` of the older generation.
 */
import { isSerialServer, parseSerialServer, serialServerPath } from '../../lib/address.ts';
import type { MonotonicMs } from '../../lib/time.ts';
import {
  type HostFunction,
  type HostResult,
  type Library,
  LuaError,
  type LuaTurn,
  textOf,
  textArgument,
  bytesArgument,
  numberArgument,
  numberArgumentOr,
  waiting,
} from '#scripting/lua';
import { portNamed } from '../field/connection-uri.ts';
import type { SerialOperation } from '../thread-messages.ts';
import { serialSettings } from './modbus-library.ts';
import { failedResult, portResult, resultOf, type ScriptHost } from './script-host.ts';

const NEW_SOURCE = String.raw`
local read, write, flush = kit.wait('serial_read'), kit.wait('serial_write'), kit.wait('serial_flush')
local acquire, release = kit.wait('serial_acquire'), kit.wait('serial_release')

local serial, methods = kit.library('serial', {}), {}
local new_object, name_of = kit.objects('the port')

function serial.new(uri)
  local name, message = host.serial_port(uri)
  if not name then return nil, message end
  return new_object(methods, name)
end

function methods.read(port, count, timeout)
  local bytes, message = read(name_of(port), count, timeout)
  return bytes, message
end

local function message_of(_, message) return message end
function methods.write(port, bytes) return message_of(write(name_of(port), bytes)) end
function methods.flush(port) return message_of(flush(name_of(port))) end

local function finish(name, ok, ...)
  release(name)
  if ok then return ... end
  error((...), 0)
end

function methods.transaction(port, body)
  kit.check(body, 'function', 1, 'transaction')
  local name = name_of(port)
  local ok, message = acquire(name)
  if not ok then return nil, message end
  return finish(name, pcall(body))
end
`;

const OLD_SOURCE = String.raw`
local configure, write, receive, flush =
  kit.wait('serial_configure'), kit.wait('serial_write'), kit.wait('serial_receive'), kit.wait('serial_flush')

local function outcome(_, message, code) return code or 0 end

for _, name in ipairs({ 'rs485', 'rs232' }) do
  local port = kit.library(name, { err_to_str = kit.err_to_str })

  function port.init(baud_rate, data_bits, parity, stop_bits)
    kit.serial_port = name
    return outcome(configure(name, baud_rate, data_bits, parity, stop_bits))
  end

  function port.send(bytes, do_flush)
    if do_flush ~= false then flush(name) end
    return outcome(write(name, bytes))
  end

  function port.receive(timeout)
    local bytes, _, code = receive(name, timeout)
    return bytes, code or 0
  end
end
`;

export function serialLibrary(isOld: boolean): Library {
  return { name: 'serial', source: isOld ? OLD_SOURCE : NEW_SOURCE };
}

/** Where the script gives none. */
const TIMEOUT_MS = 1_000;

export function serialFunctions(host: ScriptHost): Record<string, HostFunction> {
  const numbers = new WeakMap<LuaTurn, number>();
  let tasks = 0;
  const run = async (
    name: unknown,
    operation: SerialOperation,
    deadlineMs?: MonotonicMs,
    turn?: LuaTurn,
  ): Promise<HostResult> => {
    const task = turn && numbers.getOrInsertComputed(turn, () => (tasks += 1));
    const call = { kind: 'serial', port: String(name), operation, ...(task && { task }) } as const;
    return resultOf(await host.call(call, deadlineMs));
  };

  return {
    serial_port: ([uri]) => {
      const text = textArgument(uri, 1, 'new');
      if (isSerialServer(text)) {
        const server = parseSerialServer(text);
        return typeof server === 'string' ? [undefined, server] : [serialServerPath(server)];
      }
      return portResult(uri, 'serial ports', (name) => portNamed(host.ports, name));
    },
    serial_read: waiting(async ([name, count, timeout], deadlineMs, turn) => {
      const countMax = numberArgument(count, 1, 'read');
      if (!(countMax >= 1)) throw new LuaError("bad argument #1 to 'read' (count must be positive)");
      const timeoutMs = numberArgumentOr(timeout, 2, 'read', TIMEOUT_MS);
      return run(textOf(name), { do: 'read', countMax, timeoutMs }, deadlineMs, turn);
    }),
    serial_receive: waiting(async ([name, timeout], deadlineMs, turn) => {
      const timeoutMs = numberArgumentOr(timeout, 1, 'receive', TIMEOUT_MS);
      return run(textOf(name), { do: 'receive', timeoutMs }, deadlineMs, turn);
    }),
    serial_write: waiting(async ([name, bytes], deadlineMs, turn) => {
      const exact = Uint8Array.from(bytesArgument(bytes, 1, 'write'));
      return run(textOf(name), { do: 'write', bytes: exact }, deadlineMs, turn);
    }),
    serial_flush: waiting(([name], deadlineMs, turn) => run(textOf(name), { do: 'flush' }, deadlineMs, turn)),
    serial_acquire: waiting(([name], deadlineMs, turn) =>
      run(textOf(name), { do: 'acquire' }, deadlineMs, turn),
    ),
    serial_release: waiting(([name], _, turn) => run(textOf(name), { do: 'release' }, undefined, turn)),
    serial_configure: waiting(async ([name, baudRate, dataBits, parity, stopBits]) => {
      const settings = serialSettings({
        baud_rate: textOf(baudRate),
        data_bits: textOf(dataBits),
        parity: textOf(parity),
        stop_bits: textOf(stopBits),
      });
      if (settings === undefined) return failedResult('invalid argument', 3);
      return run(textOf(name), { do: 'configure', settings });
    }),
  };
}
