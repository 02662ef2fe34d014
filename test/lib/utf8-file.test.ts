import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asUtf8 } from '../../src/lib/utf8-file.ts';

test('a text is the same in UTF-8 whatever byte order mark it had, and one without a mark is unchanged', () => {
  const text = 'Wärme 🔥\r\n';
  const little = Buffer.from(`\ufeff${text}`, 'utf16le');
  for (const content of [
    Buffer.from(text),
    Buffer.from(`\ufeff${text}`),
    little,
    Buffer.from(little).swap16(),
  ])
    assert.equal(asUtf8(content).toString('utf8'), text);
  for (const content of [
    Buffer.alloc(0),
    Buffer.from([0xfe]),
    Buffer.from([0xfe, 0xff, 0x00]),
    Buffer.from([0xc3, 0x28]),
  ])
    assert.deepEqual(asUtf8(content), content);
});
