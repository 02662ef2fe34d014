/** What stands beside the lines of a scale. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axisTexts, cellDigits, cellText, timeTexts } from '../../src/console/history/axis-texts.ts';
import { zone } from '../../src/console/zone.ts';

const rows: [title: string, values: (number | null)[], step: number, texts: string[]][] = [
  ['a power', [0, 2_000, 4_000], 2_000, ['0', '2 000', '4 000']],
  ['a large power', [-10_000, 0, 20_000], 10_000, ['−10k', '0', '20k']],
  ['a share', [0, 50, 100], 50, ['0', '50', '100']],
  ['a voltage that hardly moves', [230.1, 230.12, 230.14], 0.02, ['230.10', '230.12', '230.14']],
  ['a counter that hardly moves', [12_345.2, 12_345.4, 12_345.6], 0.2, ['12 345.2', '12 345.4', '12 345.6']],
  ['a counter that moves', [12_500, 15_000, 17_500], 2_500, ['12.5k', '15.0k', '17.5k']],
  ['millions', [0, 500_000, 1_000_000], 500_000, ['0', '0.5M', '1.0M']],
  ['what is very large', [0, 1e18, 2e18], 1e18, ['0E0', '1E18', '2E18']],
  ['what is small', [0, 0.00002, 0.00004], 0.00002, ['0', '0.00002', '0.00004']],
  ['what is very small', [5e-9, 7.5e-9], 2.5e-9, ['5E−9', '7.5E−9']],
  ['nothing', [0], 1, ['0']],
  ['a place without a line', [null, 1], 1, ['', '1']],
];
for (const [title, values, step, texts] of rows)
  test(`the lines of an axis can be told apart for ${title}`, () =>
    assert.deepEqual(axisTexts(values, step), texts));

test('the highest line of an axis has the unit, and all lines are in it', () => {
  const rows: [values: number[], step: number, unit: string, texts: string[]][] = [
    [[0, 2_000, 4_000], 2_000, 'W', ['0', '2', '4 kW']],
    [[-5_000, 0, 5_000], 2_500, 'W', ['−5.0', '0', '5.0 kW']],
    [[0, 200, 400], 200, 'W', ['0', '200', '400 W']],
    [[0, 5, 10], 5, 'kW', ['0', '5', '10 kW']],
    [[0, 10_000, 20_000], 10_000, 'kWh', ['0', '10', '20 MWh']],
    [[0, 50, 100], 50, '%', ['0', '50', '100 %']],
    [[0, 10_000, 20_000], 10_000, 'm³/h', ['0', '10 000', '20 000 m³/h']],
    [[230.1, 230.12], 0.02, 'V', ['230.10', '230.12 V']],
  ];
  for (const [values, step, unit, texts] of rows) assert.deepEqual(axisTexts(values, step, unit), texts);
});

test('the cells of a column have the same number of digits, unless their sizes differ too much', () => {
  assert.deepEqual(
    [1.5, 20, null].map((value) => cellText(value, false, cellDigits([1.5, 20, null]))),
    ['1.5', '20.0', '–'],
  );
  assert.equal(cellDigits([0.000_2, 20]), undefined);
});

test('times are dates where a day of the site begins, also when its clocks change, and months of a year from afar', () => {
  zone.value = 'Europe/Berlin';
  const at = (...texts: string[]): number[] => texts.map((text) => Date.parse(text) / 1_000);
  const nights = at('2026-03-28T23:00Z', '2026-03-29T01:00Z', '2026-03-29T22:00Z');
  assert.deepEqual(timeTexts(nights, 10_800, 300), ['29 Mar', '03:00', '30 Mar']);
  const years = at('2024-12-31T23:00Z', '2025-12-31T23:00Z');
  assert.deepEqual(timeTexts(years, 365 * 86_400, 86_400), ['Jan 2025', 'Jan 2026']);
});

test('a number that is only ever on or off is read as a boolean, any other as a number', () => {
  const read = (isSwitch: boolean): string[] =>
    [1, 0, 0.5, null, undefined].map((value) => cellText(value, isSwitch));
  assert.deepEqual(read(true), ['on', 'off', '', '–', '–']);
  assert.deepEqual(read(false), ['1', '0', '0.5', '–', '–']);
});
