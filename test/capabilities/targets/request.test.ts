/** Commands that a target asks for, as they come (docs/interface/http.md#targets). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRequest } from '../../../src/capabilities/targets/commands/command-requests.ts';

test('a request has its deadline in milliseconds, and whole numbers with all their digits', () => {
  const text =
    '{"id":"a","device_id":"b","name":"c","arguments":{"value":9007199254740993},"expires_at":"2026-03-01T08:15:00.123456Z"}';
  const { expiresAtMs, arguments: given } = parseRequest(Buffer.from(text));
  assert.equal(expiresAtMs, Date.UTC(2026, 2, 1, 8, 15, 0, 123));
  assert.equal(JSON.stringify(given), '{"value":9007199254740993}');
});
