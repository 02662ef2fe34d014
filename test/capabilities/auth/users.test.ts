/** Users: how many, their names, and when they were made. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../../src/lib/errors.ts';
import { TestClock } from '../../support/test-clock.ts';
import { CHEAP, startAuth } from './support.ts';

const PASSWORD = 'correct horse';

describe('users', () => {
  test('are a bounded number', async (t) => {
    const { auth } = startAuth(t, { limits: { ...CHEAP, users: 1 } });
    await auth.users.create('anna', 'USER', PASSWORD);
    await assert.rejects(
      auth.users.create('ben', 'USER', PASSWORD),
      (error) => error instanceof GatewayError && error.code === 'user_limit_reached',
    );
  });

  test('of one name are one, when two are made at once', async (t) => {
    const { auth } = startAuth(t);
    const results = await Promise.allSettled(
      ['anna', 'Anna'].map((name) => auth.users.create(name, 'USER', PASSWORD)),
    );
    assert.deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  });
});

describe('the time at which a user was made', () => {
  const JUNE_MS = Date.UTC(2026, 5, 1);

  test('follows the clock when it is set, and stays from then on', async (t) => {
    const { auth, clock } = startAuth(t, { clock: new TestClock(60_000) });
    const { id } = await auth.users.create('anna', 'INSTALLER', PASSWORD);
    await clock.advance(1_000);
    clock.step(JUNE_MS - clock.wallMs());
    assert.equal(auth.users.require(id).createdAtMs, JUNE_MS - 1_000);
    const { id: later } = await auth.users.create('otto', 'OWNER', PASSWORD);
    clock.step(60_000);
    assert.equal(auth.users.require(id).createdAtMs, JUNE_MS - 1_000);
    assert.equal(auth.users.require(later).createdAtMs, JUNE_MS);
  });

  test('is the start of this run for one of an earlier run without a clock', async (t) => {
    const { auth, clock, open } = startAuth(t, { clock: new TestClock(60_000) });
    const { id } = await auth.users.create('anna', 'INSTALLER', PASSWORD);
    auth.stop();
    clock.step(JUNE_MS - clock.wallMs());
    const next = open();
    next.start();
    t.after(() => next.stop());
    assert.equal(next.users.require(id).createdAtMs, JUNE_MS);
  });
});
