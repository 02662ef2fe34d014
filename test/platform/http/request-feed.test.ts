/** Whose turn it is among connections that send requests ahead of responses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextTurn } from '../../../src/platform/clock/index.ts';
import { AheadTurns } from '../../../src/platform/http/request-feed.ts';

test('connections that sent requests ahead go on one in each turn of the event loop, in order', async () => {
  const turns = new AheadTurns();
  const begun: number[] = [];
  const wait = (number: number): void => void turns.next().then(() => begun.push(number));
  for (const number of [1, 2, 3]) wait(number);
  const each: number[] = [];
  while (begun.length < 5) {
    const before = begun.length;
    await nextTurn();
    each.push(begun.length - before);
    if (begun.length === 2 && begun[1] === 2 && each.at(-1) === 1) for (const number of [4, 5]) wait(number);
  }
  assert.deepEqual(begun, [1, 2, 3, 4, 5]);
  assert.equal(Math.max(...each), 1);
  wait(6);
  while (begun.length < 6) await nextTurn();
  assert.equal(begun.at(-1), 6);
});
