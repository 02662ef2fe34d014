import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Gatherer } from '../../src/lib/gatherer.ts';

describe('a gatherer', () => {
  test('hands over what came in one turn of work together and in order', async () => {
    const handed: number[][] = [];
    const gatherer = new Gatherer<number>((items) => handed.push(items));
    gatherer.add(1);
    await Promise.all([2, 3].map(async (item) => gatherer.add(item)));
    gatherer.add(4);
    assert.deepEqual(handed, [[1, 2, 3]]);
    await Promise.resolve();
    assert.deepEqual(handed, [[1, 2, 3], [4]]);
  });

  test('hands over at once when told, and nothing twice', async () => {
    const handed: number[][] = [];
    const gatherer = new Gatherer<number>((items) => handed.push(items));
    gatherer.add(1);
    gatherer.flush();
    gatherer.flush();
    assert.deepEqual(handed, [[1]]);
    await Promise.resolve();
    assert.deepEqual(handed, [[1]]);
  });

  test('keeps for the next time what comes while it hands over', async () => {
    const handed: number[][] = [];
    const gatherer = new Gatherer<number>((items) => {
      handed.push(items);
      if (items[0] === 1) gatherer.add(2);
    });
    gatherer.add(1);
    gatherer.flush();
    await Promise.resolve();
    assert.deepEqual(handed, [[1], [2]]);
  });
});
