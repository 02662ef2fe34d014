import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { LIMITS } from '../../../src/lib/limits.ts';
import { cookieHeader, parseSetCookie, rememberCookies } from '../../../src/scripting/http/cookies.ts';
import { exchangeHttp } from '../../../src/scripting/http/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { clock, closeBenches, scriptBench } from './script-bench.ts';

interface Seen {
  method: string;
  url: string;
  headers: http.IncomingHttpHeaders;
  body: string;
}

let base = '';
let seen: Seen[] = [];
/** Requests whose caller has gone. */
let left = 0;
const server = http.createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    const url = request.url ?? '';
    if (url === '/digest') return guard(request.headers.authorization ?? '', response);
    seen.push({
      method: request.method ?? '',
      url,
      headers: request.headers,
      body: Buffer.concat(pieces).toString('latin1'),
    });
    answer(url, response);
  });
});

/** RFC 2069, so that the response is the same each time. */
function guard(header: string, response: http.ServerResponse): void {
  const md5 = (text: string): string => createHash('md5').update(text).digest('hex');
  if (header.includes(md5(`${md5('me:meter:pass')}:n:${md5('GET:/digest')}`))) return void response.end('in');
  response.writeHead(401, { 'WWW-Authenticate': 'Digest realm="meter", nonce="n"' }).end();
}

function answer(url: string, response: http.ServerResponse): void {
  const redirect = /^\/redirect\/(\d+)\/(\d+)$/.exec(url);
  if (redirect) {
    const left = Number(redirect[2]);
    const location = left === 0 ? '/plain' : `/redirect/${redirect[1]}/${left - 1}`;
    response.writeHead(Number(redirect[1]), { location }).end();
    return;
  }
  switch (url) {
    case '/bytes':
      return void response.end(Buffer.from([0, 255, 128]));
    case '/headers':
      response.setHeader('X-Utf8', Buffer.from('Fühler €').toString('latin1'));
      return void response.setHeader('X-Latin', 'Fühler').end();
    case '/gzip':
      return void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('unpacked'));
    case '/bomb':
      return void response
        .writeHead(200, { 'content-encoding': 'gzip' })
        .end(gzipSync(Buffer.alloc(LIMITS.lua.httpBodyBytes + 1)));
    case '/damaged':
      return void response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip');
    case '/large':
      return void response.end(Buffer.alloc(LIMITS.lua.httpBodyBytes + 1));
    case '/silent':
      return void response.once('close', () => (left += 1));
    case '/hangup':
      return void response.destroy();
    case '/cookies':
      return void response
        .writeHead(200, {
          'set-cookie': ['a=1; Path=/', 'b=2; Path=/; Expires=Wed, 01 Jan 2060 00:00:00 GMT'],
        })
        .end();
    case '/missing':
      return void response.writeHead(404, { 'x-two': ['one', 'two'] }).end('not here');
    default:
      return void response.end('plain');
  }
}

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(async () => {
  closeBenches();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** Runs the chunk; `BASE` is the server, each `say(…)` one line. */
async function lines(source: string): Promise<string[]> {
  seen = [];
  const bench = scriptBench(`local BASE = '${base}'
    local function say(...)
      local parts = {}
      for i = 1, select('#', ...) do
        local value = (select(i, ...))
        parts[i] = type(value) == 'table' and json.encode(value) or tostring(value)
      end
      enapter.log(table.concat(parts, ' '))
    end
    ${source}`);
  await bench.started();
  const failed = bench.posted.find(({ kind }) => kind === 'failed');
  assert.equal(failed, undefined, JSON.stringify(failed));
  return bench.logs().map((line) => line.replace('info: ', ''));
}

describe('http of a script fails with a text', () => {
  test('http of a script fails with a text for an invalid request', async () => {
    const said = await lines(`
      say(http.get('no url')) say(http.get('ftp://a/b')) say(http.request('GE T', BASE)) say(http.client({ http2 = true }):get(BASE))
      say(pcall(http.get)) say(pcall(http.client, 5))
      local request = http.request('GET', BASE)
      request:set_header('bad name', 'x')
      say(pcall(function() return http.client():do_request(request) end))
      request = http.request('GET', BASE)
      request:set_header('X', 'a\\r\\nInjected: 1')
      say(pcall(function() return http.client():do_request(request) end))
      say(http.get('http://me:sesame@host:port/?token=sesame'))`);
    assert.match(said[8] ?? '', /the URL .* is not valid/);
    assert.doesNotMatch(said[8] ?? '', /sesame/);
    assert.match(said[0] ?? '', /nil the URL "no url" is not valid/);
    assert.match(said[1] ?? '', /nil the scheme ftp is not supported/);
    assert.match(said[2] ?? '', /nil the method is not valid/);
    assert.match(said[3] ?? '', /nil http2 is not supported/);
    assert.match(said[4] ?? '', /false .*bad argument #1 to 'get' \(string expected, got nil\)/);
    assert.match(said[5] ?? '', /false .*table expected, got number/);
    assert.match(said[6] ?? '', /false .*header "bad name" is not valid/);
    assert.match(said[7] ?? '', /false .*header "X" is not valid/);
    assert.equal(seen.length, 0);
  });

  test('http of a script fails with a text when nobody answers, nobody listens, the answer is too large or broken, or redirects never end', async () => {
    const said = await lines(`
      local quick = http.client({ timeout = 0.2 })
      say(quick:get(BASE .. '/silent'))
      say(http.client({ timeout = '0.2' }):get(BASE .. '/silent'))
      say(pcall(function() return http.client({ timeout = 'soon' }):get(BASE .. '/silent') end))
      say(http.get('http://127.0.0.1:1/'))
      say(http.get('http://no-such-host.invalid/'))
      say(http.get(BASE .. '/hangup'))
      say(http.get(BASE .. '/large'))
      say(http.get(BASE .. '/bomb'))
      say(http.get(BASE .. '/damaged'))
      say(http.get(BASE .. '/redirect/302/11'))
      say(http.get((BASE:gsub('http:', 'https:'))))`);
    assert.deepEqual(said.slice(0, 2), ['nil timeout', 'nil timeout']);
    assert.match(said[2] ?? '', /false .*number expected, got string/);
    assert.equal(said[3], 'nil connection refused');
    assert.match(said[4] ?? '', /nil dns: no-such-host.invalid is not known/);
    assert.match(said[5] ?? '', /nil (connection reset|socket hang up)/);
    assert.match(said[6] ?? '', /nil the body has more than 8388608 bytes/);
    assert.match(said[7] ?? '', /nil the body cannot be decompressed/);
    assert.match(said[8] ?? '', /nil the body cannot be decompressed/);
    assert.equal(said[9], 'nil more than 10 redirects');
    assert.match(said[10] ?? '', /nil tls: /);
  });
});

describe('the login of http of a script', () => {
  test('the login of http of a script is refused when user or password is missing', async () => {
    const said = await lines(`
      for _, auth in ipairs({ 'x', {}, { user = 'a' }, { user = 'a', password = 5 } }) do
        say(pcall(http.client, { digest_auth = auth }))
        say(pcall(http.client, { basic_auth = auth }))
      end`);
    assert.equal(said.length, 8);
    for (const [index, line] of said.entries()) {
      const name = index % 2 === 0 ? 'digest_auth' : 'basic_auth';
      assert.match(line, new RegExp(`false .*${name} must be a table with the texts user and password`));
    }
  });

  test('the login of http of a script is an option of a client, unless the request has its own', async () => {
    await lines(`
      local client = http.client({ basic_auth = { user = 'a', password = 'b' } })
      client:get(BASE)
      local own = http.request('GET', BASE)
      own:set_basic_auth('c', 'd')
      client:do_request(own)
      http.get(BASE)`);
    const sent = seen.map(({ headers }) => headers.authorization);
    const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
    assert.deepEqual(sent, [basic('a:b'), basic('c:d'), undefined]);
  });

  test('the login of http of a script answers a digest challenge, for a client and for one request', async () => {
    const said = await lines(`
      local digest = { user = 'me', password = 'pass' }
      say(http.client({ digest_auth = digest }):get(BASE .. '/digest').body)
      local request = http.request('GET', BASE .. '/digest')
      request:set_digest_auth('me', 'pass')
      say(http.client():do_request(request).body)
      say(http.client():get(BASE .. '/digest').code)`);
    assert.deepEqual(said, ['in', 'in', '401']);
  });
});

describe('http of a script', () => {
  test('http of a script ends with the call that waits for it, whatever its own timeout', async () => {
    const time = new TestClock();
    [seen, left] = [[], 0];
    const bench = scriptBench(
      `scheduler.add(1000, function() http.client({ timeout = 300 }):get('${base}/silent') end)`,
      { clock: time },
    );
    await bench.started();
    await time.advance(1_000);
    await until(() => seen.length > 0);
    await time.advance(LIMITS.lua.callMs);
    await until(() => left > 0);
    bench.device.close();
  });

  test('http of a script gives code, exact body, headers with two methods, and no error whatever the status', async () => {
    const said = await lines(`
      local response, err = http.get(BASE .. '/missing')
      say(response.code, math.type(response.code), response.body, err)
      say(response.headers['X-Two'], response.headers:get('x-two'), #response.headers:values('X-TWO'), response.headers:get('none'))
      local names = 0
      for name in pairs(response.headers) do if name == 'get' or name == 'values' then names = names + 1 end end
      say(names)
      local bytes = http.get(BASE .. '/bytes').body
      say(#bytes, bytes:byte(1, 3))
      say(http.get(BASE .. '/gzip').body)`);
    assert.deepEqual(said, [
      '404 integer not here nil',
      '["one","two"] one 2 nil',
      '0',
      '3 0 255 128',
      'unpacked',
    ]);
  });

  test('http of a script sends methods, bodies, forms, headers, cookies and credentials', async () => {
    await lines(`
      http.post(BASE .. '/post', 'text/x', 'b\\0d\\255')
      http.post_form(BASE .. '/form', { ['a b'] = 'ü&', n = 5 })
      local request = http.request('put', BASE .. '/put', 'body')
      request:set_header('X-One', 'first')
      request:set_header('x-one', 'second')
      request:set_basic_auth('user', 'pass')
      request:add_cookie('a', '1')
      request:add_cookie('b', '2')
      http.client():do_request(request)`);
    const [post, form, put] = seen;
    assert.deepEqual(
      [post?.method, post?.url, post?.headers['content-type'], post?.body],
      ['POST', '/post', 'text/x', 'b\0d\xff'],
    );
    assert.deepEqual(
      [form?.headers['content-type'], (form?.body ?? '').split('&').sort().join('&')],
      ['application/x-www-form-urlencoded', 'a+b=%C3%BC%26&n=5'],
    );
    assert.equal(put?.method, 'PUT');
    assert.equal(put?.headers['x-one'], 'second');
    assert.equal(put?.headers.authorization, `Basic ${Buffer.from('user:pass').toString('base64')}`);
    assert.equal(put?.headers.cookie, 'a=1; b=2');
  });

  test('http of a script writes a form with all digits of its numbers, and list positions as names', async () => {
    const said = await lines(`
      http.post_form(BASE .. '/form', { id = 9007199254740993 })
      http.post_form(BASE .. '/form', { 'a', true, 2.0 })
      say(pcall(http.post_form, BASE .. '/form', { deep = { 1 } }))`);
    assert.deepEqual(
      seen.map(({ body }) => body),
      ['id=9007199254740993', '1=a&2=true&3=2'],
    );
    assert.deepEqual(said, [`false bad argument #2 to 'post_form' (field "deep" is a table)`]);
  });

  test('http of a script sends bytes that are no characters unchanged, in headers and credentials', async () => {
    await lines(`
      local request = http.request('GET', BASE .. '/bytes')
      request:set_header('X-Bytes', 'a\\255b')
      request:set_basic_auth('user', '\\252')
      http.client():do_request(request)`);
    assert.equal(seen[0]?.headers['x-bytes'], 'a\xffb');
    assert.equal(
      seen[0]?.headers.authorization,
      `Basic ${Buffer.from('user:\xfc', 'latin1').toString('base64')}`,
    );
  });

  test('http of a script carries the bytes of headers both ways', async () => {
    const said = await lines(`
      local request = http.request('GET', BASE .. '/headers')
      request:set_header('X-Name', 'Zähler 5 €')
      local headers = http.client():do_request(request).headers
      say(headers:get('x-utf8')) say(headers:get('x-latin'))`);
    assert.equal(Buffer.from(String(seen[0]?.headers['x-name']), 'latin1').toString(), 'Zähler 5 €');
    assert.deepEqual(said, ['Fühler €', 'Fühler']);
  });

  for (const [code, method, body] of [
    [302, 'GET', ''],
    [303, 'GET', ''],
    [307, 'POST', 'x'],
    [308, 'POST', 'x'],
  ] as const)
    test(`http of a script follows a redirect with ${code} as ${method}`, async () => {
      const said = await lines(`say(http.post(BASE .. '/redirect/${code}/2', 'text/x', 'x').body)`);
      assert.deepEqual(said, ['plain']);
      const last = seen.at(-1);
      assert.deepEqual([last?.method, last?.url, last?.body], [method, '/plain', body]);
    });

  test('http of a script remembers cookies only in a client that was asked to', async () => {
    const said = await lines(`
      local with, without = http.client({ enable_cookie_jar = true }), http.client()
      local response = with:get(BASE .. '/cookies')
      say(response.cookies)
      without:get(BASE .. '/cookies')
      with:get(BASE .. '/again')
      without:get(BASE .. '/again')`);
    assert.deepEqual(JSON.parse(said[0] ?? ''), [
      { name: 'a', value: '1', expires: '' },
      { name: 'b', value: '2', expires: 'Wed, 01 Jan 2060 00:00:00 GMT' },
    ]);
    assert.deepEqual(
      seen.map(({ headers }) => headers.cookie),
      [undefined, undefined, 'a=1; b=2', undefined],
    );
  });

  test('http of a script runs a bounded number of requests at once', async () => {
    const said = await lines(`
      local quick, refused = http.client({ timeout = 0.3 }), 0
      for index = 1, 12 do
        scheduler.add(50, function()
          local _, err = quick:get(BASE .. '/silent')
          if err:find('at once') then refused = refused + 1 end
        end)
      end
      local tries = 0
      while refused == 0 and tries < 160 do
        system.delay(50)
        tries = tries + 1
      end
      say(refused > 0)`);
    assert.deepEqual(said, ['true']);
  });
});

describe('a redirect to another origin', () => {
  test('a redirect to another origin does not take credentials along', async () => {
    // Arrivals of this test alone: requests that earlier tests gave up may still reach the others.
    const arrivals: http.IncomingHttpHeaders[] = [];
    const other = http.createServer((request, response) => {
      arrivals.push(request.headers);
      response.end();
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', () => resolve()));
    const target = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`;
    const first = http.createServer((_, response) => response.writeHead(302, { location: target }).end());
    await new Promise<void>((resolve) => first.listen(0, '127.0.0.1', () => resolve()));
    const answer = await exchangeHttp(
      {
        method: 'GET',
        url: `http://127.0.0.1:${(first.address() as AddressInfo).port}/`,
        headers: [
          ['Authorization', 'Basic x'],
          ['X-Own', 'kept'],
        ],
        body: undefined,
        timeoutMs: 2_000,
        insecureTls: false,
        jar: undefined,
      },
      { clock, limits: LIMITS.lua },
    );
    assert.equal(typeof answer === 'string' ? answer : answer.code, 200);
    const [arrived] = arrivals;
    assert.deepEqual([arrived?.authorization, arrived?.['x-own']], [undefined, 'kept']);
    for (const one of [other, first]) {
      one.closeAllConnections();
      await new Promise((resolve) => one.close(resolve));
    }
  });
});

describe('cookies', () => {
  const jarOf = (from: string, ...cookieLines: string[]) =>
    rememberCookies(
      [],
      from,
      cookieLines.map((line) => ['Set-Cookie', line] as const),
      1_000,
      3,
    );

  test('cookies without a name, for another domain, or expired are not remembered', () => {
    assert.deepEqual(
      jarOf('http://a.example/', '=x', 'x', 'b=1; Domain=other.example', 'c=1; Max-Age=0'),
      [],
    );
    assert.equal(parseSetCookie('=x'), undefined);
  });

  test('cookies are sent to their host, domain and path, and by https only when they say so', () => {
    const jar = jarOf(
      'https://a.example/x/y',
      'own=1',
      'wide=2; Domain=example; Path=/',
      'safe=3; Secure; Path=/',
    );
    const sentTo = (url: string): string => cookieHeader(jar, new URL(url), 2_000);
    assert.equal(sentTo('https://a.example/x/z'), 'own=1; wide=2; safe=3');
    assert.equal(sentTo('http://a.example/'), 'wide=2');
    assert.equal(sentTo('https://b.example/'), 'wide=2');
    assert.equal(sentTo('https://bexample/'), '');
  });

  test('cookies replace those of the same name, and are bounded in number', () => {
    const jar = jarOf('http://a/', 'n=1; Path=/', 'n=2; Path=/', 'x=1', 'y=1', 'z=1');
    assert.deepEqual(
      jar.map(({ name, value }) => `${name}=${value}`),
      ['x=1', 'y=1', 'z=1'],
    );
  });
});
