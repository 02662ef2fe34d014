/** Devices by their role of energy. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bestFirst, byRole } from '../../src/console/devices/roles.ts';
import type { Device } from '../../src/console/shapes.ts';
import type { PowerNow } from '../../src/console/site/energy.ts';

const live = (id: string, type: Device['type'] = 'LUA', sent: readonly string[] = []) => ({
  device: { id, type },
  values: new Map(sent.map((name) => [name, {}])),
});

const source = (id: string, role: string) => ({ device_id: id, role }) as PowerNow['sources'][number];

test('devices stand by the first of their roles, those without one and the box at the end', () => {
  const devices = [live('box', 'GATEWAY'), live('sensor'), live('hybrid'), live('meter'), live('roof')];
  const sources = [
    source('hybrid', 'grid'),
    source('hybrid', 'pv'),
    source('meter', 'grid'),
    source('roof', 'pv'),
  ];
  assert.deepEqual(
    byRole(devices, sources).map(({ place, devices: own }) => [place, ...own.map(({ device }) => device.id)]),
    [
      ['pv', 'hybrid', 'roof'],
      ['grid', 'meter'],
      ['other', 'sensor'],
      ['box', 'box'],
    ],
  );
});

test('the value that says most of a role comes first, of those that the device has sent', () => {
  const names = ['battery_soc', 'pv_power', 'ac_power', 'grid_total_power'];
  assert.equal(bestFirst(live('a', 'LUA', names), names, 'pv')[0], 'pv_power');
  assert.equal(bestFirst(live('a', 'LUA', names), names, 'grid')[0], 'ac_power');
  assert.equal(bestFirst(live('a', 'LUA', ['grid_total_power']), names, 'grid')[0], 'grid_total_power');
  assert.deepEqual(bestFirst(live('a', 'LUA', names), names, 'other'), names);
});
