import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assert as holds, nat, property, string } from 'fast-check';
import { cutToBytes, foldedName, nameContains, nameProblem, normalizedName } from '../../src/lib/text.ts';
import { CHARACTER } from '../support/characters.ts';

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
    test(`cutToBytes cuts ${JSON.stringify(text)} to ${bytes} bytes as ${JSON.stringify(cut)}`, () =>
      assert.equal(cutToBytes(text, bytes), cut));

  test('cutToBytes is the longest beginning that fits, of whole characters', () => {
    holds(
      property(string({ unit: CHARACTER }), nat(50), (text, bytes) => {
        const cut = cutToBytes(text, bytes);
        assert.ok(Buffer.byteLength(cut) <= bytes);
        assert.ok(text.startsWith(cut));
        const next = text.codePointAt(cut.length);
        if (next !== undefined) assert.ok(Buffer.byteLength(cut + String.fromCodePoint(next)) > bytes);
      }),
    );
  });
});

describe('a name', () => {
  const refused: [title: string, name: string, code: string][] = [
    ['a line feed', 'a\nb', 'U+000A'],
    ['NUL', 'a\0', 'U+0000'],
    ['a control character of C1', 'a\u009bb', 'U+009B'],
    ['the other direction of writing', 'admin\u202Enimda', 'U+202E'],
    ['an isolate', 'a\u2066b', 'U+2066'],
    ['no width', 'ad\u200Bmin', 'U+200B'],
    ['a byte order mark within', 'ad\uFEFFmin', 'U+FEFF'],
    ['a soft hyphen', 'ad\u00ADmin', 'U+00AD'],
    ['a letter without ink', 'admin\u3164', 'U+3164'],
    ['a pattern without dots', 'admin\u2800x', 'U+2800'],
    ['a tag', 'admin\u{E0041}', 'U+E0041'],
    ['a separator of lines', 'a\u2028b', 'U+2028'],
    ['a character of private use', 'a\uE000', 'U+E000'],
    ['a joiner between letters that do not join', 'ad\u200Dmin', 'U+200D'],
    ['a joiner at its end', 'می\u200C', 'U+200C'],
    ['two joiners in a row', 'می\u200C\u200Cشود', 'U+200C'],
    ['an unassigned character', 'a\u0378', 'U+0378'],
  ];
  for (const [title, name, code] of refused)
    test(`a name is refused with ${title}, and the refusal says so`, () =>
      assert.equal(
        nameProblem(normalizedName(name)),
        `must not contain control, invisible or unassigned characters such as ${code}`,
      ));

  for (const name of [
    'Wärmepumpe 2',
    'Ñandú',
    '電池',
    'بطارية',
    'Батарея',
    '⚡️ Meter',
    'O’Neill',
    'a_b-c (1)',
    'خانه\u200Cها',
    'क्\u200Dष',
    '👩🏽\u200D🔧 Werkstatt',
    '🏳️\u200D🌈',
    '\uFFFD',
  ])
    test(`a name is taken in any writing: ${name}`, () =>
      assert.equal(nameProblem(normalizedName(name)), undefined));

  test('a name is stored composed, with ordinary blanks and none around it', () =>
    assert.equal(normalizedName('\u00A0mu\u0308nchen\u2003su\u0308d '), 'm\u00FCnchen s\u00FCd'));

  test('a name is stored the same however often it is stored', () => {
    holds(
      property(string({ unit: CHARACTER }), (text) => {
        const once = normalizedName(text);
        assert.equal(normalizedName(once), once);
        assert.ok(once.isWellFormed());
      }),
    );
  });

  test('a name is found by a part of it in any case, composed or not', () => {
    assert.equal(nameContains('Küche 2', 'KU\u0308CHE'), true);
    assert.equal(nameContains('Küche 2', ' 2'), true);
    assert.equal(nameContains('Küche 2', 'kuche'), false);
  });

  test('a name equals one in another case or of another width', () => {
    assert.equal(foldedName('Ämter'), foldedName('ÄMTER'));
    assert.equal(foldedName('ａｎｎａ'), foldedName('Anna'));
    assert.notEqual(foldedName('anna'), foldedName('hanna'));
  });

  test('a name equals itself with joiners and without', () => {
    assert.equal(foldedName('خانه\u200Cها'), foldedName('خانهها'));
    assert.equal(nameContains('خانه\u200Cها', 'خانهها'), true);
  });
});
