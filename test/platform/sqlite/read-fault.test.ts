/** A disk that cannot be read now is distinguished from a damaged file. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { failsToRead } from '../../../src/platform/sqlite/damage.ts';
import { temporaryFolder } from '../../support/workspace.ts';

const PAGE_BYTES = 4_096;
const PAGES = 3_000;

function file(t: TestContext, pages = PAGES): string {
  const path = join(temporaryFolder(t), 'a.db');
  writeFileSync(path, Buffer.alloc(pages * PAGE_BYTES));
  return path;
}

const eio = (): never => {
  throw Object.assign(new Error('i/o error'), { code: 'EIO' });
};

describe('a disk fails to read', () => {
  const cases: [title: string, refuses: (page: number, read: number) => boolean, fails: boolean][] = [
    ['not when every page is given', () => false, false],
    ['when none is given', () => true, true],
    ['when some are given at the second time', (_page, read) => read % 20 === 0, true],
    ['when most are not given', (page) => page > 500, true],
    ['not when a stretch is gone for good', (page) => page >= 100 && page < 900, false],
  ];
  for (const [title, refuses, fails] of cases)
    test(title, (t) => {
      let reads = 0;
      const found = failsToRead(file(t), (_descriptor, _into, position) => {
        reads++;
        if (refuses(position / PAGE_BYTES, reads)) eio();
      });
      assert.equal(found, fails);
      assert.ok(reads < 2 * PAGES, `${reads} reads`);
    });

  test('a disk that fails to read is reported soon, when the first pages are refused: each may take seconds', (t) => {
    let reads = 0;
    assert.equal(
      failsToRead(file(t), () => {
        reads++;
        eio();
      }),
      true,
    );
    assert.ok(reads < 100, `${reads} reads`);
  });

  test('an empty or missing file is no read failure of the disk', (t) => {
    assert.equal(failsToRead(file(t, 0)), false);
    assert.equal(failsToRead(join(temporaryFolder(t), 'nothing.db')), false);
  });

  test('a disk fails to read when the file cannot be opened', (t) => {
    assert.equal(failsToRead(join(file(t), 'below-a-file.db')), true);
  });
});
