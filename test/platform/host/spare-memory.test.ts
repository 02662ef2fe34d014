/** Which parts of a process may be given back without a loss. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { unchangedRanges } from '../../../src/platform/host/spare-memory.ts';

const RUNTIME = '/opt/runtime/bin/node';
const mapping = (head: string, changedKb: number, swappedKb = 0): string =>
  [
    head,
    'Size:    16 kB',
    `Anonymous:    ${changedKb} kB`,
    `Swap:         ${swappedKb} kB`,
    'VmFlags: rd mr mw me',
  ].join('\n');

describe('ranges of memory that may be read from their file again', () => {
  const cases: [title: string, mapping: string, count: number][] = [
    ['code of the runtime', mapping(`00400000-00404000 r-xp 00001000 fe:00 17    ${RUNTIME}`, 0), 1],
    ['its constants', mapping(`00400000-00404000 r--p 00001000 fe:00 17    ${RUNTIME}`, 0), 1],
    ['no page that was changed', mapping(`00400000-00404000 r--p 00001000 fe:00 17    ${RUNTIME}`, 4), 0],
    [
      'no changed page that was swapped out',
      mapping(`00400000-00404000 r--p 00001000 fe:00 17    ${RUNTIME}`, 0, 4),
      0,
    ],
    [
      'nothing that can be written to',
      mapping(`00400000-00404000 rw-p 00001000 fe:00 17    ${RUNTIME}`, 0),
      0,
    ],
    ['nothing that is shared', mapping(`00400000-00404000 r--s 00001000 fe:00 17    ${RUNTIME}`, 0), 0],
    ['no other file', mapping('00400000-00404000 r-xp 00001000 fe:00 18    /usr/lib/libc.so.6', 0), 0],
    ['nothing without a file', mapping('00400000-00404000 r--p 00000000 00:00 0', 0), 0],
  ];
  for (const [title, text, count] of cases)
    test(`are ${title}`, () => {
      const ranges = unchangedRanges(text, RUNTIME);
      assert.deepEqual(
        ranges,
        Array.from({ length: count }, () => ({ start: 0x40_0000n, length: 0x4000n })),
      );
    });

  test('are found in this process', () => {
    const ranges = unchangedRanges(readFileSync('/proc/self/smaps', 'utf8'), process.execPath);
    assert.ok(ranges.reduce((sum, { length }) => sum + length, 0n) > 10n * 1_048_576n);
  });

  test('hold the same after they were given back', () => {
    const program = `
      const { dlopen } = process.getBuiltinModule('node:ffi');
      const { unchangedRanges } = await import('./src/platform/host/spare-memory.ts');
      const { functions } = dlopen(null, { madvise: { arguments: ['u64', 'u64', 'i32'], return: 'i32' } });
      const smaps = process.getBuiltinModule('node:fs').readFileSync('/proc/self/smaps', 'utf8');
      const before = process.memoryUsage.rss();
      for (const { start, length } of unchangedRanges(smaps, process.execPath))
        if (functions.madvise(start, length, 4) !== 0) throw new Error('refused');
      const now = process.memoryUsage.rss();
      const hash = process.getBuiltinModule('node:crypto').createHash('sha256').update('abc').digest('hex');
      console.log(JSON.stringify({ saved: before - now, hash }));`;
    const output = execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', program]);
    const { saved, hash } = JSON.parse(output.toString()) as { saved: number; hash: string };
    assert.ok(saved > 4 * 1_048_576, `${saved} bytes less`);
    assert.equal(hash, 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
