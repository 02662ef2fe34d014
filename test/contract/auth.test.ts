/** Claim and login: the extension of the interface under `/v3/auth`; users and tokens are in users.test.ts. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { as, claimed, me, PASSWORD, refusal, startApi, tokenOf } from './access-support.ts';

describe('an unclaimed gateway refuses', () => {
  for (const [method, path, body] of [
    ['GET', '/v3/site'],
    ['GET', '/v3/auth/me'],
    ['POST', '/v3/auth/login', { name: 'installer', password: PASSWORD }],
    ['POST', '/v3/auth/logout'],
    ['GET', '/v3/test/anonymous'],
  ] as const)
    test(`an unclaimed gateway refuses callers without a token: ${method} ${path}`, async (t) => {
      const api = startApi(t, { anonymous: true });
      const answer = await api.call(null, method, path, body);
      assert.equal(refusal(answer), '401 invalid_header');
      assert.match(JSON.stringify(answer.body), /not claimed yet/);
    });

  const wrong: [title: string, body: Record<string, unknown>, expected: string][] = [
    ['another code', { claim_code: '0000-0000-0000', password: PASSWORD }, '403 access_denied'],
    ['an empty code', { claim_code: '', password: PASSWORD }, '403 access_denied'],
    ['no code', { password: PASSWORD }, '400 invalid_body'],
    ['no password', { claim_code: 'x' }, '400 invalid_body'],
    ['a password of 7 characters', { claim_code: 'x', password: 'seven77' }, '400 invalid_body'],
    ['a password of 257 characters', { claim_code: 'x', password: 'x'.repeat(257) }, '400 invalid_body'],
    ['an empty name', { claim_code: 'x', password: PASSWORD, name: ' ' }, '400 invalid_body'],
  ];
  for (const [title, body, expected] of wrong)
    test(`an unclaimed gateway refuses a claim with ${title}`, async (t) => {
      const { auth, call } = startApi(t);
      assert.equal(refusal(await call(null, 'POST', '/v3/auth/claim', body)), expected);
      assert.equal(auth.claim.isClaimed(), false);
    });

  test('an unclaimed gateway refuses nothing to a token of the local command', async (t) => {
    assert.equal((await startApi(t).call('READONLY', 'GET', '/v3/site')).status, 200);
  });
});

describe('the claim', () => {
  test('the claim sets the password of the installer, logs in, and ends the code', async (t) => {
    const api = startApi(t);
    assert.deepEqual((await api.call(null, 'GET', '/v3/auth/claim')).body, { claim: { claimed: false } });
    const code = api.auth.claim.code() ?? '';
    const file = join(api.dataDir, 'claim-code');
    assert.equal(readFileSync(file, 'utf8'), `${code}\n`);
    assert.equal(statSync(file).mode & 0o777, 0o600);

    const answer = await api.call(null, 'POST', '/v3/auth/claim', { claim_code: code, password: PASSWORD });
    assert.equal(answer.status, 200);
    const { token, user, ...rest } = answer.body as { token: string; user: { id: string } };
    assert.deepEqual(rest, { role: 'INSTALLER', expires_at: '2026-03-31T08:00:00.000Z' });
    assert.deepEqual(await me(api, as(token)), {
      kind: 'user',
      id: user.id,
      name: 'installer',
      role: 'INSTALLER',
    });

    assert.deepEqual((await api.call(null, 'GET', '/v3/auth/claim')).body, { claim: { claimed: true } });
    assert.deepEqual([api.auth.claim.code(), existsSync(file)], [undefined, false]);
    const again = await api.call(null, 'POST', '/v3/auth/claim', { claim_code: code, password: PASSWORD });
    assert.equal(refusal(again), '409 already_claimed');
  });

  test('the claim takes the code as people type it', async (t) => {
    const { auth, call } = startApi(t);
    const typed = ` ${(auth.claim.code() ?? '').toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o')} `;
    const body = { claim_code: typed, password: PASSWORD, name: 'Anna' };
    assert.equal((await call(null, 'POST', '/v3/auth/claim', body)).status, 200);
    assert.deepEqual(
      auth.users.all().map(({ name, role }) => [name, role]),
      [['Anna', 'INSTALLER']],
    );
  });

  test('the claim is won by one of two who have the code', async (t) => {
    const { auth, call } = startApi(t);
    const claim_code = auth.claim.code();
    const answers = await Promise.all(
      ['Anna', 'Ben'].map((name) =>
        call(null, 'POST', '/v3/auth/claim', { claim_code, password: PASSWORD, name }),
      ),
    );
    assert.deepEqual(
      answers.map(({ status }) => status).sort((a, b) => a - b),
      [200, 409],
    );
    assert.equal(auth.users.all().length, 1);
  });
});

describe('a login', () => {
  for (const [title, body, expected] of [
    ['with a wrong password', { name: 'installer', password: `${PASSWORD}!` }, '403 access_denied'],
    ['of an unknown name', { name: 'nobody', password: PASSWORD }, '403 access_denied'],
    ['without a name', { password: PASSWORD }, '400 invalid_body'],
    ['with a password of another type', { name: 'installer', password: 12_345_678 }, '400 invalid_body'],
  ] as const)
    test(`a login is refused ${title}`, async (t) => {
      const { api } = await claimed(t);
      const answer = await api.call(null, 'POST', '/v3/auth/login', body);
      assert.equal(refusal(answer), expected);
      assert.equal(answer.headers.get('set-cookie'), null);
    });

  test('a login gives a session as token and as cookie that scripts of pages cannot read', async (t) => {
    const { api } = await claimed(t);
    const answer = await api.call(null, 'POST', '/v3/auth/login', { name: 'INSTALLER', password: PASSWORD });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'application/json');
    assert.equal(
      answer.headers.get('set-cookie'),
      `gateway_session_http=${tokenOf(answer)}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000`,
    );
    const cookie = { Cookie: `other=1; gateway_session_http=${tokenOf(answer)}` };
    assert.equal((await api.send('GET', '/v3/site', cookie)).status, 200);
  });

  test('a login ends by logout, which takes the cookie away', async (t) => {
    const { api, token } = await claimed(t);
    const headers = { Cookie: `gateway_session_http=${token}`, 'X-Requested-With': 'console' };
    const answer = await api.send('POST', '/v3/auth/logout', headers);
    assert.deepEqual([answer.status, answer.body], [200, {}]);
    assert.match(answer.headers.get('set-cookie') ?? '', /^gateway_session_http=; .*Max-Age=0$/);
    assert.equal(refusal(await api.send('GET', '/v3/site', as(token))), '403 access_denied');
    // A browser that still has the cookie is like one without: it can log in again.
    assert.equal(refusal(await api.send('GET', '/v3/site', headers)), '401 invalid_header');
    const login = await api.send('POST', '/v3/auth/login', headers, {
      name: 'installer',
      password: PASSWORD,
    });
    assert.equal(login.status, 200);
  });

  test('one logout ends the login for HTTPS and plain HTTP in one browser', async (t) => {
    const { api, token } = await claimed(t);
    const login = { name: 'installer', password: PASSWORD };
    const other = tokenOf(await api.call(null, 'POST', '/v3/auth/login', login));
    const headers = {
      Cookie: `__Host-gateway_session=${token}; gateway_session_http=${other}`,
      'X-Requested-With': 'console',
    };
    assert.equal((await api.send('POST', '/v3/auth/logout', headers)).status, 200);
    for (const ended of [token, other])
      assert.equal(refusal(await api.send('GET', '/v3/site', as(ended))), '403 access_denied');
  });

  test('a form of another site neither opens nor ends a login', async (t) => {
    const { api, token } = await claimed(t);
    const form = { 'Content-Type': 'text/plain', 'Sec-Fetch-Site': 'cross-site' };
    for (const [path, body] of [
      ['login', { name: 'installer', password: PASSWORD }],
      ['claim', { claim_code: 'x', password: PASSWORD }],
      ['logout', undefined],
    ] as const) {
      const answer = await api.send('POST', `/v3/auth/${path}`, { ...form, ...as(token) }, body);
      assert.equal(refusal(answer), '403 access_denied', path);
      assert.equal(answer.headers.get('set-cookie'), null);
    }
    assert.equal((await api.send('GET', '/v3/site', as(token))).status, 200);
  });

  test('a login ends after its time, but not while the clock is not set', async (t) => {
    const { api, token } = await claimed(t);
    api.clock.step(LIMITS.auth.sessionLifetimeMs - 1);
    assert.equal((await api.send('GET', '/v3/site', as(token))).status, 200);
    api.clock.step(1);
    assert.equal(refusal(await api.send('GET', '/v3/site', as(token))), '403 access_denied');
    api.clock.step(0 - api.clock.wallMs());
    assert.equal((await api.send('GET', '/v3/site', as(token))).status, 200);
  });

  test('a user has a bounded number of logins, and the oldest ends first', async (t) => {
    const { api, token } = await claimed(t);
    const login = { name: 'installer', password: PASSWORD };
    let newest = '';
    for (let count = 1; count <= LIMITS.auth.sessionsPerUser; count++) {
      assert.equal((await api.send('GET', '/v3/site', as(token))).status, 200);
      newest = tokenOf(await api.call(null, 'POST', '/v3/auth/login', login));
    }
    assert.equal((await api.send('GET', '/v3/site', as(token))).status, 403);
    assert.equal((await api.send('GET', '/v3/site', as(newest))).status, 200);
  });
});

describe('the cookie of a login', () => {
  const rows: [title: string, method: string, headers: Record<string, string>, status: number][] = [
    ['is enough to read', 'GET', {}, 200],
    ['is not enough to change', 'PATCH', {}, 401],
    ['changes with X-Requested-With', 'PATCH', { 'X-Requested-With': 'console' }, 200],
    ['changes for the own page', 'PATCH', { 'Sec-Fetch-Site': 'same-origin' }, 200],
    ['changes nothing for another site', 'PATCH', { 'Sec-Fetch-Site': 'cross-site' }, 401],
    ['changes nothing for another host of the site', 'PATCH', { 'Sec-Fetch-Site': 'same-site' }, 401],
    [
      'changes nothing for another site, whatever else it says',
      'PATCH',
      { 'Sec-Fetch-Site': 'cross-site', 'X-Requested-With': 'x' },
      401,
    ],
  ];
  for (const [title, method, headers, status] of rows)
    test(title, async (t) => {
      const { api, token } = await claimed(t);
      const answer = await api.send(method, '/v3/site', {
        Cookie: `gateway_session_http=${token}`,
        ...headers,
      });
      assert.equal(answer.status, status);
    });

  test('the cookie of a login is ignored when a header has a token', async (t) => {
    const { api, token } = await claimed(t);
    const answer = await api.send('GET', '/v3/site', {
      Cookie: `gateway_session_http=${token}`,
      ...as('wrong'),
    });
    assert.equal(refusal(answer), '403 access_denied');
  });
});
