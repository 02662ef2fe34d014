import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { array, assert as assertProperty, constantFrom, property, string, uint8Array } from 'fast-check';
import { newClaimCode, newTokenText, normalizeClaimCode } from '../../../src/capabilities/auth/tokens.ts';
import { CHARACTER } from '../../support/characters.ts';
import { startAuth } from './support.ts';

/** What people make of a letter when they read it aloud or type it. */
const TYPED: Record<string, string[]> = { '0': ['0', 'O', 'o'], '1': ['1', 'I', 'i', 'L', 'l'] };

describe('a claim code', () => {
  test('a claim code is the same in upper and lower case, with and without separators', () => {
    const bytes = uint8Array({ minLength: 12, maxLength: 12 });
    const gaps = array(constantFrom('', ' ', '-', '  ', '\t', ' - '), { minLength: 12, maxLength: 12 });
    assertProperty(
      property(
        bytes,
        gaps,
        array(constantFrom(0, 1, 2, 3, 4), { minLength: 12 }),
        (random, between, picks) => {
          const code = newClaimCode(() => Buffer.from(random));
          const typed = code
            .replaceAll('-', '')
            .split('')
            .map((letter, index) => {
              const forms = TYPED[letter] ?? [letter, letter.toLowerCase()];
              return (between[index] ?? '') + (forms[(picks[index] ?? 0) % forms.length] ?? letter);
            });
          assert.equal(normalizeClaimCode(typed.join('')), code);
        },
      ),
    );
  });

  test('a claim code uses each of its letters equally often', () => {
    const letters = new Set(
      Array.from({ length: 256 }, (_, byte) => newClaimCode(() => Buffer.alloc(12, byte)).charAt(0)),
    );
    assert.equal(letters.size, 32);
    assert.equal(256 % letters.size, 0, 'no letter is likelier than another');
  });
});

describe('a token', () => {
  test('a token has 256 random bits in letters that every header and query can carry', () => {
    assert.match(newTokenText(randomBytes), /^gw_[\w-]{43}$/);
    assert.notEqual(newTokenText(randomBytes), newTokenText(randomBytes));
  });

  test('a token belongs to nobody if it was never issued, whatever its text', (t) => {
    const { auth } = startAuth(t);
    auth.tokens.create({ name: 'x', role: 'OWNER' });
    assertProperty(
      property(string({ unit: CHARACTER, maxLength: 600 }), (text) => {
        assert.equal(auth.tokens.authenticate(text), undefined);
      }),
    );
  });
});
