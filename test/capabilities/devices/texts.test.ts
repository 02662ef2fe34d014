/** Devices as they stand in lists: texts that are kept, and never older than what they say. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Role } from '../../../src/lib/role.ts';
import { type Expansion, toWire } from '../../../src/capabilities/devices/schema.ts';
import { DeviceTexts } from '../../../src/capabilities/devices/texts.ts';
import { type DevicesSetup, startDevices } from './support.ts';

const SITE = { id: 'S', name: 'Home', timezone: 'Etc/UTC', archived: false, createdAtMs: 0 };
const ALL: Expansion[] = ['site', 'properties', 'connectivity', 'communication'];

describe('a kept text of a device', () => {
  let site = SITE;
  const changes: [title: string, change: (setup: DevicesSetup, id: string) => Promise<void> | void][] = [
    ['its name', ({ devices }, id) => void devices.update(devices.require(id), { name: 'Other' })],
    ['its slug', ({ devices }, id) => void devices.update(devices.require(id), { slug: 'other' })],
    ['its connectivity', ({ devices }, id) => devices.setConnectivity(id, 'ONLINE')],
    ['a property', (setup, id) => take(setup, id, { vendor: 'B' })],
    ['a property that goes', (setup, id) => take(setup, id, { vendor: null })],
    [
      'its way of communication',
      ({ devices }, id) => void devices.setCommunicationType(devices.require(id), 'MQTT_V1_TLS'),
    ],
    [
      'its blueprint',
      async ({ devices, upload }, id) =>
        void devices.assignBlueprint(devices.require(id), await upload('properties: {}')),
    ],
    ['the site', () => void (site = { ...SITE, name: 'Barn' })],
  ];
  for (const [title, change] of changes)
    test(`does not outlive a change of ${title}`, async (t) => {
      site = SITE;
      const setup = startDevices(t);
      const { devices } = setup;
      const texts = new DeviceTexts({ devices, site: { get: () => site } });
      const { id } = setup.add();
      await take(setup, id, { vendor: 'A' });
      const seen = (role: Role): string => texts.of(devices.require(id), role, ALL);
      const before = seen('OWNER');
      assert.equal(seen('OWNER'), before);
      setup.clock.spend(1);
      await change(setup, id);
      assert.notEqual(seen('OWNER'), before);
      const context = { devices, site: { get: () => site }, role: 'OWNER' as const };
      assert.equal(seen('OWNER'), JSON.stringify(toWire(devices.require(id), context, ALL)));
    });

  test('is of its role and of what was asked for', (t) => {
    const setup = startDevices(t);
    const texts = new DeviceTexts({ devices: setup.devices, site: { get: () => SITE } });
    const device = setup.add();
    for (const [role, expand] of [
      ['OWNER', ALL],
      ['READONLY', ALL],
      ['READONLY', []],
      ['OWNER', ['manifest', 'raised_alert_names']],
      ['OWNER', ALL],
    ] satisfies [Role, Expansion[]][]) {
      const wire = toWire(device, { devices: setup.devices, site: { get: () => SITE }, role }, expand);
      assert.equal(texts.of(device, role, expand), JSON.stringify(wire));
    }
  });
});

describe('a kept list', () => {
  test('is the same answer until something in it is different', (t) => {
    const setup = startDevices(t);
    const { devices } = setup;
    const texts = new DeviceTexts({ devices, site: { get: () => SITE } });
    const { id } = setup.add();
    const list = (total = 1) => texts.list([devices.require(id)], total, 'OWNER', ALL);
    const before = list();
    assert.equal(list(), before);
    assert.match(String(list(2).body), /"total_count":2}$/);
    assert.equal(list(), before);
    devices.setConnectivity(id, 'ONLINE');
    assert.match(String(list().body), /"status":"ONLINE"/);
    assert.equal(String(texts.list([], 0, 'OWNER', ALL).body), '{"devices":[],"total_count":0}');
  });
});

async function take({ devices, commits }: DevicesSetup, id: string, body: object): Promise<void> {
  const stored = devices.takeProperties({ device: devices.require(id), body: { ...body }, receivedAtMs: 0 });
  await commits.flush();
  await stored;
}
