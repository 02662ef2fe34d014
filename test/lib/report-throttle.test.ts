import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ReportThrottle } from '../../src/lib/report-throttle.ts';

const LIMITS = { intervalMs: 1_000, perOwner: 3, owners: 1_000 };

describe('a report', () => {
  test('a report is made once per interval', () => {
    const throttle = new ReportThrottle(LIMITS);
    assert.equal(throttle.report('a', 'x', 'X is wrong.', 0), 'X is wrong.');
    assert.equal(throttle.report('a', 'x', 'X is wrong.', 999), undefined);
    assert.equal(throttle.report('b', 'x', 'X is wrong.', 999), 'X is wrong.');
    assert.equal(throttle.report('a', 'x', 'X is wrong.', 1_000), 'X is wrong.');
  });

  test('reports of an owner with ever new faults are bounded, and the last says so', () => {
    const throttle = new ReportThrottle(LIMITS);
    const told = Array.from({ length: 1_000 }, (_, index) =>
      throttle.report('a', String(index), 'Wrong.', index),
    );
    assert.deepEqual(
      told.filter((text) => text !== undefined),
      ['Wrong.', 'Wrong.', 'Wrong. Further faults are not listed for a while.'],
    );
    assert.equal(throttle.report('b', '0', 'Wrong.', 999), 'Wrong.');
    assert.equal(throttle.report('a', '0', 'Wrong.', 1_000), 'Wrong.');
  });

  test('a report is made again for an owner who was forgotten', () => {
    const throttle = new ReportThrottle(LIMITS);
    throttle.report('a', 'x', 'Wrong.', 0);
    throttle.forget('a');
    assert.equal(throttle.report('a', 'x', 'Wrong.', 0), 'Wrong.');
  });

  test('reports of further owners share one bound', () => {
    const throttle = new ReportThrottle({ ...LIMITS, owners: 2 });
    for (const owner of ['a', 'b']) assert.equal(throttle.report(owner, 'x', 'Wrong.', 0), 'Wrong.');
    const told = Array.from({ length: 999 }, (_, index) =>
      throttle.report(`owner ${index}`, 'x', 'Wrong.', index),
    );
    assert.equal(told.filter((text) => text !== undefined).length, LIMITS.perOwner);
    assert.equal(throttle.report('a', 'y', 'Wrong.', 999), 'Wrong.');
    assert.equal(throttle.report('owner 7', 'x', 'Wrong.', 1_000), 'Wrong.');
  });

  test('reports of any number of owners are held, and ended intervals are removed', () => {
    const throttle = new ReportThrottle(LIMITS);
    for (let owner = 0; owner < 5_000; owner++)
      assert.equal(throttle.report(`owner ${owner}`, 'x', 'Wrong.', owner * 2), 'Wrong.');
    assert.equal(throttle.report('owner 4999', 'x', 'Wrong.', 10_000), undefined);
  });
});
