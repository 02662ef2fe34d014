import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { groupValues, isBlank, mainValues } from '../../src/console/main-values.ts';
import type { Manifest } from '../../src/console/shapes.ts';

function manifest(telemetry: Record<string, string>): Manifest {
  const declared = Object.entries(telemetry).map(([name, type]) => [name, { display_name: name, type }]);
  return {
    blueprint_spec: 'device_compiled/3.0',
    display_name: 'Sample',
    implements: [],
    properties: {},
    telemetry: Object.fromEntries(declared) as Manifest['telemetry'],
    alerts: {},
    commands: {},
    configuration: {},
  };
}

describe('the main values of a device', () => {
  test('the main values of a device are its four most important numbers, and the state', () => {
    const found = mainValues(
      manifest({
        alerts: 'alerts',
        frequency: 'float',
        l1_voltage: 'float',
        battery_power: 'float',
        status: 'string',
        battery_min_soc: 'float',
        battery_soc: 'float',
        pv_total_power: 'integer',
      }),
    );
    assert.deepEqual(found, {
      state: 'status',
      numbers: ['battery_soc', 'pv_total_power', 'battery_power', 'l1_voltage'],
    });
  });

  test('the main values of a device are empty for a device that measures nothing', () => {
    assert.deepEqual(mainValues(manifest({ alerts: 'alerts' })), { state: undefined, numbers: [] });
  });
});

describe('groups of values', () => {
  test('groups of values are made by the first words of names; those alone come first', () => {
    const groups = groupValues(
      manifest({
        pv_power: 'float',
        status: 'string',
        pv_energy: 'float',
        battery_soc: 'float',
        battery_power: 'float',
        alerts: 'alerts',
      }),
    );
    assert.deepEqual(groups, [
      { title: '', names: ['status'] },
      { title: 'PV', names: ['pv_power', 'pv_energy'] },
      { title: 'Battery', names: ['battery_soc', 'battery_power'] },
    ]);
  });

  test('groups of values are made by more words where one word makes a very large group', () => {
    const cells = (of: string, count: number): string[] =>
      Array.from({ length: count }, (_, cell) => `${of}_cell_${cell}`);
    const names = ['string_count', ...cells('string_1', 20), ...cells('string_2', 20), ...cells('pack', 31)];
    const groups = groupValues(manifest(Object.fromEntries(names.map((name) => [name, 'float']))));
    assert.deepEqual(groups, [
      { title: 'String', names: ['string_count'] },
      { title: 'String 1', names: cells('string_1', 20) },
      { title: 'String 2', names: cells('string_2', 20) },
      { title: 'Pack cell', names: cells('pack', 31) },
    ]);
  });

  test('groups of values are empty for a blueprint without values', () => {
    assert.ok(isBlank(manifest({ alerts: 'alerts', alert_details: 'object' })));
    assert.ok(!isBlank(manifest({ soc: 'float' })));
  });
});
