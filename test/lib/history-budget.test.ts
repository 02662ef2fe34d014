import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assert as assertProperty, nat, property } from 'fast-check';
import { historyBudget } from '../../src/gateway/history-room.ts';
import { LIMITS } from '../../src/lib/limits.ts';

const MIB = 1_048_576;
const GIB = 1_024 * MIB;
const limits = LIMITS.history;
const logBytes = LIMITS.state.walBytes;

describe('the room of the history', () => {
  test('the room of the history is never more than configured, and all kinds of data together fit it', () => {
    assertProperty(
      property(nat(), nat(), nat(), nat(), nat(), (max, used, aside, free, other) => {
        const setAsideBytes = aside % (used + 1);
        const maxBytes = 64 * MIB + max;
        const use = { maxBytes, usedBytes: used, setAsideBytes, logBytes };
        const budget = historyBudget(
          { ...use, disk: { totalBytes: used + free + other, freeBytes: free } },
          limits,
        );
        assert.ok(budget.totalBytes <= maxBytes);
        assert.ok(budget.totalBytes >= limits.floorBytes);
        const { fileMaxBytes, journalMaxBytes } = budget;
        const countedBytes = Math.min(setAsideBytes, budget.totalBytes / 2);
        assert.ok(fileMaxBytes + journalMaxBytes + logBytes + countedBytes <= budget.totalBytes + 1);
        assert.ok(fileMaxBytes > 4 * MIB, 'there is always some room');
        assert.ok(budget.deviceLogMaxBytes + budget.ruleLogMaxBytes < fileMaxBytes / 2);
      }),
    );
  });

  test('the room of the history leaves a twentieth of a large disk free, a fifth of a small one at most', () => {
    const roomOf = (totalBytes: number, usedBytes: number, freeBytes: number): number =>
      historyBudget(
        { maxBytes: 8 * GIB, usedBytes, setAsideBytes: 0, logBytes, disk: { totalBytes, freeBytes } },
        limits,
      ).totalBytes;
    assert.equal(roomOf(100 * GIB, 0, 50 * GIB), 8 * GIB);
    assert.equal(roomOf(100 * GIB, 4 * GIB, 5 * GIB), 4 * GIB);
    assert.equal(roomOf(100 * GIB, 4 * GIB, 4 * GIB), 3 * GIB);
    assert.equal(roomOf(200 * MIB, 60 * MIB, 100 * MIB), 120 * MIB);
    assert.equal(roomOf(200 * MIB, 60 * MIB, 0), limits.floorBytes);
  });
});
