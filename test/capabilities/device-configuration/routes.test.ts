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
    test(`9.5 a change that waits for the word of the device is 404 when the device is deleted meanwhile: ${method} ${suffix}`, async (t) => {
      const setup = await waiting(t, method, suffix, body);
      setup.deleteDevice(setup.device);
      setup.agree();
      assert.deepEqual(codesOf(await setup.change), [404, ['device_not_found']]);
    });

    test(`9.5 a change that waits for the word of the device is 404 when the next blueprint has no such group: ${method} ${suffix}`, async (t) => {
      const setup = await waiting(t, method, suffix, body);
      const { configuration, ...rest } = manifestOf(PARAMETERS);
      const other = configuration['other'] ?? assert.fail();
      setup.assignManifest(setup.device, { ...rest, configuration: { other } });
      setup.agree();
      assert.deepEqual(codesOf(await setup.change), [404, ['configuration_group_not_found']]);
    });
  }

  test('9.5 a change that waits for the word of the device is judged by the next blueprint', async (t) => {
    const setup = await waiting(t, 'PATCH', '', { set: { limit: 7 } });
    const parameters = '      limit: {display_name: L, type: integer, max: 5}\n';
    setup.assignManifest(setup.device, manifestOf(parameters));
    setup.agree();
    assert.deepEqual(codesOf(await setup.change), [422, ['invalid_configuration']]);
  });
});
