import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { formatTimestamp, parseTimestampMs } from '../../src/lib/time.ts';

describe('an instant', () => {
  const refused = [
    '',
    '2026-03-01',
    '2026-03-01T08:00',
    '2026-13-01T08:00:00Z',
    '2026-00-01T08:00:00Z',
    '2026-02-29T08:00:00Z',
    '2026-02-30T08:00:00Z',
    '2026-04-31T08:00:00Z',
    '2026-03-00T08:00:00Z',
    '2026-03-01T24:00:00Z',
    '2026-03-01T08:60:00Z',
    '2026-03-01T08:00:61Z',
    '2026-03-01T08:00:00+24:00',
    '2026-03-01T08:00:00+01:60',
    '2026-03-01T08:00:00+0100',
    '2026-03-01T08:00:00.Z',
    '2026-03-01T08:00:00.1234567890Z',
    '2026-03-01T08:00:00Zjunk',
    ' 2026-03-01T08:00:00Z',
    '1772352000',
  ];
  for (const text of refused)
    test(`the instant ${JSON.stringify(text)} is refused`, () =>
      assert.equal(parseTimestampMs(text), undefined));

  const eight = Date.UTC(2026, 2, 1, 8);
  const accepted: [text: string, epochMs: number][] = [
    ['2026-03-01T08:00:00Z', eight],
    ['2026-03-01t08:00:00z', eight],
    ['2026-03-01 08:00:00', eight],
    ['2026-03-01T08:00:00', eight],
    ['2026-03-01T10:30:00+02:30', eight],
    ['2026-03-01T07:30:00-00:30', eight],
    ['2026-03-01T08:00:00.5Z', eight + 500],
    ['2026-03-01T08:00:00.123456789Z', eight + 123.456_789],
    ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
    ['2016-12-31T23:59:60Z', Date.UTC(2017, 0, 1)],
    ['1969-12-31T23:59:59Z', -1_000],
  ];
  for (const [text, epochMs] of accepted)
    test(`the instant ${text} is read`, () => assert.equal(parseTimestampMs(text), epochMs));

  test('years below 100 are not moved to the twentieth century', () => {
    assert.equal(formatTimestamp(parseTimestampMs('0042-01-01T00:00:00Z') ?? 0), '0042-01-01T00:00:00.000Z');
  });

  test('an instant is written in UTC with three fraction digits', () => {
    assert.equal(formatTimestamp(eight + 7), '2026-03-01T08:00:00.007Z');
  });

  test('an instant is read back as the same millisecond', () => {
    const range = { min: Date.UTC(1970, 0, 1), max: Date.UTC(9999, 11, 31, 23, 59, 59, 999) };
    fc.assert(
      fc.property(fc.integer(range), (epochMs) => {
        assert.equal(parseTimestampMs(formatTimestamp(epochMs)), epochMs);
      }),
    );
  });

  test('an instant is the same instant in UTC and at an offset', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1_439, max: 1_439 }), (offsetMinutes) => {
        const local = formatTimestamp(eight + offsetMinutes * 60_000).slice(0, 19);
        const absolute = Math.abs(offsetMinutes);
        const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
        const offset = `${offsetMinutes < 0 ? '-' : '+'}${two(absolute / 60)}:${two(absolute % 60)}`;
        assert.equal(parseTimestampMs(local + offset), eight);
      }),
    );
  });
});
