/** The script that decides which version runs, on a disk that refuses some of its steps for good. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test, type TestContext } from 'node:test';
import { announced, type Box, STARTS_MAX } from './guard-support.ts';

describe('a disk with the versions that is read-only', () => {
  for (const [trial, before, runs] of [
    [undefined, 'A', 'A'],
    ['announced B A 0', 'A', 'A'],
    ['trying B A 1', 'A', 'A'],
    ['trying B A 1', 'B', 'B'],
    [`trying B A ${STARTS_MAX}`, 'B', 'B'],
  ] as const)
    test(`a read-only disk with the versions does not stop a version: ${trial ?? 'no trial'}, ${before} ran last`, (t) => {
      const box = announced(t);
      box.guard(['start']);
      box.run(before);
      box.store(before);
      if (trial === undefined) box.confirm('old');
      else box.setTrial(trial);
      box.readOnlyState();
      for (let start = 0; start < 2; start++) {
        assert.equal(box.guard(['start']).status, 0);
        assert.deepEqual([box.runs, box.trial, box.read('state.db')], [runs, trial, `state of ${before}`]);
      }
    });
});

const canMount = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0;

describe('a return that was begun before the disk with the versions became read-only', () => {
  const skip = !canMount && 'needs root';
  /** What earlier ones of the script note when the state of the failed version is set aside. */
  const phases = ['returning', 'restoring'] as const;

  function begun(t: TestContext, phase: (typeof phases)[number]): Box {
    const box = announced(t);
    assert.equal(box.guard(['start']).status, 0);
    box.store('B');
    box.setTrial(`${phase} B A 0`);
    return box;
  }

  function assertStateIsBack(box: Box): void {
    assert.deepEqual(
      [box.read('state.db'), box.read('state.db-wal'), box.read('tls/authority.pem')],
      ['state of A', 'log of A', 'key of A'],
    );
    assert.equal(box.has('before-upgrade'), false);
  }

  for (const phase of phases)
    test(
      `a return begun before the disk became read-only is finished at each boot, with the state of that version: ${phase}`,
      { skip },
      (t) => {
        const box = begun(t, phase);
        for (let boot = 0; boot < 2; boot++) {
          assert.deepEqual(box.startsOnReadOnlyDisk(2).ran, ['A', 'A']);
          assertStateIsBack(box);
        }
        // The disk is well again.
        assert.equal(box.guard(['start']).status, 0);
        assert.deepEqual([box.runs, box.trial], ['A', undefined]);
        assertStateIsBack(box);
      },
    );

  test(
    'a return begun before the disk became read-only is finished after a power cut at any step of it',
    { skip },
    (t) => {
      const before = begun(t, 'returning');
      let cutAt = 1;
      for (; ; cutAt += 1) {
        const box = before.copy(t);
        if (box.startsOnReadOnlyDisk(1, cutAt).changes < cutAt) break;
        assert.deepEqual(box.startsOnReadOnlyDisk(2).ran, ['A', 'A'], `cut at ${cutAt}`);
        assertStateIsBack(box);
        assert.equal(box.read('failed-upgrade/state.db'), 'state of B', `cut at ${cutAt}`);
      }
      t.diagnostic(`${cutAt - 1} steps`);
      assert.ok(cutAt > 15);
    },
  );
});

describe('a note of a trial that cannot be read', () => {
  test('an unreadable note of a trial does not stop a version', (t) => {
    const box = announced(t);
    box.guard(['start']);
    box.setTrial('');
    assert.deepEqual([box.guard(['start']).status, box.runs], [0, 'B']);
    box.cutTrial();
    assert.deepEqual([box.guard(['start']).status, box.runs], [0, 'B']);
  });
});

describe('an older version that a failing disk does not let go', () => {
  test('an older version that a failing disk cannot remove does not block a newer one', (t) => {
    const box = announced(t);
    box.version('old');
    box.keepVersion('old');
    const { status, output } = box.guard(['begin', 'B']);
    assert.deepEqual([status, output.startsWith('mv: ')], [0, true]);
    assert.deepEqual(box.versions, ['A', 'B', 'old']);
  });
});
