import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Batcher, OneByOne } from '../../src/lib/batcher.ts';

describe('a batcher', () => {
  test('a batcher delivers what came in one turn of work together and in order', async () => {
    const handed: number[][] = [];
    const batcher = new Batcher<number>((items) => handed.push(items));
    batcher.add(1);
    await Promise.all([2, 3].map(async (item) => batcher.add(item)));
    batcher.add(4);
    assert.deepEqual(handed, [[1, 2, 3]]);
    await Promise.resolve();
    assert.deepEqual(handed, [[1, 2, 3], [4]]);
  });

  test('a batcher delivers at once on request, and nothing twice', async () => {
    const handed: number[][] = [];
    const batcher = new Batcher<number>((items) => handed.push(items));
    batcher.add(1);
    batcher.flush();
    batcher.flush();
    assert.deepEqual(handed, [[1]]);
    await Promise.resolve();
    assert.deepEqual(handed, [[1]]);
  });

  test('a batcher keeps for the next time what comes during a delivery', async () => {
    const handed: number[][] = [];
    const batcher = new Batcher<number>((items) => {
      handed.push(items);
      if (items[0] === 1) batcher.add(2);
    });
    batcher.add(1);
    batcher.flush();
    await Promise.resolve();
    assert.deepEqual(handed, [[1], [2]]);
  });
});

describe('what came as one', () => {
  const after = async (hops: number, what: () => void): Promise<void> => {
    for (let hop = 0; hop < hops; hop++) await Promise.resolve();
    what();
  };

  test('the items of one batch are taken one after the other, each after the effects of the one before', async () => {
    const seen: string[] = [];
    const turns = new OneByOne<number>((item) => {
      seen.push(`${item}`);
      void after(5, () => seen.push(`${item} is over`));
    });
    turns.add([1, 2]);
    turns.add([3]);
    assert.deepEqual(seen, ['1'], 'the first one at once');
    await turn();
    assert.deepEqual(seen, ['1', '1 is over', '2', '2 is over', '3', '3 is over']);
    turns.add([4]);
    assert.deepEqual(seen.at(-1), '4');
  });
});
