/** ONLINE and OFFLINE (docs/interface/mqtt-devices.md#connectivity). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { startConnectivity } from './support.ts';

test('the grace period and the time of silence are those of the contract page', () => {
  assert.deepEqual(LIMITS.connectivity, { graceMs: 10_000, silenceMs: 60_000 });
});

describe('a device with a connection of its own', () => {
  test('a device with a connection of its own is OFFLINE from provisioning, and whatever is heard without a session', async (t) => {
    const setup = startConnectivity(t);
    const device = await setup.addStandalone();
    assert.equal(setup.devices.connectivity(device.id), 'OFFLINE');
    await setup.deliver(device, 'v1/telemetry', {});
    assert.equal(setup.devices.connectivity(device.id), 'OFFLINE');
  });

  test('a device with a connection of its own is ONLINE with its first session and OFFLINE 10 s after the last, and tells each change once', async (t) => {
    const setup = startConnectivity(t);
    const device = await setup.addStandalone('Battery');
    const sessions = [setup.openSession(device), setup.openSession(device)];
    setup.told.length = 0;
    for (const session of sessions) setup.closeSession(session);
    await setup.clock.advance(9_999);
    assert.equal(setup.devices.connectivity(device.id), 'ONLINE');
    await setup.clock.advance(1);
    assert.equal(setup.devices.connectivity(device.id), 'OFFLINE');
    assert.deepEqual(setup.told, ['battery OFFLINE']);
  });

  test('a device with a connection of its own stays ONLINE when it comes back within the grace period', async (t) => {
    const setup = startConnectivity(t);
    const device = await setup.addStandalone('Battery');
    setup.closeSession(setup.openSession(device));
    await setup.clock.advance(5_000);
    const session = setup.openSession(device);
    await setup.clock.advance(60_000);
    assert.equal(setup.devices.connectivity(device.id), 'ONLINE');
    setup.closeSession(session);
    await setup.clock.advance(10_000);
    assert.deepEqual(setup.told.slice(-2), ['battery ONLINE', 'battery OFFLINE']);
  });

  test('a device with a connection of its own stays ONLINE over a take-over, in whichever order the broker tells', async (t) => {
    const setup = startConnectivity(t);
    const device = await setup.addStandalone('Battery');
    const first = setup.openSession(device);
    const second = setup.openSession(device);
    setup.closeSession(first);
    await setup.clock.advance(60_000);
    setup.closeSession(second);
    const third = setup.openSession(device);
    await setup.clock.advance(60_000);
    assert.deepEqual(
      setup.told.filter((line) => line.startsWith('battery O')),
      ['battery ONLINE'],
    );
    setup.closeSession(third);
  });

  test('a device with a connection of its own has the same grace when the wall clock is set meanwhile', async (t) => {
    const setup = startConnectivity(t);
    const device = await setup.addStandalone();
    setup.closeSession(setup.openSession(device));
    setup.clock.step(86_400_000);
    await setup.clock.advance(9_999);
    assert.equal(setup.devices.connectivity(device.id), 'ONLINE');
    await setup.clock.advance(1);
    assert.equal(setup.devices.connectivity(device.id), 'OFFLINE');
  });

  test('a device with its own connection leaves no timer when the gateway stops', async (t) => {
    const setup = startConnectivity(t);
    const device = await setup.addStandalone();
    const waiting = setup.clock.waiting;
    setup.closeSession(setup.openSession(device));
    setup.connectivity.stop();
    assert.equal(setup.clock.waiting, waiting);
  });
});

describe('a device that a module carries', () => {
  test('a device that a module carries is OFFLINE until it is heard, and OFFLINE again after 60 s of silence', async (t) => {
    const setup = startConnectivity(t);
    const lua = await setup.addLua();
    const status = () => setup.devices.connectivity(lua.id);
    setup.openSession(setup.provisioning.own.module);
    assert.equal(status(), 'OFFLINE');
    await setup.deliver(lua, 'v1/telemetry', {});
    assert.equal(status(), 'ONLINE');
    await setup.clock.advance(59_000);
    await setup.deliver(lua, 'v1/register', {});
    await setup.clock.advance(59_999);
    assert.equal(status(), 'ONLINE');
    await setup.clock.advance(1);
    assert.equal(status(), 'OFFLINE');
    await setup.deliver(lua, 'v1/telemetry', {});
    assert.equal(status(), 'ONLINE');
  });

  test('a device that a module carries is not ONLINE by its logs, answers, or unreadable messages', async (t) => {
    const setup = startConnectivity(t);
    const lua = await setup.addLua();
    setup.openSession(setup.provisioning.own.module);
    await setup.deliver(lua, 'v3/logs', { message: 'failed' });
    await setup.deliver(lua, 'v1/command/responses', { id: 'x', state: 'completed' });
    await setup.deliver(lua, 'v1/telemetry', '{');
    assert.equal(setup.devices.connectivity(lua.id), 'OFFLINE');
  });

  test('a device that a module carries is OFFLINE with its module, and not ONLINE with it again before it is heard', async (t) => {
    const setup = startConnectivity(t);
    const { module } = setup.provisioning.own;
    const lua = await setup.addLua();
    const session = setup.openSession(module);
    await setup.deliver(lua, 'v1/telemetry', {});
    setup.closeSession(session);
    await setup.clock.advance(9_999);
    assert.equal(setup.devices.connectivity(lua.id), 'ONLINE');
    await setup.clock.advance(1);
    assert.equal(setup.devices.connectivity(lua.id), 'OFFLINE');
    setup.openSession(module);
    assert.equal(setup.devices.connectivity(module.id), 'ONLINE');
    assert.equal(setup.devices.connectivity(lua.id), 'OFFLINE');
    await setup.deliver(lua, 'v1/telemetry', {});
    assert.equal(setup.devices.connectivity(lua.id), 'ONLINE');
  });

  test('a device that a module carries does not follow another module', async (t) => {
    const setup = startConnectivity(t);
    const { device: other } = await setup.provisioning.module(
      { name: 'M', hardwareId: 'V0000000000000001', type: 'VIRTUAL_UCM' },
      'localhost',
    );
    const lua = await setup.addLua(other);
    const session = setup.openSession(setup.provisioning.own.module);
    await setup.deliver(lua, 'v1/telemetry', {});
    assert.equal(setup.devices.connectivity(lua.id), 'OFFLINE');
    setup.openSession(other);
    await setup.deliver(lua, 'v1/telemetry', {});
    setup.closeSession(session);
    await setup.clock.advance(20_000);
    assert.equal(setup.devices.connectivity(lua.id), 'ONLINE');
  });

  test('a device that a module carries leaves no timer when it is deleted', async (t) => {
    const setup = startConnectivity(t);
    const lua = await setup.addLua();
    setup.openSession(setup.provisioning.own.module);
    const waiting = setup.clock.waiting;
    await setup.deliver(lua, 'v1/telemetry', {});
    setup.devices.remove(lua);
    assert.equal(setup.clock.waiting, waiting);
  });
});

test('without a broker nobody can receive a command', async (t) => {
  const setup = startConnectivity(t);
  const device = await setup.addStandalone();
  assert.equal(setup.connectivity.canReceiveCommands(device), false);
  const request = { id: 'e', name: 'ping', arguments: {} };
  assert.equal(await setup.connectivity.sendCommandRequest(device, request), 0);
});

test('a kind of message has one handler', (t) => {
  const { connectivity } = startConnectivity(t);
  assert.throws(() => connectivity.handle('logs', () => undefined), /have a handler already/);
});
