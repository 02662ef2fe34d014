import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lineOf } from '../../scripts/watch.ts';

const common = { device_id: 'd1', received_at: '2026-03-01T08:00:00.123456Z' };
const lines: [string, Record<string, unknown>, string][] = [
  [
    'a log entry with its nested form',
    { ...common, severity: 'info', message: 'hello', log: { severity: 'info', message: 'hello' } },
    '08:00:00.123 info    hello',
  ],
  [
    'a flat log entry, as rules send it',
    { ...common, severity: 'error', message: 'no' },
    '08:00:00.123 error   no',
  ],
  [
    'telemetry',
    { ...common, telemetry: { soc: 51.5, mode: 'auto', alerts: [] } },
    '08:00:00.123 telemetry d1 soc=51.5 mode=auto alerts=[]',
  ],
  ['a connectivity change', { ...common, connectivity: 'ONLINE' }, '08:00:00.123 connectivity d1 ONLINE'],
  ['properties', { ...common, properties: { vendor: 'x' } }, '08:00:00.123 properties d1 vendor=x'],
];

describe('a line of the watch program', () => {
  for (const [title, message, line] of lines)
    it(`shows ${title}`, () => assert.equal(lineOf(JSON.stringify(message)), line));

  it('shows a message of an unknown kind as it came', () => {
    assert.equal(lineOf('{"news":1}'), ' {"news":1}');
  });
});
