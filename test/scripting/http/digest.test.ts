import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { type DigestChallenge, digestChallenge, digestHeader } from '../../../src/scripting/http/digest.ts';
import { exchangeHttp } from '../../../src/scripting/http/index.ts';
import { TestClock } from '../../support/test-clock.ts';

/** RFC 7616, 3.9.1. */
const NONCE = '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v';
const CNONCE = 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ';
const LOGIN = { user: 'Mufasa', password: 'Circle of Life' };
const challengeLine = (algorithm: string): string =>
  `Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=${algorithm}, nonce="${NONCE}", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`;

test('a challenge that cannot be answered is no challenge', () => {
  for (const line of [
    'Basic realm="x"',
    'Negotiate',
    'Digest realm="x"',
    'Digest realm="x", nonce="n", algorithm=TOKEN',
    'Digest realm="x", nonce="n", qop="other"',
  ])
    assert.equal(digestChallenge([line]), undefined, line);
});

test('the responses are those of RFC 7616 for MD5 and SHA-256', () => {
  const request = { method: 'GET', url: 'http://www.example.org/dir/index.html' };
  for (const [algorithm, response] of [
    ['MD5', '8ca523f5e9506fed4657c9700eebdbec'],
    ['SHA-256', '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1'],
  ] as const) {
    const challenge = digestChallenge(['Basic realm="a, b"', challengeLine(algorithm)]) ?? assert.fail();
    const header = digestHeader(challenge, LOGIN, request, () => Buffer.from(CNONCE, 'base64'));
    assert.match(header, new RegExp(`response="${response}"`));
    assert.match(header, /uri="\/dir\/index.html".*qop=auth, nc=00000001/);
  }
});

test('a server that wants the integrity of the body gets it, with the hash that it names', () => {
  const request = { method: 'POST', url: 'http://m/rpc', body: Buffer.from('{"id":1}') };
  for (const [algorithm, name] of [
    ['SHA-512-256', 'sha512-256'],
    ['MD5-sess', 'md5'],
  ] as const) {
    const line = `Digest realm="r", nonce="n", qop="auth-int", algorithm=${algorithm}`;
    const header = digestHeader(digestChallenge([line]) ?? assert.fail(), LOGIN, request);
    const [, cnonce = ''] = /cnonce="([^"]+)"/.exec(header) ?? [];
    const hash = (text: string): string => createHash(name).update(text).digest('hex');
    const secret = hash(`${LOGIN.user}:r:${LOGIN.password}`);
    const ha1 = algorithm.endsWith('-sess') ? hash(`${secret}:n:${cnonce}`) : secret;
    const ha2 = hash(`POST:/rpc:${hash('{"id":1}')}`);
    assert.match(header, /qop=auth-int, nc=00000001/);
    assert.ok(header.includes(`response="${hash(`${ha1}:n:00000001:${cnonce}:auth-int:${ha2}`)}"`));
  }
});

test('SHA-256 is chosen where a server offers both in one line', () => {
  const found = digestChallenge([`${challengeLine('MD5')}, ${challengeLine('SHA-256')}`]);
  assert.equal(found?.parameters.get('algorithm'), 'SHA-256');
});

test('a server of RFC 2069 without qop gets a response without a count', () => {
  const challenge = digestChallenge(['Digest realm="meter", nonce="n"']) ?? assert.fail();
  const header = digestHeader(
    challenge,
    { user: 'a "b"', password: 'p' },
    { method: 'GET', url: 'http://m/x?y=1' },
  );
  const md5 = (text: string): string => createHash('md5').update(text).digest('hex');
  const response = md5(`${md5('a "b":meter:p')}:n:${md5('GET:/x?y=1')}`);
  assert.equal(
    header,
    `Digest username="a \\"b\\"", realm="meter", nonce="n", uri="/x?y=1", response="${response}"`,
  );
});

/** Lets in who answers its challenge; each nonce is good for `uses` requests. */
async function guarded(t: TestContext, uses = Infinity): Promise<{ base: string; seen: string[] }> {
  const seen: string[] = [];
  let [nonce, used] = [0, 0];
  const server = http.createServer((request, response) => {
    const header = request.headers.authorization ?? '';
    const part = (name: string): string => new RegExp(`[ ,]${name}="?([^",]+)`).exec(header)?.[1] ?? '';
    const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
    const ha2 = sha(`${request.method}:${request.url}`);
    const counted = `${part('nc')}:${part('cnonce')}:auth`;
    const wanted = sha(`${sha('admin:shelly:geheim')}:n${nonce}:${counted}:${ha2}`);
    const isIn = part('response') === wanted && used < uses;
    used += 1;
    seen.push(`${request.method} ${request.url} ${isIn ? part('nc') : 'refused'}`);
    request.resume();
    if (request.url === '/away')
      return void response.writeHead(302, { location: 'http://localhost:1/' }).end();
    if (isIn) return void response.end('in');
    [nonce, used] = [nonce + 1, 0];
    const challenge = `Digest qop="auth", realm="shelly", nonce="n${nonce}", algorithm=SHA-256`;
    response.writeHead(401, { 'WWW-Authenticate': challenge }).end('out');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

function asker(password: string) {
  const means = {
    clock: new TestClock(),
    limits: LIMITS.lua,
    challenges: new Map<string, DigestChallenge>(),
  };
  return async (method: string, url: string): Promise<string> => {
    const body = method === 'POST' ? Buffer.from('{}') : undefined;
    const digest = { user: 'admin', password };
    const common = { headers: [], timeoutMs: 10_000, insecureTls: false, jar: undefined };
    const answer = await exchangeHttp({ ...common, method, url, body, digest }, means);
    return typeof answer === 'string' ? answer : `${answer.code} ${answer.body.toString()}`;
  };
}

test('a wrong password is tried once', async (t) => {
  const { base, seen } = await guarded(t);
  assert.equal(await asker('wrong')('GET', `${base}/a`), '401 out');
  assert.deepEqual(seen, ['GET /a refused', 'GET /a refused']);
});

test('the first request is sent again with the login, and the next ones have it at once', async (t) => {
  const { base, seen } = await guarded(t);
  const ask = asker('geheim');
  for (const path of ['/a?b=1', '/c']) assert.equal(await ask('GET', base + path), '200 in');
  assert.equal(await ask('POST', `${base}/rpc`), '200 in');
  assert.deepEqual(seen, [
    'GET /a?b=1 refused',
    'GET /a?b=1 00000001',
    'GET /c 00000002',
    'POST /rpc 00000003',
  ]);
});

test('a nonce that has run out is replaced by the new one', async (t) => {
  const { base, seen } = await guarded(t, 1);
  const ask = asker('geheim');
  for (const path of ['/a', '/b']) assert.equal(await ask('GET', base + path), '200 in');
  assert.deepEqual(seen.slice(2), ['GET /b refused', 'GET /b 00000001']);
});

test('servers beyond the limit are sent each request twice', async (t) => {
  const { base, seen } = await guarded(t);
  const challenges = new Map<string, DigestChallenge>();
  for (let index = 0; index < LIMITS.lua.httpDigests; index += 1)
    challenges.set(`http://other ${index}`, { parameters: new Map(), count: 0 });
  const request = { method: 'GET', url: `${base}/a`, headers: [], body: undefined, timeoutMs: 10_000 };
  const login = { insecureTls: false, jar: undefined, digest: { user: 'admin', password: 'geheim' } };
  await exchangeHttp({ ...request, ...login }, { clock: new TestClock(), limits: LIMITS.lua, challenges });
  assert.equal(challenges.size, LIMITS.lua.httpDigests);
  assert.equal(challenges.has('http://other 0'), false);
  assert.equal(seen.length, 2);
});
