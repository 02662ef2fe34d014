import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostileHttp } from '../../../../scripts/checks/hostile/http-garbage.ts';
import { hostileMqtt } from '../../../../scripts/checks/hostile/mqtt-garbage.ts';
import { createRandom } from '../../../../scripts/support/random.ts';

const INSIDER = { username: 'H', password: 'p' };

test('the seed of an attack gives the same bytes again, and another one does not', () => {
  const bytes = (seed: number): string => {
    const random = createRandom(seed);
    const parts = Array.from({ length: 50 }, (_, index) => [
      hostileMqtt(random.fork(index), INSIDER),
      hostileHttp(random.fork(index), 'token'),
    ]);
    return JSON.stringify(parts);
  };
  assert.equal(bytes(7), bytes(7));
  assert.notEqual(bytes(7), bytes(8));
});
