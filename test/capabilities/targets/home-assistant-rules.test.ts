/**
 * Discovery messages against the rules of Home Assistant: which units and which state classes a device class of a sensor may
 * have. Source: the developers' documentation of the sensor entity, "Available device classes" and "Available state classes".
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MqttSettings } from '../../../src/capabilities/targets/model.ts';
import { discoveryMessages } from '../../../src/capabilities/targets/mqtt/home-assistant.ts';

const RULES: Readonly<Record<string, { units: readonly string[]; stateClasses: readonly string[] }>> = {
  apparent_power: { units: ['mVA', 'VA', 'kVA'], stateClasses: ['measurement'] },
  current: { units: ['A', 'mA'], stateClasses: ['measurement'] },
  energy: {
    units: ['J', 'kJ', 'MJ', 'GJ', 'mWh', 'Wh', 'kWh', 'MWh', 'GWh', 'TWh', 'cal', 'kcal', 'Mcal', 'Gcal'],
    stateClasses: ['total', 'total_increasing'],
  },
  frequency: { units: ['Hz', 'kHz', 'MHz', 'GHz'], stateClasses: ['measurement'] },
  power: { units: ['mW', 'W', 'kW', 'MW', 'GW', 'TW'], stateClasses: ['measurement'] },
  pressure: {
    units: ['cbar', 'bar', 'hPa', 'mmHg', 'inHg', 'kPa', 'mbar', 'Pa', 'psi', 'mPa'],
    stateClasses: ['measurement'],
  },
  temperature: { units: ['°C', '°F', 'K'], stateClasses: ['measurement'] },
  voltage: { units: ['V', 'mV', 'µV', 'kV', 'MV'], stateClasses: ['measurement'] },
};
/** State classes of sensors without a class of their own. */
const STATE_CLASSES = ['measurement', 'measurement_angle', 'total', 'total_increasing'];

/** Units as manifests write them. */
const UNITS =
  'W kW MW Wh kWh MWh V mV A mA Hz VA Cel bar kPa Pa % s min h Ah var ppm l m3 lx deg rpm unknown'.split(' ');

interface Config {
  unit_of_measurement?: string;
  device_class?: string;
  state_class?: string;
}

function configOf(type: string, unit: string | undefined): Config {
  const settings = { topic: 'gateway', discoveryPrefix: 'homeassistant' } as MqttSettings;
  const telemetry = { value: { type, display_name: 'Value', ...(unit !== undefined && { unit }) } };
  const manifest = { display_name: 'Meter', telemetry } as unknown as Parameters<typeof discoveryMessages>[3];
  const [found] = discoveryMessages(settings, 'Site', { id: 'a', slug: 'a', name: 'A' }, manifest);
  return JSON.parse(String(found?.message.payload)) as Config;
}

for (const type of ['float', 'integer'])
  for (const unit of UNITS)
    test(`a sensor of the type ${type} in ${unit} keeps the rules of Home Assistant`, () => {
      const {
        device_class: deviceClass,
        unit_of_measurement: shown,
        state_class: state,
      } = configOf(type, unit);
      const rule = deviceClass === undefined ? undefined : RULES[deviceClass];
      if (deviceClass !== undefined) assert.ok(rule, `no rule is known of ${deviceClass}`);
      if (rule) assert.ok(rule.units.includes(String(shown)), `${deviceClass} has no unit ${shown}`);
      const allowed = rule?.stateClasses ?? STATE_CLASSES;
      assert.ok(allowed.includes(String(state)), `${deviceClass ?? 'a sensor'} is no ${state}`);
    });

test('a sensor of text has neither a unit nor a state class, which Home Assistant takes for numbers alone', () => {
  for (const type of ['string', 'json']) {
    const { unit_of_measurement: unit, state_class: state } = configOf(type, 'W');
    assert.deepEqual([unit, state], [undefined, undefined]);
  }
});
