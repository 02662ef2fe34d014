import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spanText } from '../../src/console/format.ts';
import { lateText } from '../../src/console/site/energy.ts';

test('a duration is written with its two largest units', () => {
  for (const [seconds, text] of [
    [10, '1 min'],
    [240, '4 min'],
    [3_600, '1 h'],
    [7_800, '2 h 10 min'],
    [86_395, '1 d'],
    [86_400 + 60, '1 d'],
    [538 * 3_600 + 46 * 60, '22 d 10 h'],
  ] as const)
    assert.equal(spanText(seconds), text);
});

test('a power that was measured a while ago tells its age, also in what is calculated from it', () => {
  const source = { device_id: 'one', reason: null, state_of_charge_percent: null };
  const sources = [
    { ...source, role: 'pv', power_w: 900, age_s: 60 },
    { ...source, role: 'grid', power_w: 700, age_s: 1 },
    { ...source, role: 'grid', power_w: 50, age_s: 130 },
    // It is not part of what is shown.
    { ...source, role: 'pv', power_w: null, age_s: 4_000 },
  ] as const;
  const power = { at: '', is_complete: true, roles: [], sources: [...sources], flows_w: undefined as never };
  const of = (role: 'pv' | 'grid' | 'load') => ({
    role,
    is_calculated: role === 'load',
    power_w: 1,
    state_of_charge_percent: null,
    reason: null,
  });
  assert.equal(lateText(of('pv'), power), undefined);
  assert.equal(lateText(of('grid'), power), '2 min ago');
  assert.equal(lateText(of('load'), power), '2 min ago');
});
