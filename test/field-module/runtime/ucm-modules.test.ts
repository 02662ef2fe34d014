/** Lua modules that scripts require without bringing them. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { RUNTIME_MODULES } from '../../../src/capabilities/blueprints/compiler/script.ts';
import { UCM_MODULES } from '../../../src/field-module/runtime/ucm-modules.ts';
import type { CallResult, ThreadCall } from '../../../src/field-module/thread-messages.ts';
import { closeBenches, saidBy } from './script-bench.ts';

after(closeBenches);

const timeout: CallResult = { kind: 'fault', fault: { text: 'timeout', number: 1 } };
const PORTS = { ports: { rs485: '/dev/ttyUSB0' } };
const OLD = { facts: { api: 'v1' as const } };

describe('modules that the runtime brings', () => {
  /** A storage for the test. */
  function memory(): (call: ThreadCall) => CallResult {
    const kept = new Map<string, Uint8Array>();
    return (call) => {
      if (call.kind !== 'request') return timeout;
      const { request } = call;
      if (request.type === 'storage_write') kept.set(request.key, request.value);
      if (request.type === 'storage_remove') kept.delete(request.key);
      const value = request.type === 'storage_read' ? kept.get(request.key) : undefined;
      return {
        kind: 'answer',
        answer: { type: 'answer', id: 'q', ...(value ? { value: Buffer.from(value) } : {}) },
      };
    };
  }

  for (const api of ['v1', 'v3'] as const)
    test(`modules that the runtime brings keep a configuration by commands (${api})`, async () => {
      const [said, bench] = await saidBy(
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

  test('modules that the runtime brings read batches over the functions of the older generation', async () => {
    const [said] = await saidBy(
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

  test('modules that the runtime brings tell whether every option has a value, and hand defaults to what happens around a change', async () => {
    const [said, bench] = await saidBy(
      `local config = require('enapter.ucm.config')
      config.init({
        index = { type = 'number', default = 1 },
        id = { type = 'string' },
      }, { after_write = function(args) enapter.log('after ' .. tostring(args.id) .. args.index) end })
      say(config.is_all_options_set({ index = 1 }), config.is_all_options_set({ index = 1, id = 'x' }))
      say(config.is_all_required_set())`,
      { answer: memory() },
    );
    assert.deepEqual(said, ['false true', 'true']);
    assert.deepEqual(await bench.command('write_configuration', { id: 'a' }), [
      { state: 'completed', payload: {} },
    ]);
    assert.ok(bench.logs().includes('info: after a1'));
  });

  /** Commands that the peer got, as `target/channel name arguments`. */
  function peer(
    payloads: Record<string, Record<string, unknown>>,
    asked: string[],
  ): (call: ThreadCall) => CallResult {
    return (call) => {
      if (call.kind !== 'request' || call.request.type !== 'command') return timeout;
      const { target, target_channel_id: channel, name, arguments: given } = call.request;
      asked.push(`${target}/${channel} ${name} ${JSON.stringify(given)}`);
      const payload = payloads[name];
      if (payload === undefined) return timeout;
      const state = 'message' in payload ? 'error' : 'completed';
      return { kind: 'answer', answer: { type: 'answer', id: 'q', state, payload } };
    };
  }

  test('modules that the runtime brings reach a contact of a relay board and an input by the commands of their devices', async () => {
    const asked: string[] = [];
    const [said] = await saidBy(
      `local relay, input = require('enapter.ucm.generics.rl6').new(), require('enapter.ucm.generics.di7').new()
      say(relay:close()) say(input:is_closed())
      relay:setup('H2', 5.0, 300) input:setup('H3', 2)
      say(relay:close()) say(relay:open()) say(relay:is_closed()) say(input:is_closed())`,
      {
        answer: peer(
          {
            close_channel: {},
            open_channel: { message: 'stuck' },
            is_channel_closed: { closed: true },
            is_closed: {},
          },
          asked,
        ),
      },
    );
    assert.deepEqual(said, [
      'the other device is not set up',
      'nil the other device is not set up',
      'nil',
      'the command open_channel failed: stuck',
      'true',
      'nil the answer to is_closed does not say it',
    ]);
    assert.deepEqual(asked, [
      'H2/gio close_channel {"channel":5}',
      'H2/gio open_channel {"channel":5}',
      'H2/gio is_channel_closed {"channel":5}',
      'H3/gio is_closed {"input":2}',
    ]);
  });

  test('modules that the runtime brings read named messages of a bus, each parsed, from where the last answer ended', async () => {
    const asked: string[] = [];
    const [said] = await saidBy(
      `local can = require('enapter.ucm.generics.can').new()
      say(can:get('telemetry'))
      local function number(data) return tonumber(data, 16) end
      say(can:setup('H4', {
        telemetry = {
          { msg_id = 0x318, name = 'volts', parser = number },
          { msg_id = 0x328, names = { 'low', 'high' }, parser = function(data) return { number(data), 7 } end },
          { msg_id = 0x338, name = 'count', multi_msg = true, parser = function(all) return #all end },
          { msg_id = 0x348, name = 'silent', parser = error },
        },
      }))
      local values = can:get('telemetry')
      say(values.volts, values.low, values.high, values.count, values.silent)
      can:get('telemetry') say(can:get('other'))
      can:setup('H4', { bad = { { msg_id = 1, name = 'x', parser = function() error('short', 0) end } } })
      say(can:get('bad'))`,
      {
        answer: peer({ read: { cursor: '42', results: [['01', '0a'], ['02'], ['03', '04'], []] } }, asked),
      },
    );
    assert.deepEqual(said, [
      'nil there is no subscription telemetry',
      'nil',
      '10 2 7 2 nil',
      'nil there is no subscription other',
      'nil message 1 cannot be read: short',
    ]);
    assert.equal(asked[1], 'H4/gio read {"msg_ids":"792,808,824,840"}');
    assert.deepEqual(JSON.parse(asked[2]?.slice('H4/gio read '.length) ?? ''), {
      msg_ids: '792,808,824,840',
      cursor: '42',
    });
  });

  for (const api of ['v1', 'v3'] as const)
    test(`modules that the runtime brings read the numbers of SMA devices, of which some are none (${api})`, async () => {
      const words: Record<number, readonly number[]> = {
        1: [1, 2],
        2: [0xffff, 0xffff],
        3: [0x00ff, 0xfffd],
        4: [0xffff, 0xfffe],
        5: [0x8000, 0],
        6: [0, 0, 1, 0],
        7: [0xffff, 0xffff, 0xffff, 0xffff],
      };
      const [said, bench] = await saidBy(
        `local sma = require('enapter.sma.modbustcp').new('10.0.0.1:502', 3)
        say(sma:read_u32(1))
        sma:connect()
        say(sma:read_u32(1), sma:read_u32_fix2(1)) say(sma:read_u32_enum(2)) say(sma:read_u32_fix0(3))
        say(sma:read_s32(4), sma:read_s32_fix3(4)) say(sma:read_s32_fix1(5))
        say(sma:read_u64_fix0(6)) say(sma:read_u64(7)) say(sma:read_u32(9))
        raised(function() require('enapter.sma.modbustcp').new('10.0.0.1', '3') end)`,
        {
          facts: { api },
          answer: (call: ThreadCall) => {
            if (call.kind !== 'modbus') return timeout;
            const values = 'count' in call.request ? words[call.request.start] : undefined;
            return values ? { kind: 'values', values } : timeout;
          },
        },
      );
      const [none, ...numbers] = said.filter((line) => !line.startsWith('error: '));
      assert.equal(none, 'nil');
      assert.deepEqual(numbers.slice(0, -1), [
        '65538 655.38',
        'nil',
        'nil',
        '-2 -0.002',
        'nil',
        '65536',
        'nil',
        'nil',
      ]);
      assert.match(numbers.at(-1) ?? '', /the unit must be a number/);
      const errors = bench.logs().filter((line) => line.startsWith('error: read error'));
      assert.deepEqual(errors, [
        'error: read error: not connected to 10.0.0.1:502',
        'error: read error: timeout',
      ]);
    });

  test('modules that the runtime brings are those that the compiler counts on', async () => {
    const names = [...RUNTIME_MODULES].filter((name) => name.startsWith('enapter.'));
    assert.deepEqual(names.toSorted(), [...UCM_MODULES.keys()].toSorted());
    for (const facts of [{}, OLD]) {
      const [said] = await saidBy(
        [...names, 'json', 'inspect'].map((name) => `say(type(require('${name}')))`).join('\n'),
        facts,
      );
      assert.deepEqual(
        said,
        [...names, 'json', 'inspect'].map(() => 'table'),
      );
    }
  });
});
