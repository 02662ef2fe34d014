/** What a rule keeps: docs/interface/lua-rules.md#storage. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { answers, prints, refused } from '../../support/rule-run.ts';

describe('storage of a rule', () => {
  test('storage of a rule refuses unsupported values, with a text', async () => {
    const { storageKeyBytes, storageValueBytes } = LIMITS.rules;
    assert.deepEqual(
      await prints(
        `print(storage.write(("k"):rep(${storageKeyBytes + 1}), 1))\n` +
          `print(storage.write("k", ("x"):rep(${storageValueBytes})))\n` +
          'print((storage.write("k", { print }):gsub("^.-: ", "")))\nprint(pcall(storage.write, 1, 2))',
      ),
      [
        `the key is longer than ${storageKeyBytes} bytes`,
        `the value is larger than ${storageValueBytes} bytes`,
        'a function cannot be written as JSON',
        "false\tbad argument #1 to 'write' (string expected, got number)",
      ],
    );
  });

  test('storage of a rule keeps strings, numbers, booleans and tables; its own and the shared store are apart', async () => {
    assert.deepEqual(
      await prints(
        'print(storage.write("a", "x"), storage.shared.write("a", { n = 1.5, l = { 1, 2 } }))\n' +
          'print(storage.read("a"), storage.namespaced:read("a"), storage.shared.read("a").l[2])\n' +
          'storage.write("b", false) print(storage.read("b"), storage.read("none"))\n' +
          'print(storage.remove("a"), storage.read("a"))',
      ),
      ['nil\tnil', 'x\tx\t2', 'false\tnil\tnil', 'nil\tnil\tnil'],
    );
  });

  test('storage of a rule distinguishes keys that differ in single bytes, each as long as its bytes', async () => {
    assert.deepEqual(
      await prints(
        'local keys = { "\\255", "\\254", "\\239\\191\\189", "\\239\\191\\191", "ä", "\\228", "a\\0b" }\n' +
          'for i, key in ipairs(keys) do print(storage.write(key, i)) end\n' +
          'for i, key in ipairs(keys) do print(storage.read(key)) end\n' +
          `print(storage.write(("\\255"):rep(${LIMITS.rules.storageKeyBytes}), 1))\n` +
          'print(storage.remove(keys[1]), storage.read(keys[1]), storage.read(keys[2]))',
      ),
      [
        ...Array.from({ length: 7 }, () => 'nil'),
        ...Array.from({ length: 7 }, (_, index) => `${index + 1}`),
        'nil',
        'nil\tnil\t2',
      ],
    );
  });

  test('storage of a rule passes on what the gateway refuses', async () => {
    const full = answers({ storage_write: () => refused('the store is full') });
    assert.deepEqual(await prints('print(storage.write("a", 1))', { answers: full }), ['the store is full']);
  });
});
