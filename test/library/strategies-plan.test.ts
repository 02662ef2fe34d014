/** The scripts of strategies that plan, ramp and limit in the sandbox, in simulated time. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { action, scriptOf, setpoint, SimulatedSite, value } from './strategy-site.ts';

/** No value for a minute must be enough to be safe. */
const SILENCE_S = 60;

describe('the strategy battery-by-price', () => {
  const MIDNIGHT = Date.UTC(2026, 2, 1);
  const code = (more: Parameters<typeof scriptOf>[1] = {}): string =>
    scriptOf('battery-by-price', {
      prices: { device: 'market', attribute: 'prices', factor: 1 },
      battery_soc: value('battery', 'soc'),
      charge: setpoint('battery', 'charge', 'power'),
      hold: action('battery', 'hold'),
      release: action('battery', 'release'),
      ...more,
    });
  /** Prices of a day by the hour. */
  const schedule = (priceOf: (hour: number) => number) => ({
    start: MIDNIGHT / 1_000,
    step_s: 3_600,
    values: Array.from({ length: 24 }, (_, hour) => priceOf(hour)),
  });
  const dearEvening = schedule((hour) => (hour < 2 ? 0.1 : hour < 17 ? 0.46 : 0.5));

  test('battery-by-price charges in the cheapest hours, holds, and is released in the dear ones', async () => {
    const site = new SimulatedSite(MIDNIGHT);
    await site.start(code({ load_w: 1_000 }));
    const charged = (soc: number) => (): void => {
      site.measure('market.prices', dearEvening);
      site.measure('battery.soc', soc);
    };
    await site.pass(1_800, charged(20), 30);
    assert.equal(site.last('battery'), 'charge 3000');
    await site.pass(4 * 3_600, charged(50), 30);
    assert.equal(site.last('battery'), 'hold', 'what is stored is worth more in the evening');
    await site.pass(13 * 3_600, charged(50), 30);
    assert.equal(site.last('battery'), 'release');
    await site.pass(1_800, charged(10), 30);
    assert.equal(site.last('battery'), 'hold', 'the reserve is never touched');
  });

  test('battery-by-price plans charging in the cheap hours, holding, and discharging in the dear ones', async () => {
    const site = new SimulatedSite(MIDNIGHT);
    const dear = schedule((hour) => (hour >= 2 && hour < 4 ? 0.1 : hour >= 18 && hour < 21 ? 0.6 : 0.3));
    site.measure('market.prices', dear);
    site.measure('battery.soc', 10);
    await site.start(code({ load_w: 1_250, charge_w: 2_000, wear: 0.15 }));
    await site.pass(60, () => site.measure('battery.soc', 10), 30);
    const planned = [...site.asked.values()]
      .flatMap(({ plan }) => plan)
      .map(({ fromS, toS, action }) => {
        const [from, to] = [fromS, toS].map((atS) => (atS - MIDNIGHT / 1_000) / 3_600);
        return `${action} ${from}-${to}`;
      });
    assert.equal(planned.join(), 'HOLD 0-2,CHARGE 2-4,HOLD 4-18,DISCHARGE 18-21,HOLD 21-24');
    await site.pass(SILENCE_S);
    assert.deepEqual(
      [...site.asked.values()].flatMap(({ plan }) => plan),
      [],
      'without a charge there is no plan',
    );
  });

  test('battery-by-price does not trade where losses and wear eat the difference', async () => {
    const site = new SimulatedSite(MIDNIGHT);
    await site.start(code({ efficiency: 80 }));
    const flat = schedule((hour) => (hour < 2 ? 0.28 : 0.3));
    await site.pass(
      3 * 3_600,
      () => {
        site.measure('market.prices', flat);
        site.measure('battery.soc', 50);
      },
      30,
    );
    assert.ok(
      !site.changes('battery').some((text) => text.startsWith('charge')),
      site.changes('battery').join(),
    );
  });

  test('battery-by-price learns the load of the house, over restarts, and does not buy what it will not use', async () => {
    const site = new SimulatedSite(MIDNIGHT);
    const parameters = { load_w: 3_000, meter: value('meter'), battery_power: value('battery') };
    const day = (dayNumber: number) => ({ ...dearEvening, start: MIDNIGHT / 1_000 + dayNumber * 86_400 });
    const small = (): void => {
      site.measure('market.prices', day(Math.floor(site.nowS / 86_400)));
      site.measure('battery.soc', 50);
      site.measure('battery', 0);
      site.measure('meter', 40);
    };
    await site.start(code(parameters));
    await site.pass(3_600, small, 30);
    assert.equal(site.last('battery'), 'charge 3000', 'three kilowatts are expected');
    await site.pass(24 * 3_600, small, 30);
    await site.start(code(parameters));
    await site.pass(1_200, small, 30);
    assert.notEqual(site.last('battery'), 'charge 3000', 'a charge of a half is enough for 40 W');
  });

  test('battery-by-price buys for a grey day and not for a bright one with a forecast, and by the last days without', async () => {
    const cheapNight = schedule((hour) => (hour < 1 ? 0.2 : 0.4));
    const sun = (watts: number) => schedule((hour) => (hour >= 7 && hour < 18 ? watts : 0));
    const isBuying = async (more: Parameters<typeof scriptOf>[1], forecast?: object): Promise<boolean> => {
      const site = new SimulatedSite(MIDNIGHT);
      site.measure('market.prices', cheapNight);
      if (forecast) site.measure('weather.sun', { ...forecast });
      await site.start(code({ load_w: 1_000, ...more }));
      await site.pass(60, () => site.measure('battery.soc', 75), 30);
      return site.last('battery') === 'charge 3000';
    };
    const forecast = { device: 'weather', attribute: 'sun', factor: 1 };
    assert.ok(await isBuying({ forecast }, sun(0)));
    assert.ok(!(await isBuying({ forecast }, sun(6_000))));
    const radiation = { forecast, forecast_factor: 8 };
    assert.ok(!(await isBuying(radiation, sun(750))), 'radiation times the size of the plant');
    assert.ok(await isBuying({ forecast }, sun(750)));
    assert.ok(await isBuying({ forecast }), 'without a forecast the load counts');
  });

  test('battery-by-price corrects a forecast that is too bright every day', async () => {
    const site = new SimulatedSite(MIDNIGHT);
    const parameters = {
      load_w: 500,
      meter: value('meter'),
      battery_power: value('battery'),
      forecast: { device: 'weather', attribute: 'sun', factor: 1 },
    };
    const cheapNight = schedule((hour) => (hour < 1 ? 0.2 : 0.4));
    const bright = schedule((hour) => (hour >= 7 && hour < 18 ? 6_000 : 0));
    const now = (): void => {
      const start = MIDNIGHT / 1_000 + Math.floor(site.nowS / 86_400) * 86_400;
      site.measure('market.prices', { ...cheapNight, start });
      site.measure('weather.sun', { ...bright, start });
      site.measure('battery.soc', 60);
      site.measure('battery', 0);
      site.measure('meter', 500);
    };
    now();
    await site.start(code(parameters));
    await site.pass(60, now, 30);
    assert.notEqual(site.last('battery'), 'charge 3000');
    await site.pass(86_400, now, 30);
    assert.equal(site.last('battery'), 'charge 3000', 'the forecast brought nothing the day before');
  });

  test('battery-by-price releases the battery when the charge is silent or the prices end', async () => {
    const site = new SimulatedSite(MIDNIGHT);
    await site.start(code());
    const low = (): void => site.measure('battery.soc', 20);
    site.measure('market.prices', dearEvening);
    await site.pass(600, low);
    assert.equal(site.last('battery'), 'charge 3000');
    await site.pass(SILENCE_S);
    assert.equal(site.last('battery'), 'release');
    site.measure('market.prices', { start: 'tomorrow', values: [0.1] });
    await site.pass(1_200, low);
    assert.equal(site.last('battery'), 'release');
  });
});

describe('the strategy electrolyser', () => {
  const code = (more: Parameters<typeof scriptOf>[1] = {}): string =>
    scriptOf('electrolyser', {
      meter: value('meter'),
      electrolyser_power: value('stack'),
      tank: value('tank', 'level'),
      power: setpoint('stack', 'run', 'power'),
      standby: action('stack', 'standby'),
      stop: action('stack', 'stop'),
      ...more,
    });
  function plant(site: SimulatedSite) {
    let takenW = 0;
    site.onCommand = ({ name, arguments: given }) => {
      takenW = name === 'run' ? (given['power'] as number) : 0;
    };
    return (surplusW: number, level = 50) =>
      (): void => {
        site.measure('stack', takenW);
        site.measure('meter', takenW - surplusW);
        site.measure('tank.level', level);
      };
  }

  test('electrolyser rises in a ramp, follows the surplus down at once, and waits in standby before it goes off', async () => {
    const site = new SimulatedSite();
    const surplus = plant(site);
    await site.start(code({ ramp_w: 600 }));
    await site.pass(130, surplus(2_000));
    assert.match(site.last('stack') ?? '', /^run [56]00$/);
    const steps: number[] = [];
    for (let minute = 0; minute < 4; minute++) {
      await site.pass(60, surplus(2_000));
      steps.push(Number(site.last('stack')?.split(' ')[1]));
    }
    for (const [index, watts] of steps.entries())
      assert.ok(watts - (steps[index - 1] ?? 600) <= 700, steps.join(' '));
    assert.equal(steps.at(-1), 2_000);
    await site.pass(20, surplus(1_200));
    assert.equal(site.last('stack'), 'run 1200');
    await site.pass(900, surplus(100));
    assert.equal(site.last('stack'), 'standby');
    await site.pass(200, surplus(1_000));
    assert.match(site.last('stack') ?? '', /^run/, 'back from standby');
    await site.pass(900, surplus(100));
    await site.pass(3_600, surplus(100));
    assert.equal(site.last('stack'), 'stop');
  });

  test('electrolyser stops at once when the tank is full, restarts well below, and stops in silence', async () => {
    const site = new SimulatedSite();
    const surplus = plant(site);
    await site.start(code());
    await site.pass(300, surplus(2_000));
    await site.pass(20, surplus(2_000, 95));
    assert.equal(site.last('stack'), 'stop');
    await site.pass(1_800, surplus(2_000, 92));
    assert.equal(site.last('stack'), 'stop');
    await site.pass(300, surplus(2_000, 90));
    assert.match(site.last('stack') ?? '', /^run/);
    await site.pass(SILENCE_S, () => site.measure('meter', -2_000));
    assert.equal(site.last('stack'), 'stop');
  });
});

describe('the strategy battery-health', () => {
  const code = (more: Parameters<typeof scriptOf>[1] = {}): string =>
    scriptOf('battery-health', {
      battery_soc: value('battery', 'soc'),
      temperature: value('battery', 'temperature'),
      limit: setpoint('battery', 'limit_charge', 'power'),
      ...more,
    });
  const at = (site: SimulatedSite, soc: number, celsius: number) => (): void => {
    site.measure('battery.soc', soc);
    site.measure('battery.temperature', celsius);
  };

  test('battery-health stops below full on ordinary days, and lets the battery get full when that is due', async () => {
    const site = new SimulatedSite();
    await site.start(code({ full_days: 1 }));
    await site.pass(60, at(site, 60, 20));
    assert.equal(site.last('battery'), 'limit_charge 5000');
    await site.pass(60, at(site, 85, 20));
    assert.equal(site.last('battery'), 'limit_charge 0');
    await site.pass(60, at(site, 83, 20));
    assert.equal(site.last('battery'), 'limit_charge 0', 'not to and fro');
    await site.pass(60, at(site, 82, 20));
    assert.equal(site.last('battery'), 'limit_charge 5000');
    await site.pass(86_400, at(site, 85, 20), 30);
    assert.equal(site.last('battery'), 'limit_charge 5000', 'a full charge is due');
    await site.pass(60, at(site, 95, 20));
    assert.equal(site.last('battery'), 'limit_charge 1500');
    await site.pass(60, at(site, 99, 20));
    assert.equal(site.last('battery'), 'limit_charge 0', 'it was full');
  });

  test('battery-health charges slowly in the cold, not at all in frost, and slowly in silence', async () => {
    const site = new SimulatedSite();
    await site.start(code());
    await site.pass(60, at(site, 50, 8));
    assert.equal(site.last('battery'), 'limit_charge 1000');
    await site.pass(60, at(site, 50, 1));
    assert.equal(site.last('battery'), 'limit_charge 0');
    await site.pass(60, at(site, 50, 1.9));
    assert.equal(site.last('battery'), 'limit_charge 0');
    await site.pass(60, at(site, 50, 9.5));
    assert.equal(site.last('battery'), 'limit_charge 5000');
    await site.pass(SILENCE_S, () => site.measure('battery.soc', 50));
    assert.equal(site.last('battery'), 'limit_charge 1000', 'an unknown temperature is cold');
    await site.pass(SILENCE_S);
    assert.equal(site.last('battery'), 'limit_charge 1000');
  });
});

describe('the strategy grid-signal', () => {
  const code = (more: Parameters<typeof scriptOf>[1] = {}): string =>
    scriptOf('grid-signal', {
      signal: value('contact', 'closed'),
      loads: [{ power: setpoint('charger', 'limit', 'power'), limit_w: 4_200, free_w: 11_000 }],
      ...more,
    });

  test('grid-signal limits within five seconds of the signal, as long as it lasts, and logs both ends', async () => {
    const site = new SimulatedSite();
    await site.start(code());
    await site.pass(60, () => site.measure('contact.closed', 0));
    assert.equal(site.last('charger'), 'limit 11000');
    await site.pass(1, () => site.measure('contact.closed', 1), 1);
    assert.equal(site.last('charger'), 'limit 4200');
    await site.pass(3_600, () => site.measure('contact.closed', 1));
    assert.equal(site.last('charger'), 'limit 4200');
    await site.pass(5, () => site.measure('contact.closed', 0));
    assert.deepEqual(site.changes('charger'), ['limit 11000', 'limit 4200', 'limit 11000']);
    assert.match(
      site.said.join('\n'),
      /limit of the grid operator begins[\s\S]*limit of the grid operator ends/,
    );
  });

  test('grid-signal keeps the limit when the signal is silent, and reads a contact that opens', async () => {
    const site = new SimulatedSite();
    await site.start(code({ limited_while: 'off' }));
    await site.pass(60, () => site.measure('contact.closed', 1));
    assert.equal(site.last('charger'), 'limit 11000');
    await site.pass(5, () => site.measure('contact.closed', 0));
    assert.equal(site.last('charger'), 'limit 4200');
    await site.pass(60, () => site.measure('contact.closed', 1));
    await site.pass(SILENCE_S);
    assert.equal(site.last('charger'), 'limit 4200');
  });
});
