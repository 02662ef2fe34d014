import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assert as holds, nat, property, string } from 'fast-check';
import { cutToBytes } from '../../src/lib/text.ts';

describe('cutToBytes', () => {
  const rows: [text: string, bytes: number, cut: string][] = [
    ['abc', 3, 'abc'],
    ['abc', 2, 'ab'],
    ['abc', 0, ''],
    ['é', 1, ''],
    ['aé', 2, 'a'],
    ['€€', 5, '€'],
    ['😀a', 3, ''],
    ['😀a', 4, '😀'],
    ['😀a', 5, '😀a'],
  ];
  for (const [text, bytes, cut] of rows)
    test(`cuts ${JSON.stringify(text)} to ${bytes} bytes as ${JSON.stringify(cut)}`, () =>
      assert.equal(cutToBytes(text, bytes), cut));

  test('is the longest beginning that fits, of whole characters', () => {
    holds(
      property(string({ unit: 'binary' }), nat(50), (text, bytes) => {
        const cut = cutToBytes(text, bytes);
        assert.ok(Buffer.byteLength(cut) <= bytes);
        assert.ok(text.startsWith(cut));
        const next = text.codePointAt(cut.length);
        if (next !== undefined) assert.ok(Buffer.byteLength(cut + String.fromCodePoint(next)) > bytes);
      }),
    );
  });
});
