import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assert as holds, property, string, uint8Array } from 'fast-check';
import { LIMITS } from '../../src/lib/limits.ts';
import { isStorageKey, storageKeyLength, storageKeyOf } from '../../src/protocol/storage-key.ts';
import { runs } from '../support/runs.ts';

test('keys of different bytes are different texts, which JSON and UTF-8 carry, and have the length of their bytes', () => {
  const keys = uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes));
  holds(
    property(keys, keys, (one, other) => {
      const [key, second] = [storageKeyOf(one), storageKeyOf(other)];
      assert.equal(key === second, one.equals(other));
      assert.equal(Buffer.from(JSON.parse(JSON.stringify(key)) as string).toString(), key);
      assert.equal(storageKeyLength(key), one.length);
    }),
    {
      numRuns: runs(1_000),
      examples: [
        [Buffer.of(0xff), Buffer.of(0xfe)],
        [Buffer.of(0xff), Buffer.from('\ufffd')],
        [Buffer.of(0xff), Buffer.from('\uffffÿ')],
        [Buffer.from('ä'), Buffer.from('ä', 'latin1')],
      ],
    },
  );
});

test('a key of characters is its own text', () => {
  const texts = string({ unit: 'binary' }).filter(
    (text) => text.isWellFormed() && !text.startsWith('\uffff'),
  );
  holds(property(texts, (text) => assert.equal(storageKeyOf(Buffer.from(text)), text)));
});

test('every device key is accepted up to the allowed number of bytes, whatever they are', () => {
  const { storageKeyBytes } = LIMITS.module;
  const keyOf = (length: number): string => storageKeyOf(Buffer.alloc(length, 0xff));
  assert.deepEqual(
    [0, 1, storageKeyBytes, storageKeyBytes + 1].map((length) => isStorageKey(keyOf(length))),
    [false, true, true, false],
  );
});
