import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createComplaints } from '../../src/lib/complaints.ts';

const LIMITS = { intervalMs: 1_000, perOwner: 3 };

describe('a complaint', () => {
  test('is told once in its time, then again', () => {
    const complaints = createComplaints(LIMITS);
    assert.equal(complaints.tell('a', 'x', 'X is wrong.', 0), 'X is wrong.');
    assert.equal(complaints.tell('a', 'x', 'X is wrong.', 999), undefined);
    assert.equal(complaints.tell('b', 'x', 'X is wrong.', 999), 'X is wrong.');
    assert.equal(complaints.tell('a', 'x', 'X is wrong.', 1_000), 'X is wrong.');
  });

  test('of one who makes ever new faults is one of so many, and the last says so', () => {
    const complaints = createComplaints(LIMITS);
    const told = Array.from({ length: 1_000 }, (_, index) =>
      complaints.tell('a', String(index), 'Wrong.', index),
    );
    assert.deepEqual(
      told.filter((text) => text !== undefined),
      ['Wrong.', 'Wrong.', 'Wrong. Further faults are not listed for a while.'],
    );
    assert.equal(complaints.tell('b', '0', 'Wrong.', 999), 'Wrong.');
    assert.equal(complaints.tell('a', '0', 'Wrong.', 1_000), 'Wrong.');
  });

  test('of one who is forgotten is told anew', () => {
    const complaints = createComplaints(LIMITS);
    complaints.tell('a', 'x', 'Wrong.', 0);
    complaints.forget('a');
    assert.equal(complaints.tell('a', 'x', 'Wrong.', 0), 'Wrong.');
  });

  test('is told to any number of owners, whose ended rounds are let go', () => {
    const complaints = createComplaints(LIMITS);
    for (let owner = 0; owner < 5_000; owner++)
      assert.equal(complaints.tell(`owner ${owner}`, 'x', 'Wrong.', owner * 2), 'Wrong.');
    assert.equal(complaints.tell('owner 4999', 'x', 'Wrong.', 10_000), undefined);
  });
});
