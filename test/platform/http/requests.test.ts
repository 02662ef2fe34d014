import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { get } from 'node:http';
import { parseAnswer, raw, serve } from './support.ts';

describe('paths', () => {
  test('a known path with another method is 405 and lists its methods', async (t) => {
    const { ask } = await serve(t);
    for (const [method, path, allow] of [
      ['DELETE', '/v3/things', 'GET, POST, HEAD'],
      ['PUT', '/api/v3/things/', 'GET, POST, HEAD'],
      ['OPTIONS', '/v3/things', 'GET, POST, HEAD'],
      ['GET', '/v3/upload', 'POST'],
      ['PROPFIND', '/v3/upload', 'POST'],
      ['PATCH', '/v3/things/special', 'GET, HEAD'],
      ['POST', '/v3/things/slug/feed', 'GET, HEAD'],
    ] as const) {
      const answer = await ask(method, path, { token: null });
      assert.equal(`${answer.status} ${answer.code}`, '405 method_not_allowed', `${method} ${path}`);
      assert.equal(answer.headers.get('allow'), allow);
    }
    const head = await ask('HEAD', '/v3/upload', { token: null });
    assert.deepEqual([head.status, head.headers.get('allow'), head.text], [405, 'POST', '']);
  });

  test('a stream requested without an upgrade is 400, unless the path is an operation too', async (t) => {
    const { ask } = await serve(t);
    const refused = await ask('GET', '/v3/things/slug/feed');
    assert.deepEqual(refused.json, {
      errors: [
        {
          code: 'invalid_header',
          message: 'This path is a WebSocket; send an upgrade request.',
          details: { header: 'Upgrade' },
        },
      ],
    });
    assert.equal(refused.status, 400);
    assert.equal((await ask('GET', '/v3/things/slug')).status, 200);
  });

  test('each path answers with and without /api and one trailing slash, with no redirect', async (t) => {
    const { ask } = await serve(t);
    for (const path of ['/v3/things/slug', '/v3/things/slug/', '/api/v3/things/slug', '/api/v3/things/slug/'])
      assert.deepEqual((await ask('GET', path)).json, { thing: 'id' }, path);
    // An address put together of two parts with a slash each.
    for (const path of ['//v3/things/slug', '//api/v3/things/slug'])
      assert.deepEqual((await ask('GET', path)).json, { thing: 'id' }, path);
    assert.equal((await ask('GET', '/v3/things/?limit=3')).status, 200);
  });

  test('letters and digits of a path may be percent codes; codes that mean something else stay', async (t) => {
    const { ask } = await serve(t);
    for (const path of ['/%76%33/th%69ngs/%73lug', '/v3/%74%68ings/sl%75g/'])
      assert.deepEqual((await ask('GET', path)).json, { thing: 'id' }, path);
    for (const path of [
      '/v3%2Fthings/slug',
      '/v3/th%2569ngs/slug',
      '/v3/things%00/slug',
      '/v3/th%zzngs/slug',
    ])
      assert.ok([400, 404].includes((await ask('GET', path)).status), path);
  });

  test('a fixed segment wins over a parameter that was declared before it', async (t) => {
    const { ask } = await serve(t);
    assert.deepEqual((await ask('GET', '/v3/things/special')).json, { special: true });
  });

  test('parameters of paths arrive decoded and resolved; an unresolved one is the error of the resolver', async (t) => {
    const { ask } = await serve(t);
    assert.deepEqual((await ask('GET', '/v3/things/%73lug')).json, { thing: 'id' });
    for (const path of [
      '/v3/things/other',
      '/v3/things/a%2Fb',
      '/v3/things/%00',
      '/v3/things/%zz',
      '/v3/things/%ff',
    ])
      assert.equal((await ask('GET', path)).code, 'device_not_found', path);
  });
});

describe('a request line or host that cannot be', () => {
  for (const [what, head, code] of [
    ['no host', 'GET /v3/things HTTP/1.1', 'invalid_header'],
    ['an empty host', 'GET /v3/things HTTP/1.1\r\nHost:', 'invalid_header'],
    ['two hosts', 'GET /v3/things HTTP/1.1\r\nHost: a\r\nHost: b', 'invalid_header'],
    ['a host that is none', 'GET /v3/things HTTP/1.1\r\nHost: a/b?c', 'invalid_path'],
    ['a backslash in the path', 'GET /v3\\things HTTP/1.1\r\nHost: a', 'invalid_path'],
    ['an asterisk', 'OPTIONS * HTTP/1.1\r\nHost: a', 'invalid_path'],
    ['something else than HTTP', 'hello', 'invalid_path'],
    ['a header without name', 'GET / HTTP/1.1\r\n: a', 'invalid_path'],
    [
      'two lengths',
      'POST /v3/things HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2',
      'invalid_path',
    ],
    [
      'a length and pieces',
      'POST /v3/things HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked',
      'invalid_path',
    ],
  ] as const)
    test(`a request line or host that cannot be is 400 with the envelope: ${what}`, async (t) => {
      const { port } = await serve(t);
      const { socket, received, closed } = await raw(t, port, `${head}\r\nConnection: close\r\n\r\n`);
      const answer = parseAnswer(await closed);
      assert.equal(`${answer.status} ${answer.code}`, `400 ${code}`, received());
      assert.equal(answer.headers.get('content-type'), 'application/json');
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      assert.match(answer.headers.get('x-request-id') ?? '', /^[\da-f-]{36}$/);
      socket.destroy();
    });

  test('HTTP/1.0 may leave the host out', async (t) => {
    const { port } = await serve(t);
    const { closed } = await raw(
      t,
      port,
      'GET /v3/things/slug HTTP/1.0\r\nX-Service-Auth-Token: owner\r\n\r\n',
    );
    assert.equal(parseAnswer(await closed).status, 200);
  });
});

describe('bodies of JSON operations', () => {
  test('bodies of JSON operations arrive without a type too, after a byte order mark, and with unknown members', async (t) => {
    const { ask, port } = await serve(t);
    const text = '{"name":"a"}';
    const { closed } = await raw(
      t,
      port,
      `POST /v3/things HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\nConnection: close\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
    );
    assert.equal(parseAnswer(await closed).status, 200);
    const more = await ask('POST', '/v3/things', {
      body: '\ufeff{"name":"ä","other":null,"__proto__":{"size":7}}',
    });
    assert.deepEqual(more.json, { thing: { name: 'ä', size: 1 } });
  });

  test('bodies of JSON operations may be missing, empty or {} where no field is required, and anything where there are none', async (t) => {
    const { ask } = await serve(t);
    for (const body of [undefined, '', ' \n', '{}'])
      assert.deepEqual(
        (await ask('POST', '/v3/things/slug/touch', body === undefined ? {} : { body })).text,
        '{}',
      );
    for (const body of [undefined, '', '{}', 'not JSON', '[1]'])
      assert.deepEqual(
        (await ask('POST', '/v3/things/slug/nudge', body === undefined ? {} : { body })).text,
        '{}',
      );
  });

  test('bodies of JSON operations are refused with 400 and every fault, each with its field', async (t) => {
    const { ask } = await serve(t);
    const faults = async (body: string | Uint8Array): Promise<unknown> => {
      const answer = await ask('POST', '/v3/things', { body });
      assert.equal(answer.status, 400);
      return (answer.json as { errors: unknown }).errors;
    };
    const error = (field: string, message: string, more = {}): object => ({
      code: 'invalid_body',
      message,
      details: { field, ...more },
    });
    assert.deepEqual(await faults('{"size":"x"}'), [
      error('name', 'Field "name" is required.'),
      error('size', 'Field "size" must be a number, got "x".'),
    ]);
    assert.deepEqual(await faults(''), [error('name', 'Field "name" is required.')]);
    for (const body of ['[]', 'null', '5', '"text"'])
      assert.deepEqual(await faults(body), [error('', 'The body must be a JSON object.')]);
    assert.deepEqual(await faults('{"name": secret}'), [
      error('', 'The body is not JSON at line 1, column 10.', { line: 1, column: 10 }),
    ]);
    assert.deepEqual(await faults('{"name": "a",\n "size": 1'), [
      error('', 'The body ends too early, at line 2, column 11.', { line: 2, column: 11 }),
    ]);
    const integers = 'an integer from -9223372036854775808 to 9223372036854775807';
    for (const number of ['9223372036854775808', '-9223372036854775809'])
      assert.deepEqual(await faults(`{"name":"a","size":${number}}`), [
        error('size', `Field "size" must be ${integers}.`),
      ]);
    const floats = 'a number from -1.7976931348623157e308 to 1.7976931348623157e308';
    assert.deepEqual(await faults('{"name":"a","unknown":[{"x":1e400}]}'), [
      error('unknown.0.x', `Field "unknown.0.x" must be ${floats}.`),
    ]);
    assert.deepEqual(await faults(Uint8Array.of(0x7b, 0xff, 0x7d)), [error('', 'The body is not UTF-8.')]);
  });
});

describe('answers', () => {
  test('HEAD is GET without the body, for streamed answers too', async (t) => {
    const { ask, calls } = await serve(t);
    for (const path of ['/v3/things/slug', '/v3/table']) {
      const [whole, head] = [await ask('GET', path), await ask('HEAD', path)];
      assert.deepEqual([head.status, head.text], [200, '']);
      assert.equal(head.headers.get('content-type'), whole.headers.get('content-type'));
    }
    assert.equal(calls.length, 4);
    assert.equal((await ask('HEAD', '/v3/things/slug', { token: null })).status, 401);
  });

  test('JSON answers have exactly their type, are never stored, and carry a request id', async (t) => {
    const { ask } = await serve(t);
    for (const [method, path] of [
      ['GET', '/v3/things/slug'],
      ['GET', '/v3/nothing'],
      ['POST', '/v3/things'],
      ['DELETE', '/v3/things'],
      ['GET', '/v3/things/slug/feed'],
    ] as const) {
      const { headers } = await ask(method, path, { headers: { 'X-Request-Id': 'mine-1' } });
      assert.deepEqual(
        ['content-type', 'cache-control', 'x-request-id', 'x-content-type-options'].map((name) =>
          headers.get(name),
        ),
        ['application/json', 'no-store', 'mine-1', 'nosniff'],
        `${method} ${path}`,
      );
    }
  });

  test('the request id is made here when it is missing, too long or not printable', async (t) => {
    const { ask } = await serve(t);
    for (const given of [undefined, '', 'x'.repeat(129), 'two words', 'ü']) {
      const { headers } = await ask('GET', '/v3/things/slug', {
        headers: given === undefined ? {} : { 'X-Request-Id': given },
      });
      assert.match(headers.get('x-request-id') ?? '', /^[\da-f-]{36}$/);
    }
    const { headers } = await ask('GET', '/v3/things/slug', { headers: { 'X-Request-Id': 'x'.repeat(128) } });
    assert.equal(headers.get('x-request-id'), 'x'.repeat(128));
  });

  test('gzip is used only for clients that offer it, for JSON that is long enough, never for a table', async (t) => {
    const { origin } = await serve(t);
    const encodingOf = async (path: string, offered: string | undefined): Promise<string | undefined> => {
      const { encoding, bytes } = await fetchRaw(origin + path, offered);
      if (encoding === 'gzip') JSON.parse(gunzipSync(bytes).toString());
      return encoding;
    };
    for (const offered of ['gzip', 'GZip', 'deflate, gzip;q=0.5', 'br, *', '*;q=0, gzip'])
      assert.equal(await encodingOf('/v3/things', offered), 'gzip', offered);
    const refused = ['gzip;q=0', 'gzip;q=0.000', 'gzip;q=0, *', '*, gzip ; q=0', '*;q=0'];
    for (const offered of [undefined, '', 'identity', 'br', 'x-gzip-like', ...refused])
      assert.equal(await encodingOf('/v3/things', offered), undefined, offered ?? 'none');
    assert.equal(await encodingOf('/v3/things/slug', 'gzip'), undefined, 'short');
    assert.equal(await encodingOf('/v3/table', 'gzip'), undefined, 'table');
  });

  test('a header with several values has one line for each', async (t) => {
    const { port } = await serve(t);
    const { closed } = await raw(
      t,
      port,
      'GET /v3/table HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\nConnection: close\r\n\r\n',
    );
    const text = await closed;
    assert.match(text, /\r\nX-Types: integer\r\nX-Types: float\r\n/i);
    assert.match(text, /\r\nContent-Type: text\/csv\r\n/i);
    assert.match(text, /ts,a\n/);
  });

  test('an offer of another protocol is ignored', async (t) => {
    const { port } = await serve(t);
    const { closed } = await raw(
      t,
      port,
      'GET /v3/things/slug HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n',
    );
    assert.equal(parseAnswer(await closed).status, 200);
  });

  test('an unknown expectation is ignored, so that every answer has the envelope', async (t) => {
    const { port } = await serve(t);
    const head = 'Host: a\r\nX-Service-Auth-Token: owner\r\nExpect: wonders\r\nConnection: close\r\n\r\n';
    const ask = async (path: string) =>
      parseAnswer(await (await raw(t, port, `GET ${path} HTTP/1.1\r\n${head}`)).closed);
    assert.equal((await ask('/v3/things/slug')).status, 200);
    assert.equal((await ask('/v3/nothing')).code, 'route_not_found');
  });

  test('several requests sent at once on one connection are answered in order', async (t) => {
    const { port } = await serve(t);
    const one = (path: string, last: boolean): string =>
      `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\n${last ? 'Connection: close\r\n' : ''}\r\n`;
    const { closed } = await raw(
      t,
      port,
      one('/v3/things/slug', false) + one('/v3/nothing', false) + one('/v3/things/special', true),
    );
    const statuses = [...(await closed).matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1]);
    assert.deepEqual(statuses, ['200', '404', '200']);
  });
});

describe('origins of browsers', () => {
  const preflight = {
    Origin: 'https://app.example',
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': 'x-service-auth-token',
  };

  test('origins of browsers are not answered unless configured', async (t) => {
    const { ask } = await serve(t);
    const answer = await ask('OPTIONS', '/v3/things', { token: null, headers: preflight });
    assert.deepEqual([answer.status, answer.headers.get('access-control-allow-origin')], [405, null]);
    const plain = await ask('GET', '/v3/things/slug', { headers: { Origin: 'https://app.example' } });
    assert.equal(plain.headers.get('access-control-allow-origin'), null);
  });

  test('other origins than those configured get no permission', async (t) => {
    const { ask } = await serve(t, { corsOrigins: ['https://app.example'] });
    const answer = await ask('GET', '/v3/things/slug', { headers: { Origin: 'https://evil.example' } });
    assert.equal(answer.headers.get('access-control-allow-origin'), null);
  });

  test('origins of browsers get 204 to the preflight request, and permission with errors too', async (t) => {
    for (const allowed of ['https://app.example', '*']) {
      const { ask } = await serve(t, { corsOrigins: [allowed] });
      const asked = await ask('OPTIONS', '/v3/things', { token: null, headers: preflight });
      assert.deepEqual([asked.status, asked.text], [204, '']);
      assert.equal(asked.headers.get('access-control-allow-origin'), allowed);
      assert.equal(asked.headers.get('access-control-allow-headers'), 'x-service-auth-token');
      assert.equal(asked.headers.get('access-control-allow-methods'), 'GET,HEAD,POST,PATCH,DELETE');
      for (const [path, status] of [
        ['/v3/things/slug', 200],
        ['/v3/things/other', 404],
        ['/v3/nothing', 404],
      ] as const) {
        const answer = await ask('GET', path, { headers: { Origin: 'https://app.example' } });
        assert.equal(answer.status, status);
        assert.equal(answer.headers.get('access-control-allow-origin'), allowed);
        assert.match(answer.headers.get('access-control-expose-headers') ?? '', /X-Request-Id/);
        assert.equal(answer.headers.get('content-type'), 'application/json');
      }
    }
  });
});

/** An answer before anything decodes it. */
function fetchRaw(
  url: string,
  acceptEncoding: string | undefined,
): Promise<{ encoding: string | undefined; bytes: Buffer }> {
  const headers = {
    'X-Service-Auth-Token': 'owner',
    Connection: 'close',
    ...(acceptEncoding !== undefined && { 'Accept-Encoding': acceptEncoding }),
  };
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ encoding: response.headers['content-encoding'], bytes: Buffer.concat(chunks) }),
      );
    }).on('error', reject);
  });
}
