/** The caller behind reverse proxies: headers of strangers first. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { Callers, isOwnOrigin } from '../../../src/platform/http/callers.ts';
import { until } from '../../support/until.ts';
import { firstError, parseAnswer, raw, serve } from './support.ts';

type Peer = Parameters<Callers['of']>[0];

const peerOf = (remoteAddress: string): Peer => ({ socket: { remoteAddress } }) as unknown as Peer;

/** What `trusted` make of a request of `peer`, in words: address, protocol, host. */
function seen(trusted: string, peer: string, headers: Record<string, string>): string {
  const { address, isEncrypted, host } = new Callers(trusted.split(',')).of(
    peerOf(peer),
    new Headers({ host: '127.0.0.1:8080', ...headers }),
  );
  return `${address} ${isEncrypted ? 'https' : 'http'} ${host}`;
}

const SAID = {
  'x-forwarded-for': '203.0.113.9',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'gw.example',
};

describe('the caller of a request', () => {
  const cases: [
    title: string,
    trusted: string,
    peer: string,
    headers: Record<string, string>,
    seen: string,
  ][] = [
    ['is the peer when no proxy is trusted', '', '127.0.0.1', SAID, '127.0.0.1 http 127.0.0.1:8080'],
    [
      'is the peer when that is no trusted proxy',
      '10.0.0.0/8',
      '192.168.1.7',
      SAID,
      '192.168.1.7 http 127.0.0.1:8080',
    ],
    [
      'is the peer for a network that is none',
      '10.0.0.0/99,x',
      '10.0.0.1',
      SAID,
      '10.0.0.1 http 127.0.0.1:8080',
    ],
    ['is what a trusted proxy says', '127.0.0.1', '127.0.0.1', SAID, '203.0.113.9 https gw.example'],
    [
      'is known behind a socket for both families',
      '127.0.0.1',
      '::ffff:127.0.0.1',
      SAID,
      '203.0.113.9 https gw.example',
    ],
    ['is known behind a proxy of IPv6', 'fd00::/8', 'fd00::7', SAID, '203.0.113.9 https gw.example'],
    [
      'is the nearest one that is no trusted proxy, whatever it claims about others',
      '127.0.0.1,10.0.0.0/8',
      '127.0.0.1',
      { 'x-forwarded-for': '1.1.1.1, 203.0.113.9, 10.0.0.5' },
      '203.0.113.9 http 127.0.0.1:8080',
    ],
    [
      'has the protocol and host that the outermost proxy saw',
      '127.0.0.1,10.0.0.5',
      '127.0.0.1',
      {
        'x-forwarded-for': '203.0.113.9, 10.0.0.5',
        'x-forwarded-proto': 'https, http',
        'x-forwarded-host': 'gw.example, inner',
      },
      '203.0.113.9 https gw.example',
    ],
    [
      'is the last known proxy when an address is missing',
      '127.0.0.1',
      '127.0.0.1',
      { 'x-forwarded-for': '203.0.113.9, unknown' },
      '127.0.0.1 http 127.0.0.1:8080',
    ],
    [
      'is told by the standard header too',
      '127.0.0.1',
      '127.0.0.1',
      { forwarded: 'for="[2001:db8::9]:4711";proto=https;host="gw.example:8443"' },
      '2001:db8::9 https gw.example:8443',
    ],
    [
      'cannot swallow what the proxy wrote by a quoted string without an end',
      '127.0.0.1',
      '127.0.0.1',
      { forwarded: 'for="1.1.1.1, for=203.0.113.9;proto=https' },
      '203.0.113.9 https 127.0.0.1:8080',
    ],
    [
      'is the proxy when two headers contradict each other, because the caller wrote one of them',
      '127.0.0.1',
      '127.0.0.1',
      { ...SAID, forwarded: 'for=1.1.1.1' },
      '127.0.0.1 http 127.0.0.1:8080',
    ],
    [
      'may have a port, and the host one of its own header',
      '127.0.0.1',
      '127.0.0.1',
      {
        ...SAID,
        'x-forwarded-for': '203.0.113.9:5100',
        'x-forwarded-port': '8443',
        'x-forwarded-proto': 'wss',
      },
      '203.0.113.9 https gw.example:8443',
    ],
  ];
  for (const [title, trusted, peer, headers, expected] of cases)
    test(title, () => assert.equal(seen(trusted, peer, headers), expected));
});

describe('a page', () => {
  const cases: [
    title: string,
    origin: string,
    hosts: string[],
    publicHost: string | undefined,
    isOwn: boolean,
  ][] = [
    ['of another site is foreign', 'https://evil.example', ['gw.example'], 'gw.example', false],
    ['without an origin is foreign', 'null', ['gw.example'], 'gw.example', false],
    ['of a file is foreign', 'file://', ['gw.example'], 'gw.example', false],
    [
      'of another port of the host is foreign',
      'http://gw.example:3000',
      ['gw.example:8080'],
      'gw.example',
      false,
    ],
    [
      'of a port that the proxy left out is foreign without more',
      'https://gw.example:8443',
      ['gw.example'],
      undefined,
      false,
    ],
    [
      'whose name only ends alike is foreign',
      'https://my-gw.example',
      ['127.0.0.1:8080'],
      'gw.example',
      false,
    ],
    ['of the host is the own one', 'http://gw.example:8080', ['GW.example:8080'], undefined, true],
    [
      'of the host with the usual port is the own one',
      'https://gw.example',
      ['gw.example:443'],
      undefined,
      true,
    ],
    [
      'of public_host is the own one when the proxy has another name',
      'https://gw.example',
      ['127.0.0.1:8080'],
      'GW.example',
      true,
    ],
    [
      'of public_host is the own one when the proxy leaves out its port',
      'https://gw.example:8443',
      ['gw.example'],
      'gw.example',
      true,
    ],
    [
      'of a public_host of IPv6 is the own one',
      'https://[2001:db8::1]',
      ['127.0.0.1:8080'],
      '2001:db8::1',
      true,
    ],
    [
      'of the host that a proxy names is the own one',
      'https://gw.example',
      ['127.0.0.1:8080', 'gw.example'],
      undefined,
      true,
    ],
  ];
  for (const [title, origin, hosts, publicHost, isOwn] of cases)
    test(title, () => assert.equal(isOwnOrigin(origin, hosts, publicHost), isOwn));
});

/** The answer to an upgrade with a session's cookie, as nginx passes it on without any setting for the host. */
async function upgrade(t: TestContext, port: number, headers: Record<string, string>) {
  const lines = Object.entries({
    Host: `127.0.0.1:${port}`,
    Connection: 'upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    Cookie: 'gateway_session_http=owner',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const { socket, received } = await raw(
    t,
    port,
    `GET /v3/things/slug/feed HTTP/1.1\r\n${lines.join('')}\r\n`,
  );
  await new Promise((resolve) => socket.once('data', resolve));
  return parseAnswer(received());
}

describe('behind a proxy a stream', () => {
  test('behind a proxy a stream is refused from an unknown address, with the option to set', async (t) => {
    const { port } = await serve(t);
    const answer = await upgrade(t, port, { Origin: 'https://gw.example' });
    assert.equal(answer.status, 401);
    assert.deepEqual(firstError(answer), {
      code: 'unknown_origin',
      message:
        'The address https://gw.example is not known to the gateway; set public_host to its name, or trusted_proxies to the address of the proxy.',
      details: { origin: 'https://gw.example' },
    });
  });

  test('behind a proxy a stream is refused for another site, whatever the options say', async (t) => {
    const { port } = await serve(t, { publicHost: 'gw.example', trustedProxies: ['127.0.0.1'] });
    const headers = { Origin: 'https://evil.example', 'X-Forwarded-Host': 'gw.example' };
    assert.equal((await upgrade(t, port, headers)).status, 401);
  });

  test('a stream behind a proxy opens from the page of public_host', async (t) => {
    const { port } = await serve(t, { publicHost: 'gw.example' });
    assert.equal((await upgrade(t, port, { Origin: 'https://gw.example' })).status, 101);
  });

  test('a stream behind a proxy opens from the host that a trusted proxy names', async (t) => {
    const { port } = await serve(t, { trustedProxies: ['127.0.0.0/8'] });
    const headers = { Origin: 'https://gw.example:8443', 'X-Forwarded-Host': 'gw.example:8443' };
    assert.equal((await upgrade(t, port, headers)).status, 101);
  });

  test('a stream behind a proxy does not open by the host that a stranger names', async (t) => {
    const { port } = await serve(t, { trustedProxies: ['10.0.0.1'] });
    const headers = { Origin: 'https://gw.example', 'X-Forwarded-Host': 'gw.example' };
    assert.equal((await upgrade(t, port, headers)).status, 401);
  });
});

test('a browser that a proxy sends below a path learns why that does not work', async (t) => {
  const { ask } = await serve(t);
  const answer = await ask('GET', '/gw/', { headers: { Accept: 'text/html,*/*;q=0.8' } });
  assert.equal(answer.status, 404);
  assert.match(
    answer.text,
    /There is no \/gw\. A reverse proxy may lead to the gateway only at the root of a name/,
  );
});

describe('limits of an address', () => {
  test('limits of an address count for each caller of a trusted proxy alone', async (t) => {
    const { ask } = await serve(t, {
      trustedProxies: ['127.0.0.1'],
      http: { failedAuthenticationsPerMinute: 1 },
    });
    const fail = async (address: string): Promise<number> =>
      (await ask('GET', '/v3/things', { token: 'wrong', headers: { 'X-Forwarded-For': address } })).status;
    assert.equal(await fail('203.0.113.1'), 403);
    assert.equal(await fail('203.0.113.1'), 429);
    assert.equal(await fail('203.0.113.2'), 403);
  });

  test('limits of an address count for a stranger whatever headers it sends', async (t) => {
    const { ask } = await serve(t, { http: { failedAuthenticationsPerMinute: 1 } });
    const fail = async (address: string): Promise<number> =>
      (await ask('GET', '/v3/things', { token: 'wrong', headers: { 'X-Forwarded-For': address } })).status;
    assert.equal(await fail('203.0.113.1'), 403);
    assert.equal(await fail('203.0.113.2'), 429);
  });

  test('limits of an address count the connections of each caller of a trusted proxy', async (t) => {
    const { port, release, calls } = await serve(t, {
      trustedProxies: ['127.0.0.1'],
      http: { connectionsPerAddress: 1 },
    });
    const wait = (address: string) =>
      raw(
        t,
        port,
        `POST /v3/wait HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\nX-Service-Auth-Token: owner\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
      );
    const one = await wait('203.0.113.1');
    await until(() => calls.length === 1);
    const other = await wait('203.0.113.2');
    await until(() => calls.length === 2);
    const second = parseAnswer(await (await wait('203.0.113.1')).closed);
    assert.equal(second.status, 429);
    release();
    for (const { closed } of [one, other]) assert.equal(parseAnswer(await closed).status, 200);
  });
});
