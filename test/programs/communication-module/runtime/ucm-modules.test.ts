/** Lua modules that scripts require without bringing them. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type {
  CallResult,
  ThreadCall,
} from '../../../../src/programs/communication-module/thread-messages.ts';
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

  test('read batches over the functions of the older generation', async () => {
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

  test('reach a relay board by the commands of its device', async () => {
    const [said] = await saidBy(
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
