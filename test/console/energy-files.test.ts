import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Energy } from '../../src/console/site/energy.ts';
import { csvOfBooks, sheetOfBooks } from '../../src/console/site/energy-files.ts';

const DAY_MS = 86_400_000;
const START_MS = Date.parse('2026-11-20T00:00:00Z');
const SOURCES = { pv: 0, generator: 0, battery: 0, grid: 0 };
const USES = { load: 0, electrolyser: 0, ev_charger: 0, heat_pump: 0, battery: 0, grid: 0 };

const book = (gaps: Record<string, number>, sun = 0, used = 0) =>
  ({
    sources_wh: { ...SOURCES, pv: sun },
    uses_wh: { ...USES, load: used },
    self_sufficiency: used === 0 ? null : 1,
    self_consumption: null,
    gap_s: gaps,
  }) as Partial<Energy['total']>;

const energyOf = (books: readonly Partial<Energy['total']>[]): Energy =>
  ({
    timezone: 'UTC',
    buckets: books.map((one, index) => ({
      from: new Date(START_MS + index * DAY_MS).toISOString(),
      to: new Date(START_MS + (index + 1) * DAY_MS).toISOString(),
      ...one,
    })),
  }) as unknown as Energy;

const DAYS = [
  book({ pv: 86_400, grid: 86_400 }),
  book({ pv: 1_800, grid: 86_400 }, 4_200, 3_000),
  // Of this one twelve hours are past.
  book({ pv: 43_200, grid: 43_199 }),
  book({ pv: 0, grid: 0 }),
];
const NOW_MS = START_MS + 2.5 * DAY_MS;

test('a sheet of energy is empty where values are unknown, and has no future days', () => {
  assert.equal(
    sheetOfBooks(energyOf(DAYS), NOW_MS),
    [
      '\ufeffFrom,Solar kWh,Generator kWh,Imported kWh,Exported kWh,Charged kWh,Discharged kWh,Consumption kWh,Self-sufficiency %,Not known h',
      '2026-11-20 00:00:00,,,,,,,,,24',
      '2026-11-21 00:00:00,4.2,0,,,0,0,3,100,24',
      '2026-11-22 00:00:00,,,,,,,,,12',
      '',
    ].join('\r\n'),
  );
});

test('a file of energy has the unknown time of each role', () => {
  const [head = '', , second] = csvOfBooks(energyOf(DAYS)).split('\r\n');
  assert.match(head, /,self_consumption,gap_pv_s,gap_grid_s$/);
  assert.match(second ?? '', /,1,,1800,86400$/);
});

test('files of energy have money where there is a tariff', () => {
  const money = {
    import_cost: 1.2345,
    standing_charge: 0.5,
    export_revenue: 2,
    total_cost: -0.2655,
    own_consumption_value: 3,
    unpriced_kwh: { import: 0.25, export: 0.5, own_consumption: 9 },
  };
  const day = { ...book({ pv: 0 }, 4_200, 3_000), money };
  const energy: Energy = { ...energyOf([day]), currency: 'EUR' };
  const [head = '', row = ''] = sheetOfBooks(energy, NOW_MS).split('\r\n');
  assert.match(
    head,
    /,Import EUR,Standing charge EUR,Export revenue EUR,Total cost EUR,Own consumption EUR,/,
  );
  assert.match(row, /,1\.2345,0\.5,2,-0\.2655,3,0\.75$/);
  const [names = '', values = ''] = csvOfBooks(energy).split('\r\n');
  assert.match(names, /,import_cost_EUR,.*,unpriced_kwh$/);
  assert.match(values, /,1\.2345,0\.5,2,-0\.2655,3,0\.75$/);
});
