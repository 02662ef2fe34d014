/** Users and access tokens: the extension of the interface under `/v3/auth`. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { as, claimed, me, PASSWORD, refusal, startApi, tokenOf } from './access-support.ts';

describe('users', () => {
  for (const [method, path, body] of [
    ['GET', '/v3/auth/users'],
    ['POST', '/v3/auth/users', { name: 'B', role: 'USER', password: PASSWORD }],
    ['PATCH', '/v3/auth/users/x', {}],
    ['DELETE', '/v3/auth/users/x'],
  ] as const) {
    test(`users are managed by installers only: ${method} ${path}`, async (t) => {
      const { api } = await claimed(t);
      assert.equal(refusal(await api.call(null, method, path, body)), '401 invalid_header');
      assert.equal(refusal(await api.call('OWNER', method, path, body)), '403 insufficient_role');
    });
  }

  for (const [title, body, expected] of [
    ['a role that is never given', { name: 'B', role: 'VENDOR', password: PASSWORD }, '400 invalid_body'],
    ['the role of the system', { name: 'B', role: 'SYSTEM', password: PASSWORD }, '400 invalid_body'],
    ['a short password', { name: 'B', role: 'USER', password: '1234567' }, '400 invalid_body'],
    [
      'a name with a hidden character',
      { name: 'ad\u200Bmin', role: 'USER', password: PASSWORD },
      '400 invalid_body',
    ],
    [
      'a name that looks like a taken one',
      { name: 'ｉｎｓｔａｌｌｅｒ', role: 'USER', password: PASSWORD },
      '409 already_exists',
    ],
    ['a name that is taken', { name: 'Installer', role: 'USER', password: PASSWORD }, '409 already_exists'],
  ] as const)
    test(`users are not made with ${title}`, async (t) => {
      const { api, token } = await claimed(t);
      assert.equal(refusal(await api.send('POST', '/v3/auth/users', as(token), body)), expected);
    });

  test('users are neither changed nor deleted when they do not exist', async (t) => {
    const { api, token } = await claimed(t);
    for (const method of ['PATCH', 'DELETE'])
      assert.equal(refusal(await api.send(method, '/v3/auth/users/x', as(token), {})), '404 user_not_found');
  });

  test('users include one installer at any time', async (t) => {
    const { api, token, userId } = await claimed(t);
    const path = `/v3/auth/users/${userId}`;
    assert.equal(refusal(await api.send('DELETE', path, as(token))), '422 last_installer');
    assert.equal(refusal(await api.send('PATCH', path, as(token), { role: 'OWNER' })), '422 last_installer');
    await api.send('POST', '/v3/auth/users', as(token), { name: 'B', role: 'INSTALLER', password: PASSWORD });
    assert.equal((await api.send('PATCH', path, as(token), { role: 'OWNER' })).status, 200);
    assert.equal(refusal(await api.send('GET', '/v3/auth/users', as(token))), '403 insufficient_role');
  });

  test('users are made, listed, and log in with their role', async (t) => {
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

  test('users lose sessions and tokens when they are deleted, and power when their role is lowered', async (t) => {
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

  test('a user changes the own password with the present one, which ends the other sessions', async (t) => {
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

  test('users keep their tokens with a new password, or end those too, whoever sets it', async (t) => {
    const { api, token, userId, ended } = await claimed(t);
    const make = async (bearer: string): Promise<string> =>
      tokenOf(await api.send('POST', '/v3/auth/tokens', as(bearer), { name: 'x', role: 'USER' }));
    const script = await make(token);
    const child = await make(script);
    const works = async () =>
      Promise.all(
        [token, script, child].map(async (one) => (await api.send('GET', '/v3/site', as(one))).status),
      );
    const change = (body: object) =>
      api.send('POST', '/v3/auth/password', as(token), { current_password: PASSWORD, ...body });
    await change({ password: PASSWORD });
    assert.deepEqual(await works(), [200, 200, 200]);
    await change({ password: PASSWORD, revoke_tokens: true });
    assert.deepEqual(await works(), [200, 403, 403]);
    assert.equal(ended.length, 2, 'their streams end');
    const path = `/v3/auth/users/${userId}`;
    const last = await make(token);
    await api.call('INSTALLER', 'PATCH', path, { password: PASSWORD, revoke_tokens: true });
    assert.deepEqual(
      [await works(), (await api.send('GET', '/v3/site', as(last))).status],
      [[403, 403, 403], 403],
    );
  });
});

describe('access tokens', () => {
  test('access tokens are made neither without a token, nor by the anonymous role, nor by READONLY', async (t) => {
    const { api } = await claimed(t, { anonymous: true });
    const body = { name: 'x', role: 'READONLY' };
    for (const role of [null, 'READONLY'] as const)
      assert.equal(refusal(await api.call(role, 'POST', '/v3/auth/tokens', body)), '403 insufficient_role');
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
    ['a duration that rounds to nothing', { name: 'x', role: 'USER', expires_in: '0.0001ms' }],
    ['a duration that leads out of the calendar', { name: 'x', role: 'USER', expires_in: '280000y' }],
  ] as const)
    test(`access tokens are not made with ${title}`, async (t) => {
      const answer = await startApi(t).call('INSTALLER', 'POST', '/v3/auth/tokens', body);
      assert.equal(refusal(answer), '400 invalid_body');
    });

  test('access tokens never exceed the role of their maker', async (t) => {
    const answer = await startApi(t).call('USER', 'POST', '/v3/auth/tokens', { name: 'x', role: 'OWNER' });
    assert.equal(refusal(answer), '403 insufficient_role');
    assert.deepEqual((answer.body as { errors: { details: unknown }[] }).errors[0]?.details, {
      required: 'OWNER',
      actual: 'USER',
    });
  });

  test('access tokens are neither seen nor revoked when they belong to others', async (t) => {
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

  test('access tokens are shown once, kept as a hash, listed with their user and revoked', async (t) => {
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

  test('access tokens are listed with sessions on request', async (t) => {
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

  test('access tokens made by a token end with it and do not outlive it', async (t) => {
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
