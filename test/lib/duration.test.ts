import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { formatDurationMs, parseDurationMs } from '../../src/lib/time.ts';

describe('a duration string', () => {
  const refused = [
    '',
    ' ',
    '1',
    '-1s',
    '+1s',
    '1 s',
    '1s ',
    '1S',
    '1w',
    's',
    '.s',
    '1..5s',
    '1e3s',
    '1s2',
    'P1D',
  ];
  for (const text of refused)
    test(`the duration ${JSON.stringify(text)} is refused`, () =>
      assert.equal(parseDurationMs(text), undefined));

  test('a duration longer than 64 characters is refused', () => {
    assert.equal(parseDurationMs('1s'.repeat(32)), 32_000);
    assert.equal(parseDurationMs('1s'.repeat(32) + '1s'), undefined);
  });

  const accepted: [text: string, durationMs: number][] = [
    ['0', 0],
    ['0s', 0],
    ['1.5m', 90_000],
    ['.5s', 500],
    ['5.s', 5_000],
    ['1m0s', 60_000],
    ['2h45m', 9_900_000],
    ['24h0m0s', 86_400_000],
    ['3600s', 3_600_000],
    ['1d', 86_400_000],
    ['1y', 31_536_000_000],
    ['500ms', 500],
    ['1us', 0.001],
    ['1µs', 0.001],
    ['1μs', 0.001],
    ['250ns', 0.00025],
    ['4.1m', 246_000],
    ['1.005s', 1_005],
    ['0.3s0.6s', 900],
  ];
  for (const [text, durationMs] of accepted)
    test(`the duration ${text} is ${durationMs} ms`, () => assert.equal(parseDurationMs(text), durationMs));
});

describe('a duration in canonical form', () => {
  const rows: [durationMs: number, text: string][] = [
    [0, '0s'],
    [500, '500ms'],
    [1_000, '1s'],
    [1_500, '1.5s'],
    [30_000, '30s'],
    [60_000, '1m0s'],
    [90_500, '1m30.5s'],
    [3_600_000, '1h0m0s'],
    [86_400_000, '24h0m0s'],
    [0.25, '250µs'],
    [0.00025, '250ns'],
    [3_599_999.999_999_9, '1h0m0s'],
    [999.999_999_9, '1s'],
    [0.999_999_999, '1ms'],
  ];
  for (const [durationMs, text] of rows)
    test(`${durationMs} ms is written as ${text}`, () => assert.equal(formatDurationMs(durationMs), text));

  test('a duration in canonical form is read back as the same duration', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 31_536_000_000_000 }), (durationMs) => {
        assert.equal(parseDurationMs(formatDurationMs(durationMs)), durationMs);
      }),
    );
  });

  test('a duration in canonical form stays the same, to the nanosecond and without a part of sixty', () => {
    const durations = fc.double({ min: 0, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(durations, (durationMs) => {
        const text = formatDurationMs(durationMs);
        // A part begins the text or follows a unit; digits behind a decimal point are no part.
        assert.doesNotMatch(text, /(?:^|[a-zµ])(?:60(?:\.\d+)?(?:m(?!s)|s)|1000(?:\.\d+)?[nµm]s)|e/);
        const read = parseDurationMs(text) ?? Number.NaN;
        assert.ok(Math.abs(read - durationMs) <= 1e-6, `${durationMs} became ${text}`);
        assert.equal(formatDurationMs(read), text);
      }),
    );
  });

  test('any text is read without throwing', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from('0123456789.nuµmshdy -')) }), (text) => {
        const durationMs = parseDurationMs(text);
        assert.ok(durationMs === undefined || (Number.isFinite(durationMs) && durationMs >= 0));
      }),
    );
  });
});
