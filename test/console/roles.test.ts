/** Devices by their role of energy. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { iconOf, roleOfIcon } from '../../src/console/devices/icons.ts';
import { bestFirst, byRole, countedOf } from '../../src/console/devices/roles.ts';
import type { Device } from '../../src/console/shapes.ts';
import type { PowerNow } from '../../src/console/site/energy.ts';

const live = (id: string, type: Device['type'] = 'LUA', sent: readonly string[] = []) => ({
  device: { id, type },
  values: new Map(sent.map((name) => [name, {}])),
});

const source = (id: string, role: string) => ({ device_id: id, role }) as PowerNow['sources'][number];

test('devices stand under their first role; those without one and the box come last', () => {
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

test('the main value of a role comes first among those that the device has sent', () => {
  const names = ['battery_soc', 'pv_power', 'ac_power', 'grid_total_power'];
  assert.equal(bestFirst(live('a', 'LUA', names), names, 'pv')[0], 'pv_power');
  assert.equal(bestFirst(live('a', 'LUA', names), names, 'grid')[0], 'grid_total_power');
  assert.equal(bestFirst(live('a', 'LUA', names), names, 'battery')[0], 'battery_soc');
  assert.equal(bestFirst(live('a', 'LUA', names), names, 'generator')[0], 'pv_power');
  assert.equal(bestFirst(live('a', 'LUA', ['grid_total_power']), names, 'grid')[0], 'grid_total_power');
  assert.deepEqual(bestFirst(live('a', 'LUA', names), names, 'other'), names);
});

test('a device stands under its first role, with the values of all its roles in their order', () => {
  const counted = (id: string, role: string, power: string | null, charge: string | null = null) =>
    ({ device_id: id, role, power, state_of_charge: charge }) as never;
  const sources = [
    counted('hybrid', 'grid', 'grid_power'),
    counted('hybrid', 'battery', 'battery_power', 'battery_soc'),
    counted('hybrid', 'pv', 'pv_power'),
    counted('other', 'load', 'load_power'),
  ];
  assert.deepEqual(countedOf({ id: 'hybrid', type: 'LUA' }, sources), {
    place: 'pv',
    names: ['pv_power', 'battery_soc', 'battery_power', 'grid_power'],
  });
  assert.deepEqual(countedOf({ id: 'sensor', type: 'LUA' }, sources), { place: 'other', names: [] });
  assert.deepEqual(countedOf({ id: 'box', type: 'GATEWAY' }, sources), { place: 'box', names: [] });
});

test('a device is drawn by its role, else by the icon of its blueprint, else by a letter', () => {
  const own = (icon: string | undefined) => iconOf(icon, 'other', 'probe');
  assert.deepEqual(iconOf('enapter-power-meter', 'grid', 'x'), iconOf(undefined, 'grid', 'x'));
  assert.deepEqual(own('lan-connect'), own('router-wireless'));
  assert.notDeepEqual(own('power-socket-eu'), own('gauge'));
  assert.deepEqual(own('weather-partly-cloudy'), own('enapter-weather'));
  assert.deepEqual(own('alien'), { letter: 'P' });
  assert.deepEqual(own(''), own(undefined));
  assert.equal(roleOfIcon('solar-power'), 'pv');
  assert.equal(roleOfIcon('ev-station'), 'ev_charger');
  assert.equal(roleOfIcon('enapter-battery-inverter'), 'pv');
  assert.equal(roleOfIcon('home-battery'), 'battery');
  assert.equal(roleOfIcon('enapter-power-meter'), undefined);
});
