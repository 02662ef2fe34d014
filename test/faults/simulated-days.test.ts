/** Days of the whole gateway on simulated time, with something happening every hour. `npm run simulate-year` has years. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { simulate } from '../../scripts/simulate-year/run.ts';

const SEED = 7;

for (const [title, seed] of [
  ['a seed that stays', SEED],
  ['a seed by chance', randomInt(2 ** 31)],
] as const)
  test(`a box lives through days of ${title}, and forgets nothing`, async (t) => {
    t.diagnostic(`seed ${seed}`);
    const { problems, counts } = await simulate({ seed, days: 2, say: (line) => t.diagnostic(line) });
    assert.deepEqual(problems, [], `seed ${seed}`);
    assert.ok(counts.samples > 0 && counts.commands > 0 && counts.changes > 0, JSON.stringify(counts));
  });
