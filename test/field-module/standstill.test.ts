import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Standstill } from '../../src/field-module/module.ts';
import { TestClock } from '../support/test-clock.ts';

test('messages count as delayed by the whole standstill of the program, until all of them are read', async () => {
  const clock = new TestClock();
  const standstill = new Standstill(clock, 1_000);
  for (let beats = 0; beats < 3; beats += 1) {
    await clock.advance(1_900);
    assert.equal(standstill.waitedMs, 0);
    standstill.beat();
  }
  await clock.advance(30_000);
  assert.equal(standstill.waitedMs, 30_000);
  standstill.beat();
  await clock.advance(500);
  standstill.beat();
  assert.equal(standstill.waitedMs, 30_500);
  await clock.advance(1_500);
  assert.equal(standstill.waitedMs, 0);
});
