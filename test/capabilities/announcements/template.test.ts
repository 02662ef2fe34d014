import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  NoNumber,
  readTemplate,
  readValueTemplate,
} from '../../../src/capabilities/announcements/template.ts';
import { TemplateFault } from '../../../src/capabilities/announcements/template-parser.ts';
import { runs } from '../../support/runs.ts';

const PAYLOAD = JSON.stringify({
  state: 'ON',
  power: 41.26,
  text: '41.26',
  none: null,
  on: true,
  mode: '2',
  deep: { list: [{ v: 1 }, { v: 2 }], 'odd key': 'x' },
});

/** Template → what it makes of the message above; undefined: no value. */
const ROWS: [template: string, made: string | undefined][] = [
  ['{{ value_json.power }}', '41.26'],
  ['{{value_json.power}}', '41.26'],
  ['{{ value_json["power"] }}', '41.26'],
  ["{{ value_json['deep']['odd key'] }}", 'x'],
  ['{{ value_json.deep.list[1].v }}', '2'],
  ['{{ value_json.deep.list[-1].v }}', '2'],
  ['{{ value_json.missing }}', ''],
  ['{{ value_json.missing.more }}', ''],
  ['{{ value_json.none }}', 'None'],
  ['{{ value_json.on }}', 'True'],
  ['{{ value_json.power | round(1) }}', '41.3'],
  ['{{ value_json.power | round }}', '41'],
  ["{{ value_json.power | round(0, 'floor') }}", '41'],
  ['{{ value_json.text | float }}', '41.26'],
  ['{{ value_json.text | float(0) * 10 }}', '412.6'],
  ['{{ (value_json.power | float / 10) | round(2) }}', '4.13'],
  ['{{ value_json.state | float }}', undefined],
  ['{{ value_json.state | float(0) }}', '0'],
  ['{{ value_json.state | float(default=7) }}', '7'],
  ['{{ value_json.power | int }}', '41'],
  ['{{ value_json.missing | default(5) }}', '5'],
  ["{{ value_json.none | default('x', true) }}", 'x'],
  ['{{ value_json.missing | is_defined }}', undefined],
  ['{{ value_json.power | is_defined }}', '41.26'],
  ['{{ value_json.power | multiply(2) | round(1) }}', '82.5'],
  ['{{ value_json.power * 1000 // 1 }}', '41260'],
  ['{{ 7 % 4 + 2 ** 3 - -1 }}', '12'],
  ['{{ -7 % 4 }}', '1'],
  ['{{ 1 / 0 }}', undefined],
  ['{{ value_json.state * 2 }}', undefined],
  ["{{ 'on' if value_json.state == 'ON' else 'off' }}", 'on'],
  ["{{ 'on' if value_json.power > 100 else 'off' }}", 'off'],
  ["{{ 'on' if value_json.missing is defined else 'off' }}", 'off'],
  ["{{ 'a' if value_json.on and not value_json.none else 'b' }}", 'a'],
  ["{% if value_json.state == 'ON' %}1{% elif value_json.on %}2{% else %}3{% endif %}", '1'],
  ["{%- if value_json.mode == '2' -%} two {%- else -%} other {%- endif -%}", 'two'],
  ['{% set x = value_json.power | int %}{{ x + 1 }}', '42'],
  ["{{ {'1': 'auto', '2': 'heat'}[value_json.mode] }}", 'heat'],
  ["{{ {'1': 'auto'}.get(value_json.mode, 'other') }}", 'other'],
  ["{{ ['a', 'b', 'c'][value_json.mode | int] }}", 'c'],
  ["{{ 'x' in value_json.deep }}", 'False'],
  ["{{ value_json.mode in ['1', '2'] }}", 'True'],
  ["{{ value_json.mode not in ['1', '2'] }}", 'False'],
  ['{{ value_json.state | lower }}', 'on'],
  ['{{ value_json.state.lower() }}', 'on'],
  ["{{ value_json.text.split('.')[0] }}", '41'],
  ["{{ value_json.text | replace('.', ',') }}", '41,26'],
  ["{{ value_json.state ~ '-' ~ value_json.mode }}", 'ON-2'],
  ["{{ iif(value_json.on, 'yes', 'no') }}", 'yes'],
  ['{{ float(value_json.text) }}', '41.26'],
  ['{{ value_json.deep.list | length }}', '2'],
  ['{{ max(1, 5, 3) }}', '5'],
  ["{{ 'ON' if value_json.state in ('ON', 'on') else 'OFF' }}", 'ON'],
  ['{{ value_json.text[0:2] }}', '41'],
  ['{{ value_json.text[:-1] }}', '41.2'],
  ['{{ value_json.text[3:] }}', '26'],
  ["{{ value_json.text.split('.') | join('/') }}", '41/26'],
  ["{{ '-'.join(['a', 'b']) }}", 'a-b'],
  ["{{ '%05.1f W' | format(value_json.power) }}", '041.3 W'],
  ["{{ '%d%%' % value_json.power }}", '41%'],
  ["{{ '{:.1f} {}'.format(value_json.power, 'W') }}", '41.3 W'],
  ["{{ '%q' | format(1) }}", undefined],
  ['{{ [1, 2.5] | sum }}', '3.5'],
  ['{{ 13 | bitwise_and(6) | bitwise_or(1) }}', '5'],
  ["{{ '1F' | int(base=16) }}", '31'],
  ["{{ '10' | int(0, 16) }}", '16'],
  ["{{ '-0x1f' | int(base=16) }}", '-31'],
  ["{{ '1z' | int(7, 16) }}", '7'],
  ["{{ '1z' | int(base=16) }}", undefined],
  ["{{ int('12', default=3) }}", '12'],
  ["{{ value_json.power | round(method='floor') }}", '41'],
  ["{{ 'mode' in value_json.keys() }}", 'True'],
  ["{{ value_json.state | capitalize }} {{ 'two words' | title }}", 'On Two Words'],
  ['plain text', 'plain text'],
  ['{# a comment #}{{ value_json.mode }}', '2'],
  ['{{ value | length > 10 }}', 'True'],
  ['{{ value_json.deep.list is sequence }}', 'True'],
];

test('a message with values such as nan loses only those', () => {
  const read = (template: string, payload: string): unknown => readValueTemplate(template)(payload);
  const payload = '{"acv":220.1,"freq":inf,"tem":,"pw0":0.6,}';
  assert.equal(read('{{ value_json.acv }}', payload), '220.1');
  assert.equal(read('{{ value_json.freq }}', payload), '');
  assert.equal(read('{{ (value | from_json).pw0 }}', payload), '0.6');
  assert.equal(read('{{ value_json.acv }}', '{acv=220}'), '');
});

describe('a value template', () => {
  for (const [template, made] of ROWS)
    test(`makes ${made ?? 'no value'} of ${template}`, () => {
      const read = readValueTemplate(template)(PAYLOAD);
      assert.equal(read instanceof NoNumber ? undefined : read, made);
    });

  for (const [template, fault] of [
    ["{{ states('sensor.x') }}", /^uses "states", which is not supported$/],
    ['{{ now() }}', /uses "now"/],
    ['{{ value_json.ts | as_timestamp }}', /^uses the filter "as_timestamp", which is not supported$/],
    ['{{ value is match("a") }}', /uses the test "match"/],
    ['{{ value.__class__() }}', /uses the method "__class__"/],
    ['{% for x in value_json %}{{ x }}{% endfor %}', /^uses \{% for %\}, which is not supported$/],
    ['{% if value %}x', /without its end/],
    ['{% endif %}', /does not fit/],
    ['{{ value', /without its end/],
    ['{{ value | }}', /ends where a name/],
    ['{{ (value }}', /lacks a "\)"/],
    ['{{ value ! 2 }}', /which is not supported/],
    ['{{ value | float(other=1) }}', /uses the argument "other"/],
    ['{{ value[1:2:3] }}', /lacks a "]"/],
    [`{{ ${'('.repeat(100)}1${')'.repeat(100)} }}`, /nested too deep/],
    [`{{ ${'not '.repeat(100)}1 }}`, /nested too deep/],
    ['x'.repeat(5_000), /more than 4096 characters/],
  ] as const)
    test(`a value template is refused: ${template.slice(0, 60)}`, () => {
      assert.throws(
        () => readValueTemplate(template),
        (error: unknown) => error instanceof TemplateFault && fault.test(error.message),
      );
    });

  test('a value template has no value for a message that is no JSON, when it needs JSON', () => {
    assert.equal(readValueTemplate('{{ value_json.a | is_defined }}')('offline'), undefined);
    assert.equal(readValueTemplate('{{ value }}')('offline'), 'offline');
  });

  test('a value template reaches nothing but its arguments', () => {
    for (const name of ['constructor', '__proto__', 'toString'])
      assert.equal(readValueTemplate(`{{ value_json.${name} }}`)('{}'), '');
  });

  test('a value template makes no text beyond the size limit', () => {
    const grows = `{% set x = value %}${'{% set x = x ~ x %}'.repeat(60)}{{ x }}`;
    assert.equal(readValueTemplate(grows)('x'.repeat(1_000)), undefined);
    assert.equal(readValueTemplate("{{ value | replace('x', value) }}")('x'.repeat(10_000)), undefined);
  });

  test('a value template ends and never fails otherwise, whatever its text', () => {
    const piece = fc.constantFrom(
      '{{',
      '}}',
      '{%',
      '%}',
      ' if ',
      ' else ',
      'value',
      'value_json',
      '.a',
      '[0]',
      '|',
      'float',
      'int',
      '(',
      ')',

      "'x'",
      '1',
      '+',
      '-',
      '**',
      '==',
      ' in ',
      ' not ',
      'endif',
      '{',
      '}',
      ':',
      ',',
      ' is ',
      'defined',
      ' and ',
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 25 }),
        fc.constantFrom('1', '{"a":[1]}', 'x', 'null'),
        (pieces, payload) => {
          try {
            readValueTemplate(pieces.join(''))(payload);
          } catch (error) {
            if (!(error instanceof TemplateFault)) throw error;
          }
        },
      ),
      { numRuns: runs(3_000) },
    );
  });
});

test('a command template makes the message of a value', () => {
  const made = (template: string, value: number | string) =>
    readTemplate(template, ['value']).render({ value });
  assert.equal(made('{"target": {{ value | int }}}', 21.5), '{"target": 21}');
  assert.equal(made("{{ '1' if value == 'ON' else '0' }}", 'ON'), '1');
});
