import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkDeviceValue } from '../../../src/capabilities/blueprints/index.ts';
import { loadBuiltInBlueprints } from '../../../src/capabilities/blueprints/built-in.ts';
import { MODES } from '../../../scripts/simulate/inverter.ts';
import { planCommand, SERVICE_CODE } from '../../../scripts/simulate/inverter-commands.ts';
import { propertiesOf, telemetryOf } from '../../../scripts/simulate/inverter-messages.ts';
import { MISHAPS } from '../../../scripts/simulate/mishaps.ts';
import { createPlant, DEFAULT_SETTINGS, NO_ENERGY } from '../../../scripts/simulate/plant.ts';
import { createRandom } from '../../../scripts/support/random.ts';

const manifest = loadBuiltInBlueprints().find(({ name }) => name === 'battery-inverter')?.manifest;
assert.ok(manifest);

/** What the gateway would refuse of a message. */
function faults(section: 'telemetry' | 'properties', body: Record<string, unknown>): string[] {
  const declared = manifest?.[section] ?? {};
  return Object.entries(body).flatMap(([name, value]) => {
    if (name === 'alerts') return [];
    const declaration = declared[name];
    if (!declaration) return [`${name} is not declared`];
    const { problem } = checkDeviceValue(declaration, value);
    return problem === undefined ? [] : [`${name}: ${problem}`];
  });
}

function plant(socPercent = 50): ReturnType<typeof createPlant> {
  return createPlant({
    random: createRandom(11),
    hourOfDay: 6,
    socPercent,
    mishapsPerDay: 0,
    energy: NO_ENERGY,
    settings: DEFAULT_SETTINGS,
  });
}

describe('the messages of the simulated inverter', () => {
  it('the messages of the simulated inverter fit the built-in blueprint over a day with every mishap, mode and standby', () => {
    const device = plant();
    const alerts = Object.keys(manifest.alerts);
    for (let minute = 0; minute < 24 * 60; minute += 5) {
      if (minute % 240 === 0) device.provoke(MISHAPS[(minute / 240) % MISHAPS.length] ?? 'grid');
      const mode = MODES[Math.floor(minute / 60) % MODES.length] ?? 'backup';
      device.settings = { ...device.settings, mode, running: minute % 700 < 600 };
      assert.deepEqual(faults('telemetry', telemetryOf(device.advance(300), device, alerts)), []);
    }
    assert.deepEqual(faults('properties', propertiesOf('HX1')), []);
  });

  it('the messages of the simulated inverter carry every declared attribute and property', () => {
    const device = plant();
    const sent = Object.keys(telemetryOf(device.advance(1), device, []));
    const declared = Object.keys(manifest.telemetry).filter((name) => name !== 'alert_details');
    assert.deepEqual(sent.toSorted(), declared.toSorted());
    assert.deepEqual(
      Object.keys(propertiesOf('HX1')).toSorted(),
      Object.keys(manifest.properties).toSorted(),
    );
  });

  it('the messages of the simulated inverter leave out what cannot be read while the line to the battery is broken', () => {
    const device = plant();
    device.provoke('battery_line');
    const body = telemetryOf(device.advance(1), device, []);
    assert.equal('battery_soc' in body, false);
    assert.deepEqual(body.conn_alerts, ['communication_failed']);
    assert.equal(body.status, 'fault');
  });

  it('the messages of the simulated inverter answer every declared command', () => {
    const given: Record<string, Record<string, unknown>> = {
      set_charge_limit: { limit_w: 100 },
      set_mode: { mode: 'backup' },
      reset_energy_counters: { service_code: SERVICE_CODE },
    };
    for (const name of Object.keys(manifest.commands))
      planCommand(plant(), name, given[name] ?? {}, { overheated: false, storedWh: 1 }).apply();
  });
});
