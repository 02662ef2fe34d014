import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { initialTexts, textOf, typedValues } from '../../src/console/arguments.ts';
import type { Argument } from '../../src/console/shapes.ts';

const argument = (type: Argument['type'], fields: Partial<Argument> = {}): Argument => ({
  display_name: 'It',
  type,
  ...fields,
});

describe('what is typed into a form', () => {
  const refused: [title: string, argument: Argument, text: string, fault: string][] = [
    ['lacks what is required', argument('string', { required: true }), ' ', 'It is required.'],
    ['has no half of a whole number', argument('integer'), '1.5', 'It must be a whole number.'],
    [
      'has no number that loses digits',
      argument('integer'),
      '9007199254740993',
      'It must be a whole number.',
    ],
    ['has no word for a number', argument('float'), 'many', 'It must be a number.'],
    ['has no number with a comma, which may be two', argument('float'), '3,5', 'It must be a number.'],
    ['has no whole number with a comma', argument('integer'), '3,5', 'It must be a whole number.'],
    ['has no number in two parts', argument('float'), '1 000', 'It must be a number.'],
    ['has no endless number', argument('float'), 'Infinity', 'It must be a number.'],
    ['has no broken JSON', argument('json'), '{', 'It must be JSON.'],
  ];
  for (const [title, declared, text, fault] of refused)
    test(title, () =>
      assert.deepEqual(typedValues({ it: declared }, { it: text }), { values: {}, faults: [fault] }),
    );

  test('typed text becomes values of the declared types', () => {
    const declared = {
      count: argument('integer'),
      power: argument('float'),
      on: argument('boolean'),
      names: argument('array_of_strings'),
      any: argument('json'),
      mode: argument('integer', { enum_with_metainfo: [{ value: 2, display_name: 'Two' }] }),
      text: argument('string'),
    };
    const texts = {
      count: '5',
      power: '-1.5e3',
      on: 'false',
      names: 'a\n\nb',
      any: '[1]',
      mode: '2',
      text: ' a ',
    };
    assert.deepEqual(typedValues(declared, texts), {
      values: { count: 5, power: -1_500, on: false, names: ['a', 'b'], any: [1], mode: 2, text: ' a ' },
      faults: [],
    });
  });

  test('empty fields are left out, so that the gateway takes its default', () => {
    assert.deepEqual(typedValues({ it: argument('float', { default: 3 }) }, { it: '' }), {
      values: {},
      faults: [],
    });
  });

  test('a form begins with the stored values, else the defaults', () => {
    const declared = {
      a: argument('integer', { default: 1 }),
      b: argument('boolean', { default: true }),
      c: argument('string'),
    };
    assert.deepEqual(initialTexts(declared, { a: 0 }), { a: '0', b: 'true', c: '' });
  });

  test('a value shown in a form converts back to the same value', () => {
    const cases = fc.oneof(
      fc.tuple(fc.constant('integer'), fc.maxSafeInteger()),
      fc.tuple(
        fc.constant('float'),
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
      ),
      fc.tuple(fc.constant('boolean'), fc.boolean()),
      fc.tuple(
        fc.constant('string'),
        fc.string().filter((value) => value.trim() !== ''),
      ),
      fc.tuple(
        fc.constant('json'),
        fc.jsonValue().filter((value) => value !== null),
      ),
    );
    fc.assert(
      fc.property(cases, ([type, value]) => {
        const declared = { it: argument(type) };
        const { values } = typedValues(declared, { it: textOf(argument(type), value) });
        assert.deepEqual(values['it'], JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});
