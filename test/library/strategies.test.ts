/** The scripts of the strategies in the sandbox, in simulated time. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createSyntaxChecker } from '../../src/scripting/lua/index.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';
import { action, scriptOf, setpoint, SimulatedSite, strategy, textOf, value } from './strategy-site.ts';

const IDS = readdirSync(join(PROJECT_ROOT, 'src/library/strategies'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** No value for a minute must be enough to be safe. */
const SILENCE_S = 60;

describe('the library of strategies', () => {
  for (const id of IDS)
    test(`the library of strategies has a readable script of ${id} that compiles`, () => {
      const { rule, parameters } = strategy(id);
      assert.ok(rule.split('\n').length <= 120, `${rule.split('\n').length} lines`);
      assert.equal(createSyntaxChecker().check(Buffer.from(scriptOf(id, {}))), undefined);
      const read = new Set([...rule.matchAll(/\bP\.(\w+)/g)].map(([, name]) => name));
      assert.deepEqual(
        new Set(Object.keys(parameters)),
        read,
        'each parameter is read, and each read is one',
      );
    });

  test('the scripts of the library share at most 130 lines', () => {
    assert.ok(textOf('shared.lua').split('\n').length <= 130);
  });
});

describe('the strategy limit', () => {
  const code = (side: string): string =>
    scriptOf('limit', {
      watched: value('tank', 'temperature'),
      side,
      limit: 50,
      hold_s: 60,
      action: action('fan', 'on'),
    });

  test('limit runs its command once, when the value has been beyond the limit for long enough', async () => {
    const site = new SimulatedSite();
    await site.start(code('above'));
    await site.pass(50, () => site.measure('tank.temperature', 51));
    await site.pass(20, () => site.measure('tank.temperature', 49));
    await site.pass(50, () => site.measure('tank.temperature', 51));
    assert.deepEqual(site.commands, []);
    await site.pass(600, () => site.measure('tank.temperature', 52));
    assert.equal(site.commands.length, 1);
    await site.start(code('above'));
    await site.pass(300, () => site.measure('tank.temperature', 52));
    assert.equal(site.commands.length, 1, 'a restart repeats nothing');
    await site.pass(20, () => site.measure('tank.temperature', 40));
    await site.pass(100, () => site.measure('tank.temperature', 52));
    assert.equal(site.commands.length, 2);
  });

  test('limit tries again when the device refuses', async () => {
    const site = new SimulatedSite();
    site.rejected.add('fan');
    await site.start(code('below'));
    await site.pass(120, () => site.measure('tank.temperature', 10));
    site.rejected.clear();
    await site.pass(30, () => site.measure('tank.temperature', 10));
    assert.deepEqual(site.changes('fan'), ['on']);
    assert.equal(site.said.filter((text) => text.includes('offline')).length, 1, 'a fault is logged once');
  });
});

describe('the strategy daily', () => {
  test('daily runs its command on the chosen days, and later when the device was offline', async () => {
    // A Sunday.
    const site = new SimulatedSite(Date.UTC(2026, 2, 1, 21, 59));
    const parameters = { at: '22:00', days: ['monday', 'tuesday'], action: action('boiler', 'off') };
    await site.start(scriptOf('daily', parameters));
    await site.pass(86_400, undefined, 600);
    assert.deepEqual(site.commands, []);
    await site.pass(120, undefined, 10);
    assert.equal(site.commands.length, 1);
    await site.pass(86_280, undefined, 120);
    site.rejected.add('boiler');
    await site.pass(180, undefined, 10);
    site.rejected.clear();
    await site.pass(60, undefined, 10);
    assert.equal(site.commands.length, 2);
  });
});

describe('the strategy surplus-loads', () => {
  const load = (name: string, powerW: number) => ({
    power_w: powerW,
    on: action(name, 'on'),
    off: action(name, 'off'),
  });
  const code = (more: Parameters<typeof scriptOf>[1] = {}): string =>
    scriptOf('surplus-loads', {
      meter: value('meter'),
      loads: [load('boiler', 2_000), load('pump', 500)],
      ...more,
    });
  /** What the meter shows with this much sun. */
  const sun = (site: SimulatedSite, pvW: number) => (): void => {
    const used = (site.last('boiler') === 'on' ? 1_900 : 0) + (site.last('pump') === 'on' ? 450 : 0);
    site.measure('meter', 300 + used - pvW);
  };

  test('surplus-loads switches on by priority, keeps minimum times, and sheds in reverse order', async () => {
    const site = new SimulatedSite();
    await site.start(code());
    await site.pass(100, sun(site, 3_000));
    assert.deepEqual([site.last('boiler'), site.last('pump')], ['off', 'off'], 'clouds may pass');
    await site.pass(60, sun(site, 3_000));
    assert.deepEqual([site.last('boiler'), site.last('pump')], ['on', 'off'], 'the first one first');
    await site.pass(200, sun(site, 3_000));
    assert.deepEqual([site.last('boiler'), site.last('pump')], ['on', 'on']);
    await site.pass(180, sun(site, 0));
    assert.deepEqual([site.last('boiler'), site.last('pump')], ['on', 'on'], 'on for at least ten minutes');
    await site.pass(600, sun(site, 2_000));
    assert.deepEqual([site.last('boiler'), site.last('pump')], ['on', 'off'], 'the last one goes first');
    await site.pass(600, sun(site, 0));
    assert.deepEqual([site.last('boiler'), site.last('pump')], ['off', 'off']);
    assert.deepEqual(site.changes('boiler'), ['off', 'on', 'off']);
    assert.deepEqual(site.changes('pump'), ['off', 'on', 'off']);
  });

  test('surplus-loads switches everything off within a minute of silence, and does not jump after a restart', async () => {
    const site = new SimulatedSite();
    await site.start(code());
    await site.pass(600, sun(site, 5_000));
    const before = site.commands.length;
    await site.start(code());
    await site.pass(30);
    assert.deepEqual([site.last('boiler'), site.last('pump')], ['on', 'on'], 'the meter may report late');
    await site.pass(100, sun(site, 5_000));
    assert.ok(site.commands.slice(before).every(({ name }) => name === 'on'));
    await site.pass(SILENCE_S);
    assert.deepEqual([site.last('boiler'), site.last('pump')], ['off', 'off']);
    const gone = new SimulatedSite();
    await gone.start(code());
    await gone.pass(600, sun(gone, 5_000));
    await gone.start(code());
    await gone.pass(SILENCE_S);
    assert.deepEqual([gone.last('boiler'), gone.last('pump')], ['off', 'off'], 'silent from the start');
  });

  test('surplus-loads leaves the sun to the battery until it is charged enough', async () => {
    const site = new SimulatedSite();
    await site.start(code({ battery_soc: value('battery', 'soc'), battery_from: 80 }));
    const charged = (soc: number) => (): void => {
      site.measure('battery.soc', soc);
      sun(site, 5_000)();
    };
    await site.pass(600, charged(79));
    assert.equal(site.last('boiler'), 'off');
    await site.pass(200, charged(80));
    assert.equal(site.last('boiler'), 'on');
    await site.pass(SILENCE_S, sun(site, 5_000));
    assert.equal(site.last('boiler'), 'off', 'the charge is unknown');
  });
});

describe('the strategy surplus-charging', () => {
  const code = (more: Parameters<typeof scriptOf>[1] = {}): string =>
    scriptOf('surplus-charging', {
      meter: value('meter'),
      charger_power: value('charger'),
      current: setpoint('charger', 'set_current', 'current'),
      stop: action('charger', 'stop'),
      ...more,
    });
  /** A car on three phases that takes what it is allowed. */
  function house(site: SimulatedSite, loadW = 500) {
    let currentA = 0;
    site.onCommand = ({ device, name, arguments: given }) => {
      if (device === 'charger') currentA = name === 'stop' ? 0 : (given['current'] as number);
    };
    return (pvW: number, battery?: { soc: number; chargesW: number }) => (): void => {
      const chargerW = currentA * 690;
      const batteryW = -(battery?.chargesW ?? 0);
      if (battery) {
        site.measure('battery', batteryW);
        site.measure('battery.soc', battery.soc);
      }
      site.measure('charger', chargerW);
      site.measure('meter', loadW + chargerW - pvW - batteryW);
    };
  }

  test('surplus-charging starts after a while, follows the sun, and stops after a while below the smallest current', async () => {
    const site = new SimulatedSite();
    const sun = house(site);
    await site.start(code());
    await site.pass(115, sun(6_000));
    assert.equal(site.last('charger'), 'stop');
    await site.pass(20, sun(6_000));
    assert.equal(site.last('charger'), 'set_current 7');
    await site.pass(20, sun(9_000));
    assert.equal(site.last('charger'), 'set_current 12');
    await site.pass(20, sun(20_000));
    assert.equal(site.last('charger'), 'set_current 16');
    await site.pass(60, sun(3_000));
    assert.equal(site.last('charger'), 'set_current 6', 'a cloud passes');
    await site.pass(60, sun(6_000));
    assert.equal(site.last('charger'), 'set_current 7');
    await site.pass(900, sun(2_000));
    assert.equal(site.last('charger'), 'stop');
    assert.deepEqual(
      new Set(
        site
          .changes('charger')
          .slice(1, -1)
          .map((text) => text.split(' ')[0]),
      ),
      new Set(['set_current']),
    );
  });

  test('surplus-charging reacts to a sample at once, and never sends two currents within the pause of the device', async () => {
    const site = new SimulatedSite();
    const sun = house(site);
    await site.start(code({ interval_s: 10 }));
    await site.pass(200, sun(6_000), 1);
    await site.pass(1, sun(9_000), 1);
    assert.equal(site.last('charger'), 'set_current 12', 'within one sample');
    let second = 0;
    await site.pass(120, () => sun(6_000 + (second++ % 2) * 4_000)(), 1);
    const sentS = site.commands.map(({ atS }) => atS);
    const pauses = sentS.slice(1).map((atS, index) => atS - (sentS[index] ?? 0));
    assert.ok(Math.min(...pauses.slice(1)) >= 10, pauses.join(' '));
  });

  test('surplus-charging starts no more often a day than allowed', async () => {
    const site = new SimulatedSite();
    const sun = house(site);
    const quick = { start_hold_s: 0, stop_hold_s: 0, min_on_min: 0, min_off_min: 0, starts: 3 };
    await site.start(code(quick));
    for (let round = 0; round < 6; round++) {
      await site.pass(60, sun(8_000));
      await site.pass(60, sun(0));
    }
    const starts = (): number =>
      site
        .changes('charger')
        .filter((text, index, all) => text !== 'stop' && (all[index - 1] ?? 'stop') === 'stop').length;
    assert.equal(starts(), 3);
    await site.start(code(quick));
    await site.pass(120, sun(8_000));
    assert.equal(starts(), 3, 'a restart does not forget them');
    await site.pass(17 * 3_600, sun(0), 60);
    await site.pass(120, sun(8_000));
    assert.equal(starts(), 4, 'the next day begins anew');
  });

  test('surplus-charging counts the return of a car as a start, and does not wait for it when no start is left', async () => {
    const site = new SimulatedSite();
    const sun = house(site);
    await site.start(code({ starts: 2, stop_hold_s: 60 }));
    const away = (): void => {
      site.measure('charger', 0);
      site.measure('meter', -8_000);
    };
    await site.pass(300, sun(8_500));
    await site.pass(300, away);
    assert.match(site.last('charger') ?? '', /^set_current/, 'one start is left');
    await site.pass(300, sun(8_500));
    await site.pass(300, away);
    assert.equal(site.last('charger'), 'stop');
    await site.pass(1_200, sun(8_500));
    assert.equal(site.last('charger'), 'stop');
  });

  test('surplus-charging stops within a minute when a value is missing', async () => {
    const site = new SimulatedSite();
    const sun = house(site);
    await site.start(code());
    await site.pass(300, sun(6_000));
    await site.pass(SILENCE_S, () => site.measure('charger', 4_830));
    assert.equal(site.last('charger'), 'stop');
  });

  test('surplus-charging goes on with the same current after a restart', async () => {
    const site = new SimulatedSite();
    const sun = house(site);
    await site.start(code());
    await site.pass(300, sun(6_000));
    await site.start(code());
    await site.pass(100, sun(6_000));
    assert.deepEqual(site.changes('charger'), ['stop', 'set_current 7']);
  });

  test('surplus-charging leaves the sun to the battery below the set charge, and takes its charging power above', async () => {
    const site = new SimulatedSite();
    const sun = house(site);
    await site.start(
      code({ battery_power: value('battery'), battery_soc: value('battery', 'soc'), car_from: 50 }),
    );
    await site.pass(600, sun(6_000, { soc: 40, chargesW: 5_000 }));
    assert.equal(site.last('charger'), 'stop');
    await site.pass(300, sun(6_000, { soc: 60, chargesW: 0 }));
    assert.equal(site.last('charger'), 'set_current 7');
    await site.pass(900, sun(500, { soc: 60, chargesW: -4_830 }));
    assert.equal(site.last('charger'), 'stop', 'the battery never feeds the car');
  });

  test('surplus-charging switches between one and three phases without current, and waits between two switches', async () => {
    const site = new SimulatedSite();
    let phases = 3;
    let currentA = 0;
    site.onCommand = ({ device, name, arguments: given }) => {
      if (device === 'phases') {
        assert.equal(currentA, 0, 'contacts switch without current');
        phases = name === 'one' ? 1 : 3;
      } else currentA = name === 'stop' ? 0 : (given['current'] as number);
    };
    const sun = (pvW: number) => (): void => {
      const chargerW = currentA * 230 * phases;
      site.measure('charger', chargerW);
      site.measure('meter', 500 + chargerW - pvW);
    };
    await site.start(
      code({
        phases: 'both',
        one_phase: action('phases', 'one'),
        three_phases: action('phases', 'three'),
        phase_min: 20,
      }),
    );
    await site.pass(700, sun(2_500));
    assert.deepEqual([site.last('phases'), site.last('charger')], ['one', 'set_current 8']);
    await site.pass(900, sun(8_000));
    assert.deepEqual([site.last('phases'), site.last('charger')], ['three', 'set_current 10']);
    await site.pass(600, sun(2_500));
    assert.equal(site.last('phases'), 'three', 'twenty minutes between two switches');
    await site.pass(900, sun(2_500));
    assert.deepEqual([site.last('phases'), site.last('charger')], ['one', 'set_current 8']);
    await site.pass(2_000, sun(8_000));
    const before = site.commands.length;
    await site.start(
      code({ phases: 'both', one_phase: action('phases', 'one'), three_phases: action('phases', 'three') }),
    );
    await site.pass(60, sun(8_000));
    assert.deepEqual(site.commands.slice(before), [], 'a restart sends nothing');
  });

  test('surplus-charging goes on with a quarter of the smallest power while energy is missing, and starts with half', async () => {
    const site = new SimulatedSite(Date.UTC(2026, 2, 1, 10));
    const sun = (freeW: number) => (): void => {
      const chargerW = site.last('charger')?.startsWith('set_current') ? 1_380 : 0;
      site.measure('charger', chargerW);
      site.measure('meter', chargerW - freeW);
    };
    await site.start(code({ phases: '1', ready_kwh: 20, ready_by: '07:00' }));
    await site.pass(900, sun(600), 10);
    assert.equal(site.last('charger'), 'stop', 'too little to start');
    await site.pass(300, sun(750), 10);
    await site.pass(1_800, sun(400), 10);
    assert.equal(site.last('charger'), 'set_current 6', 'better than nothing of it at night');
    await site.pass(400, sun(300), 10);
    assert.equal(site.last('charger'), 'stop');
  });

  test('surplus-charging charges the least energy in time, as late as possible, and only what the sun did not bring', async () => {
    const site = new SimulatedSite(Date.UTC(2026, 2, 1, 22));
    const sun = house(site);
    let chargedKwh = 0;
    const night = (): void => {
      chargedKwh += (site.last('charger')?.startsWith('set_current') ? 11_040 : 0) / 720 / 1_000;
      sun(0)();
    };
    await site.start(code({ ready_kwh: 11, ready_by: '07:00', starts: 1 }));
    await site.pass(7 * 3_600, night, 30);
    assert.equal(site.last('charger'), 'stop', 'there is time until six');
    const planned = [...site.asked.values()].flatMap(({ plan }) => plan);
    assert.deepEqual(
      planned.map(({ action, toS }) => [action, new Date(toS * 1_000).toISOString().slice(11, 16)]),
      [['CHARGE', '07:00']],
    );
    assert.ok(planned.every(({ fromS, toS }) => toS - fromS > 3_600 && toS - fromS < 4_500));
    chargedKwh = 0;
    await site.pass(1.9 * 3_600, night, 5);
    assert.ok(chargedKwh >= 11 && chargedKwh < 11.1, `${chargedKwh} kWh`);
    await site.pass(1_200, night, 5);
    assert.deepEqual(
      site.changes('charger'),
      ['stop', 'set_current 16', 'stop'],
      'one charge, and nothing after it',
    );
    await site.pass(3 * 3_600, sun(12_000), 30);
    await site.pass(1_800, sun(0), 30);
    const before = site.commands.length;
    await site.pass(18.5 * 3_600, sun(0), 30);
    const sent = new Set(site.commands.slice(before).map(({ name }) => name));
    assert.deepEqual(sent, new Set(['stop']), 'the sun brought it');
  });
});
