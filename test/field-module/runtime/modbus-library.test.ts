/** Modbus as scripts of both generations see it. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { CallResult, ThreadCall } from '../../../src/field-module/thread-messages.ts';
import { closeBenches, saidBy } from './script-bench.ts';

after(closeBenches);

const timeout: CallResult = { kind: 'fault', fault: { text: 'timeout', number: 1 } };
const PORTS = { ports: { rs485: '/dev/ttyUSB0' } };
const OLD = { facts: { api: 'v1' as const } };

describe('modbus of the newer generation', () => {
  test('modbus of the newer generation refuses invalid addresses without connecting', async () => {
    const [said, { calls }] = await saidBy(`
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

  test('modbus of the newer generation gives nil and a text on failure, and raises for arguments of a wrong kind', async () => {
    const [said] = await saidBy(
      `local client = modbus.new('tcp://10.0.0.1')
      say(client:read_holdings(1, 0, 2, 500))
      say(client:write_holding(1, 0, 2))
      raised(client.read_holdings, client, 'one', 0, 2)
      raised(client.read_holdings, client, '', 0, 2)
      raised(client.write_multiple_holdings, client, 1, 0, { 'x' })
      raised(client.read_holdings, client, 1, 0, 2, {})
      raised(client.read_holdings, 1, 0, 2)`,
      { answer: () => timeout },
    );
    assert.deepEqual(said, [
      'nil timeout',
      'timeout',
      "bad argument #1 to 'read_holdings' (number expected, got string)",
      "bad argument #1 to 'read_holdings' (number expected, got string)",
      "bad argument #3 to 'write_multiple_holdings' (numbers expected)",
      "bad argument #4 to 'read_holdings' (number expected, got table)",
      'the client is called with a dot, use a colon',
    ]);
  });

  test('modbus of the newer generation reads lists of integers and writes numbers and booleans', async () => {
    const [said, { calls }] = await saidBy(
      `local client = modbus.new('tcp://10.0.0.1:1502')
      local list = client:read_inputs(1, 10, 3, 250)
      say(#list, list[1], math.type(list[1]), list[3])
      say(client:write_coil('1', ' 0x5 ', true, '70'))
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
    assert.equal(calls[1]?.kind === 'modbus' && calls[1].timeoutMs, 70);
    assert.deepEqual(
      calls
        .slice(1)
        .map((call) => (call.kind === 'modbus' && 'values' in call.request ? call.request.values : [])),
      [[1], [1, 0, 1], [-2], [1, 2, 65_535]],
    );
  });

  test('modbus of the newer generation writes through masks, writes and reads at once, and identifies a device', async () => {
    const [said, { calls }] = await saidBy(
      `local client = modbus.new('tcp://10.0.0.1')
      say(client:mask_write_holding(1, 4, 0xF2, 0x25, 300))
      say(client:read_write_holdings(1, 3, 2, 14, { 255, -1 }, 400))
      local device = client:read_device_identification(2, 500)
      say(device.vendor, device.revision, device.model_name)
      raised(client.mask_write_holding, client, 1, 4, 'x', 0)
      raised(client.read_write_holdings, client, 1, 3, 2, 14, {})
      say(client:read_device_identification(3))`,
      {
        answer: (call: ThreadCall): CallResult => {
          if (call.kind === 'identify')
            return call.unitId === 2
              ? { kind: 'results', results: [{ vendor: 'Acme', revision: 'V1' }] }
              : timeout;
          return { kind: 'values', values: call.kind === 'modbus' && 'count' in call.request ? [7, 8] : [] };
        },
      },
    );
    assert.deepEqual(said, [
      'nil',
      '[7,8] nil',
      'Acme V1 nil',
      "bad argument #3 to 'mask_write_holding' (number expected, got string)",
      "bad argument #5 to 'read_write_holdings' (numbers expected)",
      'nil timeout',
    ]);
    assert.deepEqual(
      calls.slice(0, 2).map((call) => call.kind === 'modbus' && [call.timeoutMs, call.request]),
      [
        [300, { kind: 'mask_write_holding', start: 4, andMask: 0xf2, orMask: 0x25 }],
        [400, { kind: 'read_write_holdings', start: 3, count: 2, writeStart: 14, values: [255, -1] }],
      ],
    );
  });

  test('modbus of the newer generation answers batches entry by entry, and refuses an invalid list', async () => {
    const [said, { calls }] = await saidBy(
      `local client = modbus.new('tcp://10.0.0.1')
      say(client:read({
        { type = 'holdings', addr = 1, reg = 0, count = 2, timeout = 100 },
        { type = 'inputs', addr = '2', reg = '0', count = 1 },
      }))
      say(client:write({
        { type = 'holding', addr = 1, reg = 3, value = 7 },
        { type = 'multiple_coils', addr = 1, reg = 3, values = { true, 0 } },
      }))
      say(client:read({}))
      say(client:read({ { type = 'words', addr = 1, reg = 0, count = 1 } }))
      say(client:read({ { type = 'holdings', addr = 1, reg = 0 } }))
      say(client:write({ { type = 'holding', addr = 1, reg = 0 } }))
      say(client:write({ { addr = 1, reg = 0, value = 1 } }))
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
      'nil query 1: there is no type nil to write',
      'nil the queries must be a list',
      "bad argument #1 to 'read' (table expected, got number)",
    ]);
    assert.equal(calls.length, 4);
  });
});

describe('modbus of the older generation', () => {
  test('modbus of the older generation gives codes, and nil for invalid addresses', async () => {
    const [said] = await saidBy(
      `say(modbustcp.new('10.0.0.1:0'), modbustcp.new(nil), modbustcp.new(5))
      say(modbusrtu.new('rs232', { baud_rate = 9600 }))
      local client = modbustcp.new('10.0.0.1')
      say(client:read_holdings(1, 0, 2, 500))
      say(client:write_holding(1, 0, 2))
      say(modbustcp.err_to_str(1), modbustcp.err_to_str(0) == '', modbustcp.err_to_str(102), modbustcp.err_to_str(102.5))
      say(modbus.read_holdings(1, 0, 1, 100))
      say(modbus.write_holding(1, 0, 1, 100))`,
      { ...OLD, answer: () => timeout },
    );
    assert.deepEqual(said, [
      'nil nil nil',
      'nil',
      'nil 1',
      '1',
      'timeout true illegal data address error 102.5',
      'nil 5',
      '5',
    ]);
  });

  test('modbus of the older generation takes an address with a scheme for the same address', async () => {
    const [, { calls }] = await saidBy(
      `for _, address in ipairs({ '10.0.0.1', 'tcp://10.0.0.1' }) do
        modbustcp.new(address):read_holdings(1, 0, 1, 500)
      end`,
      { ...OLD, answer: () => timeout },
    );
    assert.deepEqual(
      calls.map((call) => call.kind === 'modbus' && call.uri),
      ['tcp://10.0.0.1', 'tcp://10.0.0.1'],
    );
  });

  test('modbus of the older generation uses the serial port that the operator named, with the settings of the script', async () => {
    const [said, { calls }] = await saidBy(
      `local client = modbusrtu.new('/dev/ttyUSB0', { baud_rate = 19200, parity = 'E', stop_bits = 2 })
      say(client:read_inputs(3, 0, 2, 500))
      say(modbus.read_holdings(3, 0, 2, 500))
      say(rs485.init('2400', '8', 'N', '1'))
      say(rs485.init(2400, 9, 'N', 1))`,
      {
        ...OLD,
        ...PORTS,
        answer: (call: ThreadCall) =>
          call.kind === 'modbus' ? { kind: 'values', values: [1, 2] } : { kind: 'done' },
      },
    );
    assert.deepEqual(said, ['[1,2] 0', '[1,2] 0', '0', '3']);
    const [configure, read] = calls;
    assert.deepEqual(configure, {
      kind: 'serial',
      port: 'rs485',
      operation: { do: 'configure', settings: { baudRate: 19_200, dataBits: 8, parity: 'E', stopBits: 2 } },
    });
    assert.equal(read?.kind === 'modbus' && read.uri, 'port://rs485');
  });

  test('modbus of the older generation answers reads with 0 on success, and its clients know the words of its codes', async () => {
    const [said] = await saidBy(
      `local client = modbustcp.new('10.0.0.1')
      for _, kind in ipairs({ 'coils', 'discrete_inputs', 'holdings', 'inputs' }) do
        local list, err = client['read_' .. kind](client, 1, 0, 2, 500)
        say(#list, err, math.type(err))
      end
      say(client:err_to_str(1), client.err_to_str(102), client:err_to_str(0) == '')`,
      { ...OLD, answer: () => ({ kind: 'values', values: [1, 0] }) },
    );
    assert.deepEqual(said, [...Array<string>(4).fill('2 0 integer'), 'timeout illegal data address true']);
  });

  test('modbus of the older generation uses the port that the script initialised, and no other', async () => {
    const uris = async (source: string): Promise<(string | undefined)[]> => {
      const [said, { calls }] = await saidBy(`${source} say(modbus.read_holdings(3, 0, 1, 500))`, {
        ...OLD,
        ports: { rs485: '/dev/ttyUSB0', rs232: '/dev/ttyUSB1' },
        answer: (call: ThreadCall) =>
          call.kind === 'modbus' ? { kind: 'values', values: [1] } : { kind: 'done' },
      });
      return [...said, ...calls.map((call) => (call.kind === 'modbus' ? call.uri : call.kind))];
    };
    assert.deepEqual(await uris('rs232.init(9600, 8, "N", 1)'), ['[1] 0', 'serial', 'port://rs232']);
    assert.deepEqual(await uris('rs485.init(9600, 8, "N", 1)'), ['[1] 0', 'serial', 'port://rs485']);
    assert.deepEqual(await uris(''), ['[1] 0', 'port://rs485']);
    const [said] = await saidBy('rs232.init(9600, 8, "N", 1) say(modbus.read_holdings(3, 0, 1, 500))', {
      ...OLD,
      ...PORTS,
      answer: () => ({ kind: 'fault', fault: { text: 'not available', number: 5 } }),
    });
    assert.deepEqual(said, ['nil 5'], 'a port that is not there is not taken for another one');
  });
});
