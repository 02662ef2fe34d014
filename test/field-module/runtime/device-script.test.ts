import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { Question, QuestionAnswer } from '../../../src/field-module/thread-messages.ts';
import { until } from '../../support/until.ts';
import { settle, TestClock } from '../../support/test-clock.ts';
import { clock, closeBenches, type Posted, scriptBench } from './script-bench.ts';

after(closeBenches);

const failureOf = (posted: Posted[]): string => {
  const failed = posted.find(({ kind }) => kind === 'failed');
  return failed?.kind === 'failed' ? `${failed.reason}: ${failed.message.split('\n')[0]}` : 'none';
};

const check = (id: string, group: string, values: Record<string, unknown>): Question => ({
  type: 'configuration_check',
  id,
  channel_id: 'c1',
  group,
  values,
});

const refusalIn = (answer: QuestionAnswer): string | undefined =>
  answer.type === 'configuration_verdict' ? answer.refusal : assert.fail('it is no verdict');

describe('a device script fails', () => {
  for (const [what, source, failure] of [
    ['with its syntax', 'local x =', /^syntax: .*main\.lua:1/],
    ['when its chunk raises', "error('boom')", /^error: main\.lua:1: boom/],
    ['when enapter.main raises', "function enapter.main() error('boom') end", /^error: main\.lua:1: boom/],
    ['when it never ends', 'while true do end', /^time: execution time exceeded/],
    ['when it never ends inside pcall', 'while true do pcall(function() while true do end end) end', /^time/],
    [
      'when it takes all memory',
      "local t = {} while true do t[#t+1] = ('x'):rep(1000):rep(1000) end",
      /^memory/,
    ],
    ['when a module is missing', "require('nothing')", /module 'nothing' not found/],
  ] as const)
    test(what, async () => {
      const bench = scriptBench(source);
      // Its budget is processor time: on a busy machine it counts as running before that is used up.
      await until(() => bench.posted.some(({ kind }) => kind === 'failed'));
      assert.match(failureOf(bench.posted), failure);
      const [answer] = await bench.command('anything');
      assert.deepEqual(answer, { state: 'error', payload: { message: 'script is not running' } });
    });

  test('a device script fails for good when its machine broke in a scheduled function, so that it is started again', async () => {
    const bench = scriptBench('scheduler.add(50, function() end)');
    await bench.started();
    bench.machine().close('error', 'the script broke its machine: unreachable');
    await until(() => bench.posted.length > 1);
    assert.deepEqual(bench.posted.at(-1), {
      kind: 'failed',
      reason: 'error',
      message: 'the script broke its machine: unreachable',
    });
  });
});

describe('a device script', () => {
  test('a device script cannot reach files, programs, the environment or native code', async () => {
    const bench = scriptBench(`
      local names = {}
      for _, name in ipairs({ 'io', 'dofile', 'loadfile', 'package.loadlib', 'os.execute', 'os.getenv', 'os.remove' }) do
        local value = load('return ' .. name)()
        if value ~= nil then names[#names + 1] = name end
      end
      enapter.send_telemetry({ found = table.concat(names, ' ') })`);
    await bench.started();
    assert.deepEqual(bench.telemetry(), [{ found: '' }]);
  });

  test('a device script sends telemetry and properties with exact values; types of empty tables are as declared', async () => {
    const bench = scriptBench(
      `enapter.send_telemetry({
        integer = 9007199254740993, float = 0.5, whole = 2.0, text = 'ä', flag = false, none = nil,
        alerts = {}, names = {}, object = {}, list = { 'a', 'b' },
      })
      enapter.send_properties({ model = 'M1' })`,
      { facts: { telemetry: { names: 'array_of_strings', object: 'json' } } },
    );
    await bench.started();
    const text = bench.posted.find(({ kind }) => kind === 'publish');
    assert.ok(text?.kind === 'publish' && text.text.includes('"integer":9007199254740993'));
    const [{ integer: _, ...telemetry } = {}] = bench.telemetry();
    assert.deepEqual(telemetry, {
      float: 0.5,
      whole: 2,
      text: 'ä',
      flag: false,
      alerts: [],
      names: [],
      object: {},
      list: ['a', 'b'],
    });
    assert.deepEqual(bench.properties(), [{ model: 'M1' }]);
  });

  test('a device script leaves out a value that cannot be sent, logs so, and sends the others', async () => {
    const bench = scriptBench('enapter.send_telemetry({ bad = 0/0, worse = print, good = 1 })');
    await bench.started();
    assert.deepEqual(bench.telemetry(), [{ good: 1 }]);
    assert.match(bench.logs().join('\n'), /warning: bad is not sent: .*not finite/);
    assert.match(bench.logs().join('\n'), /warning: worse is not sent: a function cannot be handed over/);
  });

  test('a device script gets an error when nothing can be sent, in the way of its generation', async () => {
    const source = 'enapter.log(tostring(enapter.send_telemetry({ a = 1 })))';
    const newer = scriptBench(source, { isConnected: false });
    const older = scriptBench(source, { isConnected: false, facts: { api: 'v1' } });
    await Promise.all([newer.started(), older.started()]);
    assert.deepEqual(newer.logs(), ['info: not connected']);
    assert.deepEqual(older.logs(), ['info: 2']);
    assert.deepEqual(newer.telemetry(), []);
  });

  test('a device script that sends no table gets an error with its line', async () => {
    const bench = scriptBench(`for _, send in ipairs({ 'send_telemetry', 'send_properties' }) do
      enapter.log(select(2, pcall(function()
        enapter[send](5)
      end)))
    end`);
    await bench.started();
    assert.deepEqual(
      bench.logs(),
      ['send_telemetry', 'send_properties'].map(
        (name) => `info: main.lua:3: bad argument #1 to '${name}' (table expected, got number)`,
      ),
    );
  });

  test('a device script may not send more than its share, and cannot flood the log', async () => {
    const bench = scriptBench(
      `local refused
      for index = 1, 20 do refused = enapter.send_telemetry({ a = index }) or refused end
      for index = 1, 50 do enapter.log('line ' .. index) end
      system.delay(300)
      enapter.log(refused)`,
      { limits: { messageBurst: 5, messagesPerSecond: 0.001, logBurst: 10, logsPerSecond: 10 } },
    );
    await bench.started();
    assert.equal(bench.telemetry().length, 5);
    const logs = bench.logs();
    assert.equal(logs[9], 'info: line 10');
    assert.equal(logs.at(-1), 'info: too many messages');
    // On a slow machine some of the others have their turn while the script still runs.
    const kept = logs.filter((line) => line.startsWith('info: line ')).length;
    const dropped = logs.map((line) =>
      /^warning: (\d+) log entries were dropped, because there were too many$/.exec(line),
    );
    assert.ok(kept < 50);
    assert.equal(kept + dropped.reduce((sum, match) => sum + Number(match?.[1] ?? 0), 0), 50);
  });

  test('a device script cannot send what would cost the module its connection: messages, entries, responses', async () => {
    const bench = scriptBench(`
      enapter.log(enapter.send_telemetry({ text = ('x'):rep(200000) }))
      enapter.log(('y'):rep(20000))
      enapter.register_command_handler('large', function() return { text = ('z'):rep(200000) } end)`);
    await bench.started();
    assert.deepEqual(bench.telemetry(), []);
    assert.equal(bench.logs()[0], 'info: a message has at most 131072 bytes');
    assert.equal(bench.logs()[1]?.length, 'info: '.length + 16_384);
    assert.deepEqual(await bench.command('large'), [
      {
        state: 'completed',
        payload: { message: 'The payload of 200011 bytes was too large and was left out.' },
      },
    ]);
  });

  test('a device script logs with severity and persistence, and prints', async () => {
    const bench = scriptBench(
      "enapter.log('a', 'error', true) enapter.log(5, 'shout') enapter.log({}, nil, false) print('x', 1)",
    );
    await bench.started();
    const [first, second, third, fourth] = bench.logs();
    assert.deepEqual([first, second, fourth], ['error!: a', 'info: 5', 'debug: x\t1']);
    assert.match(third ?? '', /^info: table: /);
  });

  test('a device script knows its generation and runs enapter.main once after its chunk', async () => {
    const bench = scriptBench(
      "enapter.log('chunk ' .. runtime_version) function enapter.main() enapter.log('main') end",
    );
    await bench.started();
    assert.deepEqual(bench.logs(), ['info: chunk v3', 'info: main']);
  });

  test('a device script goes on after a failing scheduled function, and logs the same failure once', async () => {
    const bench = scriptBench('scheduler.add(50, function() local t = nil; return t.x end)');
    await bench.started();
    await until(() => bench.logs().length > 0);
    await clock.sleep(200);
    assert.equal(bench.logs().length, 1);
    assert.match(
      bench.logs()[0] ?? '',
      /error: main\.lua:1: attempt to index a nil value.*\nstack traceback:/,
    );
    assert.equal(failureOf(bench.posted), 'none');
  });

  test('a device script has 30 s for each scheduled function in the older generation, however long it waited for the one before', async () => {
    const source = `
      scheduler.add(1000, function() system.delay(25000) enapter.log('first') end)
      scheduler.add(2000, function() system.delay(20000) enapter.log('second') end)`;
    const said: [api: 'v1' | 'v3', logs: RegExp[]][] = [
      ['v1', [/^info: first$/, /^info: second$/]],
      ['v3', [/^error: execution time exceeded/]],
    ];
    for (const [api, logs] of said) {
      const time = new TestClock();
      const bench = scriptBench(source, { facts: { api }, clock: time });
      await bench.started();
      for (let second = 0; second < 47; second++) {
        await time.advance(1_000);
        await settle();
      }
      await until(() => bench.logs().length >= logs.length);
      assert.equal(bench.logs().length, logs.length, bench.logs().join());
      for (const [index, log] of logs.entries()) assert.match(bench.logs()[index] ?? '', log);
      bench.device.close();
    }
  });

  test('a device script is notified when the link to the gateway changes', async () => {
    const bench = scriptBench(
      'enapter.on_connection_status_changed(function(c) enapter.log(tostring(c) .. tostring(enapter.get_connection_status())) end)',
    );
    await bench.started();
    bench.surroundings.isConnected = false;
    bench.device.connectionChanged(false);
    await until(() => bench.logs().length > 0);
    assert.deepEqual(bench.logs(), ['info: falsefalse']);
  });

  test('a device script can register only a function for changes of the link', async () => {
    const bench = scriptBench(
      'enapter.log(select(2, pcall(enapter.on_connection_status_changed, 5))) enapter.on_connection_status_changed(nil)',
    );
    await bench.started();
    await until(() => bench.logs().length > 0);
    assert.deepEqual(bench.logs(), [
      "info: bad argument #1 to 'on_connection_status_changed' (function expected, got number)",
    ]);
  });
});

describe('the configuration of a device script', () => {
  const facts = { configuration: { connection: ['address'], other: [] } };

  test('the configuration of a device script is unknown where it is not declared, and incomplete where a value is missing', async () => {
    const bench = scriptBench(
      `local values, err = configuration.read('nothing')
      enapter.log(tostring(values) .. ' ' .. err)
      enapter.log(tostring(configuration.is_all_required_set('nothing')))
      enapter.log(tostring(configuration.is_all_required_set('connection')))
      enapter.log(tostring(configuration.is_all_required_set('other')))`,
      { facts, groups: { connection: { unit: 1 }, other: {} } },
    );
    await bench.started();
    assert.deepEqual(bench.logs(), [
      'info: nil unknown configuration group: nothing',
      'info: false',
      'info: false',
      'info: true',
    ]);
  });

  test('the configuration of a device script is read as the gateway gives it, and its callbacks get what was written', async () => {
    const bench = scriptBench(
      `enapter.log(configuration.read('connection').address)
      configuration.after_write('undeclared', function() end)
      configuration.after_write('connection', function(values)
        enapter.log(values.address .. ' ' .. configuration.read('connection').address)
      end)`,
      { facts, groups: { connection: { address: 'tcp://a' } } },
    );
    await bench.started();
    bench.configure({ connection: { address: 'tcp://b' } }, ['connection']);
    await until(() => bench.logs().length === 2);
    assert.deepEqual(bench.logs(), ['info: tcp://a', 'info: tcp://b tcp://b']);
  });

  test('the configuration of a device script can be refused before it is written', async () => {
    const bench = scriptBench(
      "configuration.before_write('connection', function(v) if v.unit > 10 then return 'too large' end end)",
      { facts },
    );
    await bench.started();
    const type = 'configuration_verdict';
    const tooLarge = await bench.ask(check('1', 'connection', { unit: 11 }));
    assert.deepEqual(tooLarge, { type, id: '1', refusal: 'too large' });
    assert.deepEqual(await bench.ask(check('2', 'connection', { unit: 1 })), { type, id: '2' });
    assert.deepEqual(await bench.ask(check('3', 'other', {})), { type, id: '3' });
    assert.match(refusalIn(await bench.ask(check('4', 'connection', {}))) ?? '', /attempt to compare/);
  });

  test('the configuration of a device script can be refused with a text of any length, of which the gateway gets as much as it takes', async () => {
    const bench = scriptBench(
      "configuration.before_write('connection', function(v) return ('no '):rep(9000) end)",
      { facts },
    );
    await bench.started();
    const verdict = await bench.ask(check('1', 'connection', { unit: 1 }));
    assert.equal(refusalIn(verdict), 'no '.repeat(9_000).slice(0, LIMITS.module.reasonBytes));
  });

  test('the configuration of a device script is stored by the script itself when it wants, once, and refused when that fails', async () => {
    const bench = scriptBench(
      `configuration.on_write('connection', function(v)
        if v.unit > 10 then return 'no room' end
        enapter.log('stores ' .. v.unit)
      end)
      configuration.after_write('connection', function(v) enapter.log('after ' .. v.unit) end)`,
      { facts },
    );
    await bench.started();
    assert.equal(refusalIn(await bench.ask(check('1', 'connection', { unit: 11 }))), 'no room');
    assert.equal(refusalIn(await bench.ask(check('2', 'connection', { unit: 5 }))), undefined);
    bench.configure({ connection: { unit: 5 } }, ['connection']);
    await until(() => bench.logs().includes('info: after 5'));
    // Nobody asked before this one was written: the gateway did not reach the module.
    bench.configure({ connection: { unit: 6 } }, ['connection']);
    await until(() => bench.logs().includes('info: after 6'));
    bench.configure({ connection: { unit: 12 } }, ['connection']);
    await until(() => bench.logs().includes('info: after 12'));
    assert.deepEqual(bench.logs(), [
      'info: stores 5',
      'info: after 5',
      'info: stores 6',
      'info: after 6',
      'error!: group connection is not stored in the device: no room',
      'info: after 12',
    ]);
  });

  test('the configuration of a device script is read from the device where the script offers that, and a failure is no value', async () => {
    const bench = scriptBench(
      `local mode = 'fine'
      configuration.on_read('connection', function()
        if mode == 'fine' then mode = 'bad' return { unit = 7 } end
        if mode == 'bad' then mode = 'raise' return nil, 'no answer' end
        error('broken')
      end)`,
      { facts },
    );
    await bench.started();
    assert.deepEqual(bench.posted[0], { kind: 'reads', groups: ['connection'] });
    const read = (id: string, group: string): Promise<QuestionAnswer> =>
      bench.ask({ type: 'configuration_read', id, channel_id: 'c1', group });
    const type = 'configuration_values';
    assert.deepEqual(await read('1', 'connection'), { type, id: '1', values: { unit: 7 } });
    assert.deepEqual(await read('2', 'connection'), { type, id: '2' });
    assert.deepEqual(await read('3', 'connection'), { type, id: '3' });
    assert.deepEqual(await read('4', 'other'), { type, id: '4' });
    const [first, second] = bench.logs();
    assert.equal(first, 'error: group connection cannot be read from the device: no answer');
    assert.match(second ?? '', /broken/);
  });
});
