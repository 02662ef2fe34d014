/** What really came in the hours of today, by the books of hours that are over. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyBalance } from '../../../src/capabilities/energy/balance.ts';
import { forecastDays } from '../../../src/capabilities/energy/forecast.ts';
import { flowIndex } from '../../../src/capabilities/energy/model.ts';
import { ROLES } from '../../../src/capabilities/energy/tables.ts';

const MIDNIGHT_S = Date.parse('2026-11-28T00:00:00Z') / 1_000;
const HOUR_S = 3_600;

test('the battery of an hour that is over is what it gave less what it took, and unknown with a long gap or before the end', async () => {
  const hour = (index: number, givenWh: number, takenWh: number, knownS: number) => {
    const balance = emptyBalance();
    balance.flowsWh[flowIndex('battery', 'load')] = givenWh;
    balance.flowsWh[flowIndex('pv', 'battery')] = takenWh;
    balance.knownS[ROLES.indexOf('battery')] = knownS;
    return { fromS: MIDNIGHT_S + index * HOUR_S, toS: MIDNIGHT_S + (index + 1) * HOUR_S, balance };
  };
  const books = [
    hour(0, 500, 0, HOUR_S),
    hour(1, 100, 900, HOUR_S),
    hour(2, 300, 0, 1_800),
    hour(3, 400, 0, 900),
  ];
  const [today, tomorrow] = await forecastDays(
    {
      hours: ({ fromS }) => Promise.resolve(fromS === MIDNIGHT_S ? books : []),
      hasLoad: true,
      nowS: MIDNIGHT_S + 3 * HOUR_S + 900,
      timezone: 'UTC',
    },
    { sunW: undefined, importPrice: () => undefined },
  );
  assert.deepEqual(
    today?.hours.slice(0, 5).map(({ measuredBatteryWh }) => measuredBatteryWh),
    [500, -800, null, null, null],
  );
  assert.ok(tomorrow?.hours.every(({ measuredBatteryWh }) => measuredBatteryWh === null));
});
