/** `can`, contacts and channels as scripts of either generation have them, on programs that stand in for the system's. */
import assert from 'node:assert/strict';
import { after, describe, test, type TestContext } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { Calls } from '../../../src/field-module/calls.ts';
import { FieldBus, type IoPortMapping } from '../../../src/field-module/field/index.ts';
import { systemPrograms } from '../../../src/field-module/field/system-program.ts';
import { IoStandIn } from '../../support/io-stand-in.ts';
import { until } from '../../support/until.ts';
import { closeBenches, saidBy, scriptBench } from './script-bench.ts';
import { NO_BROKERS } from '../no-brokers.ts';

const clock = createSystemClock();
after(() => {
  closeBenches();
  clock.close();
});

const CHIP = '/dev/gpiochip0';
const PORTS: Record<string, IoPortMapping> = {
  can: { kind: 'can', path: 'can0' },
  ...Object.fromEntries(
    [1, 2, 3, 4, 5, 6].map((n) => [
      `rl-${n}`,
      { kind: 'digital_output', path: CHIP, line: n, isActiveLow: false } satisfies IoPortMapping,
    ]),
  ),
  'di-1': { kind: 'digital_input', path: CHIP, line: 17, isActiveLow: false, bias: undefined, debounceMs: 0 },
};
const RUN = 1;

function setUp(t: TestContext, api: 'v1' | 'v3') {
  const standIn = new IoStandIn(t);
  const bus = new FieldBus({ clock, ports: {}, ioPorts: PORTS, programs: systemPrograms(standIn.folder) });
  t.after(() => bus.close());
  const calls = new Calls({
    bus,
    channel: { request: () => Promise.resolve({ type: 'answer', id: 'q' }) },
    clock,
    limits: LIMITS.field,
    mqtt: NO_BROKERS,
  });
  const kinds = Object.fromEntries(Object.entries(PORTS).map(([name, { kind }]) => [name, kind]));
  const options: Parameters<typeof scriptBench>[1] = {
    facts: { api },
    ioPorts: kinds,
    answer: (call) => calls.carryOut(RUN, call),
  };
  return { standIn, calls, options };
}

const HEX =
  "local function hex(s) return s and (s:gsub('.', function(c) return ('%02x'):format(c:byte()) end)) end\n";

describe('a script of the newer generation', () => {
  test('a script of the newer generation is refused unknown ports, other kinds, and values out of bounds', async (t) => {
    const { options } = setUp(t, 'v3');
    const [said] = await saidBy(
      `say(can.new('port://none')) say(can.new('port://di-1')) say(relay.new('port://di-1')) say(digitalin.new('nonsense'))
      local bus = can.new('port://can')
      say(bus:queue({ 1 }, ${LIMITS.field.canFramesKept + 1}, can.DROP_OLDEST))
      say(bus:send(1, '123456789'))
      say(pcall(bus.send)) say(pcall(bus.monitor, bus, 5)) say(pcall(bus.monitor, bus, { 'x' }))
      say(pcall(bus.queue, bus, { 1 }, 0, can.DROP_OLDEST))`,
      options,
    );
    assert.deepEqual(said.slice(0, 6), [
      'nil hardware port "none" is not available on this module',
      'nil hardware port "di-1" is not available on this module',
      'nil hardware port "di-1" is not available on this module',
      'nil ports are called port://name',
      `nil a script keeps ${LIMITS.field.canFramesKept} frames at most, counted by the sizes of its queues`,
      'a frame has 8 bytes at most',
    ]);
    for (const [line, problem] of [
      [6, /use a colon/],
      [7, /table expected/],
      [8, /list of identifiers expected/],
      [9, /size must be positive/],
    ] as const)
      assert.match(said[line] ?? '', problem);
  });

  test('a script of the newer generation has the latest frame of each identifier in a monitor, and every one in a queue', async (t) => {
    const { standIn, options, calls } = setUp(t, 'v3');
    const bench = scriptBench(
      `${HEX}local bus = can.new('port://can')
      local monitor = bus:monitor({ 0x100, 0x18FF50E5, 0x200 })
      local last = bus:monitor({ 0x300 })
      local oldest = bus:queue({ 0x100 }, 2, can.DROP_OLDEST)
      local newest = bus:queue({ 0x100 }, 2, can.DROP_NEWEST)
      local function list(queue)
        local texts = {}
        for index, data in ipairs(queue:pop(0x100)) do texts[index] = hex(data) end
        return table.concat(texts, ' ')
      end
      enapter.register_command_handler('arrived', function() return { all = last:pop({ 0x300 })[1] ~= nil } end)
      enapter.register_command_handler('read', function()
        local values = monitor:pop({ 0x100, 0x200, 0x18FF50E5 })
        return { first = hex(values[1]), hole = values[2] == nil, third = hex(values[3]), oldest = list(oldest),
          newest = list(newest), dropped = oldest:drops_count(0x100), again = oldest:drops_count(0x100) }
      end)
      enapter.register_command_handler('send', function() return { err = bus:send(0x213, '\\0\\255') or 'none' } end)`,
      options,
    );
    await bench.started();
    for (const frame of ['100#00', '100#01', '18FF50E5#0203', '100#FF', '300#']) standIn.frame(frame);
    const payloadOf = async (command: string) => (await bench.command(command))[0]?.['payload'];
    await until(async () => ((await payloadOf('arrived')) as { all: boolean }).all);
    assert.deepEqual(await payloadOf('read'), {
      first: 'ff',
      hole: true,
      third: '0203',
      oldest: '01 ff',
      newest: '00 01',
      dropped: 1,
      again: 0,
    });
    assert.deepEqual(await payloadOf('send'), { err: 'none' });
    assert.deepEqual(standIn.sent, ['(0.000000) can0 213#00FF']);
    calls.release(RUN);
    assert.deepEqual((await bench.command('read'))[0]?.['state'], 'error', 'mailboxes end with the run');
  });

  test('a script of the newer generation switches relays and reads contacts', async (t) => {
    const { standIn, options } = setUp(t, 'v3');
    standIn.rest(17, 1);
    const [said] = await saidBy(
      `local relay1, input = relay.new('port://rl-1'), digitalin.new('port://di-1')
      say(relay1:close()) say(relay1:is_closed()) say(relay1:open()) say(relay1:is_closed()) say(relay1:impulse(5000))
      say(relay1:is_closed()) say(input:get_state() == digitalin.HIGH) say(input:read_counter()) say(input:reset_counter())
      local out = digitalout.new('port://rl-2')
      say(out:set_state(digitalout.HIGH)) say(out:get_state() == digitalout.HIGH)`,
      options,
    );
    assert.deepEqual(said, [
      'nil',
      'true nil',
      'nil',
      'false nil',
      'nil',
      'true nil',
      'true',
      '0',
      'nil',
      'nil',
      'true',
    ]);
    assert.equal(standIn.level(2), '1');
  });
});

describe('a script of the older generation', () => {
  test('a script of the older generation gets each frame in its handler, the next one even when it raises', async (t) => {
    const { standIn, options } = setUp(t, 'v1');
    const [said, bench] = await saidBy(
      `${HEX}say(can.init(500, 'no function'))
      say(can.init(500, function(id, data)
        if id == 2 then error('not this one') end
        say(id, hex(data))
      end))
      say(can.send(0x10, 'ab'))
      say(can.send(0x20000000, 'ab'))`,
      options,
    );
    assert.deepEqual(said, ['3', '0', '0', '3']);
    for (const frame of ['001#0A', '002#', '18FF50E5#0B']) standIn.frame(frame);
    await until(() => bench.logs().some((line) => line.includes('0b')));
    const [first, second = '', third] = bench.logs().slice(4);
    assert.deepEqual([first, third], ['info: 1 0a', 'info: 419385573 0b']);
    assert.match(second, /^error: .*not this one/);
  });

  test('a script of the older generation switches six relays, reads inputs, and gets numbers for what is missing', async (t) => {
    const { standIn, options } = setUp(t, 'v1');
    const [said] = await saidBy(
      `say(rl6.close(1)) say(rl6.get(1)) say(rl6.get(2)) say(rl6.set_all(false, true, false, false, false, true))
      say(rl6.get(1)) say(rl6.get(6)) say(rl6.open_all()) say(rl6.get(6)) say(rl6.impulse(3, 5000)) say(rl6.get(3.0))
      say(di7.is_closed(1)) say(di7.is_opened(1)) say(di7.set_counter(1, 7)) say(di7.read_counter(1))
      say(rl.impulse(5000)) say(rl.is_closed()) say(dio.input(1) == dio.LOW) say(dio.output('rl-2', dio.HIGH))
      say(rl6.get(7)) say(di7.is_closed(2)) say(ai4.read_volts(1)) say(di7.set_debounce('0')) say(di7.set_debounce(5)) say(dio.input('di-9'))`,
      options,
    );
    assert.deepEqual(said, [
      '0',
      'true 0',
      'false 0',
      '0',
      'false 0',
      'true 0',
      '0',
      'false 0',
      '0',
      'true 0',
      'false 0',
      'true 0',
      '0',
      '7 0 0',
      'nil',
      'true',
      'true',
      'nil',
      'nil 5',
      'nil 5',
      'nil 5',
      '0',
      '5',
      'nil hardware port "di-9" is not available on this module',
    ]);
    assert.equal(standIn.level(2), '1');
  });
});
