/** Strategies in the simulated house keep their hard rules, and perfect foresight is never worse than they are. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { batteryOptimum, batteryWeek } from '../../../scripts/simulate/house/battery.ts';
import { carOptimum, carWeek } from '../../../scripts/simulate/house/car.ts';
import { PEAK_RULES, peakDays } from '../../../scripts/simulate/house/peak.ts';
import {
  createWeek,
  forecastOf,
  pricesOf,
  quartersOf,
  TARIFFS,
  tripsOf,
} from '../../../scripts/simulate/house/surroundings.ts';

/** Days of June, when there is something to decide. */
const AT = { seed: 1, day: 170 };
const june = (days: number) => createWeek({ ...AT, days, stepS: 30 });

describe('the simulated house', () => {
  test('the simulated house has a forecast that is wrong about days and hours, and never brighter than a clear sky', () => {
    const week = createWeek({ ...AT, days: 7, stepS: 300 });
    const forecast = forecastOf(AT, week);
    assert.deepEqual(forecast, forecastOf(AT, week));
    const real = quartersOf(week.pvW, week.stepS);
    const perDay = (values: Float64Array): number[] =>
      Array.from({ length: 7 }, (_, day) =>
        values.subarray(day * 96, (day + 1) * 96).reduce((sum, watts) => sum + watts, 0),
      );
    const errors = perDay(forecast).map((expected, day) => Math.abs(expected / (perDay(real)[day] ?? 1) - 1));
    assert.ok(Math.max(...errors) > 0.1 && errors.some((error) => error < 0.4), errors.join(' '));
    assert.ok(Math.max(...forecast) <= 9_000);
  });

  test('the simulated house is the same for the same seed, has less sun in winter, and different days', () => {
    assert.deepEqual(june(2), june(2));
    const sum = (values: Float64Array): number => values.reduce((all, value) => all + value, 0);
    const summer = june(2);
    const winter = createWeek({ ...AT, day: 355, days: 2, stepS: 30 });
    assert.ok(sum(summer.pvW) > 2 * sum(winter.pvW));
    assert.notDeepEqual(summer.loadW.subarray(0, 2_880), summer.loadW.subarray(2_880));
  });

  test('the simulated house charges a car by surplus with few starts, within its currents, and as required by seven', async () => {
    const week = june(2);
    const result = await carWeek('strategy', week, AT);
    assert.deepEqual([result.violations, result.errors], [0, []]);
    assert.ok(result.mostStartsADay <= 6, `${result.mostStartsADay} starts`);
    assert.equal(result.missingWh, 0);
    const plain = await carWeek('on and off', week, AT);
    const best = carOptimum(week, tripsOf(AT));
    assert.ok(best.gridWh <= result.gridWh && best.gridWh <= plain.gridWh);
    assert.ok(result.gridWh < plain.gridWh);
  });

  for (const tariff of TARIFFS)
    test(`the simulated house keeps the reserve and saves money by ${tariff === 'dynamic' ? 'dynamic prices' : 'two rates'}`, async () => {
      const at = { seed: 1, day: 20, tariff };
      const week = createWeek({ ...at, days: 2, stepS: 30 });
      const result = await batteryWeek('strategy', week, at);
      assert.deepEqual(result.errors, []);
      // A value is up to half a minute old.
      assert.ok(result.lowestPercent >= 9.5, `${result.lowestPercent} %`);
      assert.ok(result.switches <= 2 * 40, `${result.switches} switches`);
      const best = batteryOptimum(week, pricesOf(at, tariff));
      const none = await batteryWeek('no battery', week, at);
      assert.ok(best.cost <= result.cost + 0.001);
      assert.ok(
        none.cost - result.cost >= 0.8 * (none.cost - best.cost),
        `${none.cost} ${result.cost} ${best.cost}`,
      );
    });

  test('the simulated house keeps every quarter of an hour below the limit, with less of the battery than a plain rule', async () => {
    const week = createWeek({ seed: 1, day: 21, days: 2, stepS: 10 });
    const [nothing, plain, result, best] = await Promise.all(
      PEAK_RULES.map((rule) => peakDays(rule, week, 1)),
    );
    assert.ok(nothing && plain && result && best);
    assert.deepEqual([result.preventable, result.errors], [0, []]);
    assert.ok(nothing.violated > result.violated && result.violated >= best.violated);
    assert.ok(result.dischargedWh >= best.dischargedWh);
  });

  test('a full battery leaves room for another load that starts while one already runs', async () => {
    const { violated, errors } = await peakDays(
      'strategy',
      createWeek({ seed: 6, day: 20, days: 1, stepS: 10 }),
      6,
    );
    assert.deepEqual([violated, errors], [0, []]);
  });
});
