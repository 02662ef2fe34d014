import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseUnit } from '../../../src/capabilities/blueprints/source/units.ts';

/** Codes that published profiles and blueprints use (docs/interface/blueprints.md#units). */
const CODES =
  '% %LEL [ppm] 1 A mA Ah V mV kV W kW MW Wh kWh MWh VA kVA VAR kVAR Hz Ohm J Cel K [degF] mbar bar bar{gauge} Pa ' +
  'kPa s ms min h d deg W/m2 uS/cm Nl Nl/h L m3 L/min m3/h kg g m mm m/s rpm dB dBm Mbps lx';

describe('units', () => {
  for (const code of [
    '',
    'watt',
    'volt',
    'celsius',
    '°C',
    'kwh',
    'W/',
    'W..h',
    'W h',
    'kMW',
    'm0',
    '{',
    'x'.repeat(65),
  ])
    test(`the unit ${JSON.stringify(code)} does not exist`, () => assert.equal(parseUnit(code), undefined));

  test('all units of published blueprints are known and canonical', () => {
    for (const code of CODES.split(' ')) assert.equal(parseUnit(code)?.code, code);
  });

  const canonical: [given: string, code: string, symbol: string][] = [
    ['W.h', 'Wh', 'Wh'],
    ['kW.h', 'kWh', 'kWh'],
    ['A.h', 'Ah', 'Ah'],
    ['mA.h', 'mAh', 'mAh'],
    ['var', 'VAR', 'VAR'],
    ['kvar', 'kVAR', 'kVAR'],
    ['l/h', 'L/h', 'L/h'],
    ['ml', 'mL', 'mL'],
    ['Cel', 'Cel', '°C'],
    ['[ppm]', '[ppm]', 'ppm'],
    ['deg', 'deg', '°'],
    ['m.s-2', 'm.s-2', 'm.s-2'],
    ['/min', '/min', '/min'],
    ['{packets}', '{packets}', '{packets}'],
  ];
  for (const [given, code, symbol] of canonical)
    test(`the unit ${given} is ${code}, shown as ${symbol}`, () => {
      const unit = parseUnit(given);
      assert.deepEqual([unit?.code, unit?.symbol], [code, symbol]);
    });

  const compatible: [a: string, b: string, same: boolean][] = [
    ['W', 'MW', true],
    ['Wh', 'J', true],
    ['kWh', 'W.s', true],
    ['Ah', 'C', true],
    ['Cel', 'K', true],
    ['Cel', '[degF]', true],
    ['m3/h', 'L/min', true],
    ['V', 'W/A', true],
    ['s', 'd', true],
    ['rpm', 'Hz', true],
    ['%', '[ppm]', true],
    ['bar', 'bar{gauge}', true],
    ['W', 'VA', false],
    ['VA', 'VAR', false],
    ['W', 'Wh', false],
    ['m', 'm2', false],
    ['L', 'Nl', false],
    ['%', '%LEL', false],
    ['A', 'V', false],
  ];
  for (const [a, b, same] of compatible)
    test(`the units ${a} and ${b} ${same ? 'scale into each other' : 'do not mix'}`, () =>
      assert.equal(parseUnit(a)?.dimension === parseUnit(b)?.dimension, same));
});
