/** The audit trail: the extension of the interface under `/v3/audit`. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { type Api, claimed, PASSWORD, refusal, startApi } from './access-support.ts';

interface Entry {
  number: number;
  origin: { kind: string; id: string; name: string };
  operation: string;
  target: Record<string, string>;
  status: number;
}

async function entries(api: Api, query = ''): Promise<Entry[]> {
  const { body } = await api.call('OWNER', 'GET', `/v3/audit?${query}`);
  return (body as { entries: Entry[] }).entries;
}

const short = ({ origin, operation, status }: Entry): string => `${origin.name} ${operation} ${status}`;

describe('the audit trail is refused', () => {
  for (const path of ['/v3/audit', '/v3/audit/export']) {
    test(`the audit trail is refused without a token and to USER: ${path}`, async (t) => {
      const { call } = startApi(t);
      assert.equal(refusal(await call(null, 'GET', path)), '401 invalid_header');
      assert.equal(refusal(await call('USER', 'GET', path)), '403 insufficient_role');
    });

    for (const query of ['from=yesterday', 'to=x'])
      test(`the audit trail is refused at a wrong moment: ${path}?${query}`, async (t) => {
        assert.equal(
          refusal(await startApi(t).call('OWNER', 'GET', `${path}?${query}`)),
          '400 invalid_query',
        );
      });
  }

  test('the audit trail is refused when anybody wants to change it', async (t) => {
    for (const method of ['POST', 'PATCH', 'DELETE'])
      assert.equal(
        refusal(await startApi(t).call('INSTALLER', method, '/v3/audit')),
        '405 method_not_allowed',
      );
  });
});

describe('the audit trail', () => {
  test('the audit trail has who changed what, when, from where and with what result, newest first', async (t) => {
    const { api, token, userId } = await claimed(t);
    await api.clock.advance(1_000);
    await api.send('PATCH', '/v3/site', { 'X-Service-Auth-Token': token }, { name: 'Yard' });
    await api.call('OWNER', 'DELETE', '/v3/auth/tokens/unknown');
    await api.clock.advance(1_000);
    const { body } = await api.call('OWNER', 'GET', '/v3/audit');
    const [third, second, first] = (body as { entries: unknown[] }).entries;
    assert.deepEqual(second, {
      number: 2,
      at: '2026-03-01T08:00:01.000Z',
      origin: { kind: 'user', id: userId, name: 'installer' },
      operation: 'update_site',
      target: {},
      status: 200,
      remote_address: 'unknown',
    });
    assert.deepEqual(
      [first, third].map((entry) => short(entry as Entry)),
      ['installer claim 200', 'OWNER revoke_token 404'],
    );
    assert.deepEqual((third as Entry).target, { token_id: 'unknown' });
    assert.equal((body as { total_count: number }).total_count, 3);
  });

  test('the audit trail names created objects', async (t) => {
    const { api, token } = await claimed(t);
    const made = await api.send(
      'POST',
      '/v3/auth/tokens',
      { 'X-Service-Auth-Token': token },
      {
        name: 'x',
        role: 'USER',
      },
    );
    const { id } = (made.body as { access_token: { id: string } }).access_token;
    assert.deepEqual((await entries(api))[0]?.target, { token_id: id, role: 'USER' });
  });

  test('the audit trail has nothing of reading requests', async (t) => {
    const api = startApi(t);
    await api.call('OWNER', 'GET', '/v3/site');
    await api.call('USER', 'GET', '/v3/audit');
    assert.deepEqual(await entries(api), []);
  });

  test('the audit trail names a failed login by its address without a name, and holds no secret', async (t) => {
    const { api, token } = await claimed(t);
    await api.call(null, 'POST', '/v3/auth/login', { name: 'installer', password: 'not this one' });
    await api.send('POST', '/v3/auth/tokens', { 'X-Service-Auth-Token': token }, { name: 'x', role: 'USER' });
    assert.deepEqual((await entries(api)).map(short), [
      'installer create_token 200',
      'anonymous login 403',
      'installer claim 200',
    ]);
    const stored = JSON.stringify(api.database.prepare('SELECT * FROM audit').all());
    for (const secret of [PASSWORD, 'not this one', token, 'gw_'])
      assert.ok(!stored.includes(secret), secret);
  });

  test('the audit trail keeps the target of a change short', async (t) => {
    const api = startApi(t);
    await api.call('OWNER', 'DELETE', `/v3/auth/tokens/${'ä'.repeat(300)}`);
    await api.clock.advance(1_000);
    const [entry] = await entries(api);
    assert.equal(Buffer.byteLength(entry?.target['token_id'] ?? ''), LIMITS.audit.targetBytes - 1);
  });

  test('the audit trail is filtered by time, origin and operation, and read in pages', async (t) => {
    const api = startApi(t);
    for (const role of ['OWNER', 'INSTALLER'] as const)
      for (const path of ['/v3/site/archive', '/v3/site/unarchive']) {
        await api.call(role, 'POST', path);
        await api.clock.advance(1_000);
      }
    const numbers = async (query: string): Promise<number[]> =>
      (await entries(api, query)).map(({ number }) => number);
    for (const [query, expected] of [
      ['', [4, 3, 2, 1]],
      ['limit=2', [4, 3]],
      ['limit=2&offset=3', [1]],
      ['limit=0', []],
      ['origin=OWNER', [2, 1]],
      ['origin=nobody', []],
      ['operation=archive_site', [3, 1]],
      ['operation=archive_site&origin=INSTALLER', [3]],
      ['from=2026-03-01T08:00:01Z', [4, 3, 2]],
      ['from=2026-03-01T08:00:01Z&to=2026-03-01T08:00:03Z', [3, 2]],
    ] as const)
      assert.deepEqual(await numbers(query), expected, query);
    const { body } = await api.call('OWNER', 'GET', '/v3/audit?operation=archive_site&limit=1');
    assert.equal((body as { total_count: number }).total_count, 2);
  });

  test('the audit trail shows a default number of entries unless asked for more', async (t) => {
    const api = startApi(t);
    for (let count = 0; count <= LIMITS.audit.listItems; count++)
      await api.call('OWNER', 'POST', '/v3/site/archive');
    assert.equal((await entries(api)).length, LIMITS.audit.listItems);
    assert.equal((await entries(api, 'limit=5000')).length, LIMITS.audit.listItems + 1);
  });

  test('the audit trail is exported as CSV that no spreadsheet runs', async (t) => {
    const { api } = await claimed(t);
    await api.auth.users.create('=cmd|"x", y', 'OWNER', PASSWORD);
    const login = await api.call(null, 'POST', '/v3/auth/login', { name: '=cmd|"x", y', password: PASSWORD });
    assert.equal(login.status, 200);
    const answer = await api.call('OWNER', 'GET', '/v3/audit/export?operation=login');
    assert.equal(answer.headers.get('content-type'), 'text/csv');
    assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="audit.csv"');
    const { user } = login.body as { user: { id: string } };
    assert.equal(
      answer.body,
      'number,at,origin_kind,origin_id,origin_name,operation,target,status,remote_address\n' +
        `2,2026-03-01T08:00:00.000Z,user,${user.id},"'=cmd|""x"", y",login,,200,unknown\n`,
    );
  });

  test('the audit trail is exported whole, however long it is', async (t) => {
    const api = startApi(t, { audit: { limits: { ...LIMITS.audit, pageItems: 3 } } });
    for (let count = 0; count < 10; count++) await api.call('OWNER', 'POST', '/v3/site/archive');
    const { body } = await api.call('OWNER', 'GET', '/v3/audit/export');
    assert.deepEqual(
      (body as string)
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => Number(line.split(',')[0])),
      [10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
    );
  });
});
