/** The gateway's own module while its process rests, and when it starts and ends; the test plays the process. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { BuiltInModule } from '../../../src/capabilities/modules/index.ts';
import type { Exit, ProgramState } from '../../../src/platform/processes/index.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { startConnectivity } from '../connectivity/support.ts';

const EXIT: Exit = { reason: 'stopped', wasAsked: true, ranMs: 1, errorOutput: '' };

function startBuiltIn(t: TestContext) {
  const setup = startConnectivity(t);
  const { clock, devices, connectivity, provisioning } = setup;
  const hellos: unknown[] = [];
  connectivity.handle('module', ({ body }) => void hellos.push({ ...body }));
  let state: ProgramState = 'stopped';
  let isReleased = false;
  let ended = 0;
  let onEnded: (exit: Exit) => void = () => undefined;
  const module = new BuiltInModule({
    clock,
    devices,
    connectivity,
    module: () => provisioning.own.module,
    offers: () => ['modbus', 'http', 'port:rs485'],
    onEnded: () => void ended++,
    program: (on) => {
      ({ onEnded } = on);
      return {
        start: () => {
          isReleased = false;
          state = 'running';
        },
        release: () => void (isReleased = true),
        stop: async () => undefined,
        get state() {
          return state;
        },
      };
    },
  });
  module.start();
  t.after(() => module.stop());
  return {
    ...setup,
    module,
    hellos,
    own: () => provisioning.own.module,
    process: () => ({ state, isReleased, ended }),
    /** The process ends: after its idle time, or by a fault. */
    end: (exit: Partial<Exit>) => {
      state = exit.wasAsked === false ? 'waiting' : 'stopped';
      onEnded({ ...EXIT, ...exit });
    },
    kinds: () => setup.messages.map(({ kind }) => kind),
  };
}

describe('the built-in module without a device', () => {
  test('the built-in module without a device is ONLINE without a process, says hello with its ports, its properties, and soon its telemetry', async (t) => {
    const { devices, own, process, hellos, clock, kinds, messages } = startBuiltIn(t);
    assert.equal(process().state, 'stopped');
    assert.equal(devices.connectivity(own().id), 'ONLINE');
    assert.deepEqual(hellos, [
      { type: 'hello', version: 1, run: 'resting', offers: ['modbus', 'http', 'port:rs485'] },
    ]);
    assert.deepEqual(kinds(), ['properties']);
    await clock.advance(1_000);
    assert.equal(kinds()[1], 'telemetry');
    assert.equal(messages[1]?.device.id, own().id);
    assert.deepEqual(Object.keys(messages[1]?.body ?? {}), [
      'timestamp',
      'alerts',
      'status',
      'scripts_running',
      'scripts_failed',
      'ports_failed',
    ]);
    await clock.advance(29_000);
    assert.equal(kinds().filter((kind) => kind === 'properties').length, 2);
    const told = messages.filter(({ kind }) => kind === 'telemetry').map(({ body }) => Object.keys(body));
    assert.ok(told.length >= 30, 'it is heard each second');
    // Values cost a sync of the card, and nothing changes.
    assert.equal(told.filter((names) => names.length > 1).length, 4);
  });

  test('the built-in module without a process answers commands: no scripts are restarted', async (t) => {
    const { connectivity, own, clock, messages } = startBuiltIn(t);
    assert.equal(connectivity.canReceiveCommands(own()), true);
    for (const [id, name] of [
      ['1', 'reboot'],
      ['2', 'fly'],
    ] as const)
      assert.equal(await connectivity.sendCommandRequest(own(), { id, name, arguments: {} }), 1);
    await clock.advance(0);
    const answers = messages.filter(({ kind }) => kind === 'command_responses');
    assert.deepEqual(
      answers.map(({ body }) => [body['id'], body['state']]),
      [
        ['1', 'completed'],
        ['2', 'error'],
      ],
    );
  });

  test('the built-in module sends nothing after it is stopped', async (t) => {
    const { module, clock, kinds } = startBuiltIn(t);
    module.stop();
    await clock.advance(60_000);
    assert.deepEqual(kinds(), ['properties']);
  });
});

describe('the process of the built-in module', () => {
  test('the process starts with the first device and speaks for itself; the module stays ONLINE', async (t) => {
    const { addLua, process, devices, own, openSession, clock, kinds } = startBuiltIn(t);
    await addLua();
    assert.equal(process().state, 'running');
    await clock.advance(LIMITS.connectivity.graceMs - 1);
    openSession(own());
    await clock.advance(LIMITS.connectivity.graceMs);
    assert.equal(devices.connectivity(own().id), 'ONLINE');
    assert.deepEqual(kinds(), ['properties']);
  });

  test('a process that does not start makes the module OFFLINE, as one that died', async (t) => {
    const { addLua, devices, own, clock, end, process } = startBuiltIn(t);
    await addLua();
    end({ wasAsked: false });
    assert.equal(process().ended, 1);
    await clock.advance(LIMITS.connectivity.graceMs);
    assert.equal(devices.connectivity(own().id), 'OFFLINE');
  });

  test('the process of the built-in module is let go with the last device, and the gateway speaks again once it has ended', async (t) => {
    const { addLua, devices, own, process, openSession, closeSession, clock, end, kinds } = startBuiltIn(t);
    const [first, second] = [await addLua(), await addLua()];
    const session = openSession(own());
    devices.remove(first);
    assert.equal(process().isReleased, false);
    devices.remove(second);
    assert.equal(process().isReleased, true);
    const before = kinds().length;
    await clock.advance(5_000);
    assert.equal(kinds().length, before);
    closeSession(session);
    end({});
    assert.equal(process().ended, 0);
    await clock.advance(LIMITS.connectivity.graceMs);
    assert.equal(devices.connectivity(own().id), 'ONLINE');
    assert.ok(kinds().length > before);
  });

  test('the process starts for a scan and stops after the last one', (t) => {
    const { module, process } = startBuiltIn(t);
    const [first, second] = [module.borrow(), module.borrow()];
    assert.equal(process().state, 'running');
    first();
    first();
    assert.equal(process().isReleased, false);
    second();
    assert.equal(process().isReleased, true);
  });

  test('the process keeps running when there is a device again before it has ended, or just when it has', async (t) => {
    const { addLua, devices, process, end } = startBuiltIn(t);
    devices.remove(await addLua());
    assert.equal(process().isReleased, true);
    const device = await addLua();
    assert.equal(process().isReleased, false);
    devices.remove(device);
    end({});
    await addLua();
    assert.equal(process().state, 'running');
  });

  test('the process starts with the gateway when there is a device from before', async (t) => {
    const { module, addLua, process, devices, connectivity, clock, provisioning } = startBuiltIn(t);
    module.stop();
    await addLua();
    assert.equal(process().state, 'stopped');
    let starts = 0;
    const again = new BuiltInModule({
      clock,
      devices,
      connectivity,
      module: () => provisioning.own.module,
      offers: () => [],
      onEnded: () => undefined,
      program: () => ({
        start: () => void starts++,
        release: () => undefined,
        stop: async () => undefined,
        state: 'stopped',
      }),
    });
    t.after(() => again.stop());
    again.start();
    assert.equal(starts, 1);
  });
});
