/** What of a form is sent. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesOf } from '../../src/console/changes.ts';

test('only changed members are sent, and of groups their changed members', () => {
  const before = { name: 'a', to: ['x', 'y'], mqtt: { url: 'u', commands: { level: 'USER', devices: [] } } };
  assert.deepEqual(changesOf(before, before), {});
  assert.deepEqual(changesOf(before, { ...before, name: 'b' }), { name: 'b' });
  assert.deepEqual(changesOf(before, { ...before, to: ['x'] }), { to: ['x'] });
  assert.deepEqual(changesOf(before, { ...before, mqtt: { ...before.mqtt, url: 'v' } }), {
    mqtt: { url: 'v' },
  });
});

test('deeper members, new members and former groups are sent as a whole', () => {
  const before = { mqtt: { url: 'u', commands: { level: 'USER', devices: ['a'] } }, secret: undefined };
  const commands = { level: 'OWNER', devices: ['a'] };
  assert.deepEqual(changesOf(before, { mqtt: { url: 'u', commands } }), { mqtt: { commands } });
  assert.deepEqual(changesOf(before, { mqtt: { url: 'u', commands: null }, secret: 's' }), {
    mqtt: { commands: null },
    secret: 's',
  });
});
