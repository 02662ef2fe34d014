import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assert as assertProperty, property, string } from 'fast-check';
import { isSafePattern } from '../../../src/capabilities/blueprints/source/schemas.ts';
import { CHARACTER } from '../../support/characters.ts';
import { manifestWith, problemsOf } from './support.ts';
import { runs } from '../../support/runs.ts';

describe('a pattern is refused when it may take exponential time:', () => {
  for (const pattern of [
    '(a+)+',
    '^(a*)*$',
    '(?:x+y?)*',
    '((ab)+c){2,}',
    '(a|a)*',
    '(a|ab)+$',
    '(.|x)*',
    '([a-z]|b)+',
    '(?<n>\\d+)+',
    '(a(b+))*',
  ])
    test(pattern, () => assert.equal(isSafePattern(pattern), false));
});

describe('a pattern is allowed:', () => {
  for (const pattern of [
    '^[A-Z]{2}\\d+$',
    '(foo|bar)+',
    '^(a+)$',
    '(a+)?b+',
    '[(+)*]+',
    '\\(a+\\)+',
    'a{2,}b{3,}',
    '(?:ab){1,5}',
    '',
    '(x|y){0,3}',
  ])
    test(JSON.stringify(pattern), () => assert.equal(isSafePattern(pattern), true));
});

test('the schema of a blueprint names the pattern that is refused', () => {
  const schema = JSON.stringify({ properties: { a: { pattern: '(a+)+$' } } });
  assert.deepEqual(
    problemsOf(manifestWith(`telemetry: {t: {display_name: T, type: json, json_schema: '${schema}'}}\n`)),
    ['telemetry.t.json_schema: invalid JSON schema: /properties/a/pattern may take exponential time'],
  );
});

test('any text is judged as a pattern', () => {
  assertProperty(
    property(string({ unit: CHARACTER }), (pattern) => {
      assert.equal(typeof isSafePattern(pattern), 'boolean');
    }),
    { numRuns: runs(2_000) },
  );
});
