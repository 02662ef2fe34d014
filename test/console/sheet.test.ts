/** What a spreadsheet gets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sheetOf, sheetTime } from '../../src/console/sheet.ts';

test('a sheet has quoted separators, numbers of the measured precision, and empty cells', () => {
  const rows = [
    ['Time', 'Hall, "north" W'],
    [sheetTime(0, 'UTC'), 0.1 + 0.2],
    ['', null],
  ];
  assert.equal(sheetOf(rows), '\ufeffTime,"Hall, ""north"" W"\r\n1970-01-01 00:00:00,0.3\r\n,\r\n');
});

test("a sheet has times of the site's zone, with midnight as hour 0", () => {
  assert.equal(sheetTime(Date.parse('2026-07-01T22:00:00Z'), 'Europe/Berlin'), '2026-07-02 00:00:00');
  assert.equal(sheetTime(Date.parse('2026-12-01T12:34:56Z'), 'America/New_York'), '2026-12-01 07:34:56');
});
