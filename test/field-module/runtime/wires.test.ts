/** Libraries that reach the wires: serial ports, storage, peers, and those that a module of software lacks. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { CallResult, ThreadCall } from '../../../src/field-module/thread-messages.ts';
import { closeBenches, saidBy, scriptBench } from './script-bench.ts';

after(closeBenches);

const timeout: CallResult = { kind: 'fault', fault: { text: 'timeout', number: 1 } };
const PORTS = { ports: { rs485: '/dev/ttyUSB0' } };
const OLD = { facts: { api: 'v1' as const } };

describe('serial ports', () => {
  test('serial ports are refused where there are none, and fail as the line does', async () => {
    const [said] = await saidBy(
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

  test('serial ports carry any bytes; a transaction holds the port and lets go of it, whatever happens inside', async () => {
    const done: string[] = [];
    const [said] = await saidBy(
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

  test('serial ports are told how long a command still waits for what it asks, and nothing of an entry, which may wait', async () => {
    const bench = scriptBench(
      `local port = serial.new('port://rs485')
      port:write('entry')
      enapter.register_command_handler('say', function() port:write('command') end)`,
      { ...PORTS, answer: () => ({ kind: 'done' }) },
    );
    await bench.started();
    await bench.command('say');
    const [entry, command] = bench.calls.map(({ remainingMs }) => remainingMs);
    assert.equal(entry, undefined);
    assert.ok(command !== undefined && command > 0 && command <= LIMITS.lua.callMs, String(command));
  });

  test('serial ports are told which call of the script has a transaction', async () => {
    const bench = scriptBench(
      `local port = serial.new('port://rs485')
      port:transaction(function() coroutine.wrap(function() port:write('own') end)() end)
      enapter.register_command_handler('say', function() port:write('other') end)`,
      { ...PORTS, answer: () => ({ kind: 'done' }) },
    );
    await bench.started();
    await bench.command('say');
    const tasks = bench.calls.map((call) => call.kind === 'serial' && call.task);
    const [own, ...more] = tasks;
    assert.deepEqual(more.slice(0, 2), [own, own]);
    assert.equal(more.length, 3);
    assert.notEqual(more[2], own);
  });

  test('serial ports send, receive and give codes in the older generation', async () => {
    const [said] = await saidBy("say(rs485.send('ab')) say(rs485.receive('50')) say(rs232.send('x'))", {
      ...OLD,
      ...PORTS,
      answer: (call: ThreadCall) => {
        if (call.kind !== 'serial') return timeout;
        if (call.port === 'rs232') return { kind: 'fault', fault: { text: 'not available', number: 5 } };
        return call.operation.do === 'receive' && call.operation.timeoutMs === 50
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

  test('storage refuses keys and values beyond their limits without asking the gateway', async () => {
    const [said, { calls }] = await saidBy(
      `say(storage.write(('k'):rep(65), 'v'))
      say(storage.read(''))
      say(storage.write('k', ('v'):rep(65537)))
      raised(storage.write, {}, 'v')
      raised(storage.write, 'k')
      raised(storage.write, 'k', {})
      raised(storage.write, 'k', false)`,
    );
    const [older] = await saidBy("say(storage.write('k')) say(storage.write('k', true))", OLD);
    assert.deepEqual(older, ['3', '3']);
    assert.deepEqual(said, [
      'a key has 1 to 64 bytes',
      'nil a key has 1 to 64 bytes',
      'a value has at most 65536 bytes',
      "bad argument #1 to 'write' (string expected, got table)",
      "bad argument #2 to 'write' (string expected, got nil)",
      "bad argument #2 to 'write' (string expected, got table); write json.encode(value), and read with json.decode",
      `bad argument #2 to 'write' (string expected, got boolean); write tostring(value), and compare what is read with "true"`,
    ]);
    assert.deepEqual(calls, []);
  });

  test('storage reports why the gateway refused, in the way of each generation', async () => {
    const source = "say(storage.write('k', 5)) say(storage.read('k'))";
    const [newer] = await saidBy(source, { answer: () => full });
    const [older] = await saidBy(`${source} say(storage.err_to_str(7))`, { ...OLD, answer: () => full });
    assert.deepEqual(newer, ['the storage is full', 'nil the storage is full']);
    assert.deepEqual(older, ['7', 'nil 7', 'InternalError']);
  });

  test('storage keeps exact bytes; a missing key is NotFound, and no error in the older generation', async () => {
    const kept = new Map<string, Uint8Array>();
    const answer = (call: ThreadCall): CallResult => {
      if (call.kind !== 'request') return nothing;
      const { request } = call;
      if (request.type === 'storage_write') kept.set(request.key, request.value);
      const value = request.type === 'storage_read' ? kept.get(request.key) : undefined;
      return {
        kind: 'answer',
        answer: { type: 'answer', id: 'q', ...(value ? { value: Buffer.from(value) } : {}) },
      };
    };
    const keys = `storage.write('\\255', 'one') storage.write('\\254', 'two') storage.write('\\239\\191\\189', 'three')
      say(storage.read('\\255'), storage.read('\\254'), storage.read('\\239\\191\\189'))`;
    assert.deepEqual((await saidBy(keys, { answer }))[0], ['one two three nil']);
    const source = `say(storage.write('k', '\\0\\255')) local v = storage.read('k') say(#v, v:byte(2)) say(storage.read('x'))
      say(storage.write('n', 12.5)) say(storage.read('n')) say(storage.remove('k'))`;
    const [newer] = await saidBy(source, { answer });
    const [older] = await saidBy(source, { ...OLD, answer });
    assert.deepEqual(newer, ['nil', '2 255', 'nil NotFound', 'nil', '12.5 nil', 'nil']);
    assert.deepEqual(older, ['0', '2 255', 'nil 0', '0', '12.5 0', '0']);
  });
});

describe('hardware that a module of software lacks', () => {
  test('hardware that a software module lacks is refused in the way of the newer generation', async () => {
    const [said] = await saidBy(
      `for _, name in ipairs({ 'can', 'relay', 'digitalin', 'digitalout', 'analogin', 'analogout' }) do
        say(_G[name].new('port://x'))
      end
      say(can.DROP_OLDEST ~= can.DROP_NEWEST, digitalin.HIGH ~= digitalin.LOW, require('relay') == relay, led.on())`,
    );
    assert.equal(said[0], 'nil hardware port "x" is not available on this module');
    assert.equal(said[5], 'nil analogout is not supported by this module');
    assert.equal(said[6], 'true true true led is not supported by this module');
  });

  test('hardware that a software module lacks is refused in the way of the older generation', async () => {
    const [said] = await saidBy(
      `say(can.init(500, print), can.send(1, 'x'), rl6.open(1)) say(rl6.get(1)) say(di7.is_closed(1))
      say(di7.read_counter(1)) say(ai4.read_volts(1)) say(rl.impulse(5)) say(dio.HIGH, dio.LOW) say(can.err_to_str(5))`,
      OLD,
    );
    assert.deepEqual(said, ['5 5 5', 'nil 5', 'nil 5', 'nil nil 5', 'nil 5', '5', '1 0', 'not supported']);
  });
});

describe('commands of other devices', () => {
  test('commands of other devices give state and payload, or the reason of the failure', async () => {
    const asked: unknown[] = [];
    const [said] = await saidBy(
      `local peer = ucm.new('H2', 'rl6')
      say(peer:execute_command('close', { ch = 1 }, { timeout = 200 }))
      say(ucm.new('slug'):execute_command('open'))
      say(ucm.new('text'):execute_command('open', {}, { timeout = '300' }))
      raised(ucm.new, 5)`,
      {
        answer: (call: ThreadCall) => {
          if (call.kind !== 'request' || call.request.type !== 'command') return timeout;
          asked.push([call.request.target, call.request.target_channel_id, call.request.timeout_ms]);
          return call.request.target === 'H2'
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
      'nil nil timeout',
      "bad argument #1 to 'new' (string expected)",
    ]);
    assert.deepEqual(asked, [
      ['H2', 'rl6', 200],
      ['slug', undefined, 1_000],
      ['text', undefined, 300],
    ]);
  });

  test('commands of other devices fail at once under names that no device, command or channel has', async () => {
    const [said, { calls }] = await saidBy(
      `say(ucm.new(''):execute_command('open'))
      say(ucm.new('H2'):execute_command(''))
      say(ucm.new('H2'):execute_command(('x'):rep(256)))
      say(ucm.new('H2', 'a/b'):execute_command('open'))`,
      { answer: () => timeout },
    );
    const names = 'nil nil a device and a command are named with 1 to 255 characters';
    assert.deepEqual(said, [
      names,
      names,
      names,
      'nil nil a channel is named with 1 to 64 letters, digits, - and _',
    ]);
    assert.deepEqual(calls, []);
  });
});
