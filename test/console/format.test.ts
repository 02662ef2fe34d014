import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  ageText,
  attributeTitle,
  columnDigits,
  freshness,
  numberAs,
  numberText,
  scaleFactor,
  shownUnit,
  showValue,
  words,
} from '../../src/console/format.ts';
import type { Attribute } from '../../src/console/shapes.ts';

const NOW_S = 1_772_352_000;
const attribute = (fields: Partial<Attribute>): Attribute => ({
  display_name: 'X',
  type: 'float',
  access_level: 'readonly',
  implements: [],
  aliases: [],
  ...fields,
});
const text = (...parameters: Parameters<typeof showValue>): string => {
  const { text: shown, unit } = showValue(...parameters);
  return `${shown} ${unit}`.trim();
};

describe('the freshness of a value', () => {
  const rows: [
    title: string,
    timestampS: number,
    receivedAtS: number | undefined,
    ageS: number,
    isStale: boolean,
  ][] = [
    ['is lost after 30 seconds', NOW_S - 31, undefined, 31, true],
    ['counts from the measurement, not from the arrival of late data', NOW_S - 600, NOW_S, 600, true],
    ['is never believed of a measurement from the future', NOW_S + 3_600, undefined, 0, true],
    ['counts from the arrival when the clock of the device is ahead', NOW_S + 3_600, NOW_S - 40, 40, true],
    ['holds for 30 seconds', NOW_S - 30, undefined, 30, false],
    ['holds when clocks differ by a moment', NOW_S + 5, undefined, 0, false],
    ['is never believed of what arrived by a clock that was put back', NOW_S + 3_600, NOW_S + 3_600, 0, true],
    ['does not come back when clocks reach the measurement', NOW_S + 20, NOW_S - 3_600, 3_600, true],
    ['holds for what has just arrived from a clock that is ahead', NOW_S + 3_600, NOW_S - 1, 1, false],
  ];
  for (const [title, timestampS, receivedAtS, ageS, isStale] of rows)
    test(title, () => assert.deepEqual(freshness(timestampS, receivedAtS, NOW_S), { ageS, isStale }));

  test('the freshness of a value lasts for two and a half intervals of a slow value, but not of one that comes very rarely', () => {
    const isStale = (ageS: number, pauseS: number): boolean =>
      freshness(NOW_S - ageS, undefined, NOW_S, pauseS).isStale;
    const rows: [ageS: number, pauseS: number, isStale: boolean][] = [
      [30, 1, false],
      [31, 1, true],
      [150, 60, false],
      [151, 60, true],
      [600, 240, false],
      [601, 240, true],
      [2_250, 900, false],
      [2_251, 900, true],
      [31, 3_601, true],
    ];
    for (const [ageS, pauseS, expected] of rows) assert.equal(isStale(ageS, pauseS), expected, `${ageS} s`);
  });

  test('the freshness of a value never comes back with time', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -7_200, max: 7_200 }),
        fc.nat(10_000),
        fc.nat(10_000),
        (offsetS, passedS, moreS) => {
          const at = (nowS: number) => freshness(NOW_S + offsetS, NOW_S, nowS);
          if (at(NOW_S + passedS).isStale) assert.ok(at(NOW_S + passedS + moreS).isStale);
        },
      ),
    );
  });
});

describe('a value as people read it', () => {
  test('a value as people read it is a dash when there is none', () =>
    assert.equal(text(null, attribute({})), '–'));

  test('a value as people read it has its unit in the scale that keeps it above one', () => {
    const power = attribute({ unit: 'W', auto_scale: ['kW', 'MW'] });
    assert.equal(text(999, power), '999 W');
    assert.equal(text(-2_910, power), '−2.91 kW');
    assert.equal(text(14_570_000, power), '14.57 MW');
    assert.equal(text(13_740_000, attribute({ unit: 'Wh' })), '13.74 MWh');
    assert.equal(text(2_500, attribute({ unit: 'W', auto_scale: [] })), '2 500 W');
    assert.equal(text(2_500, attribute({ unit: 'V' })), '2 500 V');
  });

  test('a value as people read it has the symbol that the manifest gives its unit', () => {
    const manifest = { units: { Cel: { symbol: '°C' } } } as unknown as Parameters<typeof showValue>[2];
    assert.equal(text(32.7, attribute({ unit: 'Cel' }), manifest), '32.7 °C');
  });

  test('a value as people read it is the name of a listed value, with its colour', () => {
    const items = [
      { value: 'idle', display_name: 'At rest', color: 'green' },
      { value: 'peak_shaving', display_name: 'peak_shaving' },
    ];
    const state = attribute({ type: 'string', enum_with_metainfo: items });
    assert.deepEqual(showValue('idle', state), { text: 'At rest', unit: '', color: 'green' });
    assert.equal(text('peak_shaving', state), 'Peak shaving');
    assert.equal(text('unheard_of', state), 'unheard_of');
  });

  test('a value as people read it is yes or no, a list, or JSON', () => {
    assert.equal(text(false, attribute({ type: 'boolean' })), 'No');
    assert.equal(text(['a', 'b'], attribute({})), 'a, b');
    assert.equal(text([], attribute({})), 'none');
    assert.equal(text({ a: 1 }, attribute({ type: 'json' })), '{"a":1}');
  });

  test('a value as people read it is a size or a time in readable units', () => {
    assert.equal(
      text(81_775_738_880, attribute({ type: 'integer' }), undefined, 'disk_free_bytes'),
      '81.78 GB',
    );
    assert.equal(text(0, attribute({ type: 'integer' }), undefined, 'history_size_bytes'), '0 B');
    assert.equal(text(90, attribute({ unit: 's' })), '90 s');
    assert.equal(text(3_700, attribute({ unit: 's' })), '1 h 1 min');
    assert.equal(text(200_000, attribute({ unit: 's' })), '2 d 7 h');
    assert.equal(
      attributeTitle('disk_free_bytes', attribute({ display_name: 'Disk Free (bytes)' })),
      'Disk Free',
    );
  });

  test('a value as people read it keeps its digits in a larger unit, so that a steady power keeps its width', () => {
    const power = attribute({ unit: 'W', auto_scale: ['kW'] });
    assert.deepEqual(
      [4_999, 5_000, 5_201, 123_400].map((value) => text(value, power)),
      ['5.00 kW', '5.00 kW', '5.20 kW', '123.4 kW'],
    );
  });

  test('a value as people read it is more than twenty years instead of a count of days that only looks exact', () => {
    const rows: [value: number, unit: string, shown: string][] = [
      [694_315, 'd', 'more than 20 years'],
      [7_306, 'd', 'more than 20 years'],
      [7_300, 'd', '7 300 d'],
      [800_000_000, 's', 'more than 20 years'],
      [200_000, 'h', 'more than 20 years'],
    ];
    for (const [value, unit, shown] of rows) assert.equal(text(value, attribute({ unit })), shown);
  });

  test('a value as people read it has about four digits', () => {
    const rows: [number, string][] = [
      [0, '0'],
      [0.01234, '0.0123'],
      [1.2345, '1.23'],
      [123.45, '123.5'],
      [12_345.6, '12 346'],
      [-0, '0'],
      [-0.000_01, '−0.00001'],
      [0.000_123_4, '0.000123'],
      [2.5e-8, '2.5E−8'],
      [-1e-12, '0'],
      [-0.4, '−0.4'],
      [1.234e20, '1.234E20'],
      [Number.NaN, '–'],
    ];
    for (const [value, shown] of rows) assert.equal(numberText(value), shown);
  });
});

describe('a column of numbers', () => {
  test('a column of numbers has as many decimals as its smallest number needs', () => {
    const rows: [values: (number | null)[], shown: string[]][] = [
      [
        [1.5, 20, 3.25],
        ['1.50', '20.00', '3.25'],
      ],
      [
        [1, 2, 3],
        ['1', '2', '3'],
      ],
      [
        [0.5, null, -1_234.5],
        ['0.5', '–', '−1 234.5'],
      ],
      [
        [230.1, 231],
        ['230.1', '231.0'],
      ],
    ];
    for (const [values, shown] of rows) {
      const digits = columnDigits(values);
      assert.deepEqual(
        values.map((value) => (value === null ? '–' : numberAs(value, digits))),
        shown,
      );
    }
  });

  test('a column of numbers writes zero without a sign, whatever it was rounded from', () =>
    assert.deepEqual([numberAs(-0.001, 2), numberAs(-0.01, 2)], ['0.00', '−0.01']));
});

describe('units and words', () => {
  test('units and words are written as people write them', () => {
    const rows: Record<string, string> = {
      Cel: '°C',
      '[degF]': '°F',
      'W/m2': 'W/m²',
      'm3/h': 'm³/h',
      kOhm: 'kΩ',
      'uS/cm': 'µS/cm',
      MBy: 'MB',
      kVAR: 'kvar',
      VARh: 'varh',
      'bar{gauge}': 'bar',
      's-1': 's⁻¹',
      'kg.m2': 'kg·m²',
      '[ppm]': 'ppm',
      '%': '%',
      '1': '',
      kWh: 'kWh',
      'EUR/kWh': 'EUR/kWh',
      '': '',
    };
    for (const [code, shown] of Object.entries(rows)) assert.equal(shownUnit(code), shown, code);
  });

  test('units and words are those of the blueprint where it names them', () => {
    const manifest = { units: { Cel: { symbol: 'degrees' }, 'W/m2': { symbol: 'W/m2' } } };
    assert.deepEqual([shownUnit('Cel', manifest), shownUnit('W/m2', manifest)], ['degrees', 'W/m²']);
  });

  test('units and words are scaled by their prefixes only', () => {
    assert.equal(scaleFactor('Wh', 'kWh'), 1_000);
    assert.equal(scaleFactor('kWh', 'MWh'), 1_000);
    assert.equal(scaleFactor('V', 'kW'), undefined);
  });

  test('units and words tell an age in its largest unit', () => {
    const ages = [-1, 12, 75, 7_300, 200_000].map(ageText);
    assert.deepEqual(ages, ['0 s', '12 s', '1 min', '2 h', '2 d']);
  });

  test('units and words are made of names', () => assert.equal(words('lithium_based'), 'Lithium based'));
});
