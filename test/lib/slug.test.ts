import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { isSlug, slugFromName } from '../../src/lib/text.ts';
import { runs } from '../support/runs.ts';

const UUID = '0f8fad5b-d9cb-469f-a165-70867728950e';

describe('a slug', () => {
  for (const text of ['', '-a', '_a', 'a b', 'ä', 'a/b', 'a'.repeat(65), UUID, UUID.toUpperCase()])
    test(`${JSON.stringify(text)} is no slug`, () => assert.equal(isSlug(text), false));
  for (const text of ['a', '7', 'A_b-c', 'gas-detector-in-living-room', 'a'.repeat(64), `${UUID}x`])
    test(`${text} is a slug`, () => assert.equal(isSlug(text), true));
});

describe('a slug made from a name', () => {
  const free = (): boolean => false;
  const rows: [name: string, slug: string][] = [
    ['Gas Detector in Living Room', 'gas-detector-in-living-room'],
    ['Straße Łódź', 'strasse-lodz'],
    ['Ærø Œuvre Đakovo', 'aero-oeuvre-dakovo'],
    ['STRAẞE Þór', 'strasse-thor'],
    ['  Überschuß / Wärmepumpe №2 ', 'uberschuss-warmepumpe-no2'],
    ['Ångström', 'angstrom'],
    ['--a--', 'a'],
    ['***', 'device'],
    ['', 'device'],
  ];
  for (const [name, slug] of rows)
    test(`a slug made from a name is ${slug} for ${JSON.stringify(name)}`, () =>
      assert.equal(slugFromName(name, 'device', free), slug));

  test('a slug made from a name takes the next number while it is taken', () => {
    const taken = new Set(['meter', 'meter-2']);
    assert.equal(
      slugFromName('Meter', 'device', (slug) => taken.has(slug)),
      'meter-3',
    );
  });

  test('a slug made from a name never has the form of an id', () => {
    assert.equal(slugFromName(UUID, 'device', free), `${UUID}-2`);
  });

  test('a slug made from a name is cut without a hyphen at the cut', () => {
    const name = `${'a'.repeat(49)} ${'b'.repeat(20)}`;
    const first = slugFromName(name, 'device', free);
    assert.equal(first.length, 56);
    assert.equal(
      slugFromName(name, 'device', (slug) => slug === first),
      `${'a'.repeat(49)}-2`,
    );
  });

  test('a slug made from a name is valid whatever the name, also a hundred times the same', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (name) => {
        const taken = new Set<string>();
        for (let count = 0; count < 100; count++) {
          const slug = slugFromName(name, 'device', (candidate) => taken.has(candidate));
          assert.ok(isSlug(slug) && !taken.has(slug), slug);
          taken.add(slug);
        }
      }),
      { numRuns: runs(30) },
    );
  });
});
