/** Blueprints as they were published must be accepted as they are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PUBLISHED } from './published-manifests.ts';
import { compiled, problemsOf } from './support.ts';

for (const [title, text] of Object.entries(PUBLISHED))
  test(`the published profile ${title} is accepted`, () => {
    assert.deepEqual(problemsOf(text), []);
    const { telemetry } = compiled(text).manifest;
    assert.ok(Object.values(telemetry).some((attribute) => attribute.aliases.length > 0));
  });

test('a missing member of a profile is named as the present revision calls it', () => {
  const text = PUBLISHED['a hybrid inverter that lists a profile and its parts'] ?? '';
  assert.deepEqual(problemsOf(text.replace(/ {2}pv_throttled.*\n/, '')), [
    'implements[8]: profile "lib.energy.pv.throttling" requires telemetry "pv_throttled"',
  ]);
});
