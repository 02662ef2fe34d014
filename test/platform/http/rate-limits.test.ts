import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { createRateLimits } from '../../../src/platform/http/pipeline.ts';
import { type Answer, firstError, serve } from './support.ts';

function assertTooMany(answer: Answer, withinS: number): void {
  assert.equal(answer.status, 429);
  assert.deepEqual(firstError(answer), {
    code: 'too_many_requests',
    message: 'Too many requests; wait for the time in Retry-After.',
  });
  const retryAfter = answer.headers.get('retry-after') ?? '';
  assert.match(retryAfter, /^\d+$/, 'whole seconds');
  assert.ok(Number(retryAfter) >= 1 && Number(retryAfter) <= withinS, retryAfter);
}

describe('requests', () => {
  test('requests beyond the burst of a token are 429 with Retry-After, and other tokens go on', async (t) => {
    const { ask, calls } = await serve(t, { requestBurst: 3, requestsPerSecond: 0.05 });
    for (let index = 0; index < 3; index++) assert.equal((await ask('GET', '/v3/things/slug')).status, 200);
    assertTooMany(await ask('GET', '/v3/things/slug'), 60);
    assert.equal(calls.length, 3);
    assert.equal((await ask('GET', '/v3/things/slug', { token: 'user' })).status, 200);
  });

  test('requests take at most half of the share of a person for one token', () => {
    const few = { perSecond: 0.01, burst: 3 };
    const clock = { monotonicMs: () => 0 };
    const limits = { requests: few, unauthenticated: few, failedAuthenticationsPerMinute: 1 };
    const rates = createRateLimits(clock, limits);
    const answered = (key: string, token?: string): number => {
      for (let count = 0; ; count++)
        try {
          rates.request(key, token);
        } catch {
          return count;
        }
    };
    assert.equal(answered('anna tokens', 'flood'), 3);
    assert.equal(answered('anna tokens', 'dashboard'), 3);
    assert.equal(answered('anna tokens', 'third'), 0);
    assert.equal(answered('anna'), 3, 'the sessions of the person');
  });

  test('requests up to the limit of the contract pass, and the next does not', async (t) => {
    const { ask, clock } = await serve(t);
    const { requestBurst, requestsPerSecond } = LIMITS.http;
    for (let index = 0; index < requestBurst; index++)
      assert.equal((await ask('GET', '/v3/things/slug')).status, 200);
    assertTooMany(await ask('GET', '/v3/things/slug'), 1);
    await clock.advance(1_000);
    for (let index = 0; index < requestsPerSecond; index++)
      assert.equal((await ask('GET', '/v3/things/slug')).status, 200);
    assertTooMany(await ask('GET', '/v3/things/slug'), 1);
  });

  test('requests are allowed again after the time that Retry-After tells', async (t) => {
    const { ask, clock } = await serve(t, { requestBurst: 1, requestsPerSecond: 0.1 });
    assert.equal((await ask('GET', '/v3/things/slug')).status, 200);
    await clock.advance(2_500);
    const refused = await ask('GET', '/v3/things/slug');
    assertTooMany(refused, 8);
    await clock.advance(Number(refused.headers.get('retry-after')) * 1_000 - 1_000);
    assertTooMany(await ask('GET', '/v3/things/slug'), 1);
    await clock.advance(1_000);
    assert.equal((await ask('GET', '/v3/things/slug')).status, 200);
  });

  test('requests count by address without a token', async (t) => {
    const anonymous = {
      role: 'READONLY' as const,
      origin: { kind: 'anonymous' as const, id: 'anonymous', name: 'anonymous' },
      rateKey: 'anonymous',
    };
    const { ask } = await serve(t, { anonymous, requestBurst: 1, requestsPerSecond: 0.05, host: '0.0.0.0' });
    assert.equal((await ask('GET', '/v3/things/slug', { token: null })).status, 200);
    assertTooMany(await ask('GET', '/v3/things/slug', { token: null }), 60);
  });
});

test('callers without a token have a rate per address for all requests, which takes nothing from tokens', async (t) => {
  const http = { unauthenticatedBurst: 4, unauthenticatedPerSecond: 1 };
  const { ask, clock, calls } = await serve(t, { http, requestBurst: 3, requestsPerSecond: 1 });
  const strangers: [method: string, path: string, status: number][] = [
    ['GET', '/v3/no_such_path', 404],
    ['DELETE', '/v3/things', 405],
    ['GET', '/v3/things/slug', 401],
    ['POST', '/v3/upload', 200],
  ];
  for (const [method, path, status] of strangers)
    assert.equal((await ask(method, path, { token: null })).status, status);
  for (const [method, path] of strangers) assertTooMany(await ask(method, path, { token: null }), 1);
  assert.equal((await ask('GET', '/v3/things/slug')).status, 200);
  await clock.advance(1_000);
  assert.equal((await ask('POST', '/v3/upload', { token: null })).status, 200);
  assertTooMany(await ask('POST', '/v3/upload', { token: null }), 1);
  assert.equal(calls.length, 3);
});

describe('failed authentications', () => {
  test('failed authentications beyond the limit of an address are 429, and tokens still work', async (t) => {
    const { ask } = await serve(t);
    for (let index = 0; index < LIMITS.http.failedAuthenticationsPerMinute; index++)
      assert.equal((await ask('GET', '/v3/things/slug', { token: `guess-${index}` })).code, 'access_denied');
    assertTooMany(await ask('GET', '/v3/things/slug', { token: 'guess' }), 60);
    assert.equal((await ask('GET', '/v3/things/slug')).status, 200);
    assert.equal((await ask('GET', '/v3/things/slug', { token: null })).status, 401);
  });
});

describe('an operation without token', () => {
  test('an operation without token has its own limit per address; with a token that does not count', async (t) => {
    const { ask } = await serve(t);
    for (let index = 0; index < 2; index++)
      assert.equal((await ask('POST', '/v3/upload', { token: null })).status, 200);
    assertTooMany(await ask('POST', '/v3/upload', { token: null }), 60);
    assert.equal((await ask('POST', '/v3/upload')).status, 200);
  });

  test('an operation without token has the same limit where callers without a token have a role', async (t) => {
    const anonymous = {
      role: 'READONLY' as const,
      origin: { kind: 'anonymous' as const, id: 'anonymous', name: 'anonymous' },
      rateKey: 'anonymous',
    };
    const { ask } = await serve(t, { anonymous });
    for (let index = 0; index < 2; index++)
      assert.equal((await ask('POST', '/v3/upload', { token: null })).status, 200);
    assertTooMany(await ask('POST', '/v3/upload', { token: null }), 60);
    assert.equal((await ask('GET', '/v3/things/slug', { token: null })).status, 200);
  });
});
