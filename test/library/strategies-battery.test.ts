/** The scripts of strategies for battery, grid and heat in the sandbox, in simulated time. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { action, scriptOf, setpoint, SimulatedSite, value } from './strategy-site.ts';

/** No value for a minute must be enough to be safe. */
const SILENCE_S = 60;

describe('the strategy battery-reserve', () => {
  const code = (more: Parameters<typeof scriptOf>[1] = {}): string =>
    scriptOf('battery-reserve', {
      battery_soc: value('battery', 'soc'),
      hold: action('battery', 'hold'),
      release: action('battery', 'release'),
      ...more,
    });

  test('battery-reserve keeps the reserve with a margin, and keeps the charge when it is unknown', async () => {
    const site = new SimulatedSite();
    await site.start(code({ min_min: 5 }));
    const soc = (percent: number) => (): void => site.measure('battery.soc', percent);
    await site.pass(60, soc(50));
    assert.equal(site.last('battery'), 'release');
    await site.pass(320, soc(30));
    assert.equal(site.last('battery'), 'hold');
    await site.pass(400, soc(34));
    assert.equal(site.last('battery'), 'hold');
    await site.pass(60, soc(35));
    assert.equal(site.last('battery'), 'release');
    await site.pass(SILENCE_S);
    assert.equal(site.last('battery'), 'hold');
  });

  test('battery-reserve holds only in its window', async () => {
    const site = new SimulatedSite(Date.UTC(2026, 2, 1, 21, 50));
    await site.start(code({ window: { from: '22:00', to: '06:00' } }));
    const low = (): void => site.measure('battery.soc', 20);
    await site.pass(300, low);
    assert.equal(site.last('battery'), 'release');
    await site.pass(600, low);
    assert.equal(site.last('battery'), 'hold');
    await site.pass(8 * 3_600, low, 30);
    assert.equal(site.last('battery'), 'release');
  });
});

describe('the strategy battery-reserve for the morning and in a storm', () => {
  const code = (more: Parameters<typeof scriptOf>[1]): string =>
    scriptOf('battery-reserve', {
      battery_soc: value('battery', 'soc'),
      hold: action('battery', 'hold'),
      release: action('battery', 'release'),
      min_min: 0,
      ...more,
    });
  const BERLIN = { latitude: 52.5, longitude: 13.4 };

  test('battery-reserve keeps the charge for sunrise from sunset on, and releases it with the sun', async () => {
    // In March the sun of Berlin is up from about 5:50 to 16:45 UTC.
    const soc = (site: SimulatedSite) => (): void => site.measure('battery.soc', 40);
    const evening = new SimulatedSite(Date.UTC(2026, 2, 1, 16, 30), BERLIN);
    await evening.start(code({ reserve: 10, morning: 40 }));
    await evening.pass(60, soc(evening), 30);
    assert.equal(evening.last('battery'), 'release');
    await evening.pass(1_800, soc(evening), 30);
    assert.equal(evening.last('battery'), 'hold');
    const morning = new SimulatedSite(Date.UTC(2026, 2, 1, 5, 30), BERLIN);
    await morning.start(code({ reserve: 10, morning: 40 }));
    await morning.pass(60, soc(morning), 30);
    assert.equal(morning.last('battery'), 'hold');
    await morning.pass(2_400, soc(morning), 30);
    assert.equal(morning.last('battery'), 'release');
  });

  test('battery-reserve keeps the charge until sunrise at all hours while the location of the site is unknown', async () => {
    const site = new SimulatedSite(Date.UTC(2026, 2, 1, 12));
    await site.start(code({ reserve: 10, morning: 40 }));
    await site.pass(60, () => site.measure('battery.soc', 40));
    assert.equal(site.last('battery'), 'hold');
  });

  test('battery-reserve fills the battery in a storm and keeps it for hours after, over a restart', async () => {
    const site = new SimulatedSite();
    const parameters = {
      storm: value('weather', 'wind'),
      storm_from: 20,
      storm_h: 2,
      storm_reserve: 90,
      charge: setpoint('battery', 'charge', 'power'),
    };
    const at = (soc: number, wind?: number) => (): void => {
      site.measure('battery.soc', soc);
      if (wind !== undefined) site.measure('weather.wind', wind);
    };
    await site.start(code(parameters));
    await site.pass(60, at(50, 19));
    assert.equal(site.last('battery'), 'release');
    await site.pass(60, at(50, 20));
    assert.equal(site.last('battery'), 'charge 3000');
    await site.pass(60, at(90, 25));
    assert.equal(site.last('battery'), 'hold');
    await site.pass(60, at(86, 10));
    assert.equal(site.last('battery'), 'hold', 'not to and fro');
    await site.start(code(parameters));
    await site.pass(60, at(80, 10));
    assert.equal(site.last('battery'), 'charge 3000');
    await site.pass(2 * 3_600, at(80, 10), 30);
    assert.equal(site.last('battery'), 'release');
  });

  test('battery-reserve keeps the charge in a storm when it is unknown, and has no storm without a warning', async () => {
    const site = new SimulatedSite();
    const parameters = { storm: value('weather', 'warning'), charge: setpoint('battery', 'charge', 'power') };
    await site.start(code(parameters));
    await site.pass(60, () => site.measure('battery.soc', 50));
    assert.equal(site.last('battery'), 'release');
    site.measure('weather.warning', 1);
    await site.pass(60, () => site.measure('battery.soc', 50));
    assert.equal(site.last('battery'), 'charge 3000');
    await site.pass(SILENCE_S);
    assert.equal(site.last('battery'), 'hold');
  });
});

describe('the strategy peak-limit', () => {
  const code = (more: Parameters<typeof scriptOf>[1] = {}): string =>
    scriptOf('peak-limit', { meter: value('meter'), limit_w: 10_000, ...more });
  const battery = {
    battery: setpoint('battery', 'discharge', 'power'),
    release: action('battery', 'release'),
    battery_max_w: 8_000,
  };

  /** Mean import of each quarter hour, W. */
  async function quarters(
    site: SimulatedSite,
    count: number,
    gridW: (atS: number) => number,
  ): Promise<number[]> {
    const means: number[] = [];
    for (let quarter = 0; quarter < count; quarter++) {
      let sum = 0;
      await site.pass(900, () => {
        const power = gridW(site.nowS);
        sum += Math.max(0, power) / 180;
        site.measure('meter', power);
      });
      means.push(Math.round(sum));
    }
    return means;
  }

  test('peak-limit keeps every quarter hour below the limit with the battery', async () => {
    const site = new SimulatedSite();
    let dischargeW = 0;
    site.onCommand = ({ name, arguments: given }) => {
      dischargeW = name === 'discharge' ? (given['power'] as number) : 0;
    };
    await site.start(code(battery));
    // A load that comes and goes within the quarter, up to 17 kW.
    const loadW = (atS: number): number => 9_000 + 8_000 * Math.max(0, Math.sin(atS / 170));
    const means = await quarters(site, 8, (atS) => loadW(atS) - dischargeW);
    assert.ok(Math.max(...means) <= 10_000, means.join(' '));
    assert.ok(Math.max(...means) > 9_000, `the battery is not wasted: ${means.join(' ')}`);
    assert.ok(site.changes('battery').includes('release'));
  });

  test('peak-limit switches loads off, the last first, without a battery, and on again when there is room', async () => {
    const site = new SimulatedSite();
    const load = (name: string, powerW: number) => ({
      power_w: powerW,
      on: action(name, 'on'),
      off: action(name, 'off'),
    });
    await site.start(code({ loads: [load('oven', 4_000), load('heater', 3_000)] }));
    const used = (): number =>
      (site.last('oven') === 'off' ? 0 : 4_000) + (site.last('heater') === 'off' ? 0 : 3_000);
    await quarters(site, 1, () => 2_000 + used());
    assert.deepEqual(site.commands, [], 'loads are left to their own rules while there is room');
    const means = await quarters(site, 2, () => 6_500 + used());
    assert.ok(Math.max(...means) <= 10_000, means.join(' '));
    assert.equal(site.last('heater'), 'off');
    await quarters(site, 2, () => 1_000 + used());
    assert.deepEqual([site.last('oven'), site.last('heater')], ['on', 'on']);
    await site.pass(SILENCE_S);
    assert.deepEqual([site.last('oven'), site.last('heater')], ['off', 'off']);
  });

  test('peak-limit counts the unseen part of a quarter hour as used up, and releases the battery in silence', async () => {
    const site = new SimulatedSite(Date.UTC(2026, 2, 1, 8, 10));
    await site.start(code(battery));
    await site.pass(20, () => site.measure('meter', 14_000));
    assert.match(site.last('battery') ?? '', /^discharge [4-8]\d00$/);
    await site.pass(SILENCE_S);
    assert.equal(site.last('battery'), 'release');
  });
});

describe('the strategy export-limit', () => {
  const code = (more: Parameters<typeof scriptOf>[1] = {}): string =>
    scriptOf('export-limit', {
      meter: value('meter'),
      pv_power: value('inverter'),
      inverter: setpoint('inverter', 'limit', 'percent'),
      nominal_w: 10_000,
      ...more,
    });

  test('export-limit lets no power out, follows the load, and falls back to the permitted export', async () => {
    const site = new SimulatedSite();
    let limitW = 10_000;
    site.onCommand = ({ arguments: given }) => {
      limitW = (given['percent'] as number) * 100;
    };
    const house =
      (loadW: number, sunW = 9_000) =>
      (): void => {
        const pvW = Math.min(sunW, limitW);
        site.measure('inverter', pvW);
        site.measure('meter', loadW - pvW);
      };
    await site.start(code());
    await site.pass(30, house(3_000));
    assert.equal(limitW, 3_000);
    await site.pass(30, house(5_000));
    assert.equal(limitW, 5_000);
    await site.pass(30, house(1_000));
    assert.equal(limitW, 1_000);
    await site.pass(SILENCE_S);
    assert.equal(limitW, 0);
    await site.start(code({ limit_w: 6_000 }));
    await site.pass(60, house(1_000));
    assert.equal(limitW, 7_000);
    await site.pass(SILENCE_S);
    assert.equal(limitW, 6_000);
  });
});

describe('the strategy generator', () => {
  const code = (more: Parameters<typeof scriptOf>[1] = {}): string =>
    scriptOf('generator', {
      battery_soc: value('battery', 'soc'),
      start: action('generator', 'start'),
      stop: action('generator', 'stop'),
      ...more,
    });

  test('generator starts and stops by the charge, runs for its minimum, and stops when the charge is unknown', async () => {
    const site = new SimulatedSite();
    const soc = (percent: number) => (): void => site.measure('battery.soc', percent);
    await site.start(code());
    await site.pass(60, soc(50));
    assert.equal(site.last('generator'), 'stop');
    await site.pass(600, soc(30));
    assert.equal(site.last('generator'), 'start');
    await site.pass(300, soc(85));
    assert.equal(site.last('generator'), 'start', 'twenty minutes at least');
    await site.pass(900, soc(85));
    assert.equal(site.last('generator'), 'stop');
    await site.pass(900, soc(20));
    assert.equal(site.last('generator'), 'start');
    await site.pass(SILENCE_S);
    assert.equal(site.last('generator'), 'stop');
  });

  test('generator keeps quiet hours unless the battery is nearly empty', async () => {
    const site = new SimulatedSite(Date.UTC(2026, 2, 1, 23));
    const soc = (percent: number) => (): void => site.measure('battery.soc', percent);
    await site.start(code({ quiet: { from: '22:00', to: '06:00' } }));
    await site.pass(900, soc(20), 10);
    assert.equal(site.last('generator'), 'stop');
    await site.pass(60, soc(10));
    assert.equal(site.last('generator'), 'start');
  });

  test('generator gives up after three starts without power, and says so', async () => {
    const site = new SimulatedSite();
    await site.start(code({ power: value('generator') }));
    await site.pass(
      7_200,
      () => {
        site.measure('battery.soc', 20);
        site.measure('generator', 0);
      },
      10,
    );
    assert.equal(site.changes('generator').filter((text) => text === 'start').length, 3);
    assert.equal(site.last('generator'), 'stop');
    assert.match(site.said.join('\n'), /did not start, attempt 3 of 3/);
  });
});

describe('the strategy heat-pump', () => {
  const code = (more: Parameters<typeof scriptOf>[1] = {}): string =>
    scriptOf('heat-pump', {
      meter: value('meter'),
      normal: action('pump', 'normal'),
      more: action('pump', 'more'),
      full: action('pump', 'full'),
      block: action('pump', 'block'),
      ...more,
    });

  test('heat-pump goes up and down one state at a time, each for its minimum, and back to normal in silence', async () => {
    const site = new SimulatedSite();
    const grid = (power: number) => (): void => site.measure('meter', power);
    await site.start(code());
    await site.pass(310, grid(-4_000));
    assert.equal(site.last('pump'), 'more');
    await site.pass(400, grid(-4_000));
    assert.equal(site.last('pump'), 'more', 'ten minutes at least');
    await site.pass(400, grid(-4_000));
    assert.equal(site.last('pump'), 'full');
    await site.pass(700, grid(1_000));
    assert.equal(site.last('pump'), 'more');
    await site.pass(700, grid(1_000));
    assert.equal(site.last('pump'), 'normal');
    await site.pass(1_000, grid(-2_000));
    assert.equal(site.last('pump'), 'more');
    await site.pass(SILENCE_S);
    assert.equal(site.last('pump'), 'normal');
    assert.deepEqual(site.changes('pump'), ['normal', 'more', 'full', 'more', 'normal', 'more', 'normal']);
  });

  test('heat-pump blocks in the hours of the grid operator', async () => {
    const site = new SimulatedSite(Date.UTC(2026, 2, 1, 10, 50));
    await site.start(code({ blocked: { from: '11:00', to: '12:00' } }));
    const grid = (): void => site.measure('meter', 100);
    await site.pass(900, grid, 10);
    assert.equal(site.last('pump'), 'block');
    await site.pass(3_600, grid, 30);
    assert.equal(site.last('pump'), 'normal');
  });
});
