import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  checkArguments,
  checkDeviceValue,
  checkWritableValue,
  maskSensitive,
  type CompiledArgument,
  type CompiledCommand,
  type ValueDeclaration,
} from '../../../src/capabilities/blueprints/index.ts';
import { LIMITS } from '../../../src/lib/limits.ts';

function commandOf(declared: Record<string, Partial<CompiledArgument>>): CompiledCommand {
  return {
    display_name: 'Command',
    group: 'main',
    access_level: 'user',
    implements: [],
    aliases: [],
    arguments: declared as Record<string, CompiledArgument>,
  };
}

const command = commandOf({
  limit: { type: 'float', required: true, min: 0, max: 100 },
  mode: { type: 'string', enum: ['auto', 'manual'], default: 'auto' },
  count: { type: 'integer' },
  code: { type: 'string', sensitive: true },
  steps: {
    type: 'json',
    json_schema: { type: 'array', items: { type: 'integer', minimum: 1 }, minItems: 1 },
  },
});

describe('arguments', () => {
  const refused: [title: string, given: Record<string, unknown>, argument: string, message: string][] = [
    [
      'an unknown name',
      { limit: 1, limt: 2 },
      'limt',
      'Unknown argument "limt"; the command takes: limit, mode, count, code, steps.',
    ],
    [
      'an inherited name',
      { limit: 1, constructor: 2 },
      'constructor',
      'Unknown argument "constructor"; the command takes: limit, mode, count, code, steps.',
    ],
    ['a missing required one', {}, 'limit', 'Argument "limit" is required.'],
    ['null for a required one', { limit: null }, 'limit', 'Argument "limit" is required.'],
    ['a text for a number', { limit: '5' }, 'limit', 'Argument "limit" must be float, got string.'],
    [
      'a number beyond all numbers',
      { limit: Number.POSITIVE_INFINITY },
      'limit',
      'Argument "limit" must be float, got a number too large.',
    ],
    ['a number below the range', { limit: -1 }, 'limit', 'Argument "limit" must be at least 0.'],
    ['a number above the range', { limit: 100.5 }, 'limit', 'Argument "limit" must be at most 100.'],
    [
      'a fraction for an integer',
      { limit: 1, count: 1.5 },
      'count',
      'Argument "count" must be integer, got float.',
    ],
    [
      'an integer beyond 64 bits',
      { limit: 1, count: 1e19 },
      'count',
      'Argument "count" must be integer, got a number too large.',
    ],
    [
      'a value outside the enum',
      { limit: 1, mode: 'off' },
      'mode',
      'Argument "mode" must be one of: auto, manual.',
    ],
    [
      'a JSON value that breaks its schema',
      { limit: 1, steps: [1, 0] },
      'steps',
      'Argument "steps" does not match its JSON schema: #/1: 0 is less than 1.',
    ],
    [
      'a JSON null that its schema does not allow',
      { limit: 1, steps: null },
      'steps',
      'Argument "steps" does not match its JSON schema: #: Instance type "null" is invalid. Expected "array".',
    ],
  ];
  for (const [title, given, argument, message] of refused)
    test(`arguments are refused: ${title}`, () =>
      assert.deepEqual(checkArguments(command, given), {
        problems: [{ code: 'invalid_command_arguments', message, details: { argument } }],
      }));

  test('arguments report every fault at once', () => {
    const { problems } = checkArguments(command, { mode: 1, count: 'x', other: 0 });
    assert.deepEqual(
      problems?.map((problem) => problem.details?.['argument']),
      ['other', 'limit', 'mode', 'count'],
    );
  });

  test('arguments report a bounded number of unknown names at once', () => {
    const given = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`name_${index}`, 1]));
    assert.equal(checkArguments({ ...command, arguments: {} }, given).problems?.length, LIMITS.http.problems);
  });

  test('arguments take an integer for a float and an integral float for an integer, and get their defaults', () => {
    assert.deepEqual(checkArguments(command, { count: JSON.parse('3.0'), limit: 5 }), {
      arguments: { limit: 5, mode: 'auto', count: 3 },
    });
  });

  test('arguments take null for an optional one as absent', () => {
    assert.deepEqual(checkArguments(command, { limit: 5, count: null }), {
      arguments: { limit: 5, mode: 'auto' },
    });
  });

  test('arguments are refused for a command that declares none', () => {
    const { arguments: _, ...bare } = command;
    assert.deepEqual(checkArguments(bare, {}), { arguments: {} });
  });

  test('arguments have their sensitive values masked, and no others', () => {
    assert.deepEqual(maskSensitive(command, { limit: 5, code: 'secret' }), { limit: 5, code: '***' });
  });
});

describe('values', () => {
  const cases: [type: ValueDeclaration['type'], accepted: unknown[], refused: unknown[]][] = [
    ['string', ['', 'a'], [1, true, null, ['a'], {}]],
    ['integer', [0, -5, 3], [1.5, '1', Number.NaN, true, null]],
    ['float', [0, 1.5, -2], ['1', Number.NaN, Number.POSITIVE_INFINITY, null]],
    ['boolean', [true, false], [0, 1, 'true', null]],
    ['array_of_strings', [[], ['a']], [[1], 'a', {}, null]],
    ['alerts', [[], ['a']], [[1], 'a', null]],
    ['object', [{}], [[], null, 'a']],
    ['json', [{}, [], null, 1, 'a', false], [undefined]],
  ];
  for (const [type, accepted, refused] of cases)
    test(`values of type ${type}`, () => {
      for (const value of accepted) assert.deepEqual(checkWritableValue({ type }, value), { value });
      for (const value of refused)
        assert.match(checkWritableValue({ type }, value).problem ?? '', /^must be /);
    });

  test('an empty Lua table is the empty value of the declared type', () => {
    assert.deepEqual(checkDeviceValue({ type: 'array_of_strings' }, {}), { value: [] });
    assert.deepEqual(checkDeviceValue({ type: 'json', json_schema: { type: 'object' } }, []), { value: {} });
    assert.deepEqual(checkDeviceValue({ type: 'json', json_schema: { type: 'array' } }, {}), { value: [] });
    assert.equal(checkDeviceValue({ type: 'array_of_strings' }, { a: 1 }).problem !== undefined, true);
  });

  test('a schema that refers to itself without end is a fault of the value, not of the program', () => {
    assert.match(
      checkWritableValue({ type: 'json', json_schema: { $ref: '#' } }, 1).problem ?? '',
      /its schema cannot be applied/,
    );
  });
});
