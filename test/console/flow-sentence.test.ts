/** What the present power flows mean, in a sentence. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { PowerNow } from '../../src/console/site/energy.ts';
import { sentenceOf, supplyOf } from '../../src/console/site/flow-sentence.ts';

type Powers = Partial<Record<PowerNow['roles'][number]['role'], number | null>>;

const now = (powers: Powers, percent: number | null = null): PowerNow =>
  ({
    at: '2026-03-01T08:00:00Z',
    sources: [],
    roles: Object.entries(powers).map(([role, powerW]) => ({
      role,
      power_w: powerW,
      state_of_charge_percent: role === 'battery' ? percent : null,
      is_calculated: false,
      reason: powerW === null ? 'stale' : null,
    })),
  }) as unknown as PowerNow;

describe('the sentence above the picture of the flows', () => {
  const rows: [title: string, power: PowerNow, shown: string, more: string][] = [
    [
      'no value is known',
      now({ pv: null, grid: null }),
      'No current values',
      'The devices have not reported for a while.',
    ],
    ['nothing gives power', now({ pv: 2, grid: -3 }), 'Nothing flows now', ''],
    ['the sun gives all', now({ pv: 5_200, grid: -1_000 }), 'Running on sunshine', '1.0 kW go to the grid.'],
    [
      'the battery gives all',
      now({ pv: 0, battery: 800, grid: 1 }, 64),
      'Running on the battery',
      'The battery is at 64 %.',
    ],
    ['the grid gives all', now({ grid: 900 }), 'Running on grid power', '900 W come from the grid.'],
    [
      'the sun and the grid give',
      now({ pv: 600, grid: 400 }),
      'Sun and grid supply the house',
      '400 W come from the grid.',
    ],
    [
      'the grid gives a trace',
      now({ pv: 5_000, grid: 100 }),
      'Running on sunshine',
      '100 W come from the grid.',
    ],
    [
      'more take than a sentence holds',
      now({ pv: 9_000, battery: -1_700, ev_charger: 3_600, grid: -900 }, 50),
      'Running on sunshine',
      '1.7 kW go into the battery and 3.6 kW charge the car.',
    ],
  ];
  for (const [title, power, shown, more] of rows)
    test(`the sentence above the flows is true when ${title}`, () =>
      assert.deepEqual(sentenceOf(power), { title: shown, more }));

  test('the sentence above the flows names as supply what gives power, not what takes it', () =>
    assert.deepEqual(supplyOf(now({ pv: 3_000, battery: -1_000, grid: 500, load: 2_500 })), [
      { role: 'pv', powerW: 3_000 },
      { role: 'grid', powerW: 500 },
    ]));
});
