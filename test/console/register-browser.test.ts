/** The template of the register browser: whatever is typed, the library takes it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { compileTemplate, parseTemplate } from '#library';
import { createRandom } from '../../scripts/support/random.ts';
import { imageMemory } from '../../scripts/simulate/device-image.ts';
import {
  FUNCTIONS,
  isComplete,
  type RegisterRow,
  registerOf,
  templateText,
  valueOf,
  WORD_TYPES,
} from '../../src/console/provision/register-template.ts';
import { type Part, ROLES, UNITS, usesOf } from '../../src/console/provision/template-text.ts';
import { BLUEPRINT_CATEGORIES } from '../../src/lib/blueprint-categories.ts';
import { problemsOf } from '../capabilities/blueprints/support.ts';
import { books } from '../library/library-files.ts';

const ROW: RegisterRow = {
  key: 1,
  function: 'INPUT',
  address: '12',
  type: 'u16',
  isLowFirst: false,
  factor: '',
  title: 'Grid power',
  unit: 'W',
  part: '',
};
const HEAD = {
  name: 'Cellar',
  maker: 'Acme',
  category: 'power-meters',
  uri: 'tcp://192.168.1.20:502',
  unitId: 3,
};

const PARTS: Part[] = ['', ...ROLES.flatMap((role) => usesOf(role).map((use): Part => `${role} ${use}`))];
const TITLES = [
  'Grid power',
  'Grid power',
  'total_power',
  'Ä ß é',
  '3 phases: "all"',
  "it's # 1, {a: [b]}",
  'timestamp',
  'alerts',
  'Vendor',
  '电压',
  '\u0000\u2028 - x',
  'null',
  'yes',
  'x'.repeat(100),
  ' ',
];

describe('the template of the register browser', () => {
  test('the template of the register browser contains what was typed, in the form of the library', () => {
    const rows: RegisterRow[] = [
      { ...ROW, type: 'i32', isLowFirst: true, factor: '0.1', part: 'grid power' },
      {
        ...ROW,
        function: 'HOLDING',
        address: '20',
        title: 'Imported',
        unit: 'Wh',
        type: 'u32',
        factor: '1000',
        part: 'grid forward',
      },
      { ...ROW, address: '40', title: 'Serial number', type: 'string8', unit: '' },
      { ...ROW, address: '', title: 'not yet' },
    ];
    assert.equal(
      templateText(HEAD, rows),
      [
        'template: device/1',
        'name: "Cellar"',
        'maker: "Acme"',
        'products: ["Cellar"]',
        'category: power-meters',
        'sources: [read at the device with the register browser]',
        'verified: one source',
        'modbus: { transports: [tcp], unit: 3 }',
        'values:',
        '  grid_power: { name: "Grid power", type: float, unit: "W", property: false, input: 12, as: i32, word_order: low_first, scale: 0.1 }',
        '  imported: { name: "Imported", type: float, unit: "Wh", property: false, holding: 20, as: u32, scale: 1000 }',
        '  serial_number: { name: "Serial number", type: string, property: false, input: 40, as: string8 }',
        'roles:',
        '  - { role: grid, power: grid_power, forward: imported }',
        '',
      ].join('\n'),
    );
  });

  test('the template of the register browser has coils and discrete inputs as true or false, whatever was typed before', () => {
    const bit = {
      ...ROW,
      function: 'COIL',
      address: '65535',
      type: 'u32',
      factor: '10',
      part: 'grid power',
    } as const;
    const text = templateText(HEAD, [bit, { ...bit, function: 'DISCRETE', address: '3' }]);
    assert.match(text, /grid_power: { name: "Grid power", type: boolean, property: false, coil: 65535 }/);
    assert.match(text, /grid_power_2: { name: "Grid power", type: boolean, property: false, discrete: 3 }/);
    assert.doesNotMatch(text, /roles/);
    assert.equal(valueOf(bit, [1]), 1);
  });

  test('the template of the register browser takes the transport and another port from the address', () => {
    const connection = (uri: string): unknown =>
      (parse(templateText({ ...HEAD, uri }, [ROW])) as { modbus: unknown }).modbus;
    assert.deepEqual(connection('tcp://a:1502'), { transports: ['tcp'], port: 1_502, unit: 3 });
    assert.deepEqual(connection('tcp://[fe80::1]:502?ids=loose'), { transports: ['tcp'], unit: 3 });
    assert.deepEqual(connection('rtu+tcp://a:4001'), { transports: ['rtu_over_tcp'], unit: 3 });
    assert.deepEqual(connection('socket://a:4001'), { transports: ['rtu_over_tcp'], unit: 3 });
    assert.deepEqual(connection('port://rs485'), { transports: ['rtu'], unit: 3 });
  });

  test('the template of the register browser compiles to a valid blueprint, whatever the rows are', () => {
    const random = createRandom(38);
    for (let round = 0; round < 200; round += 1) {
      const rows = Array.from({ length: random.integer(1, 12) }, (_, key): RegisterRow => ({
        key,
        function: random.pick(FUNCTIONS),
        address: random.pick(['0', '1', '40000', '65535', '65533', '99999', '-1', '1.5', '', ' 7 ']),
        type: random.pick(WORD_TYPES),
        isLowFirst: random.chance(0.5),
        factor: random.pick(['', '1', '0.1', '-1', '1e-7', '0', 'x', '−0.01', '1,000', '123456789.5']),
        title: random.pick(TITLES),
        unit: random.pick(UNITS),
        part: random.pick(PARTS),
      }));
      if (!rows.some(isComplete)) continue;
      const text = templateText(
        {
          name: random.pick(TITLES),
          maker: random.pick(TITLES),
          category: random.pick(BLUEPRINT_CATEGORIES),
          uri: random.pick(['tcp://a:502', 'tcp://a:99999', 'rtu+tcp://a:1', 'port://rs485', 'tcp://a']),
          unitId: random.pick([0, 1, 255]),
        },
        rows,
      );
      const parsed = parseTemplate(text);
      assert.deepEqual(parsed.faults, [], text);
      const template = parsed.template ?? assert.fail();
      assert.equal(Object.keys(template.values).length, rows.filter(isComplete).length, text);
      const { files } = compileTemplate({ template, id: 'own-x' }, books);
      const { 'manifest.yml': manifest = '', ...others } = files;
      assert.deepEqual(problemsOf(manifest, others), [], text);
    }
  });
});

describe('the live value of a register', () => {
  test('the live value of a register is what the words mean, in every type and order', () => {
    for (const [type, typed, factor, expected] of [
      ['u16', ['u16', 65_535], '', 65_535],
      ['i16', ['i16', -2], '', -2],
      ['u32', ['u32', 4_000_000_000], '0.1', 400_000_000],
      ['i32', ['i32', -1_234], '0.1', -123.4],
      ['u64', ['u64', '9007199254740993'], '', 9_007_199_254_740_000],
      ['i64', ['i64', '-5'], '', -5],
      ['f32', ['f32', 230.5], '', 230.5],
      ['f64', ['f64', -0.25], '', -0.25],
    ] as const)
      for (const isLowFirst of [false, true]) {
        const memory = imageMemory({ input: { 0: [...typed] } }, isLowFirst);
        assert.equal(
          valueOf({ function: 'INPUT', type, isLowFirst, factor }, [...memory.values()]),
          expected,
          type,
        );
      }
    const words = [...imageMemory({ input: { 0: ['string8', 'AB 12'] } }, false).values()];
    assert.equal(
      valueOf({ function: 'INPUT', type: 'string8', isLowFirst: true, factor: '' }, words),
      'AB 12',
    );
  });

  test('the live value of a register is none for words that do not fit, and no register lies behind the last one', () => {
    assert.equal(valueOf({ function: 'INPUT', type: 'u32', isLowFirst: false, factor: '' }, [1]), undefined);
    assert.equal(valueOf({ function: 'INPUT', type: 'u16', isLowFirst: false, factor: '0' }, [1]), undefined);
    assert.equal(registerOf({ function: 'INPUT', address: '65535', type: 'u16' }), 65_535);
    assert.equal(registerOf({ function: 'INPUT', address: '65535', type: 'u32' }), undefined);
  });
});
