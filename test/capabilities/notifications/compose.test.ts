/** Messages about alerts whose texts come from devices. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { composeAlerts, composeTest } from '../../../src/capabilities/notifications/compose.ts';

type Notified = Parameters<typeof composeAlerts>[1][number];

const FORGED = 'hot\r\nBcc: all@example.org\n\u2028ERROR  Roof: on fire\u0085\u202Ereversed';
const around = {
  site: { id: 's', name: 'Depot\r\nSubject: other', timezone: 'UTC' },
  nowMs: Date.UTC(2026, 2, 1),
  namedMax: 5,
};

test('a text of a device begins no line and no header of a message', () => {
  const alert = {
    id: 'a',
    number: 1,
    deviceId: 'd',
    displayName: FORGED,
    details: FORGED,
    severity: 'error',
    raisedAtMs: around.nowMs,
  };
  const delivery = { id: 'm', kind: 'ALERTS', raisedCount: 1, clearedCount: 0, omittedCount: 0 };
  const notified = { alert, device: undefined, kinds: new Set(['RAISED']) } as unknown as Notified;
  const message = composeAlerts(delivery as Parameters<typeof composeAlerts>[0], [notified], around);
  assert.equal(message.title, 'd: hot Bcc: all@example.org ERROR Roof: on fire reversed');
  assert.equal(message.site.name, 'Depot Subject: other');
  const lines = message.text.split(/[\r\n\u0085\u2028]/);
  assert.equal(lines.length, 3);
  assert.match(lines[0] ?? '', /^ERROR {2}d: hot Bcc/);
  assert.match(lines[1] ?? '', /^ {4}hot Bcc/);
  assert.equal(lines[2], '');
});

test('the name of a channel begins no line of its test', () => {
  const { text } = composeTest({ id: 'm' }, 'Phones\r\nFrom: x', around);
  assert.equal(text.split(/[\r\n]/).length, 2);
});
