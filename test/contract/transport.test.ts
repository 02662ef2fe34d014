/**
 * What holds for every operation of the whole gateway, over real connections (docs/interface/http.md#requests):
 * paths, methods, types, empty bodies, the envelope. New operations are held to it as they come.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import type { Route } from '../../src/platform/http/index.ts';
import { refusal, useTestGateway } from '../support/test-gateway.ts';

const NOWHERE = '00000000-0000-4000-8000-000000000000';
const METHODS = ['GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS'];

let siteId: string;
const gateway = useTestGateway({}, async ({ ok }) => {
  siteId = ((await ok('READONLY', 'GET', '/v3/site'))['site'] as { id: string }).id;
});

const routes = (): readonly Route[] => gateway().gateway.operations().routes;
const filled = (path: string): string => path.replace('{site_id}', siteId).replace(/\{\w+\}/g, NOWHERE);

function assertEnvelope(body: unknown, about: string): void {
  const { errors } = body as { errors?: { code?: unknown; message?: unknown; details?: unknown }[] };
  assert.ok(Array.isArray(errors) && errors.length > 0, about);
  for (const { code, message, details } of errors) {
    assert.match(String(code), /^[a-z_]+(\/[A-Z_]+)?$/, about);
    assert.ok(typeof message === 'string' && message.trim() !== '', about);
    assert.ok(details === undefined || (typeof details === 'object' && !Array.isArray(details)), about);
  }
}

describe('a path', () => {
  for (const path of [
    '/v3',
    '/v3/',
    '/api',
    '/api/site',
    '/api/api/v3/site',
    '/v4/site',
    '/v3/Site',
    '/V3/site',
    '/v3/site//',
    '/v3//site',
    '/v3/nothing',
    '/v3/device',
    '/v3/devices/battery/nothing',
    '/v3/site/rule_engine/rules/a/nothing',
    '/v3/blueprints/a/b',
  ])
    test(`a path is 404 when it does not exist, before any token is looked at: ${path}`, async () => {
      for (const caller of ['INSTALLER', { token: 'unknown' }, null] as const) {
        const answer = await gateway().call(caller, 'GET', path);
        assert.equal(refusal(answer), '404 route_not_found');
        assert.equal(answer.headers.get('content-type'), 'application/json');
      }
    });

  test('a path is 405 for a method that it does not have, and lists its methods', async () => {
    const allowed = new Map<string, Set<string>>();
    const { streams } = gateway().gateway.operations();
    for (const { method, paths } of [...routes(), ...streams.map((stream) => ({ ...stream, method: 'GET' }))])
      for (const path of paths) {
        const methods = allowed.get(path) ?? new Set<string>();
        allowed.set(path, methods.add(method));
        if (method === 'GET') methods.add('HEAD');
      }
    // A fixed path may be one with a parameter too: `/rules/batch_delete` is a rule of this slug.
    const fits = (template: string, path: string): boolean =>
      new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path);
    const everywhere = (path: string): Set<string> =>
      new Set([...allowed].flatMap(([template, methods]) => (fits(template, path) ? [...methods] : [])));
    for (const [path, methods] of allowed)
      for (const method of METHODS.filter((each) => !everywhere(path).has(each))) {
        const answer = await gateway().call('INSTALLER', method, filled(path));
        const about = `${method} ${path}`;
        assert.equal(refusal(answer), '405 method_not_allowed', about);
        assertEnvelope(answer.body, about);
        assert.deepEqual(
          new Set((answer.headers.get('allow') ?? '').split(', ')),
          new Set(methods),
          `Allow of ${about}`,
        );
      }
  });

  test('a path answers HEAD as GET, without a body', async () => {
    for (const { method, paths } of routes())
      if (method === 'GET') {
        const path = filled(paths[0]);
        const [head, get] = [
          await gateway().request('INSTALLER', 'HEAD', path),
          await gateway().request('INSTALLER', 'GET', path),
        ];
        assert.equal(head.status, get.status, path);
        assert.equal(head.headers.get('content-type'), get.headers.get('content-type'), path);
        assert.equal(await head.text(), '', path);
        await get.arrayBuffer();
      }
  });
});

describe('an answer', () => {
  test('an answer is 200 or a refusal with the envelope, JSON without charset, and no cache keeps it', async () => {
    for (const { operation, method, paths } of routes()) {
      const answer = await gateway().request('INSTALLER', method, filled(paths[0]));
      const type = answer.headers.get('content-type') ?? '';
      const text = await answer.text();
      assert.ok(answer.status === 200 || answer.status >= 400, `${operation} ${answer.status}`);
      assert.ok(answer.status < 500, `${operation} ${answer.status} ${text}`);
      assert.match(answer.headers.get('x-request-id') ?? '', /^[\da-f-]{36}$/);
      if (answer.status >= 400) {
        assert.equal(type, 'application/json', operation);
        assertEnvelope(JSON.parse(text), operation);
      }
      if (type.startsWith('application/json') || type.startsWith('text/csv')) {
        assert.match(type, /^(application\/json|text\/csv)$/, operation);
        const isDocument = ['get_openapi', 'get_asyncapi', 'get_template_schema'].includes(operation);
        // They stay the same while the gateway runs, and are asked for again with their tag.
        assert.equal(answer.headers.get('cache-control'), isDocument ? 'no-cache' : 'no-store', operation);
      }
    }
  });

  test('an answer is the same envelope for a caller without rights, for every operation', async () => {
    for (const { operation, method, paths, role } of routes()) {
      const refused = await gateway().call({ token: 'unknown' }, method, filled(paths[0]));
      assert.match(refusal(refused), /^(403 access_denied|429 too_many_requests)$/, operation);
      assertEnvelope(refused.body, operation);
      if (role === null) continue;
      const missing = await gateway().call(null, method, filled(paths[0]));
      assert.equal(refusal(missing), '401 invalid_header', operation);
      const [{ details }] = (missing.body as { errors: [{ details: unknown }] }).errors;
      assert.deepEqual(details, { header: 'X-Service-Auth-Token' }, operation);
    }
  });

  test('an answer does not depend on headers that existing clients send besides', async () => {
    const headers = {
      'X-Enapter-Auth-User': 'does_not_exist',
      'X-Enapter-Allow-HTTP': 'true',
      'X-Unheard-Of': 'x',
      Accept: 'text/html',
    };
    const plain = await gateway().ok('USER', 'GET', '/v3/site');
    assert.deepEqual(await gateway().ok('USER', 'GET', '/v3/site', undefined, headers), plain);
    assert.deepEqual(await gateway().ok('USER', 'GET', '/v3/site?unheard_of=1&expand=x'), plain);
  });
});

describe('a body', () => {
  test('a body is parsed whatever its type says', async () => {
    for (const type of [
      undefined,
      '',
      'application/json',
      'application/json; charset=utf-8',
      'application/x-www-form-urlencoded',
      'text/plain',
      'multipart/form-data',
      'x',
    ]) {
      const headers: Record<string, string> = type === undefined ? {} : { 'Content-Type': type };
      const answer = await gateway().request('OWNER', 'PATCH', '/v3/site', { name: 'Hall' }, headers);
      const { site } = (await answer.json()) as { site: { name: string } };
      assert.equal(site.name, 'Hall', String(type));
    }
  });

  test('a body may be missing, empty or {} where nothing is required', async () => {
    for (const body of [undefined, '', '{}', ' \n', '{"unheard_of":[1],"name":null}'])
      assert.equal((await gateway().request('OWNER', 'PATCH', '/v3/site', body)).status, 200, body ?? 'none');
  });

  test('a body is passed over where the operation takes none', async () => {
    for (const { method, paths, body, operation } of routes()) {
      if (method === 'GET' || body !== undefined) continue;
      const [without, garbage] = [
        await gateway().call('INSTALLER', method, filled(paths[0])),
        await gateway().call('INSTALLER', method, filled(paths[0]), '{"not json'),
      ];
      assert.equal(garbage.status, without.status, operation);
      assert.doesNotMatch(refusal(garbage), /invalid_body/, operation);
    }
  });

  test('a body is 400 with its field when it is no JSON object, for every operation that parses one', async () => {
    const bodies = ['{', '[]', 'null', '5', '"text"', '{"a":1}}', '\u0000'];
    for (const { method, paths, body, operation } of routes()) {
      if (body === undefined || body === 'stream') continue;
      // Where a parameter of the path is looked up first, that is what is missing.
      if (/\{(device_id|site_id)\}/.test(paths[0])) continue;
      for (const given of bodies) {
        const answer = await gateway().call('INSTALLER', method, filled(paths[0]), given);
        if (answer.status === 406 || answer.status === 429) continue;
        assert.equal(
          refusal(answer).split(' ').slice(0, 2).join(' '),
          '400 invalid_body',
          `${operation} ${given}`,
        );
        const [error] = (answer.body as { errors: { details: object }[] }).errors;
        assert.ok('field' in (error?.details ?? {}), `${operation} ${given}`);
      }
    }
  });

  test('a body is read at exactly 1 MiB; one byte more is 413 with the limit', async () => {
    const bodyOf = (length: number): string => `{"name":null,"x":"${'x'.repeat(length - 20)}"}`;
    const limit = LIMITS.http.jsonBodyBytes;
    assert.equal((await gateway().call('OWNER', 'PATCH', '/v3/site', bodyOf(limit))).status, 200);
    const { status, body } = await gateway().call('OWNER', 'PATCH', '/v3/site', bodyOf(limit + 1));
    assert.equal(status, 413);
    const [error] = (body as { errors: { code: string; details: unknown }[] }).errors;
    assert.deepEqual([error?.code, error?.details], ['payload_too_large', { limit: 1_048_576 }]);
  });
});

describe('headers and address', () => {
  test('headers and address have room for the latest values of a hundred devices', async () => {
    const query = Array.from(
      { length: 100 },
      (_, index) =>
        `devices%5B${NOWHERE.slice(0, -3)}${index + 100}%5D=battery_soc,battery_power,pv_total_power,status`,
    ).join('&');
    const answer = await gateway().request('READONLY', 'GET', `/v3/telemetry/latest?${query}`);
    assert.equal(answer.status, 200);
    const { telemetry } = (await answer.json()) as { telemetry: Record<string, unknown> };
    assert.equal(Object.keys(telemetry).length, 100);
  });
});
