import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAlertWatch } from '../../../scripts/simulate/alert-watch.ts';
import {
  applyLimits,
  CommandRefusal,
  planCommand,
  SERVICE_CODE,
} from '../../../scripts/simulate/inverter-commands.ts';
import { createPlant, DEFAULT_SETTINGS, NO_ENERGY, type Plant } from '../../../scripts/simulate/plant.ts';
import { createRandom } from '../../../scripts/support/random.ts';
import { clearSky } from '../../../scripts/simulate/surroundings.ts';

function plantAt(hourOfDay: number, socPercent = 50, seed = 7): Plant {
  return createPlant({
    random: createRandom(seed),
    hourOfDay,
    socPercent,
    mishapsPerDay: 0,
    energy: NO_ENERGY,
    settings: DEFAULT_SETTINGS,
  });
}

const COOL = { overheated: false, storedWh: 5_000 };

describe('a simulated day', () => {
  it('a simulated day repeats exactly from its seed and differs from another seed', () => {
    const run = (seed: number): unknown => plantAt(8, 50, seed).advance(3_600);
    assert.deepEqual(run(1), run(1));
    assert.notDeepEqual(run(1), run(2));
  });

  it('a simulated day has no sun at night and charges the battery over the day', () => {
    assert.equal(clearSky(3), 0);
    assert.equal(plantAt(1).advance(600).flows.pvW, 0);
    const plant = plantAt(7, 25);
    const morning = plant.advance(60);
    const afternoon = plant.advance(8 * 3_600);
    assert.ok(afternoon.socPercent > morning.socPercent + 20);
    assert.ok(afternoon.state.energy.pvWh > 10_000);
  });

  it('a simulated day keeps the reserve over night', () => {
    const reading = plantAt(19, 60).advance(11 * 3_600);
    assert.ok(
      Math.abs(reading.socPercent - DEFAULT_SETTINGS.reservePercent) < 0.5,
      `${reading.socPercent} %`,
    );
  });

  it('a simulated day heats the battery under load until it stops when the fan is stuck, and lets it cool again', () => {
    const plant = plantAt(0, 5);
    plant.settings = { ...plant.settings, mode: 'backup', reservePercent: 100 };
    const judge = createAlertWatch();
    const seen: string[] = [];
    for (let minute = 0; minute < 240; minute += 1) {
      plant.provoke('fan');
      for (const { name, raised } of judge(plant.advance(60), 0).changes) seen.push(`${name} ${raised}`);
      // Keeps the battery at work: what was charged is taken out again.
      plant.settings = { ...plant.settings, reservePercent: minute % 100 < 60 ? 100 : 0 };
    }
    assert.deepEqual(seen.slice(0, 2), ['battery_overheated true', 'battery_overheated false']);
  });

  it('a simulated day raises battery_low below the reserve and clears it when backup has charged', () => {
    const plant = plantAt(1, 50);
    const judge = createAlertWatch();
    planCommand(plant, 'set_mode', { mode: 'backup', reserve_percent: 80 }, COOL).apply();
    assert.deepEqual(judge(plant.advance(1), plant.settings.reservePercent).raised, ['battery_low']);
    const charged = plant.advance(3 * 3_600);
    assert.deepEqual(judge(charged, plant.settings.reservePercent).raised, []);
    assert.ok(Math.abs(charged.socPercent - 79.5) < 0.5);
  });

  it('a simulated day supplies the load alone while the grid is lost', () => {
    const plant = plantAt(20, 80);
    plant.provoke('grid');
    const { flows, happening } = plant.advance(5);
    assert.equal(happening.grid, true);
    assert.equal(flows.gridW, 0);
    assert.ok(flows.batteryW > flows.loadW);
  });
});

describe('the commands of the device', () => {
  const refused: [string, string, Record<string, unknown>][] = [
    ['an unknown command', 'explode', {}],
    ['a limit that is no number', 'set_charge_limit', { limit_w: '12' }],
    ['a limit out of range', 'set_charge_limit', { limit_w: 10_001 }],
    ['a missing limit', 'set_charge_limit', {}],
    ['an unknown mode', 'set_mode', { mode: 'party' }],
    ['a reserve with a fraction', 'set_mode', { mode: 'backup', reserve_percent: 1.5 }],
    ['a wrong service code', 'reset_energy_counters', { service_code: '0000' }],
  ];
  for (const [title, name, given] of refused)
    it(`a command of the device is refused with ${title} and changes nothing`, () => {
      const plant = plantAt(12);
      assert.throws(() => planCommand(plant, name, given, COOL), CommandRefusal);
      assert.deepEqual(plant.settings, DEFAULT_SETTINGS);
    });

  it('a start is refused while the battery is too warm', () => {
    assert.throws(
      () => planCommand(plantAt(12), 'start', {}, { overheated: true, storedWh: 1 }),
      CommandRefusal,
    );
  });

  it('a command of the device changes the plant only when applied', () => {
    const plant = plantAt(12);
    const plan = planCommand(plant, 'set_charge_limit', { limit_w: 1_500 }, COOL);
    assert.equal(plant.settings.chargeLimitW, DEFAULT_SETTINGS.chargeLimitW);
    plan.apply();
    assert.equal(plant.settings.chargeLimitW, 1_500);
    assert.deepEqual(planCommand(plant, 'read_settings', {}, COOL).apply(), {
      limit_w: 1_500,
      mode: 'self_consumption',
      reserve_percent: 20,
    });
  });

  it('a command of the device stops and starts the flows', () => {
    const plant = plantAt(12);
    planCommand(plant, 'stop', {}, COOL).apply();
    assert.equal(plant.advance(1).flows.pvW, 0);
    planCommand(plant, 'start', {}, COOL).apply();
    assert.ok(plant.advance(1).flows.pvW > 0);
  });

  it('a command of the device resets the counters with the service code', () => {
    const plant = plantAt(12);
    assert.ok(plant.advance(3_600).state.energy.pvWh > 0);
    planCommand(plant, 'reset_energy_counters', { service_code: SERVICE_CODE }, COOL).apply();
    assert.ok(plant.advance(1).state.energy.pvWh < 3);
  });

  it('the device takes over the limits of a pushed configuration and ignores bad values', () => {
    const plant = plantAt(12);
    const taken = applyLimits(plant, {
      limits: { max_charge_power_w: 900, max_discharge_power_w: 'all', grid_feed_in_allowed: false },
    });
    assert.deepEqual(taken, ['max_charge_power_w', 'grid_feed_in_allowed']);
    assert.equal(plant.settings.maxChargePowerW, 900);
    assert.equal(plant.settings.maxDischargePowerW, DEFAULT_SETTINGS.maxDischargePowerW);
  });
});
