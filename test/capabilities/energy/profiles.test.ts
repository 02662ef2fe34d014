/** Roles of devices in the site's energy, by what their blueprints declare. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { maxPowerOfNameplateW, sourcesOfProfiles } from '../../../src/capabilities/energy/profiles.ts';
import { compileFromLibrary } from '../../library/library-files.ts';
import { compiled } from '../blueprints/support.ts';

function manifestOf(id: string, parameters = {}): ReturnType<typeof compiled>['manifest'] {
  const { files } = compileFromLibrary(id, parameters);
  return compiled(files['manifest.yml'] ?? '', { ...files }).manifest;
}

type Devices = Parameters<typeof sourcesOfProfiles>[0];

/** @param senders devices that have sent their values */
const sourcesOf = (devices: Devices, senders: readonly string[] = []) =>
  sourcesOfProfiles(devices, (id) => senders.includes(id));

const rolesOf = (devices: Devices, senders: readonly string[] = []): string[] =>
  sourcesOf(devices, senders).counted.map(({ role, deviceId }) => `${role} ${deviceId}`);

describe('a device of the library', () => {
  test('a device of the library has the role that its installer chose, with sign and counters, without a setting', () => {
    assert.deepEqual(
      sourcesOf([{ id: 'meter', manifest: manifestOf('eastron/sdm630', { role: 'pv' }) }]).counted,
      [
        {
          role: 'pv',
          deviceId: 'meter',
          power: 'total_power',
          isInverted: true,
          stateOfCharge: null,
          energyForward: 'energy_out_lifetime',
          energyReverse: null,
          powerMaxW: null,
          profile: 'eastron/sdm630',
        },
      ],
    );
    assert.deepEqual(
      rolesOf([{ id: 'meter', manifest: manifestOf('eastron/sdm630', { role: 'other' }) }]),
      [],
    );
  });

  test('a grid meter outranks an inverter that only calculates the grid', () => {
    const hybrid = { id: 'hybrid', manifest: manifestOf('sungrow/sh') };
    const meter = { id: 'meter', manifest: manifestOf('eastron/sdm630') };
    assert.ok(rolesOf([hybrid]).includes('grid hybrid'));
    const together = rolesOf([hybrid, meter]);
    assert.ok(together.includes('grid meter') && !together.includes('grid hybrid'));
    assert.ok(together.includes('battery hybrid') && together.includes('pv hybrid'));
  });

  test('the site has one grid: the first of two hybrids, of two meters, and of two devices with profiles only', () => {
    const one = { id: 'one', manifest: manifestOf('sungrow/sh') };
    const two = { id: 'two', manifest: manifestOf('goodwe/et') };
    const meter = { id: 'meter', manifest: manifestOf('eastron/sdm630') };
    const second = { id: 'second', manifest: manifestOf('carlo-gavazzi/em24-ethernet') };
    const grids = (...devices: Parameters<typeof rolesOf>[0]): string[] =>
      rolesOf(devices).filter((role) => role.startsWith('grid'));
    const others = (...devices: Parameters<typeof rolesOf>[0]): string[] =>
      sourcesOf(devices)
        .others.filter(({ source }) => source.role === 'grid')
        .map(({ source, countedDeviceId }) => `${source.deviceId} for ${countedDeviceId}`);
    assert.deepEqual([grids(one, two), others(one, two)], [['grid one'], ['two for one']]);
    assert.deepEqual([grids(two, one), others(two, one)], [['grid two'], ['one for two']]);
    assert.deepEqual(
      [grids(one, two, meter, second), others(one, two, meter, second)],
      [['grid meter'], ['one for meter', 'two for meter', 'second for meter']],
    );
    const profiles = { implements: ['energy.hybrid_inverter.1_phase'], '.energy': undefined };
    const plain = (id: string) => ({ id, manifest: { ...one.manifest, ...profiles } });
    assert.deepEqual(grids(plain('one'), plain('two')), ['grid one']);
    assert.deepEqual(
      rolesOf([one, two]).filter((role) => /^(pv|battery)/.test(role)),
      ['pv one', 'battery one', 'pv two', 'battery two'],
    );
  });

  test('a grid that has sent a value outranks those that never did, whether added earlier or meters', () => {
    const one = { id: 'one', manifest: manifestOf('sungrow/sh') };
    const two = { id: 'two', manifest: manifestOf('goodwe/et') };
    const meter = { id: 'meter', manifest: manifestOf('eastron/sdm630') };
    const grids = (senders: readonly string[]): string[] =>
      rolesOf([one, two, meter], senders).filter((role) => role.startsWith('grid'));
    assert.deepEqual(grids(['two']), ['grid two']);
    assert.deepEqual(grids(['one', 'two']), ['grid one']);
    assert.deepEqual(grids(['two', 'meter']), ['grid meter']);
    const { others } = sourcesOf([one, two, meter], ['two']);
    assert.deepEqual(
      others.map(({ source, countedDeviceId }) => `${source.deviceId} for ${countedDeviceId}`),
      ['one for two', 'meter for two'],
    );
    assert.ok(rolesOf([one, two, meter], ['two']).includes('pv one'));
  });

  test('a device of the library stays the grid with all that it says of it, such as two counters in two roles', () => {
    const meter = manifestOf('eastron/sdm630');
    const [role] = meter['.energy'] as { role: string }[];
    const manifest = { ...meter, '.energy': [role, { ...role, power: 'ac_l1_power' }] };
    assert.deepEqual(rolesOf([{ id: 'meter', manifest }]), ['grid meter', 'grid meter']);
  });

  test('the load of the site is calculated only while no device measures it', () => {
    const hybrid = { id: 'hybrid', manifest: manifestOf('sungrow/sh') };
    const meter = { id: 'meter', manifest: manifestOf('eastron/sdm630') };
    const roof = { id: 'roof', manifest: manifestOf('huawei/sun2000') };
    const house = { id: 'house', manifest: manifestOf('eastron/sdm630', { role: 'load' }) };
    assert.ok(rolesOf([hybrid, meter]).includes('load hybrid'));
    const together = rolesOf([hybrid, meter, roof]);
    assert.ok(!together.includes('load hybrid') && together.includes('pv hybrid'));
    assert.ok(rolesOf([hybrid, roof, house]).includes('load house'), 'what is measured counts');
  });

  test('a battery counts beside others unless it is a part of one', () => {
    const hybrid = { id: 'hybrid', manifest: manifestOf('huawei/sun2000-hybrid') };
    const cells = { id: 'cells', manifest: manifestOf('sunspec/battery') };
    const own = { id: 'own', manifest: manifestOf('sma/sunny-boy-storage') };
    const batteries = (...devices: Parameters<typeof rolesOf>[0]): string[] =>
      rolesOf(devices).filter((role) => role.startsWith('battery'));
    assert.deepEqual(batteries(cells), ['battery cells']);
    assert.deepEqual(batteries(hybrid, cells), ['battery hybrid']);
    assert.deepEqual(batteries(hybrid, own), ['battery hybrid', 'battery own']);
  });

  test('a device of the library does not count as the consumption of the house if it is a plug or a meter of one phase', () => {
    for (const id of ['shelly/plug-s', 'tasmota/plug', 'homewizard/socket', 'eastron/sdm120'])
      assert.deepEqual(rolesOf([{ id, manifest: manifestOf(id) }]), [], id);
  });

  test('a device declares how large its power can be', () => {
    const manifest = manifestOf('heidelberg/energy-control');
    assert.deepEqual(
      sourcesOf([{ id: 'box', manifest }]).counted.map(({ role, powerMaxW }) => [role, powerMaxW]),
      [['ev_charger', 22_000]],
    );
    const [role] = manifest['.energy'] as object[];
    const others = { ...manifest, '.energy': [{ ...role, power_max_w: -1 }] };
    assert.deepEqual(sourcesOf([{ id: 'box', manifest: others }]).counted, []);
  });

  test('a device follows its profiles when its declared roles are no list', () => {
    const manifest = { ...manifestOf('sungrow/sh'), '.energy': 'anything' };
    assert.ok(
      sourcesOf([{ id: 'hybrid', manifest }]).counted.every(({ profile }) => profile?.startsWith('energy.')),
    );
  });
});

describe('the nameplate of an inverter', () => {
  test('the nameplate says nothing of meters and loads, nor where it is no number above zero', () => {
    for (const nameplate of [undefined, null, 'unknown', 0, -5_000, Number.NaN])
      assert.equal(maxPowerOfNameplateW('pv', nameplate), undefined);
    for (const role of ['grid', 'load', 'ev_charger', 'heat_pump', 'electrolyser'] as const)
      assert.equal(maxPowerOfNameplateW(role, 5_000), undefined);
  });

  test('the nameplate of an inverter leaves room for more panels than its power and for a battery beside it', () => {
    for (const role of ['pv', 'battery', 'generator'] as const)
      assert.equal(maxPowerOfNameplateW(role, 5_000), 15_000);
  });
});
