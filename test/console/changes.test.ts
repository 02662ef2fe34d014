/** What of a form is sent. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesOf } from '../../src/console/changes.ts';

test('sends what is other than before, and of groups the parts that are', () => {
  const before = { name: 'a', to: ['x', 'y'], mqtt: { url: 'u', commands: { level: 'USER', devices: [] } } };
  assert.deepEqual(changesOf(before, before), {});
  assert.deepEqual(changesOf(before, { ...before, name: 'b' }), { name: 'b' });
  assert.deepEqual(changesOf(before, { ...before, to: ['x'] }), { to: ['x'] });
  assert.deepEqual(changesOf(before, { ...before, mqtt: { ...before.mqtt, url: 'v' } }), {
    mqtt: { url: 'v' },
  });
});

test('sends whole what is deeper than the parts of groups, what was not there before, and what is none any more', () => {
  const before = { mqtt: { url: 'u', commands: { level: 'USER', devices: ['a'] } }, secret: undefined };
  const commands = { level: 'OWNER', devices: ['a'] };
  assert.deepEqual(changesOf(before, { mqtt: { url: 'u', commands } }), { mqtt: { commands } });
  assert.deepEqual(changesOf(before, { mqtt: { url: 'u', commands: null }, secret: 's' }), {
    mqtt: { commands: null },
    secret: 's',
  });
});
