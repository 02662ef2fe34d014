/** Configuration of devices over HTTP (docs/interface/http.md#configuration). */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test, type TestContext } from 'node:test';
import { deviceConfigurationRoutes } from '../../../src/capabilities/device-configuration/index.ts';
import { Http } from '../../../src/platform/http/index.ts';
import type { Role } from '../../../src/lib/role.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog } from '../../support/workspace.ts';
import { manifestOf, PARAMETERS, startConfiguration } from './support.ts';

type Answer = [status: number, body: Record<string, unknown>];

function start(test: Pick<TestContext, 'after'>) {
  const setup = startConfiguration(test);
  const clock = new TestClock();
  const http = new Http({
    host: '127.0.0.1',
    port: 0,
    clock,
    log: recordingLog(clock).log,
    metrics: createMetrics(),
    newId: randomUUID,
    authenticate: (token) => ({
      role: token as Role,
      origin: { kind: 'token', id: token, name: token },
      rateKey: token,
    }),
    resolvers: { device_id: (given) => setup.devices.require(given).id, site_id: (given) => given },
    routes: deviceConfigurationRoutes(setup.configuration, setup.devices),
    streams: [],
  });
  const ask = async (method: string, path: string, body?: unknown, role: Role = 'OWNER'): Promise<Answer> => {
    const response = await http.fetch(
      new Request(`http://gateway.test${path}`, {
        method,
        headers: { 'X-Service-Auth-Token': role },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
    return [response.status, (await response.json()) as Record<string, unknown>];
  };
  return { ...setup, ask, path: `/v3/devices/${setup.device.slug}/configuration/main` };
}

const codesOf = ([status, body]: Answer): [number, string[]] => [
  status,
  (body['errors'] as { code: string }[]).map(({ code }) => code),
];

describe('9.5 refuses', () => {
  test('unknown devices, groups and parameters, low roles, wrong bodies and values', async (t) => {
    const { ask, path } = start(t);
    const refused: [answer: Promise<Answer>, status: number, codes: string[]][] = [
      [ask('GET', path.replace('device-1', 'device-9')), 404, ['device_not_found']],
      [ask('GET', path.replace('main', 'none')), 404, ['configuration_group_not_found']],
      [ask('GET', path, undefined, 'USER'), 403, ['insufficient_role']],
      [ask('PATCH', path, { set: { limit: 1 } }, 'USER'), 403, ['insufficient_role']],
      [ask('POST', `${path}/reset_all`, undefined, 'READONLY'), 403, ['insufficient_role']],
      [ask('GET', `${path}?param_names=limit,nope`), 400, ['invalid_query']],
      [ask('PATCH', path, { set: [1] }), 400, ['invalid_body']],
      [ask('PATCH', path, { reset: 'limit' }), 400, ['invalid_body']],
      [ask('PATCH', path, { set: { limit: 1 }, reset: ['limit'] }), 400, ['invalid_body']],
      [
        ask('PATCH', path, { set: { limit: 99, mode: 'x', nope: 1 } }),
        422,
        ['invalid_configuration', 'invalid_configuration', 'invalid_configuration'],
      ],
    ];
    for (const [answer, status, codes] of refused) assert.deepEqual(codesOf(await answer), [status, codes]);
    assert.deepEqual(await ask('GET', path), [200, { configuration: { limit: 5 } }]);
  });
});

describe('9.5 answers', () => {
  test('get, update and reset all with the whole group, sensitive values left out', async (t) => {
    const { ask, path } = start(t);
    assert.deepEqual(
      await ask('PATCH', path, { set: { limit: 7, password: 'x', mode: 'auto' }, reset: null }),
      [200, { configuration: { limit: 7, mode: 'auto' } }],
    );
    assert.deepEqual(await ask('GET', `${path}?param_names=mode,password`), [
      200,
      { configuration: { mode: 'auto' } },
    ]);
    assert.deepEqual(await ask('GET', `${path}?param_names=`), [
      200,
      { configuration: { limit: 7, mode: 'auto' } },
    ]);
    assert.deepEqual(await ask('PATCH', path, { reset: ['limit'], set: { mode: null } }), [
      200,
      { configuration: { limit: 5 } },
    ]);
    assert.deepEqual(await ask('PATCH', path, {}), [200, { configuration: { limit: 5 } }]);
    assert.deepEqual(await ask('POST', `${path}/reset_all`), [200, { configuration: { limit: 5 } }]);
  });

  test('on every path of the device', async (t) => {
    const { ask, path } = start(t);
    const below = path.slice('/v3'.length);
    for (const prefix of ['/v3', '/api/v3', '/v3/site', `/v3/sites/${randomUUID()}`])
      assert.deepEqual(await ask('GET', prefix + below), [200, { configuration: { limit: 5 } }]);
  });
});

describe('9.5 a change that waits for the word of the device', () => {
  /** The device is asked about the change, and has not answered yet. */
  async function waiting(test: Pick<TestContext, 'after'>, method: string, suffix: string, body?: unknown) {
    const setup = start(test);
    const asked = Promise.withResolvers<void>();
    const word = Promise.withResolvers<string | undefined>();
    await setup.ask('PATCH', setup.path, { set: { limit: 3 } });
    setup.configuration.side = {
      judge: () => {
        asked.resolve();
        return word.promise;
      },
      read: async () => undefined,
    };
    const change = setup.ask(method, setup.path + suffix, body);
    await asked.promise;
    return { ...setup, change, agree: () => word.resolve(undefined) };
  }

  for (const [method, suffix, body] of [
    ['PATCH', '', { set: { limit: 7 } }],
    ['POST', '/reset_all', undefined],
  ] as const) {
    test(`is 404 when the device is deleted meanwhile: ${method} ${suffix}`, async (t) => {
      const setup = await waiting(t, method, suffix, body);
      setup.deleteDevice(setup.device);
      setup.agree();
      assert.deepEqual(codesOf(await setup.change), [404, ['device_not_found']]);
    });

    test(`is 404 when the next blueprint has no such group: ${method} ${suffix}`, async (t) => {
      const setup = await waiting(t, method, suffix, body);
      const { configuration, ...rest } = manifestOf(PARAMETERS);
      const other = configuration['other'] ?? assert.fail();
      setup.assignManifest(setup.device, { ...rest, configuration: { other } });
      setup.agree();
      assert.deepEqual(codesOf(await setup.change), [404, ['configuration_group_not_found']]);
    });
  }

  test('is judged by the next blueprint', async (t) => {
    const setup = await waiting(t, 'PATCH', '', { set: { limit: 7 } });
    const parameters = '      limit: {display_name: L, type: integer, max: 5}\n';
    setup.assignManifest(setup.device, manifestOf(parameters));
    setup.agree();
    assert.deepEqual(codesOf(await setup.change), [422, ['invalid_configuration']]);
  });
});
