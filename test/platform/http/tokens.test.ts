import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { firstError, serve } from './support.ts';

const SERVICE = 'X-Service-Auth-Token';
const VENDOR_ALIAS = 'X-Enapter-Auth-Token';

describe('without a token', () => {
  test('an operation without a token is 401 and names the header', async (t) => {
    const { ask, calls } = await serve(t);
    const without: Record<string, string>[] = [
      {},
      { [SERVICE]: '' },
      { [SERVICE]: '', [VENDOR_ALIAS]: '' },
      { Authorization: 'Basic b3duZXI6' },
      { Authorization: 'Bearer' },
      { 'X-Enapter-Auth-User': 'owner' },
    ];
    for (const headers of without) {
      const answer = await ask('GET', '/v3/things/slug', { token: null, headers });
      assert.equal(answer.status, 401);
      assert.deepEqual(firstError(answer), {
        code: 'invalid_header',
        message: 'An access token is needed.',
        details: { header: SERVICE },
      });
    }
    const inQuery = await ask('GET', '/v3/things/slug?token=owner', { token: null });
    assert.equal(inQuery.status, 401, 'the query counts for upgrades only');
    assert.equal(calls.length, 0);
  });

  test('an operation that needs no token answers without one', async (t) => {
    const { ask, calls } = await serve(t);
    assert.deepEqual((await ask('POST', '/v3/upload', { token: null, body: 'PK' })).json, { size: 2 });
    assert.equal(calls[0]?.principal.origin.kind, 'anonymous');
  });

  test('the anonymous role answers what it includes, if the operator set one', async (t) => {
    const anonymous = {
      role: 'READONLY' as const,
      origin: { kind: 'anonymous' as const, id: 'anonymous', name: 'anonymous' },
      rateKey: 'anonymous',
    };
    const { ask } = await serve(t, { anonymous });
    assert.equal((await ask('GET', '/v3/things/slug', { token: null })).status, 200);
    assert.equal((await ask('POST', '/v3/things/slug/touch', { token: null })).code, 'insufficient_role');
    assert.equal((await ask('GET', '/v3/things/slug', { token: 'wrong' })).code, 'access_denied');
  });
});

describe('an invalid token', () => {
  test('an invalid token is 403 everywhere, also where none is needed, and the handler is not called', async (t) => {
    const { ask, calls } = await serve(t);
    for (const [method, path] of [
      ['GET', '/v3/things/slug'],
      ['GET', '/v3/things/other'],
      ['POST', '/v3/upload'],
    ] as const) {
      const answer = await ask(method, path, { token: 'wrong' });
      assert.equal(`${answer.status} ${answer.code}`, '403 access_denied');
    }
    assert.equal(calls.length, 0);
  });

  test('a token longer than any valid one is not looked up', async (t) => {
    const asked: string[] = [];
    const authenticate = (token: string): undefined => {
      asked.push(token);
    };
    const { ask } = await serve(t, { authenticate });
    for (const length of [512, 513])
      assert.equal(
        (await ask('GET', '/v3/things/slug', { token: 'x'.repeat(length) })).code,
        'access_denied',
      );
    assert.deepEqual(
      asked.map((token) => token.length),
      [512],
    );
  });
});

describe('roles', () => {
  test('a role too low for an operation is 403 with the one that is needed', async (t) => {
    const { ask } = await serve(t);
    const answer = await ask('POST', '/v3/things/slug/touch', { token: 'readonly' });
    assert.equal(answer.status, 403);
    assert.deepEqual(firstError(answer), {
      code: 'insufficient_role',
      message: 'This needs the role USER or higher.',
      details: { required: 'USER', actual: 'READONLY' },
    });
  });

  test('a refusal of the role comes before the faults of query, path and body', async (t) => {
    const { ask } = await serve(t);
    assert.equal((await ask('POST', '/v3/things', { token: 'user', body: '{' })).code, 'insufficient_role');
    assert.equal(
      (await ask('POST', '/v3/things/other/touch', { token: 'readonly' })).code,
      'insufficient_role',
    );
    assert.equal((await ask('GET', '/v3/things?limit=x', { token: null })).status, 401);
  });
});

describe('several forms of a token', () => {
  test('each form of a token is accepted, and the first that is not empty counts', async (t) => {
    const { ask, calls } = await serve(t);
    for (const [headers, role] of [
      [{ [SERVICE]: 'owner' }, 'OWNER'],
      [{ [VENDOR_ALIAS]: 'owner' }, 'OWNER'],
      [{ Authorization: 'Bearer owner' }, 'OWNER'],
      [{ authorization: 'bearer  owner' }, 'OWNER'],
      [{ [SERVICE]: 'user', [VENDOR_ALIAS]: 'owner', Authorization: 'Bearer installer' }, 'USER'],
      [{ [SERVICE]: '', [VENDOR_ALIAS]: 'owner', Authorization: 'Bearer installer' }, 'OWNER'],
      [{ [VENDOR_ALIAS]: '', Authorization: 'Bearer installer' }, 'INSTALLER'],
      [{ [SERVICE]: 'owner', 'X-Enapter-Auth-User': 'nobody', 'X-Enapter-Allow-HTTP': 'true' }, 'OWNER'],
    ] as const) {
      const answer = await ask('GET', '/v3/things/slug', { token: null, headers });
      assert.equal(answer.status, 200);
      assert.equal(calls.at(-1)?.principal.role, role);
    }
    const wrong = { [SERVICE]: 'wrong', [VENDOR_ALIAS]: 'owner' };
    assert.equal(
      (await ask('GET', '/v3/things/slug', { token: null, headers: wrong })).code,
      'access_denied',
    );
  });
});

describe('what a handler learns of its caller', () => {
  test('what a handler learns of its caller is the host without port, the address, the id of the request and its headers', async (t) => {
    const { ask, calls } = await serve(t);
    await ask('GET', '/v3/things/slug', { headers: { 'X-Request-Id': 'r-1', 'X-Other': 'a' } });
    const call = calls[0];
    assert.equal(call?.host, '127.0.0.1');
    assert.equal(call?.remoteAddress, '127.0.0.1');
    assert.equal(call?.requestId, 'r-1');
    assert.equal(call?.header('x-other'), 'a');
    assert.throws(() => call?.stream(), /only a route with body "stream"/);
  });
});
