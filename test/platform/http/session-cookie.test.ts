/** The cookie of a login in a browser, on a listening server; its denials first. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { GatewayError } from '../../../src/lib/errors.ts';
import { endedSessionCookies, refuseForeignForm, sessionCookie } from '../../../src/platform/http/index.ts';
import { isOwnOrigin } from '../../../src/platform/http/callers.ts';
import { raw, serve } from './support.ts';

const COOKIE = 'gateway_session_http=owner';

/** Status line of an upgrade with these headers; `HOST` stands for the address of the server. */
async function upgrade(t: TestContext, port: number, headers: readonly string[]): Promise<string> {
  const lines = [
    'GET /v3/things/slug/feed HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    ...headers.map((line) => line.replace('HOST', `127.0.0.1:${port}`)),
  ];
  const { socket, received } = await raw(t, port, `${lines.join('\r\n')}\r\n\r\n`);
  await new Promise((resolve) => {
    socket.once('data', resolve);
  });
  return received().slice(0, 12);
}

describe('the cookie of a session', () => {
  const changes: [title: string, headers: Record<string, string>, expected: string][] = [
    ['no sign of the own page', {}, '401 invalid_header'],
    ['another site', { 'Sec-Fetch-Site': 'cross-site' }, '401 invalid_header'],
    ['another host of the site', { 'Sec-Fetch-Site': 'same-site' }, '401 invalid_header'],
    ['an address typed by the user', { 'Sec-Fetch-Site': 'none' }, '401 invalid_header'],
    [
      'another site that adds a header',
      { 'Sec-Fetch-Site': 'cross-site', 'X-Requested-With': 'x' },
      '401 invalid_header',
    ],
    ['only an origin', { Origin: 'http://127.0.0.1' }, '401 invalid_header'],
    ['the own page', { 'Sec-Fetch-Site': 'same-origin' }, '200 undefined'],
    ['X-Requested-With of an older browser', { 'X-Requested-With': 'console' }, '200 undefined'],
  ];
  for (const [title, headers, expected] of changes)
    test(`the cookie of a session answers a change with ${expected} with ${title}`, async (t) => {
      const { ask } = await serve(t);
      const answer = await ask('POST', '/v3/things/slug/nudge', {
        token: null,
        headers: { Cookie: COOKIE, ...headers },
      });
      assert.equal(`${answer.status} ${answer.code}`, expected);
    });

  const upgrades: [title: string, headers: string[], status: string][] = [
    ['no origin', [], '401'],
    ['another origin', ['Origin: http://evil.example'], '401'],
    ['another port', ['Origin: http://127.0.0.1:1'], '401'],
    ['an origin that is none', ['Origin: null'], '401'],
    ['X-Requested-With alone', ['X-Requested-With: x'], '401'],
    ['a cross-site sign', ['Origin: http://HOST', 'Sec-Fetch-Site: cross-site'], '401'],
    ['the own origin', ['Origin: http://HOST'], '101'],
    ['the same origin by its sign', ['Sec-Fetch-Site: same-origin'], '101'],
  ];
  for (const [title, headers, status] of upgrades)
    test(`the cookie of a session answers an upgrade with ${status} with ${title}`, async (t) => {
      const { port } = await serve(t);
      assert.equal(await upgrade(t, port, [`Cookie: ${COOKIE}`, ...headers]), `HTTP/1.1 ${status}`);
    });

  test('the cookie of a session is enough to read, beside other cookies', async (t) => {
    const { ask } = await serve(t);
    for (const [cookie, status] of [
      [COOKIE, 200],
      [`a=b; ${COOKIE}; c="d"`, 200],
      [`a=b;${COOKIE}`, 200],
      ['__Host-gateway_session=owner', 200],
      [`not_${COOKIE}`, 401],
      ['gateway_session_http=', 401],
      ['gateway_session_http=unknown', 401],
      [`gateway_session_http=${'x'.repeat(600)}`, 401],
    ] as const) {
      const headers = { Cookie: cookie };
      assert.equal((await ask('GET', '/v3/things/slug', { token: null, headers })).status, status, cookie);
    }
  });

  test('the cookie of a session counts after every other form of a token', async (t) => {
    const { ask, calls } = await serve(t);
    const headers = { Cookie: COOKIE };
    await ask('GET', '/v3/things/slug', { token: 'user', headers });
    assert.equal(calls.at(-1)?.principal.role, 'USER');
    assert.equal((await ask('GET', '/v3/things/slug', { token: 'wrong', headers })).code, 'access_denied');
  });

  test('the cookie of a session does not count as a failed authentication when the session has ended', async (t) => {
    const { ask } = await serve(t, { http: { failedAuthenticationsPerMinute: 1 } });
    const headers = { Cookie: 'gateway_session_http=ended' };
    for (let time = 0; time < 5; time++)
      assert.equal((await ask('GET', '/v3/things/slug', { token: null, headers })).status, 401);
    assert.equal((await ask('GET', '/v3/things/slug', { token: 'wrong' })).status, 403);
  });

  test('a session cookie of HTTPS counts before one of plain HTTP, and one that has ended before neither', async (t) => {
    const { ask, calls } = await serve(t);
    for (const [cookie, role] of [
      ['gateway_session_http=user; __Host-gateway_session=owner', 'OWNER'],
      ['gateway_session_http=user; __Host-gateway_session=ended', 'USER'],
    ] as const) {
      await ask('GET', '/v3/things/slug', { token: null, headers: { Cookie: cookie } });
      assert.equal(calls.at(-1)?.principal.role, role);
    }
  });

  const headers = (values: Record<string, string>) => ({ header: (name: string) => values[name] });

  test('the cookie of a session has a name of its own over TLS, for TLS alone and this host alone', () => {
    assert.equal(
      sessionCookie('abc', 60_000, true),
      '__Host-gateway_session=abc; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure',
    );
    assert.equal(
      sessionCookie('abc', 60_000, false),
      'gateway_session_http=abc; Path=/; HttpOnly; SameSite=Strict; Max-Age=60',
    );
  });

  test('a logout takes away every session cookie that was sent', () => {
    const sent = headers({ cookie: '__Host-gateway_session=b; other=c' });
    const ended = 'Path=/; HttpOnly; SameSite=Strict; Max-Age=0';
    assert.deepEqual(endedSessionCookies(false, sent), [
      `gateway_session_http=; ${ended}`,
      `__Host-gateway_session=; ${ended}; Secure`,
    ]);
  });

  const forms: [title: string, values: Record<string, string>, isRefused: boolean][] = [
    ['a form of another site', { 'sec-fetch-site': 'cross-site' }, true],
    ['a form of another host of the site', { 'sec-fetch-site': 'same-site' }, true],
    ['a form whose browser tells the origin only', { origin: 'http://evil.example', host: 'box' }, true],
    ['a form that hides its origin', { origin: 'null', host: 'box' }, true],
    [
      'JSON that a form calls text',
      { 'sec-fetch-site': 'cross-site', 'content-type': 'text/plain;application/json' },
      true,
    ],
    ['the own page', { 'sec-fetch-site': 'same-origin', origin: 'http://box' }, false],
    ['the own page over plain HTTP', { origin: 'http://box:8080', host: 'BOX:8080' }, false],
    ['a program', { 'content-type': 'application/x-www-form-urlencoded' }, false],
    [
      'a page that the operator allows, behind its preflight',
      { 'sec-fetch-site': 'cross-site', 'content-type': 'application/json; charset=utf-8' },
      false,
    ],
    [
      'a page behind a proxy',
      { origin: 'https://site.example', host: 'box', 'x-requested-with': 'x' },
      false,
    ],
  ];
  for (const [title, values, isRefused] of forms)
    test(`the cookie of a session is ${isRefused ? 'not ' : ''}set or taken away for ${title}`, () => {
      const request = {
        ...headers(values),
        isOwnOrigin: (origin: string) => isOwnOrigin(origin, [values['host']], undefined),
      };
      const refuse = (): void => refuseForeignForm(request);
      if (!isRefused) assert.doesNotThrow(refuse);
      else assert.throws(refuse, (error) => error instanceof GatewayError && error.code === 'access_denied');
    });
});

describe('before the box is claimed', () => {
  const anonymous = {
    role: 'READONLY' as const,
    origin: { kind: 'anonymous' as const, id: 'anonymous', name: 'anonymous' },
    rateKey: 'anonymous',
  };

  test('an unclaimed box answers nothing without a token, whatever its role, and a token still works', async (t) => {
    const { ask, calls, port } = await serve(t, { isClaimed: () => false, anonymous });
    for (const [method, path] of [
      ['GET', '/v3/things/slug'],
      ['POST', '/v3/upload'],
    ] as const) {
      const answer = await ask(method, path, { token: null });
      assert.equal(`${answer.status} ${answer.code}`, '401 invalid_header');
    }
    assert.equal(await upgrade(t, port, []), 'HTTP/1.1 401');
    assert.equal(calls.length, 0);
    assert.equal((await ask('GET', '/v3/things/slug')).status, 200);
  });
});
