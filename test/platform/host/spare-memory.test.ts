/** Which parts of a process may be given back without a loss. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { ReturnSchedule, unchangedRanges } from '../../../src/platform/host/spare-memory.ts';

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

describe('spare memory goes back', () => {
  const MIB = 1_048_576;

  /** Seconds of the looks at which it goes back, of looks every 15 s. @param residentMib at that second */
  function returnsWithin(
    seconds: number,
    residentMib: (second: number, sinceReturnS: number) => number,
  ): number[] {
    const schedule = new ReturnSchedule(0);
    const returns: number[] = [];
    for (let second = 15; second <= seconds; second += 15) {
      const resident = residentMib(second, returns.at(-1) ?? 0) * MIB;
      if (!schedule.isDue(second * 1_000, resident)) continue;
      schedule.returned(second * 1_000);
      returns.push(second);
    }
    return returns;
  }

  test('after the start and then at doubling intervals, up to a quarter of an hour', () => {
    assert.deepEqual(
      returnsWithin(3_700, () => 80),
      [15, 45, 105, 225, 465, 945, 1_845, 2_745, 3_645],
    );
  });

  test('at the next look when something took much more than is in use', () => {
    assert.deepEqual(
      returnsWithin(1_300, (second, lastReturn) => (second >= 1_000 && lastReturn < 1_000 ? 110 : 80)),
      [15, 45, 105, 225, 465, 945, 1_005],
    );
  });

  test('no more often when all of it is in use again at once', () => {
    assert.deepEqual(
      returnsWithin(1_000, (second) => (second < 300 ? 80 : 110)),
      [15, 45, 105, 225, 300, 780],
    );
  });
});
