/** Users: how many, their names, and when they were made. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../../src/lib/errors.ts';
import { CHEAP, startAuth } from './support.ts';

const PASSWORD = 'correct horse';

describe('users', () => {
  test('users are a bounded number', async (t) => {
    const { auth } = startAuth(t, { limits: { ...CHEAP, users: 1 } });
    await auth.users.create('anna', 'USER', PASSWORD);
    await assert.rejects(
      auth.users.create('ben', 'USER', PASSWORD),
      (error) => error instanceof GatewayError && error.code === 'user_limit_reached',
    );
  });

  test('two users of one name made at the same moment become one user and one refusal', async (t) => {
    const { auth } = startAuth(t);
    const results = await Promise.allSettled(
      ['anna', 'Anna'].map((name) => auth.users.create(name, 'USER', PASSWORD)),
    );
    assert.deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  });
});
