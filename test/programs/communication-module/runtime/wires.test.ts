/** Libraries that reach the wires: modbus, serial, storage, peers, and those that a module of software lacks. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type {
  CallResult,
  ThreadCall,
} from '../../../../src/programs/communication-module/thread-messages.ts';
import { closeBenches, scriptBench, type ScriptBench } from './script-bench.ts';

after(closeBenches);

/** Runs the chunk; each `say(…)` in it becomes one line. */
async function lines(
  source: string,
  options: Parameters<typeof scriptBench>[1] = {},
): Promise<[string[], ScriptBench]> {
  const bench = scriptBench(
    `local function say(...)
      local parts = {}
      for i = 1, select('#', ...) do
        local value = (select(i, ...))
        parts[i] = type(value) == 'table' and json.encode(value) or math.type(value) or tostring(value)
        if type(value) == 'number' then parts[i] = tostring(value) end
      end
      enapter.log(table.concat(parts, ' '))
    end
    local function raised(fn, ...)
      local ok, message = pcall(fn, ...)
      say(ok and 'no error' or (tostring(message):gsub('^[%w.]+:%d+: ', '')))
    end
    ${source}`,
    options,
  );
  await bench.started();
  const failed = bench.posted.find(({ kind }) => kind === 'failed');
  assert.equal(failed, undefined, JSON.stringify(failed));
  return [bench.logs().map((line) => line.replace('info: ', '')), bench];
}

const timeout: CallResult = { kind: 'fault', fault: { text: 'timeout', number: 1 } };
const PORTS = { ports: { rs485: '/dev/ttyUSB0' } };
const OLD = { facts: { api: 'v1' as const } };

describe('modbus of the newer generation', () => {
  test('refuses addresses that lead nowhere, without connecting', async () => {
    const [said, { calls }] = await lines(`
      say(modbus.new('10.0.0.1:502'))
      say(modbus.new('port://rs485'))
      say(modbus.new('gio://device/rs485'))
      raised(modbus.new, nil)`);
    assert.deepEqual(said, [
      'nil a connection URI begins with tcp:// or port://',
      'nil hardware port "rs485" is not available on this module',
      'nil connections by gio:// are not supported by this module',
      "bad argument #1 to 'new' (string expected, got nil)",
    ]);
    assert.deepEqual(calls, []);
  });

  test('gives nil and a text when something goes wrong, and raises for arguments of a wrong kind', async () => {
    const [said] = await lines(
      `local client = modbus.new('tcp://10.0.0.1')
      say(client:read_holdings(1, 0, 2, 500))
      say(client:write_holding(1, 0, 2))
      raised(client.read_holdings, client, 'one', 0, 2)
      raised(client.write_multiple_holdings, client, 1, 0, { 'x' })
      raised(client.read_holdings, 1, 0, 2)`,
      { answer: () => timeout },
    );
    assert.deepEqual(said, [
      'nil timeout',
      'timeout',
      "bad argument #1 to 'read_holdings' (number expected, got string)",
      "bad argument #3 to 'write_multiple_holdings' (numbers expected)",
      'the client is called with a dot, use a colon',
    ]);
  });

  test('reads lists of integers and writes numbers and booleans', async () => {
    const [said, { calls }] = await lines(
      `local client = modbus.new('tcp://10.0.0.1:1502')
      local list = client:read_inputs(1, 10, 3, 250)
      say(#list, list[1], math.type(list[1]), list[3])
      say(client:write_coil(1, 5, true))
      say(client:write_multiple_coils(1, 5, { true, false, 1 }))
      say(client:write_holding(1, 6, -2))
      say(client:write_multiple_holdings(1, 6, { 1, 2.0, 65535 }))`,
      { answer: () => ({ kind: 'values', values: [1, 2, 65_535] }) },
    );
    assert.deepEqual(said, ['3 1 integer 65535', 'nil', 'nil', 'nil', 'nil']);
    const requests = calls.map((call) =>
      call.kind === 'modbus' ? [call.uri, call.unitId, call.timeoutMs, call.request] : [],
    );
    assert.deepEqual(requests[0], [
      'tcp://10.0.0.1:1502',
      1,
      250,
      { kind: 'read_inputs', start: 10, count: 3 },
    ]);
    assert.deepEqual(
      calls
        .slice(1)
        .map((call) => (call.kind === 'modbus' && 'values' in call.request ? call.request.values : [])),
      [[1], [1, 0, 1], [-2], [1, 2, 65_535]],
    );
  });

  test('answers batches entry by entry, and refuses a list that makes no sense', async () => {
    const [said, { calls }] = await lines(
      `local client = modbus.new('tcp://10.0.0.1')
      say(client:read({
        { type = 'holdings', addr = 1, reg = 0, count = 2, timeout = 100 },
        { type = 'inputs', addr = 2, reg = 0, count = 1 },
      }))
      say(client:write({
        { type = 'holding', addr = 1, reg = 3, value = 7 },
        { type = 'multiple_coils', addr = 1, reg = 3, values = { true, 0 } },
      }))
      say(client:read({}))
      say(client:read({ { type = 'words', addr = 1, reg = 0, count = 1 } }))
      say(client:read({ { type = 'holdings', addr = 1, reg = 0 } }))
      say(client:write({ { type = 'holding', addr = 1, reg = 0 } }))
      say(client:read({ a = 1 }))
      raised(client.read, client, 5)`,
      {
        answer: (call: ThreadCall) =>
          call.kind === 'modbus' && call.unitId === 1
            ? { kind: 'values', values: 'count' in call.request ? [3, 4] : [] }
            : timeout,
      },
    );
    assert.deepEqual(said, [
      '[{"data":[3,4]},{"errcode":1,"errmsg":"timeout"}] nil',
      '[{},{}] nil',
      '{} nil',
      'nil query 1: there is no type "words" to read',
      'nil query 1: addr, reg and count must be numbers',
      'nil query 1: a value is no number',
      'nil the queries must be a list',
      "bad argument #1 to 'read' (table expected, got number)",
    ]);
    assert.equal(calls.length, 4);
  });
});

describe('modbus of the older generation', () => {
  test('gives codes, and nil for addresses that lead nowhere', async () => {
    const [said] = await lines(
      `say(modbustcp.new('10.0.0.1:0'))
      say(modbusrtu.new('rs232', { baud_rate = 9600 }))
      local client = modbustcp.new('10.0.0.1')
      say(client:read_holdings(1, 0, 2, 500))
      say(client:write_holding(1, 0, 2))
      say(modbustcp.err_to_str(1), modbustcp.err_to_str(0) == '', modbustcp.err_to_str(102))
      say(modbus.read_holdings(1, 0, 1, 100))
      say(modbus.write_holding(1, 0, 1, 100))`,
      { ...OLD, answer: () => timeout },
    );
    assert.deepEqual(said, ['nil', 'nil', 'nil 1', '1', 'timeout true modbus exception 2', 'nil 5', '5']);
  });

  test('speaks over the serial port that the operator named, with the settings of the script', async () => {
    const [said, { calls }] = await lines(
      `local client = modbusrtu.new('/dev/ttyUSB0', { baud_rate = 19200, parity = 'E', stop_bits = 2 })
      say(client:read_inputs(3, 0, 2, 500))
      say(modbus.read_holdings(3, 0, 2, 500))
      say(rs485.init(2400, 8, 'N', 1))
      say(rs485.init(2400, 9, 'N', 1))`,
      {
        ...OLD,
        ...PORTS,
        answer: (call: ThreadCall) =>
          call.kind === 'modbus' ? { kind: 'values', values: [1, 2] } : { kind: 'done' },
      },
    );
    assert.deepEqual(said, ['[1,2] nil', '[1,2] nil', '0', '3']);
    const [configure, read] = calls;
    assert.deepEqual(configure, {
      kind: 'serial',
      port: 'rs485',
      operation: { do: 'configure', settings: { baudRate: 19_200, dataBits: 8, parity: 'E', stopBits: 2 } },
    });
    assert.equal(read?.kind === 'modbus' && read.uri, 'port://rs485');
  });
});

describe('serial ports', () => {
  test('are refused where there are none, and fail as the line does', async () => {
    const [said] = await lines(
      `say(serial.new('port://rs232'))
      say(serial.new('tcp://a'))
      local port = serial.new('port://rs485')
      say(port:read(4, 100))
      raised(port.read, port, 0, 100)
      raised(port.transaction, port, 5)`,
      { ...PORTS, answer: () => timeout },
    );
    assert.deepEqual(said, [
      'nil hardware port "rs232" is not available on this module',
      'nil serial ports are called port://name',
      'nil timeout',
      "bad argument #1 to 'read' (count must be positive)",
      "bad argument #1 to 'transaction' (function expected, got number)",
    ]);
  });

  test('carry any bytes; a transaction holds the port and lets go of it, whatever happens inside', async () => {
    const done: string[] = [];
    const [said] = await lines(
      `local port = serial.new('port://rs485')
      say(port:write('\\0\\255a'))
      local bytes = port:read(3, 100)
      say(#bytes, bytes:byte(1), bytes:byte(2))
      say(port:transaction(function() port:write('x') return 7, 8 end))
      raised(port.transaction, port, function() error('inside', 0) end)`,
      {
        ...PORTS,
        answer: (call: ThreadCall) => {
          if (call.kind !== 'serial') return timeout;
          done.push(call.operation.do);
          return call.operation.do === 'read'
            ? { kind: 'bytes', bytes: Uint8Array.of(0, 255, 97) }
            : { kind: 'done' };
        },
      },
    );
    assert.deepEqual(said, ['nil', '3 0 255', '7 8', 'inside']);
    assert.deepEqual(done, ['write', 'read', 'acquire', 'write', 'release', 'acquire', 'release']);
  });

  test('of the older generation send, receive and give codes', async () => {
    const [said] = await lines("say(rs485.send('ab')) say(rs485.receive(50)) say(rs232.send('x'))", {
      ...OLD,
      ...PORTS,
      answer: (call: ThreadCall) => {
        if (call.kind !== 'serial') return timeout;
        if (call.port === 'rs232') return { kind: 'fault', fault: { text: 'not available', number: 5 } };
        return call.operation.do === 'receive'
          ? { kind: 'bytes', bytes: Buffer.from('cd') }
          : { kind: 'done' };
      },
    });
    assert.deepEqual(said, ['0', 'cd 0', '5']);
  });
});

describe('storage', () => {
  const full: CallResult = {
    kind: 'answer',
    answer: { type: 'answer', id: 'q', error: 'the storage is full' },
  };
  const nothing: CallResult = { kind: 'answer', answer: { type: 'answer', id: 'q' } };

  test('refuses keys and values beyond their limits without asking the gateway', async () => {
    const [said, { calls }] = await lines(
      `say(storage.write(('k'):rep(65), 'v'))
      say(storage.read(''))
      say(storage.write('k', ('v'):rep(65537)))
      raised(storage.write, {}, 'v')`,
    );
    assert.deepEqual(said, [
      'a key has 1 to 64 bytes',
      'nil a key has 1 to 64 bytes',
      'a value has at most 65536 bytes',
      "bad argument #1 to 'write' (string expected, got table)",
    ]);
    assert.deepEqual(calls, []);
  });

  test('says why the gateway refused, in the way of each generation', async () => {
    const source = "say(storage.write('k', 5)) say(storage.read('k'))";
    const [newer] = await lines(source, { answer: () => full });
    const [older] = await lines(`${source} say(storage.err_to_str(7))`, { ...OLD, answer: () => full });
    assert.deepEqual(newer, ['the storage is full', 'nil the storage is full']);
    assert.deepEqual(older, ['7', 'nil 7', 'InternalError']);
  });

  test('keeps exact bytes; what is not there is NotFound', async () => {
    const kept = new Map<string, Uint8Array>();
    const answer = (call: ThreadCall): CallResult => {
      if (call.kind !== 'question') return nothing;
      const { question } = call;
      if (question.type === 'storage_write') kept.set(question.key, question.value);
      const value = question.type === 'storage_read' ? kept.get(question.key) : undefined;
      return {
        kind: 'answer',
        answer: { type: 'answer', id: 'q', ...(value ? { value: Buffer.from(value) } : {}) },
      };
    };
    const source = `say(storage.write('k', '\\0\\255')) local v = storage.read('k') say(#v, v:byte(2)) say(storage.read('x'))
      say(storage.write('n', 12.5)) say(storage.read('n')) say(storage.remove('k'))`;
    const [newer] = await lines(source, { answer });
    const [older] = await lines(`${source} say(storage.err_to_str(select(2, storage.read('x'))))`, {
      ...OLD,
      answer,
    });
    assert.deepEqual(newer, ['nil', '2 255', 'nil NotFound', 'nil', '12.5 nil', 'nil']);
    assert.deepEqual(older, ['0', '2 255', 'nil 6', '0', '12.5 0', '0', 'NotFound']);
  });
});

describe('hardware that a module of software lacks', () => {
  test('refuses in the way of the newer generation', async () => {
    const [said] = await lines(
      `for _, name in ipairs({ 'can', 'relay', 'digitalin', 'digitalout', 'analogin', 'analogout' }) do
        say(_G[name].new('port://x'))
      end
      say(can.DROP_OLDEST ~= can.DROP_NEWEST, digitalin.HIGH ~= digitalin.LOW, require('relay') == relay, led.on())`,
    );
    assert.equal(said[0], 'nil can is not supported by this module');
    assert.equal(said[5], 'nil analogout is not supported by this module');
    assert.equal(said[6], 'true true true led is not supported by this module');
  });

  test('refuses in the way of the older generation', async () => {
    const [said] = await lines(
      `say(can.init(500, print), can.send(1, 'x'), rl6.open(1)) say(rl6.get(1)) say(di7.is_closed(1))
      say(di7.read_counter(1)) say(ai4.read_volts(1)) say(rl.impulse(5)) say(dio.HIGH, dio.LOW) say(can.err_to_str(5))`,
      OLD,
    );
    assert.deepEqual(said, ['5 5 5', 'nil 5', 'nil 5', 'nil nil 5', 'nil 5', '5', '1 0', 'not supported']);
  });
});

describe('commands of other devices', () => {
  test('give state, payload, or why there is none', async () => {
    const asked: unknown[] = [];
    const [said] = await lines(
      `local peer = ucm.new('H2', 'rl6')
      say(peer:execute_command('close', { ch = 1 }, { timeout = 200 }))
      say(ucm.new('slug'):execute_command('open'))
      raised(ucm.new, 5)`,
      {
        answer: (call: ThreadCall) => {
          if (call.kind !== 'question' || call.question.type !== 'command') return timeout;
          asked.push([call.question.target, call.question.target_channel_id, call.question.timeout_ms]);
          return call.question.target === 'H2'
            ? {
                kind: 'answer',
                answer: { type: 'answer', id: 'q', state: 'completed', payload: { ok: true } },
              }
            : { kind: 'answer', answer: { type: 'answer', id: 'q', error: 'timeout' } };
        },
      },
    );
    assert.deepEqual(said, [
      'completed {"ok":true}',
      'nil nil timeout',
      "bad argument #1 to 'new' (string expected)",
    ]);
    assert.deepEqual(asked, [
      ['H2', 'rl6', 200],
      ['slug', undefined, 1_000],
    ]);
  });
});

describe('modules that the runtime brings', () => {
  /** A storage for the test. */
  function memory(): (call: ThreadCall) => CallResult {
    const kept = new Map<string, Uint8Array>();
    return (call) => {
      if (call.kind !== 'question') return timeout;
      const { question } = call;
      if (question.type === 'storage_write') kept.set(question.key, question.value);
      if (question.type === 'storage_remove') kept.delete(question.key);
      const value = question.type === 'storage_read' ? kept.get(question.key) : undefined;
      return {
        kind: 'answer',
        answer: { type: 'answer', id: 'q', ...(value ? { value: Buffer.from(value) } : {}) },
      };
    };
  }

  for (const api of ['v1', 'v3'] as const)
    test(`keep a configuration by commands (${api})`, async () => {
      const [said, bench] = await lines(
        `local config = require('enapter.ucm.config')
        config.init({
          address = { type = 'string', required = true },
          port = { type = 'number', default = 502 },
          tls = { type = 'boolean', default = false },
        }, { after_write = function(args) enapter.log('written ' .. args.address) end,
             before_write = function(args) if args.port == 1 then return 'not that port' end end })
        say(config.read('address')) say(config.read('port')) say(config.read('nothing'))
        say(select('#', config.read_all()), config.is_all_required_set())
        raised(config.init, { x = { type = 'string' } })`,
        { facts: { api }, answer: memory() },
      );
      assert.deepEqual(said, [
        'nil',
        '502',
        'nil undeclared config option: nothing',
        '1 false',
        'config can be initialized only once',
      ]);
      const missing = await bench.command('write_configuration', { port: 5 });
      assert.deepEqual(missing, [
        { state: 'error', payload: { message: 'required parameter is missing: address' } },
      ]);
      const refused = await bench.command('write_configuration', { address: 'a', port: 1 });
      assert.deepEqual(refused, [{ state: 'error', payload: { message: 'before write: not that port' } }]);
      const written = await bench.command('write_configuration', { address: 'a', port: 5, tls: true });
      assert.deepEqual(written, [{ state: 'completed', payload: {} }]);
      assert.deepEqual(await bench.command('read_configuration'), [
        { state: 'completed', payload: { address: 'a', port: 5, tls: true } },
      ]);
    });

  test('read batches over the functions of the older generation', async () => {
    const [said] = await lines(
      `local qmodbus = require('enapter.ucm.qmodbus')
      say(qmodbus.read({ { type = 'holdings', addr = 1, reg = 0, count = 1 }, { type = 'inputs', addr = 2, reg = 0, count = 1 } }))
      say(qmodbus.write({ { type = 'holding', addr = 1, reg = 0, value = 5 } }))
      say(qmodbus.read({ { type = 'words' } }))`,
      {
        ...OLD,
        ...PORTS,
        answer: (call: ThreadCall) =>
          call.kind === 'modbus' && call.unitId === 1
            ? { kind: 'values', values: 'count' in call.request ? [9] : [] }
            : timeout,
      },
    );
    assert.deepEqual(said, [
      '[{"data":[9]},{"errcode":1,"errmsg":"timeout"}]',
      '[{}]',
      'nil unknown type: words',
    ]);
  });

  test('reach a relay board by the commands of its device', async () => {
    const [said] = await lines(
      `local rl6 = require('enapter.ucm.generics.rl6').new()
      say(rl6:close(1))
      rl6:setup('H2', 'rl6', 300)
      say(rl6:close(1)) say(rl6:is_closed(1))`,
      {
        answer: () => ({
          kind: 'answer',
          answer: { type: 'answer', id: 'q', state: 'completed', payload: { closed: true } },
        }),
      },
    );
    assert.deepEqual(said, ['setup was not called', 'nil', 'true']);
  });
});
