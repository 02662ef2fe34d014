/** The script that decides which version runs, on a disk that refuses some of its steps for good. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { announced, STARTS_MAX } from './guard-support.ts';

describe('a disk with the versions that is read-only', () => {
  for (const [trial, before, runs] of [
    [undefined, 'A', 'A'],
    ['announced B A 0', 'A', 'A'],
    ['trying B A 1', 'A', 'A'],
    ['trying B A 1', 'B', 'B'],
    [`trying B A ${STARTS_MAX}`, 'B', 'B'],
  ] as const)
    test(`keeps no version from running, and its state stays: ${trial ?? 'no trial'}, ${before} ran last`, (t) => {
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

describe('an older version that a failing disk does not let go', () => {
  test('is not in the way of a newer one', (t) => {
    const box = announced(t);
    box.version('old');
    box.keepVersion('old');
    const { status, output } = box.guard(['begin', 'B']);
    assert.deepEqual([status, output.startsWith('mv: ')], [0, true]);
    assert.deepEqual(box.versions, ['A', 'B', 'old']);
  });
});
