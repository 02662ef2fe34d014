/** Reading samples forwards in pieces says the same as having them all. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Recording } from '../../../../src/scripting/rule-sandbox/dry-run/recorded-site.ts';
import type { RecordedSample } from '../../../../src/protocol/dry-run.ts';

test('the newest and the next sample are right at any instant, for any samples in pieces of any size', async () => {
  const instants = fc.uniqueArray(fc.integer({ min: 0, max: 200 }), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(instants, instants, fc.integer({ min: 1, max: 5 }), async (times, asked, pieceSize) => {
      const samples = times.toSorted((a, b) => a - b).map((atMs): RecordedSample => [atMs, `v${atMs}`]);
      let loads = 0;
      const recording = new Recording(async (afterMs) => {
        loads++;
        const later = samples.filter(([atMs]) => atMs > afterMs);
        return {
          before: samples.findLast(([atMs]) => atMs <= afterMs) ?? null,
          samples: later.slice(0, pieceSize),
          isComplete: later.length <= pieceSize,
        };
      });
      for (const nowMs of asked.toSorted((a, b) => a - b)) {
        // Both at once, as two functions of a script may ask.
        const [newest, next] = await Promise.all([recording.at(nowMs), recording.after(nowMs)]);
        assert.deepEqual(
          newest,
          samples.findLast(([atMs]) => atMs <= nowMs),
        );
        assert.deepEqual(
          next,
          samples.find(([atMs]) => atMs > nowMs),
        );
      }
      assert.ok(loads <= asked.length);
    }),
  );
});

test('a piece that could not be read is requested again', async () => {
  let loads = 0;
  const recording = new Recording(async () => {
    if (++loads === 1) throw new Error('not now');
    return { before: [1, 'a'], samples: [], isComplete: true };
  });
  await assert.rejects(recording.at(2), /not now/);
  assert.deepEqual(await recording.at(2), [1, 'a']);
});
