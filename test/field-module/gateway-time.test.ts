/** Whether a module uses the clock of its board. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayTime } from '../../src/field-module/module.ts';

function setUp(wallMs = 1_000_000_000) {
  const clock = { now: { wallMs, monotonicMs: 50 } };
  const time = new GatewayTime(
    { wallMs: () => clock.now.wallMs, monotonicMs: () => clock.now.monotonicMs },
    30_000,
  );
  const pass = (durationMs: number): void => {
    clock.now = {
      wallMs: clock.now.wallMs + durationMs,
      monotonicMs: clock.now.monotonicMs + durationMs,
    };
  };
  const step = (byMs: number): void => {
    clock.now = { ...clock.now, wallMs: clock.now.wallMs + byMs };
  };
  return { time, pass, step, wallMs };
}

describe('the clock of a board', () => {
  test('the clock of a board is used until the gateway sends another time, or when it sends none', () => {
    const { time, pass, wallMs } = setUp();
    assert.equal(time.isBelieved, true);
    time.told(wallMs + 3_600_000);
    assert.deepEqual([time.isBelieved, time.aheadMs], [false, -3_600_000]);
    pass(86_400_000);
    assert.equal(time.isBelieved, false);
    time.told(undefined);
    assert.deepEqual([time.isBelieved, time.aheadMs], [true, 0]);
  });

  test('the clock of a board is used within the tolerance, both ways, and no further', () => {
    const { time, wallMs } = setUp();
    for (const [differenceMs, expected] of [
      [30_000, true],
      [-30_000, true],
      [30_001, false],
      [-30_001, false],
    ] as const) {
      time.told(wallMs + differenceMs);
      assert.equal(time.isBelieved, expected, String(differenceMs));
    }
  });

  test('the clock of a board is used again as soon as it is set right, and not while it is set wrong', () => {
    const { time, pass, step, wallMs } = setUp();
    time.told(wallMs + 3_600_000);
    pass(1_000);
    step(3_600_000);
    assert.equal(time.isBelieved, true);
    step(60_000);
    assert.deepEqual([time.isBelieved, time.aheadMs], [false, 60_000]);
  });
});
