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
  test('the clock of a board is believed until the gateway says another time, and when it says none', () => {
    const { time, pass, wallMs } = setUp();
    assert.equal(time.isBelieved, true);
    time.told(wallMs + 3_600_000);
    assert.deepEqual([time.isBelieved, time.aheadMs], [false, -3_600_000]);
    pass(86_400_000);
    assert.equal(time.isBelieved, false);
    time.told(undefined);
    assert.deepEqual([time.isBelieved, time.aheadMs], [true, 0]);
  });

  test('the clock of a board is believed within the tolerance, both ways, and no further', () => {
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

  test('the clock of a board is believed again as soon as somebody sets it, and not while somebody sets it wrong', () => {
    const { time, pass, step, wallMs } = setUp();
    time.told(wallMs + 3_600_000);
    pass(1_000);
    step(3_600_000);
    assert.equal(time.isBelieved, true);
    step(60_000);
    assert.deepEqual([time.isBelieved, time.aheadMs], [false, 60_000]);
  });
});
