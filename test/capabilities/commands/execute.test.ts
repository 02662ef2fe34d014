/** Sending a command: what is refused and leaves no trace, what is on disk before what. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CompiledCommand } from '../../../src/capabilities/blueprints/index.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { settle } from '../../support/test-clock.ts';
import { ORIGIN, startBench, type RunOptions } from './support.ts';

const SET_LIMIT: Partial<CompiledCommand> = {
  aliases: ['energy.limit'],
  arguments: {
    value: { display_name: 'Value', type: 'float', required: true, min: 0, max: 10 },
    mode: { display_name: 'Mode', type: 'string', default: 'slow' },
    pin: { display_name: 'PIN', type: 'string', sensitive: true },
  },
};
const COMMANDS = {
  ping: {},
  look: { access_level: 'readonly' as const },
  erase: { access_level: 'installer' as const },
  set_limit: SET_LIMIT,
};

async function refusal(promise: Promise<unknown>): Promise<{ kind: string; problems: unknown }> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    return { kind: error.kind, problems: error.problems };
  }
  return assert.fail('it was not refused');
}

describe('a command that is refused is neither recorded nor sent', () => {
  const rows: [title: string, name: string, options: RunOptions, kind: string, problems: unknown[]][] = [
    [
      'an argument is too large for a request',
      'set_limit',
      { arguments: { value: 1, mode: 'x'.repeat(65_536) } },
      'too_large',
      [{ code: 'payload_too_large', message: 'The arguments are too large.', details: { limit: 65_536 } }],
    ],
  ];
  for (const [title, name, options, kind, problems] of rows)
    test(title, async (t) => {
      const bench = await startBench(t);
      const device = bench.addDevice({ commands: COMMANDS });
      assert.deepEqual(await refusal(bench.run(device, name, options)), { kind, problems });
      assert.deepEqual(bench.sent, []);
      assert.equal(bench.commands.list({ ...EVERYTHING }, 'SYSTEM').totalCount, 0);
    });

  test('a check judges the same without sending or recording anything, and knows no offline device', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: COMMANDS });
    const check = (name: string, given: Record<string, unknown>) => () =>
      bench.commands.check(device, { name, arguments: given, ephemeral: false }, 'OWNER');
    assert.throws(check('sett_limit', {}), { code: 'command_not_found' });
    assert.throws(check('erase', {}), { code: 'insufficient_role' });
    assert.throws(check('set_limit', { value: 11 }), { code: 'invalid_command_arguments' });
    const accepted = check('energy.limit', { value: 10 })();
    assert.deepEqual(accepted, { name: 'set_limit', arguments: { value: 10, mode: 'slow' } });
    assert.deepEqual(bench.sent, []);
    assert.equal(bench.commands.list({ ...EVERYTHING }, 'SYSTEM').totalCount, 0);
  });

  test('a refusal names each wrong argument', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: COMMANDS });
    const wrong = { value: 11, mode: 7, extra: 1 };
    const { kind, problems } = await refusal(bench.run(device, 'set_limit', { arguments: wrong }));
    assert.equal(kind, 'unprocessable');
    const named = (problems as { code: string; details: { argument: string } }[]).map(
      ({ code, details }) => `${code} ${details.argument}`,
    );
    assert.deepEqual(named.sort(), [
      'invalid_command_arguments extra',
      'invalid_command_arguments mode',
      'invalid_command_arguments value',
    ]);
    assert.deepEqual(bench.sent, []);
  });

  test('a command is refused when nobody listens for it', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: COMMANDS });
    bench.setListening(device, 0);
    assert.deepEqual(await refusal(bench.run(device, 'ping')), {
      kind: 'unprocessable',
      problems: [{ code: 'device_offline', message: 'The device "Device 1" is offline.' }],
    });
    bench.devices.setConnectivity(device.id, 'ONLINE');
    assert.deepEqual(await refusal(bench.run(device, 'ping')), {
      kind: 'unprocessable',
      problems: [
        {
          code: 'device_offline',
          message: 'The device "Device 1" is connected but does not listen for commands.',
        },
      ],
    });
    assert.equal(bench.commands.list(EVERYTHING, 'SYSTEM').totalCount, 0);
  });

  test('a command is refused when the script of a Lua device does not run', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({
      commands: COMMANDS,
      type: 'LUA',
      communication: { type: 'UCM_LUA', upstreamId: 'runtime' },
    });
    bench.setListening(device, 0);
    assert.deepEqual(await refusal(bench.run(device, 'ping')), {
      kind: 'unprocessable',
      problems: [
        {
          code: 'device_offline',
          message: 'The device "Device 1" is offline: its script is not running.',
        },
      ],
    });
  });

  test('a command is refused when the last session ends between check and publication', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: COMMANDS });
    bench.publish = () => {
      assert.equal(bench.commands.list(EVERYTHING, 'SYSTEM').totalCount, 1, 'recorded before it is sent');
      return Promise.resolve(0);
    };
    const { problems } = await refusal(bench.run(device, 'ping'));
    assert.equal((problems as { code: string }[])[0]?.code, 'device_offline');
    assert.equal(bench.commands.list(EVERYTHING, 'SYSTEM').totalCount, 0);
    await bench.clock.advance(120_000);
    assert.equal(bench.commands.list(EVERYTHING, 'SYSTEM').totalCount, 0);
  });

  test('a command is refused when its caller left before its record was on disk', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: COMMANDS });
    const disk = Promise.withResolvers<void>();
    bench.durable = () => disk.promise;
    let isWanted = true;
    const request = { name: 'ping', arguments: {}, ephemeral: false, isWanted: () => isWanted };
    const running = refusal(bench.commands.execute(device, request, { role: 'OWNER', origin: ORIGIN }));
    isWanted = false;
    disk.resolve();
    const message = 'The execution was stored too late, so the command was not sent.';
    assert.deepEqual(await running, { kind: 'unavailable', problems: [{ code: 'unavailable', message }] });
    assert.deepEqual(bench.sent, []);
    assert.equal(bench.commands.list(EVERYTHING, 'SYSTEM').totalCount, 0);
  });

  test('a command is refused when the device has its full number of commands in progress', async (t) => {
    const bench = await startBench(t, { limits: { inFlightPerDevice: 2 } });
    const device = bench.addDevice({ commands: COMMANDS });
    const other = bench.addDevice({ commands: COMMANDS });
    const first = await bench.run(device, 'ping');
    await bench.run(device, 'ping');
    assert.deepEqual(await refusal(bench.run(device, 'ping')), {
      kind: 'rate_limited',
      problems: [
        {
          code: 'too_many_requests',
          message: 'The device has 2 commands in progress; wait for one to end.',
        },
      ],
    });
    await bench.run(other, 'ping');
    await bench.answer(device, first, 'completed');
    await bench.run(device, 'ping');
    assert.equal(bench.sent.length, 4);
  });

  test('a command is refused when the disk does not take its record', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: COMMANDS });
    bench.state.prepare('DROP TABLE execution_response').run();
    bench.state.prepare('DROP TABLE execution').run();
    assert.deepEqual(await refusal(bench.run(device, 'ping')), {
      kind: 'unavailable',
      problems: [
        {
          code: 'unavailable',
          message: 'The execution could not be stored, so the command was not sent.',
        },
      ],
    });
    assert.deepEqual(bench.sent, []);
  });
});

const EVERYTHING = {
  retention: 'ALL',
  descending: false,
  limit: 1_000,
  offset: 0,
} as const;

describe('a command that is sent', () => {
  test('a command that is sent is on disk as NEW before it is published, then IN_PROGRESS with a STARTED response', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: COMMANDS });
    const before: unknown[] = [];
    bench.publish = ({ id }) => {
      before.push(bench.stored({ id }));
      return Promise.resolve(1);
    };
    const running = await bench.run(device, 'ping');
    const created = {
      id: running.id,
      deviceId: device.id,
      ephemeral: false,
      createdAtMs: Date.UTC(2026, 2, 1, 8),
      request: { name: 'ping', manifestName: 'ping', arguments: {} },
      origin: ORIGIN,
      readRole: 'READONLY',
    };
    assert.deepEqual(before, [{ ...created, state: 'NEW' }]);
    await bench.clock.advance(100);
    const started = { state: 'STARTED', payload: {}, receivedAtMs: Date.UTC(2026, 2, 1, 8) };
    assert.deepEqual(bench.stored(running), { ...created, state: 'IN_PROGRESS', response: started });
    assert.deepEqual(bench.commands.log(running.id), [started]);
  });

  test('a command that is sent carries the manifest name, defaults, and the true value of a sensitive argument', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: COMMANDS });
    const running = await bench.run(device, 'energy.limit', { arguments: { value: 5, pin: '1234' } });
    assert.deepEqual(bench.sent, [
      {
        deviceId: device.id,
        id: running.id,
        name: 'set_limit',
        arguments: { value: 5, mode: 'slow', pin: '1234' },
      },
    ]);
    const stored = bench.stored(running);
    assert.deepEqual(stored?.request, {
      name: 'energy.limit',
      manifestName: 'set_limit',
      arguments: { value: 5, mode: 'slow', pin: '***' },
    });
    assert.ok(!JSON.stringify(running.current()).includes('1234'));
  });

  test('a command that is sent may be answered before its publication is reported', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: COMMANDS });
    const { promise, resolve } = Promise.withResolvers<number>();
    bench.publish = () => promise;
    const running = bench.run(device, 'ping');
    await settle();
    const [sent] = bench.sent;
    assert.ok(sent);
    await bench.answer(device, sent, 'completed', { result: 1 });
    resolve(1);
    await bench.clock.advance(100);
    const { ended, id } = await running;
    assert.equal((await ended).state, 'SUCCESS');
    assert.deepEqual(
      bench.commands.log(id).map(({ state }) => state),
      ['SUCCEEDED', 'STARTED'],
    );
  });

  test('a command that is sent ends as TIMEOUT when the publication is never reported', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: COMMANDS });
    bench.publish = () => new Promise(() => undefined);
    const running = bench.run(device, 'ping');
    await bench.clock.advance(60_100);
    assert.equal((await (await running).ended).state, 'TIMEOUT');
    assert.equal(bench.sent.length, 1, 'it is never sent again');
  });

  test('a command succeeds when its answer came while the gateway stood still and is read afterwards', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: COMMANDS });
    const [answered, silent] = [await bench.run(device, 'ping'), await bench.run(device, 'ping')];
    bench.clock.spend(90_000);
    await bench.clock.advance(0);
    await bench.answer(device, answered, 'completed', {});
    assert.equal((await answered.ended).state, 'SUCCESS');
    await bench.clock.advance(5_000);
    assert.equal((await silent.ended).state, 'TIMEOUT');
  });

  test('a command stays in progress while its device writes to its log, for five minutes without a response', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: COMMANDS });
    const other = bench.addDevice({ commands: COMMANDS });
    const running = await bench.run(device, 'ping');
    const silent = await bench.run(other, 'ping');
    for (let minute = 0; minute < 5; minute++) {
      await bench.clock.advance(50_000);
      assert.equal(bench.stored(running)?.state, 'IN_PROGRESS', `after ${minute} minutes`);
      await bench.deliver(device, 'logs', { message: 'still at it' });
    }
    assert.equal((await silent.ended).state, 'TIMEOUT');
    await bench.answer(device, running, 'log', { message: 'half' });
    for (let minute = 0; minute < 6; minute++) {
      await bench.clock.advance(50_000);
      await bench.deliver(device, 'logs', { message: 'still at it' });
    }
    assert.equal(bench.stored(running)?.state, 'IN_PROGRESS', 'a response begins the five minutes anew');
    await bench.clock.advance(50_000);
    await bench.deliver(device, 'logs', { message: 'still at it' });
    await bench.clock.advance(11_000);
    assert.equal((await running.ended).state, 'TIMEOUT');
  });

  test('a command that is sent is matched by id when several are in progress', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: COMMANDS });
    const first = await bench.run(device, 'ping');
    const second = await bench.run(device, 'ping');
    await bench.answer(device, second, 'completed', { n: 2 });
    await bench.answer(device, first, 'error', { message: 'no' });
    assert.equal((await first.ended).state, 'ERROR');
    assert.equal((await second.ended).state, 'SUCCESS');
  });

  test('a command that is sent ends as ERROR when its device is deleted', async (t) => {
    const bench = await startBench(t);
    const device = bench.addDevice({ commands: COMMANDS });
    const running = await bench.run(device, 'ping');
    bench.deleteDevice(device);
    await bench.clock.advance(100);
    const ended = await running.ended;
    assert.equal(ended.state, 'ERROR');
    assert.deepEqual(ended.response?.payload, { message: 'The device was deleted.' });
    assert.equal(bench.stored(running), undefined);
    assert.equal(bench.commits.failure, undefined);
  });
});
