import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitText } from '../../src/console/box/limit-text.ts';
import * as de from '../../src/console/words/de.ts';

test('the storage says how long its limit lasts at the rate of today', () => {
  for (const [daysLeft, span] of [
    [1.9, '1 day'],
    [400, '400 days'],
    [800, '2 years'],
  ] as const)
    assert.equal(
      limitText(daysLeft, '8 GiB'),
      `At today's rate, the limit of 8 GiB lasts another ${span}. After that, the oldest history is replaced by the newest.`,
    );
  assert.match(limitText(2, '8 GiB', de), /^Beim heutigen Tempo reicht die Grenze von 8 GiB noch 2 Tage\./);
});

test('the storage calls a limit that is reached normal, and promises nothing before the rate is known', () => {
  for (const daysLeft of [0, 0.4])
    assert.match(limitText(daysLeft, '8 GiB'), /^The limit of 8 GiB is reached: .*This is normal\.$/);
  assert.match(limitText(0, '8 GiB', de), /^Die Grenze von 8 GiB ist erreicht: .*Das ist normal\.$/);
  for (const daysLeft of [undefined, null])
    assert.equal(
      limitText(daysLeft, '8 GiB'),
      'When there is no more room, the oldest history is replaced by the newest.',
    );
});
