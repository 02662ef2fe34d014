/** Device records (docs/interface/http.md#devices and docs/interface/http.md#values). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BUILT_IN_IDS } from '../../../src/capabilities/blueprints/index.ts';
import { startDevices } from './support.ts';

const UNKNOWN_ID = '11111111-1111-4111-8111-111111111111';

/** Fails with this code and these details. */
const refused = (code: string, details?: Record<string, unknown>) => (error: unknown) => {
  const [problem] = (error as { problems: { code: string; details?: Record<string, unknown> }[] }).problems;
  assert.equal(problem?.code, code);
  if (details) assert.deepEqual(problem?.details, details);
  return true;
};

describe('a device is refused', () => {
  test('a device is refused when its slug is taken, and nothing is stored', (t) => {
    const { devices, add, told, restart } = startDevices(t);
    add({ slug: 'pump' });
    assert.throws(() => add({ slug: 'pump' }), refused('already_exists', { field: 'slug', value: 'pump' }));
    assert.equal(devices.all().length, 1);
    assert.equal(restart().all().length, 1);
    assert.deepEqual(told, ['created pump']);
  });

  test('a device is refused when its address is taken', (t) => {
    const { add } = startDevices(t);
    const communication = { type: 'MQTT_V1_TLS', hardwareId: 'A', channelId: 'ucm' } as const;
    add({ communication });
    assert.throws(
      () => add({ communication }),
      refused('already_exists', { field: 'hardware_id', value: 'A' }),
    );
  });

  test('a device is refused when its blueprint is not there', (t) => {
    const { add } = startDevices(t);
    assert.throws(() => add({ blueprintId: UNKNOWN_ID }), refused('blueprint_not_found'));
  });

  test('a device is refused when the gateway has as many as it may', (t) => {
    const { add, devices } = startDevices(t, { devices: 2 });
    add();
    add();
    assert.throws(() => add(), refused('device_limit_reached', { limit: 2 }));
    assert.equal(devices.all().length, 2);
  });

  test('a device is refused when what is stored with it fails, and leaves nothing behind', (t) => {
    const { devices, told } = startDevices(t);
    const create = (): unknown =>
      devices.create(
        {
          name: 'Pump',
          type: 'STANDALONE',
          blueprintId: BUILT_IN_IDS.empty,
          communication: { type: 'MQTT_V1_PLAINTEXT', hardwareId: 'A', channelId: 'ucm' },
        },
        () => {
          throw new Error('no credentials');
        },
      );
    assert.throws(create, /no credentials/);
    assert.equal(devices.find('pump'), undefined);
    assert.equal(devices.atAddress('A', 'ucm'), undefined);
    assert.deepEqual(told, []);
  });
});

describe('a change of a device is refused', () => {
  test('a change of a device is refused when another device has the slug; its own is no conflict', (t) => {
    const { devices, add } = startDevices(t);
    const pump = add({ slug: 'pump' });
    add({ slug: 'fan' });
    assert.throws(
      () => devices.update(pump, { slug: 'fan' }),
      refused('already_exists', { field: 'slug', value: 'fan' }),
    );
    assert.equal(devices.update(pump, { slug: 'pump', name: 'Other' }).name, 'Other');
  });

  test('a change of a device is refused when the blueprint does not fit', async (t) => {
    const { devices, add, upload } = startDevices(t);
    const own = add({ type: 'GATEWAY', blueprintId: BUILT_IN_IDS.gateway });
    assert.throws(() => devices.assignBlueprint(own, BUILT_IN_IDS.empty), refused('invalid_blueprint'));
    const lua = add({ type: 'LUA', blueprintId: await upload('', 'return 1') });
    assert.throws(() => devices.assignBlueprint(lua, BUILT_IN_IDS.empty), refused('invalid_blueprint'));
    assert.throws(() => devices.assignBlueprint(lua, UNKNOWN_ID), refused('blueprint_not_found'));
  });

  test('a change of a device is refused when it deletes a part of the gateway or a device that carries others', (t) => {
    const { devices, add } = startDevices(t);
    const builtIn = add({
      type: 'VIRTUAL_UCM',
      communication: { type: 'MQTT_V1_LOCALHOST', hardwareId: 'V0', channelId: 'ucm' },
    });
    assert.throws(() => devices.remove(builtIn), refused('device_not_deletable'));
    const module = add({ type: 'VIRTUAL_UCM' });
    const carried = add({
      type: 'LUA',
      communication: { type: 'UCM_LUA', upstreamId: module.id, hardwareId: 'H2', channelId: 'c' },
    });
    assert.throws(
      () => devices.remove(module),
      refused('device_has_dependents', { device_ids: [carried.id] }),
    );
    devices.remove(carried);
    devices.remove(module);
    assert.equal(devices.all().length, 1);
  });
});

describe('a device', () => {
  test('a device is found by id, slug and address, and not by the slug it had', (t) => {
    const { devices, add } = startDevices(t);
    const device = add({ slug: 'pump' });
    assert.equal(devices.require(device.id).id, device.id);
    assert.equal(devices.require('pump').id, device.id);
    assert.equal(devices.atAddress('H1', 'ucm')?.id, device.id);
    assert.equal(devices.atAddress('H1', 'other'), undefined);
    devices.update(device, { slug: 'fan' });
    assert.equal(devices.find('pump'), undefined);
    assert.equal(devices.find('fan')?.id, device.id);
    assert.throws(() => devices.require('pump'), refused('device_not_found'));
  });

  const slugs: [string, string][] = [
    ['Battery', 'battery'],
    ['Battery', 'battery-2'],
    ['Battery', 'battery-3'],
    ['Küche — Süd!', 'kuche-sud'],
    ['漢字', 'device'],
    ['!!!', 'device-2'],
  ];
  test('a device has a slug made of its name, and a number when that is taken', (t) => {
    const { add } = startDevices(t);
    for (const [name, slug] of slugs) assert.equal(add({ name }).slug, slug);
  });

  test('a device is the same after a restart, and OFFLINE', (t) => {
    const { devices, add, restart } = startDevices(t);
    const device = add();
    devices.setConnectivity(device.id, 'ONLINE');
    const again = restart();
    assert.deepEqual(again.all(), devices.all());
    assert.equal(again.connectivity(device.id), 'OFFLINE');
  });

  test('a device has a later moment of change after name, slug and blueprint, and after nothing else', async (t) => {
    const { devices, add, clock, commits } = startDevices(t);
    const device = add();
    const changedAt = (): number => devices.require(device.id).updatedAtMs - device.updatedAtMs;
    await clock.advance(10);
    devices.update(device, { name: device.name, slug: device.slug });
    devices.setCommunicationType(device, 'MQTT_V1_TLS');
    const stored = devices.takeProperties({
      device,
      body: { model: 'X' },
      receivedAtMs: clock.wallMs(),
    });
    await commits.flush();
    await stored;
    devices.setConnectivity(device.id, 'ONLINE');
    assert.equal(changedAt(), 0);
    devices.update(devices.require(device.id), { name: 'Other' });
    assert.equal(changedAt(), 10);
    await clock.advance(10);
    devices.assignBlueprint(devices.require(device.id), BUILT_IN_IDS.empty);
    assert.equal(changedAt(), 20);
    await clock.advance(10);
    devices.assignBlueprint(devices.require(device.id), BUILT_IN_IDS.empty);
    assert.equal(changedAt(), 20);
  });

  test('a device reports each change once, after it is stored', (t) => {
    const { devices, add, told } = startDevices(t);
    const device = add({ slug: 'pump' });
    devices.update(device, { slug: 'fan' });
    devices.update(devices.require('fan'), {});
    devices.assignBlueprint(devices.require('fan'), BUILT_IN_IDS.empty);
    devices.setConnectivity(device.id, 'OFFLINE');
    devices.setConnectivity(device.id, 'ONLINE');
    devices.setConnectivity(device.id, 'ONLINE');
    devices.remove(devices.require('fan'));
    devices.setConnectivity(device.id, 'ONLINE');
    assert.deepEqual(told, [
      'created pump',
      'updated pump to fan',
      'updated fan to fan',
      'blueprint of fan',
      'fan ONLINE',
      'deleted fan',
    ]);
  });

  test('a deleted device frees its slug and its address', (t) => {
    const { devices, add } = startDevices(t);
    devices.remove(add({ slug: 'pump' }));
    const communication = { type: 'MQTT_V1_PLAINTEXT', hardwareId: 'H1', channelId: 'ucm' } as const;
    assert.equal(add({ slug: 'pump', communication }).slug, 'pump');
  });
});

describe('the list of devices', () => {
  test('the list of devices is by id, and filtered by all that is asked', async (t) => {
    const { devices, add, upload } = startDevices(t);
    const thermometer = await upload(
      'implements: [lib.sensor.temperature.ambient]\n' +
        'telemetry: {ambient_temperature: {type: float, display_name: T, unit: Cel}}\n',
    );
    const battery = add({ name: 'House Battery', slug: 'battery', blueprintId: thermometer });
    const inverter = add({ name: 'Inverter', slug: 'inverter' });
    const module = add({ name: 'Module', type: 'VIRTUAL_UCM', blueprintId: BUILT_IN_IDS.empty });
    const ids = (filter: Parameters<typeof devices.list>[0]): string[] =>
      devices.list(filter).map(({ slug }) => slug);
    assert.deepEqual(
      devices.list({}).map(({ id }) => id),
      [battery.id, inverter.id, module.id].sort(),
    );
    assert.deepEqual(ids({ nameContains: 'bATT' }), ['battery']);
    assert.deepEqual(ids({ types: ['VIRTUAL_UCM'] }), ['module']);
    assert.deepEqual(ids({ ids: [inverter.id, UNKNOWN_ID] }), ['inverter']);
    assert.deepEqual(ids({ alsoIds: [battery.id], types: ['VIRTUAL_UCM'] }), []);
    assert.deepEqual(ids({ profiles: ['lib.sensor.temperature.ambient'] }), ['battery']);
    assert.deepEqual(ids({ profiles: ['lib.sensor.temperature.ambient', 'energy.battery'] }), []);
  });
});

test('each assignment of a blueprint is counted on the disk; assigning the same one changes nothing else', (t) => {
  const { devices, add, told, restart } = startDevices(t);
  const made = add({ slug: 'pump' });
  const { blueprintId } = made;
  told.length = 0;
  devices.assignBlueprint(devices.require('pump'), blueprintId);
  const again = devices.assignBlueprint(devices.require('pump'), blueprintId);
  assert.deepEqual(again, { ...made, assignmentCount: 2 });
  devices.update(devices.require('pump'), { name: 'Other' });
  assert.equal(restart().require('pump').assignmentCount, 2);
});
