/** Watches: samples and changes of connectivity that scripts wait for. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CompiledManifest } from '../../../src/capabilities/blueprints/index.ts';
import type { RuleMethods } from '../../../src/protocol/rule-sandbox.ts';
import { settle } from '../../support/test-clock.ts';
import { startSandbox, started } from './sandbox-support.ts';
import { batteryManifest, newRule } from './support.ts';

describe('a watch', () => {
  test('a watch is refused for an unknown device or attribute', async (t) => {
    const site = await startSandbox(t);
    const device = site.addDevice({ slug: 'battery', manifest: batteryManifest() });
    site.program.hello();
    const rule = site.rules.create(newRule('a'));
    started(site, rule);
    const watch = async (id: number, parameters: object): Promise<unknown> => {
      site.program.say({
        type: 'request',
        id,
        ruleId: rule.id,
        run: 1,
        method: 'watch',
        parameters,
      } as never);
      await settle();
      const answer = site.program.of('answer').find((each) => each.id === id);
      return answer?.ok === false ? answer.error : answer?.result;
    };
    const telemetry = { watchId: 1, kind: 'telemetry' };
    assert.equal(await watch(1, { ...telemetry, deviceId: 'x', name: 'soc' }), 'device not found');
    const { id: deviceId } = device;
    for (const [id, name] of [
      [2, 'nothing'],
      [3, 'secret'],
    ] as const)
      assert.equal(
        await watch(id, { ...telemetry, deviceId, name }),
        `unknown telemetry attribute "${name}"`,
      );
    assert.equal(await watch(4, { watchId: 1, kind: 'connectivity', deviceId: 'x' }), 'device not found');
    assert.equal(await watch(5, { ...telemetry, deviceId, name: 'alerts' }), null);
  });

  test('a watch delivers new samples and changes of connectivity, until it or its run ends', async (t) => {
    const site = await startSandbox(t);
    const device = site.addDevice({ slug: 'battery', manifest: batteryManifest() });
    site.program.hello();
    const rule = site.rules.create(newRule('a'));
    started(site, rule);
    const callMethod = async (method: 'watch' | 'unwatch', parameters: object): Promise<void> => {
      site.program.say({ type: 'request', id: 1, ruleId: rule.id, run: 1, method, parameters } as never);
      await settle();
    };
    const { id: deviceId } = device;
    await callMethod('watch', { deviceId, watchId: 1, kind: 'telemetry', name: 'soc' });
    await callMethod('watch', { deviceId, watchId: 2, kind: 'connectivity' });
    const nowS = Math.floor(site.clock.wallMs() / 1_000);
    await site.measure(device, { soc: 1, status: 'ok' });
    await site.measure(device, { timestamp: nowS - 60, soc: 2 });
    const connectivity = (status: 'ONLINE' | 'OFFLINE'): void =>
      site.devices.events.emit('connectivity_changed', { device, status, atMs: 5_000 });
    connectivity('OFFLINE');
    connectivity('ONLINE');
    const told = () =>
      site.program.of('changed').map(({ watchId, value, timestampMs }) => [watchId, value, timestampMs]);
    assert.deepEqual(told(), [
      [1, 1, nowS * 1_000],
      [2, false, 5_000],
      [2, true, 5_000],
    ]);
    site.program.told.length = 0;
    await callMethod('unwatch', { watchId: 1 });
    await site.clock.advance(1_000);
    await site.measure(device, { soc: 3 });
    assert.deepEqual(told(), []);
    site.program.say({ type: 'run_ended', ruleId: rule.id, run: 1 });
    connectivity('OFFLINE');
    assert.deepEqual(told(), []);
  });

  test('a watch delivers only the newest sample to a sandbox that reads too slowly', async (t) => {
    const site = await startSandbox(t);
    const device = site.addDevice({ slug: 'battery', manifest: batteryManifest() });
    site.program.hello();
    const rule = site.rules.create(newRule('a'));
    started(site, rule);
    const place = { deviceId: device.id, watchId: 1 };
    const parameters = { ...place, kind: 'telemetry', name: 'battery_soc' } as const;
    site.program.say({ type: 'request', id: 1, ruleId: rule.id, run: 5, method: 'watch', parameters });
    await settle();
    site.program.room = 1;
    for (const soc of [1, 2, 3]) {
      await site.measure(device, { soc });
      await site.clock.advance(1_000);
    }
    const values = () => site.program.of('changed').map(({ run, watchId, value }) => [run, watchId, value]);
    assert.deepEqual(values(), [[5, 1, 1]]);
    await site.program.read(100);
    await settle();
    assert.deepEqual(values(), [
      [5, 1, 1],
      [5, 1, 3],
    ]);
  });

  test('a watch follows the attribute under another blueprint, and reports when it or the device is gone', async (t) => {
    const site = await startSandbox(t);
    const manifest = batteryManifest();
    const device = site.addDevice({ slug: 'battery', manifest });
    site.program.hello();
    const rule = site.rules.create(newRule('a'));
    started(site, rule);
    const watch = async (parameters: RuleMethods['watch']): Promise<void> => {
      site.program.say({ type: 'request', id: 1, ruleId: rule.id, run: 1, method: 'watch', parameters });
      await settle();
    };
    await watch({ deviceId: device.id, watchId: 1, kind: 'telemetry', name: 'battery_soc' });
    await watch({ deviceId: device.id, watchId: 2, kind: 'connectivity' });
    const { soc, ...others } = manifest.telemetry;
    assert.ok(soc);
    const withCharge = (charge: object): CompiledManifest => ({
      ...manifest,
      telemetry: { ...others, ...charge },
    });
    const values = () => site.program.of('changed').map(({ watchId, value }) => [watchId, value]);
    site.assignManifest(device, withCharge({ charge: soc }));
    await site.measure(device, { charge: 1 });
    site.assignManifest(device, withCharge({ charge: { ...soc, aliases: [] } }));
    await site.measure(device, { charge: 2 });
    site.assignManifest(device, manifest);
    await site.measure(device, { soc: 3 });
    assert.deepEqual(values(), [
      [1, 1],
      [1, 3],
    ]);
    site.deleteDevice(device);
    assert.deepEqual(site.messages(rule), [
      'on_update of "battery_soc" of device "battery" waits in vain: its blueprint has no such attribute now',
      'on_update of "battery_soc" of device "battery" goes on: its blueprint has the attribute',
      'on_update of "battery_soc" of device "battery" waits in vain: the device was deleted',
      'on_online_changed of device "battery" waits in vain: the device was deleted',
    ]);
    assert.equal(site.telemetry.events.has('telemetry_received'), false);
  });

  test('a watch ends with the sandbox', async (t) => {
    const site = await startSandbox(t);
    const device = site.addDevice({ slug: 'battery', manifest: batteryManifest() });
    site.program.hello();
    const rule = site.rules.create(newRule('a'));
    started(site, rule);
    const parameters = { deviceId: device.id, watchId: 1, kind: 'telemetry', name: 'soc' } as const;
    site.program.say({ type: 'request', id: 1, ruleId: rule.id, run: 1, method: 'watch', parameters });
    await settle();
    assert.equal(site.telemetry.events.has('telemetry_received'), true);
    site.program.die();
    assert.equal(site.telemetry.events.has('telemetry_received'), false);
    site.program.hello();
    await site.measure(device, { soc: 1 });
    assert.deepEqual(site.program.of('changed'), []);
  });
});
