import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TokenRecord } from '../../../src/capabilities/auth/index.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { TestClock } from '../../support/test-clock.ts';
import { CHEAP, startAuth } from './support.ts';

const HOUR_MS = 3_600_000;

describe('an access token', () => {
  test('an access token belongs to nobody when it is garbage, empty or in another case', (t) => {
    const { auth } = startAuth(t);
    const { text } = auth.tokens.create({ name: 'x', role: 'OWNER' });
    for (const wrong of ['', 'x', text.toLowerCase(), `${text} `, text.slice(0, -1), '\0', '§'])
      assert.equal(auth.tokens.authenticate(wrong), undefined, wrong);
  });

  test('an access token tells whose it is, and counts under a key of its own', (t) => {
    const { auth } = startAuth(t);
    const { text, record } = auth.tokens.create({ name: 'meter', role: 'USER' });
    assert.deepEqual(auth.tokens.authenticate(text), {
      role: 'USER',
      origin: { kind: 'token', id: record.id, name: 'meter' },
      rateKey: `token:${record.id} tokens`,
      tokenId: record.id,
    });
  });

  test('an access token gives its owner no more of the limits per caller than the first one', async (t) => {
    const { auth } = startAuth(t);
    const anna = await auth.users.create('anna', 'USER', 'correct horse');
    const session = auth.tokens.createSession(anna);
    const script = auth.tokens.createFor(session.record, { name: 'script', role: 'USER' });
    const child = auth.tokens.createFor(script.record, { name: 'child', role: 'READONLY' });
    assert.equal(auth.tokens.authenticate(session.text)?.rateKey, `user:${anna.id}`);
    for (const { text } of [script, child])
      assert.equal(auth.tokens.authenticate(text)?.rateKey, `user:${anna.id} tokens`);
    const program = auth.tokens.create({ name: 'program', role: 'USER' });
    let made = program;
    for (let depth = 0; depth < 3; depth++)
      made = auth.tokens.createFor(made.record, { name: 'child', role: 'READONLY' });
    assert.equal(
      auth.tokens.authenticate(made.text)?.rateKey,
      auth.tokens.authenticate(program.text)?.rateKey,
    );
  });

  test('an access token makes no more than a share of the tokens of its person', async (t) => {
    const { auth } = startAuth(t, { limits: { ...CHEAP, tokensPerPerson: 4, tokensByTokens: 2 } });
    const anna = await auth.users.create('anna', 'USER', 'correct horse');
    const { record: session } = auth.tokens.createSession(anna);
    const request = { name: 'x', role: 'USER' } as const;
    const script = auth.tokens.createFor(session, request).record;
    const child = auth.tokens.createFor(script, request).record;
    auth.tokens.createFor(child, request);
    for (const maker of [script, child])
      assert.throws(() => auth.tokens.createFor(maker, request), /Your tokens have made 2 access tokens/);
    auth.tokens.createFor(session, request);
  });

  test('tokens are bounded per person, per program with the tokens it made, and in all', async (t) => {
    const { auth } = startAuth(t, { limits: { ...CHEAP, tokensPerPerson: 3, tokens: 7 } });
    const request = { name: 'x', role: 'READONLY' } as const;
    const anna = await auth.users.create('anna', 'USER', 'correct horse');
    const { record: session } = auth.tokens.createSession(anna);
    const program = auth.tokens.create({ name: 'program', role: 'USER' }).record;
    const fill = (maker: TokenRecord, count: number): void => {
      for (let made = 0, from = maker; made < count; made++)
        from = auth.tokens.createFor(from, request).record;
      assert.throws(
        () => auth.tokens.createFor(maker, request),
        (error) =>
          error instanceof GatewayError &&
          error.code === 'token_limit_reached' &&
          error.message === 'You have 3 access tokens; revoke those that nobody uses.',
      );
    };
    fill(session, 3);
    fill(program, 2);
    auth.tokens.create(request);
    assert.throws(() => auth.tokens.create(request), /There are 7 access tokens/);
    assert.doesNotThrow(() => auth.tokens.createSession(anna));
  });

  test('an access token counts at once when another process made or revoked it', (t) => {
    const { auth, open } = startAuth(t);
    const other = open();
    const { text, record } = other.tokens.create({ name: 'x', role: 'OWNER' });
    assert.equal(auth.tokens.authenticate(text)?.role, 'OWNER');
    other.tokens.revoke(record.id);
    assert.equal(auth.tokens.authenticate(text), undefined);
  });

  test('an access token is reported once, within a second, when another process revoked it', async (t) => {
    const { auth, clock, ended, open } = startAuth(t);
    const other = open();
    const { record } = other.tokens.create({ name: 'x', role: 'OWNER' });
    await clock.advance(CHEAP.sweepIntervalMs);
    other.tokens.revoke(record.id);
    assert.deepEqual(ended, []);
    await clock.advance(CHEAP.sweepIntervalMs);
    await clock.advance(5 * CHEAP.sweepIntervalMs);
    assert.deepEqual(ended, [record.id]);
    assert.equal(auth.tokens.all().length, 0);
  });

  test('an access token is reported after use when another process made and revoked it within that second', async (t) => {
    const { auth, clock, ended, open } = startAuth(t);
    const other = open();
    const [used, unused] = ['x', 'y'].map((name) => other.tokens.create({ name, role: 'OWNER' }));
    auth.tokens.authenticate(used?.text ?? '');
    for (const made of [used, unused]) other.tokens.revoke(made?.record.id ?? '');
    await clock.advance(CHEAP.sweepIntervalMs);
    assert.deepEqual(ended, [used?.record.id]);
  });

  test('an access token is reported when it expires', async (t) => {
    const { auth, clock, ended } = startAuth(t);
    const { text, record } = auth.tokens.create({ name: 'x', role: 'OWNER', lifetimeMs: HOUR_MS });
    await clock.advance(HOUR_MS - 1);
    assert.deepEqual([auth.tokens.authenticate(text)?.role, ended], ['OWNER', []]);
    await clock.advance(CHEAP.sweepIntervalMs);
    assert.deepEqual([auth.tokens.authenticate(text), ended], [undefined, [record.id]]);
  });

  test('an access token is valid again when a clock that had run ahead is corrected', (t) => {
    const { auth, clock } = startAuth(t);
    const { text } = auth.tokens.create({ name: 'x', role: 'OWNER', lifetimeMs: HOUR_MS });
    clock.step(30 * 365 * 24 * HOUR_MS);
    assert.equal(auth.tokens.authenticate(text), undefined);
    clock.step(-30 * 365 * 24 * HOUR_MS);
    assert.equal(auth.tokens.authenticate(text)?.role, 'OWNER');
  });

  test('an access token keeps its end when the clock is put back by mistake, in however many steps it is corrected', async (t) => {
    const { auth, clock } = startAuth(t);
    const { text, record } = auth.tokens.create({ name: 'x', role: 'OWNER', lifetimeMs: 24 * HOUR_MS });
    await clock.advance(HOUR_MS);
    clock.step(-30 * HOUR_MS);
    assert.equal(auth.tokens.authenticate(text)?.role, 'OWNER');
    clock.step(10 * HOUR_MS);
    clock.step(20 * HOUR_MS);
    const found = auth.tokens.get(record.id);
    assert.deepEqual([found?.createdAtMs, found?.expiresAtMs], [record.createdAtMs, record.expiresAtMs]);
    clock.step(HOUR_MS);
    assert.equal(auth.tokens.get(record.id)?.expiresAtMs, record.expiresAtMs);
  });

  test('an access token keeps its end when the power fails while the clock is behind', async (t) => {
    const { auth, clock, open } = startAuth(t);
    const request = { name: 'x', role: 'OWNER', lifetimeMs: 24 * HOUR_MS } as const;
    const { record } = auth.tokens.create(request);
    await clock.advance(HOUR_MS);
    clock.step(-30 * HOUR_MS);
    const meanwhile = auth.tokens.create(request).record;
    const right = new TestClock(clock.wallMs() + 30 * HOUR_MS + 60_000);
    const next = open(right);
    next.start();
    t.after(() => next.stop());
    const ends = [record, meanwhile].map(({ id }) => next.tokens.get(id)?.expiresAtMs);
    assert.deepEqual(ends, [record.expiresAtMs, (meanwhile.expiresAtMs ?? 0) + 30 * HOUR_MS]);
    right.step(HOUR_MS);
    assert.equal(next.tokens.get(record.id)?.expiresAtMs, record.expiresAtMs);
  });

  test('an access token keeps its end when the clock is still behind after a restart', async (t) => {
    const { auth, clock, open } = startAuth(t);
    const request = { name: 'x', role: 'OWNER', lifetimeMs: 24 * HOUR_MS } as const;
    const { record } = auth.tokens.create(request);
    await clock.advance(HOUR_MS);
    clock.step(-30 * HOUR_MS);
    await clock.advance(3 * HOUR_MS);
    auth.stop();
    const later = new TestClock(clock.wallMs() + 60_000);
    const next = open(later);
    next.start();
    t.after(() => next.stop());
    const passedMs = (record.expiresAtMs ?? 0) - (next.tokens.get(record.id)?.expiresAtMs ?? 0);
    assert.equal(passedMs, 30 * HOUR_MS - 60_000, 'time in which the box was off counts as a step');
    const meanwhile = next.tokens.create(request).record;
    later.step(30 * HOUR_MS);
    assert.equal(next.tokens.get(record.id)?.expiresAtMs, record.expiresAtMs);
    assert.equal(
      next.tokens.get(meanwhile.id)?.expiresAtMs,
      (meanwhile.expiresAtMs ?? 0) + 30 * HOUR_MS - 60_000,
    );
  });

  test('an access token follows a clock step that the disk did not store at once', async (t) => {
    const { auth, clock, database } = startAuth(t);
    const { record } = auth.tokens.create({ name: 'x', role: 'OWNER', lifetimeMs: 24 * HOUR_MS });
    await clock.advance(HOUR_MS);
    clock.step(-30 * HOUR_MS);
    database
      .prepare(`CREATE TRIGGER full BEFORE UPDATE ON access_token BEGIN SELECT RAISE(ABORT, 'full'); END`)
      .run();
    clock.step(30 * HOUR_MS);
    assert.equal(auth.tokens.get(record.id)?.expiresAtMs, (record.expiresAtMs ?? 0) - 30 * HOUR_MS);
    database.prepare('DROP TRIGGER full').run();
    await clock.advance(CHEAP.lastUseWriteIntervalMs);
    assert.equal(auth.tokens.get(record.id)?.expiresAtMs, record.expiresAtMs);
  });

  test('an access token made while the clock was behind lives its whole life once it is right again', async (t) => {
    const { auth, clock } = startAuth(t);
    clock.step(-30 * HOUR_MS);
    const { text } = auth.tokens.create({ name: 'x', role: 'OWNER', lifetimeMs: HOUR_MS });
    clock.step(30 * HOUR_MS);
    await clock.advance(HOUR_MS - 1);
    assert.equal(auth.tokens.authenticate(text)?.role, 'OWNER');
    await clock.advance(1);
    assert.equal(auth.tokens.authenticate(text), undefined);
  });

  test('an access token made before the clock was set lives its whole life afterwards', async (t) => {
    const clock = new TestClock(60_000);
    const { auth } = startAuth(t, { clock });
    const { text, record } = auth.tokens.create({ name: 'x', role: 'OWNER', lifetimeMs: HOUR_MS });
    await clock.advance(HOUR_MS / 2);
    clock.step(Date.UTC(2026, 5, 1) - clock.wallMs());
    assert.equal(auth.tokens.get(record.id)?.createdAtMs, Date.UTC(2026, 5, 1) - HOUR_MS / 2);
    await clock.advance(HOUR_MS / 2 - 1);
    assert.equal(auth.tokens.authenticate(text)?.role, 'OWNER');
    await clock.advance(1);
    assert.equal(auth.tokens.authenticate(text), undefined);
  });

  test('an access token made in an earlier run without a clock counts from the start of this run', async (t) => {
    const clock = new TestClock(60_000);
    const { auth, open } = startAuth(t, { clock });
    const { text } = auth.tokens.create({ name: 'x', role: 'OWNER', lifetimeMs: HOUR_MS });
    auth.stop();
    clock.step(Date.UTC(2026, 5, 1) - clock.wallMs());
    const next = open();
    next.start();
    t.after(() => next.stop());
    assert.equal(next.tokens.authenticate(text)?.role, 'OWNER');
    await clock.advance(HOUR_MS);
    assert.equal(next.tokens.authenticate(text), undefined);
  });

  test('an access token stores its last use once an hour, not at each call', async (t) => {
    const { auth, clock, database } = startAuth(t);
    const { text, record } = auth.tokens.create({ name: 'x', role: 'OWNER' });
    const changes = database.prepare<[], { n: number }>('SELECT total_changes() AS n');
    const lastUse = (): number | undefined => auth.tokens.get(record.id)?.lastUsedAtMs;
    const before = changes.get()?.n ?? 0;
    const firstMs = clock.wallMs();
    for (let minute = 0; minute < 59; minute++) {
      auth.tokens.authenticate(text);
      await clock.advance(60_000);
    }
    assert.deepEqual([lastUse(), (changes.get()?.n ?? 0) - before], [firstMs, 1]);
    await clock.advance(60_000);
    auth.tokens.authenticate(text);
    await clock.advance(60_000);
    assert.deepEqual([lastUse(), (changes.get()?.n ?? 0) - before], [firstMs + HOUR_MS, 2]);
  });

  test('an access token shows its last use at once', (t) => {
    const { auth, clock } = startAuth(t);
    const { text } = auth.tokens.create({ name: 'x', role: 'OWNER' });
    assert.equal(auth.tokens.all()[0]?.lastUsedAtMs, undefined);
    auth.tokens.authenticate(text);
    assert.equal(auth.tokens.all()[0]?.lastUsedAtMs, clock.wallMs());
  });

  test('an access token stores its last use at the stop, and none while the clock is not set', (t) => {
    const { auth, clock } = startAuth(t);
    const { text, record } = auth.tokens.create({ name: 'x', role: 'OWNER' });
    const nowMs: number = clock.wallMs();
    clock.step(-nowMs);
    auth.tokens.authenticate(text);
    clock.step(nowMs);
    auth.stop();
    assert.equal(auth.tokens.get(record.id)?.lastUsedAtMs, undefined);
    auth.tokens.authenticate(text);
    auth.stop();
    assert.equal(auth.tokens.get(record.id)?.lastUsedAtMs, nowMs);
  });

  test('an access token is one of a bounded number', (t) => {
    const { auth } = startAuth(t, { limits: { ...CHEAP, tokens: 2 } });
    const make = () => auth.tokens.create({ name: 'x', role: 'OWNER' });
    make();
    const { record } = make();
    assert.throws(make, (error) => error instanceof GatewayError && error.code === 'token_limit_reached');
    auth.tokens.revoke(record.id);
    make();
  });

  test('an access token keeps working when the disk does not store its last use', async (t) => {
    const { auth, clock, database, lines } = startAuth(t);
    const { text } = auth.tokens.create({ name: 'x', role: 'OWNER' });
    database
      .prepare(`CREATE TRIGGER full BEFORE UPDATE ON access_token BEGIN SELECT RAISE(ABORT, 'full'); END`)
      .run();
    auth.tokens.authenticate(text);
    await clock.advance(CHEAP.lastUseWriteIntervalMs);
    assert.equal(auth.tokens.authenticate(text)?.role, 'OWNER');
    assert.equal(lines.filter(({ message }) => message === 'regular work on access tokens failed').length, 1);
  });
});
