/** Claim, login, users and access tokens: the extension of the interface under `/v3/auth`. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { type Answer, type Api, claimed, PASSWORD, refusal, startApi } from './access-support.ts';

const tokenOf = ({ body }: Answer): string => (body as { token: string }).token;
const as = (token: string) => ({ 'X-Service-Auth-Token': token });
const me = async (api: Api, headers: Record<string, string>): Promise<unknown> =>
  ((await api.send('GET', '/v3/auth/me', headers)).body as { me?: unknown }).me;

describe('an unclaimed gateway refuses', () => {
  for (const [method, path, body] of [
    ['GET', '/v3/site'],
    ['GET', '/v3/auth/me'],
    ['POST', '/v3/auth/login', { name: 'installer', password: PASSWORD }],
    ['POST', '/v3/auth/logout'],
    ['GET', '/v3/test/anonymous'],
  ] as const)
    test(`whoever comes without a token: ${method} ${path}`, async (t) => {
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
    test(`a claim with ${title}`, async (t) => {
      const { auth, call } = startApi(t);
      assert.equal(refusal(await call(null, 'POST', '/v3/auth/claim', body)), expected);
      assert.equal(auth.isClaimed(), false);
    });

  test('nothing to who has a token of the local command', async (t) => {
    assert.equal((await startApi(t).call('READONLY', 'GET', '/v3/site')).status, 200);
  });
});

describe('the claim', () => {
  test('sets the password of the installer, logs in, and ends the code', async (t) => {
    const api = startApi(t);
    assert.deepEqual((await api.call(null, 'GET', '/v3/auth/claim')).body, { claim: { claimed: false } });
    const code = api.auth.claimCode() ?? '';
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
    assert.deepEqual([api.auth.claimCode(), existsSync(file)], [undefined, false]);
    const again = await api.call(null, 'POST', '/v3/auth/claim', { claim_code: code, password: PASSWORD });
    assert.equal(refusal(again), '409 already_claimed');
  });

  test('takes the code as people type it', async (t) => {
    const { auth, call } = startApi(t);
    const typed = ` ${(auth.claimCode() ?? '').toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o')} `;
    const body = { claim_code: typed, password: PASSWORD, name: 'Anna' };
    assert.equal((await call(null, 'POST', '/v3/auth/claim', body)).status, 200);
    assert.deepEqual(
      auth.users.all().map(({ name, role }) => [name, role]),
      [['Anna', 'INSTALLER']],
    );
  });

  test('is won by one of two who have the code', async (t) => {
    const { auth, call } = startApi(t);
    const claim_code = auth.claimCode();
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
    test(`is refused ${title}`, async (t) => {
      const { api } = await claimed(t);
      const answer = await api.call(null, 'POST', '/v3/auth/login', body);
      assert.equal(refusal(answer), expected);
      assert.equal(answer.headers.get('set-cookie'), null);
    });

  test('gives a session as token and as cookie that scripts of pages cannot read', async (t) => {
    const { api } = await claimed(t);
    const answer = await api.call(null, 'POST', '/v3/auth/login', { name: 'INSTALLER', password: PASSWORD });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'application/json');
    assert.equal(
      answer.headers.get('set-cookie'),
      `gateway_session=${tokenOf(answer)}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000`,
    );
    const cookie = { Cookie: `other=1; gateway_session=${tokenOf(answer)}` };
    assert.equal((await api.send('GET', '/v3/site', cookie)).status, 200);
  });

  test('ends by logout, which takes the cookie away', async (t) => {
    const { api, token } = await claimed(t);
    const headers = { Cookie: `gateway_session=${token}`, 'X-Requested-With': 'console' };
    const answer = await api.send('POST', '/v3/auth/logout', headers);
    assert.deepEqual([answer.status, answer.body], [200, {}]);
    assert.match(answer.headers.get('set-cookie') ?? '', /^gateway_session=; .*Max-Age=0$/);
    assert.equal(refusal(await api.send('GET', '/v3/site', as(token))), '403 access_denied');
    // A browser that still has the cookie is like one without: it can log in again.
    assert.equal(refusal(await api.send('GET', '/v3/site', headers)), '401 invalid_header');
    const login = await api.send('POST', '/v3/auth/login', headers, {
      name: 'installer',
      password: PASSWORD,
    });
    assert.equal(login.status, 200);
  });

  test('ends after its time, but not while the clock is not set', async (t) => {
    const { api, token } = await claimed(t);
    api.clock.step(LIMITS.auth.sessionLifetimeMs - 1);
    assert.equal((await api.send('GET', '/v3/site', as(token))).status, 200);
    api.clock.step(1);
    assert.equal(refusal(await api.send('GET', '/v3/site', as(token))), '403 access_denied');
    api.clock.step(-api.clock.wallMs());
    assert.equal((await api.send('GET', '/v3/site', as(token))).status, 200);
  });

  test('is kept in so many browsers of one user, then the oldest ends', async (t) => {
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
      const answer = await api.send(method, '/v3/site', { Cookie: `gateway_session=${token}`, ...headers });
      assert.equal(answer.status, status);
    });

  test('gives way to a token in a header', async (t) => {
    const { api, token } = await claimed(t);
    const answer = await api.send('GET', '/v3/site', { Cookie: `gateway_session=${token}`, ...as('wrong') });
    assert.equal(refusal(answer), '403 access_denied');
  });
});

describe('users', () => {
  for (const [method, path, body] of [
    ['GET', '/v3/auth/users'],
    ['POST', '/v3/auth/users', { name: 'B', role: 'USER', password: PASSWORD }],
    ['PATCH', '/v3/auth/users/x', {}],
    ['DELETE', '/v3/auth/users/x'],
  ] as const) {
    test(`are managed by installers only: ${method} ${path}`, async (t) => {
      const { api } = await claimed(t);
      assert.equal(refusal(await api.call(null, method, path, body)), '401 invalid_header');
      assert.equal(refusal(await api.call('OWNER', method, path, body)), '403 insufficient_role');
    });
  }

  for (const [title, body, expected] of [
    ['a role that is never given', { name: 'B', role: 'VENDOR', password: PASSWORD }, '400 invalid_body'],
    ['the role of the system', { name: 'B', role: 'SYSTEM', password: PASSWORD }, '400 invalid_body'],
    ['a short password', { name: 'B', role: 'USER', password: '1234567' }, '400 invalid_body'],
    ['a name that is taken', { name: 'Installer', role: 'USER', password: PASSWORD }, '409 already_exists'],
  ] as const)
    test(`are not made with ${title}`, async (t) => {
      const { api, token } = await claimed(t);
      assert.equal(refusal(await api.send('POST', '/v3/auth/users', as(token), body)), expected);
    });

  test('that do not exist are neither changed nor deleted', async (t) => {
    const { api, token } = await claimed(t);
    for (const method of ['PATCH', 'DELETE'])
      assert.equal(refusal(await api.send(method, '/v3/auth/users/x', as(token), {})), '404 user_not_found');
  });

  test('include one installer at any time', async (t) => {
    const { api, token, userId } = await claimed(t);
    const path = `/v3/auth/users/${userId}`;
    assert.equal(refusal(await api.send('DELETE', path, as(token))), '422 last_installer');
    assert.equal(refusal(await api.send('PATCH', path, as(token), { role: 'OWNER' })), '422 last_installer');
    await api.send('POST', '/v3/auth/users', as(token), { name: 'B', role: 'INSTALLER', password: PASSWORD });
    assert.equal((await api.send('PATCH', path, as(token), { role: 'OWNER' })).status, 200);
    assert.equal(refusal(await api.send('GET', '/v3/auth/users', as(token))), '403 insufficient_role');
  });

  test('are made, listed, and log in with their role', async (t) => {
    const { api, token } = await claimed(t);
    const made = await api.send('POST', '/v3/auth/users', as(token), {
      name: ' Ben ',
      role: 'USER',
      password: PASSWORD,
    });
    const { user } = made.body as { user: Record<string, unknown> };
    assert.deepEqual(user, {
      id: user['id'],
      name: 'Ben',
      role: 'USER',
      has_password: true,
      created_at: '2026-03-01T08:00:00.000Z',
    });
    const { body } = await api.send('GET', '/v3/auth/users?limit=1&offset=0', as(token));
    assert.equal((body as { total_count: number }).total_count, 2);
    assert.equal((body as { users: unknown[] }).users.length, 1);
    const login = await api.call(null, 'POST', '/v3/auth/login', { name: 'ben', password: PASSWORD });
    assert.equal((login.body as { role: string }).role, 'USER');
  });

  test('lose sessions and tokens when they are deleted, and power when their role is lowered', async (t) => {
    const { api, token, ended } = await claimed(t);
    const user = await api.auth.users.create('Ben', 'OWNER', PASSWORD);
    const session = tokenOf(
      await api.call(null, 'POST', '/v3/auth/login', { name: 'Ben', password: PASSWORD }),
    );
    const made = await api.send('POST', '/v3/auth/tokens', as(session), { name: 'script', role: 'OWNER' });
    const path = `/v3/auth/users/${user.id}`;
    await api.send('PATCH', path, as(token), { role: 'READONLY' });
    for (const one of [session, tokenOf(made)])
      assert.equal(((await me(api, as(one))) as { role: string }).role, 'READONLY');
    assert.equal(ended.length, 2, 'streams that were opened with the higher role end');
    await api.send('DELETE', path, as(token));
    for (const one of [session, tokenOf(made)])
      assert.equal(refusal(await api.send('GET', '/v3/site', as(one))), '403 access_denied');
    assert.equal(ended.length, 4);
  });

  test('change their own password with the present one; their other sessions end', async (t) => {
    const { api, token } = await claimed(t);
    const login = { name: 'installer', password: PASSWORD };
    const other = tokenOf(await api.call(null, 'POST', '/v3/auth/login', login));
    const change = (current_password: string, bearer: string) =>
      api.send('POST', '/v3/auth/password', as(bearer), { current_password, password: 'another password' });
    assert.equal(refusal(await change('wrong', token)), '403 access_denied');
    assert.equal(
      refusal(
        await api.call('OWNER', 'POST', '/v3/auth/password', {
          current_password: PASSWORD,
          password: PASSWORD,
        }),
      ),
      '403 access_denied',
    );
    assert.equal((await change(PASSWORD, token)).status, 200);
    assert.equal((await api.send('GET', '/v3/site', as(token))).status, 200);
    assert.equal((await api.send('GET', '/v3/site', as(other))).status, 403);
    assert.equal(refusal(await api.call(null, 'POST', '/v3/auth/login', login)), '403 access_denied');
  });
});

describe('access tokens', () => {
  test('are not made without a token, by an anonymous role neither', async (t) => {
    const { api } = await claimed(t, { anonymous: true });
    const body = { name: 'x', role: 'READONLY' };
    assert.equal(refusal(await api.call(null, 'POST', '/v3/auth/tokens', body)), '401 invalid_header');
    assert.deepEqual((await api.call(null, 'GET', '/v3/auth/tokens')).body, {
      access_tokens: [],
      total_count: 0,
    });
  });

  for (const [title, body] of [
    ['a role that is never given', { name: 'x', role: 'VENDOR' }],
    ['a role in lower case', { name: 'x', role: 'owner' }],
    ['an empty name', { name: '', role: 'USER' }],
    ['no duration', { name: 'x', role: 'USER', expires_in: 'soon' }],
    ['a duration of nothing', { name: 'x', role: 'USER', expires_in: '0' }],
  ] as const)
    test(`are not made with ${title}`, async (t) => {
      const answer = await startApi(t).call('INSTALLER', 'POST', '/v3/auth/tokens', body);
      assert.equal(refusal(answer), '400 invalid_body');
    });

  test('never exceed who made them', async (t) => {
    const answer = await startApi(t).call('USER', 'POST', '/v3/auth/tokens', { name: 'x', role: 'OWNER' });
    assert.equal(refusal(answer), '403 insufficient_role');
    assert.deepEqual((answer.body as { errors: { details: unknown }[] }).errors[0]?.details, {
      required: 'OWNER',
      actual: 'USER',
    });
  });

  test('of others are neither seen nor revoked', async (t) => {
    const { api, token } = await claimed(t);
    const made = await api.send('POST', '/v3/auth/tokens', as(token), { name: 'x', role: 'USER' });
    const { id } = (made.body as { access_token: { id: string } }).access_token;
    const refused = await api.call('OWNER', 'DELETE', `/v3/auth/tokens/${id}`);
    assert.equal(refusal(refused), '404 token_not_found');
    const { body } = await api.call('OWNER', 'GET', '/v3/auth/tokens');
    assert.deepEqual(
      (body as { access_tokens: { name: string }[] }).access_tokens.map(({ name }) => name),
      ['OWNER'],
    );
    assert.equal((await api.send('GET', '/v3/site', as(tokenOf(made)))).status, 200);
  });

  test('are shown once, kept as a hash, listed with their user and revoked', async (t) => {
    const { api, token, userId } = await claimed(t);
    const request = { name: ' meter script ', role: 'OWNER', expires_in: '30d' };
    const made = await api.send('POST', '/v3/auth/tokens', as(token), request);
    const { access_token: shown } = made.body as { access_token: { id: string } };
    assert.deepEqual(shown, {
      id: shown.id,
      kind: 'TOKEN',
      name: 'meter script',
      role: 'OWNER',
      user: { id: userId, name: 'installer' },
      created_at: '2026-03-01T08:00:00.000Z',
      expires_at: '2026-03-31T08:00:00.000Z',
      expired: false,
    });
    const listed = await api.send('GET', '/v3/auth/tokens', as(token));
    assert.deepEqual(listed.body, { access_tokens: [shown], total_count: 1 });
    const stored = JSON.stringify(api.database.prepare('SELECT * FROM access_token').all());
    assert.ok(!stored.includes(tokenOf(made)) && !JSON.stringify(listed.body).includes(tokenOf(made)));

    assert.equal((await api.send('GET', '/v3/site', as(tokenOf(made)))).status, 200);
    assert.deepEqual((await api.send('DELETE', `/v3/auth/tokens/${shown.id}`, as(token))).body, {});
    assert.equal(refusal(await api.send('GET', '/v3/site', as(tokenOf(made)))), '403 access_denied');
  });

  test('list sessions when asked for', async (t) => {
    const { api, token } = await claimed(t);
    for (const [kind, kinds] of [
      ['SESSION', ['SESSION']],
      ['all', ['SESSION']],
      ['token', []],
    ] as const) {
      const { body } = await api.send('GET', `/v3/auth/tokens?kind=${kind}`, as(token));
      assert.deepEqual(
        (body as { access_tokens: { kind: string }[] }).access_tokens.map((one) => one.kind),
        kinds,
      );
    }
  });

  test('made by a token end with it and do not outlive it', async (t) => {
    const { api, token } = await claimed(t);
    const make = (bearer: string, body: object) =>
      api.send('POST', '/v3/auth/tokens', as(bearer), { name: 'x', role: 'USER', ...body });
    const first = await make(token, { expires_in: '1h' });
    const second = await make(tokenOf(first), { expires_in: '2h' });
    const { access_token: shown } = second.body as { access_token: { expires_at: string } };
    assert.equal(shown.expires_at, '2026-03-01T09:00:00.000Z');
    const { id } = (first.body as { access_token: { id: string } }).access_token;
    await api.send('DELETE', `/v3/auth/tokens/${id}`, as(token));
    assert.equal(refusal(await api.send('GET', '/v3/site', as(tokenOf(second)))), '403 access_denied');
  });
});
