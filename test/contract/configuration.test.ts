/** Configuration of devices over HTTP (docs/interface/http.md#configuration), on the whole gateway. Denials first. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { type Caller, useTestGateway } from '../support/test-gateway.ts';

const LIMITS_GROUP = '/v3/devices/battery/configuration/limits';
const CONNECTION = '/v3/devices/battery/configuration/connection';
const DEFAULTS = {
  max_charge_power_w: 5_000,
  max_discharge_power_w: 5_000,
  minimum_soc_percent: 10,
  grid_feed_in_allowed: true,
};

const gateway = useTestGateway({}, async (started) => {
  await started.provision('Battery');
});

const get = async (path: string, caller: Caller = 'INSTALLER'): Promise<unknown> =>
  (await gateway().ok(caller, 'GET', path))['configuration'];
const patch = async (path: string, body: unknown): Promise<unknown> =>
  (await gateway().ok('INSTALLER', 'PATCH', path, body))['configuration'];

describe('configuration is refused', () => {
  const rows: [title: string, method: string, path: string, body: unknown, errors: [string, object][]][] = [
    [
      'for a group that the manifest does not have',
      'GET',
      '/v3/devices/battery/configuration/nothing',
      undefined,
      [],
    ],
    ['for a name that every object has', 'GET', '/v3/devices/battery/configuration/toString', undefined, []],
    [
      'with an unknown name to read',
      'GET',
      `${LIMITS_GROUP}?param_names=minimum_soc_percent,colour`,
      undefined,
      [['invalid_query', { parameter: 'param_names' }]],
    ],
    [
      'with a name both set and reset',
      'PATCH',
      LIMITS_GROUP,
      { set: { minimum_soc_percent: 20 }, reset: ['minimum_soc_percent'] },
      [['invalid_body', { field: 'reset' }]],
    ],
    ['with a list to set', 'PATCH', LIMITS_GROUP, { set: [] }, [['invalid_body', { field: 'set' }]]],
    [
      'with a name to reset that is no list',
      'PATCH',
      LIMITS_GROUP,
      { reset: 'minimum_soc_percent' },
      [['invalid_body', { field: 'reset' }]],
    ],
    [
      'with one entry for each wrong value and unknown name',
      'PATCH',
      LIMITS_GROUP,
      {
        set: {
          minimum_soc_percent: 10.5,
          max_charge_power_w: 10_001,
          grid_feed_in_allowed: 'yes',
          colour: 1,
        },
        reset: ['shape'],
      },
      [
        ['invalid_configuration', { parameter: 'minimum_soc_percent' }],
        ['invalid_configuration', { parameter: 'max_charge_power_w' }],
        ['invalid_configuration', { parameter: 'grid_feed_in_allowed' }],
        ['invalid_configuration', { parameter: 'colour' }],
        ['invalid_configuration', { parameter: 'shape' }],
      ],
    ],
    [
      'with null for a parameter that is required',
      'PATCH',
      CONNECTION,
      { set: { address: null } },
      [['invalid_configuration', { parameter: 'address' }]],
    ],
    [
      'with an address that is none',
      'PATCH',
      CONNECTION,
      { set: { address: 'nonsense' } },
      [['invalid_configuration', { parameter: 'address' }]],
    ],
  ];
  const statusOf = (code: string | undefined): number =>
    code === undefined ? 404 : code === 'invalid_configuration' ? 422 : 400;
  for (const [title, method, path, body, expected] of rows)
    test(title, async () => {
      const answer = await gateway().call('INSTALLER', method, path, body);
      assert.equal(answer.status, statusOf(expected[0]?.[0]));
      const { errors } = answer.body as { errors: { code: string; details?: object }[] };
      if (expected.length === 0) assert.equal(errors[0]?.code, 'configuration_group_not_found');
      else
        assert.deepEqual(
          errors.map(({ code, details }) => [code, details]),
          expected,
        );
      assert.deepEqual(await get(LIMITS_GROUP), DEFAULTS, 'all or nothing');
    });

  test('configuration is refused below the access level of the group, whatever is asked', async () => {
    for (const [method, path] of [
      ['GET', LIMITS_GROUP],
      ['PATCH', LIMITS_GROUP],
      ['POST', `${LIMITS_GROUP}/reset_all`],
    ] as const) {
      const { status, body } = await gateway().call('USER', method, path);
      assert.equal(status, 403);
      const [{ code, details }] = (body as { errors: [{ code: string; details: unknown }] }).errors;
      assert.deepEqual([code, details], ['insufficient_role', { required: 'OWNER', actual: 'USER' }]);
    }
    assert.equal((await gateway().call('OWNER', 'GET', CONNECTION)).status, 403);
  });
});

describe('configuration', () => {
  test('configuration is a flat object of values and defaults, without those that have neither', async () => {
    assert.deepEqual(await get(LIMITS_GROUP, 'OWNER'), DEFAULTS);
    assert.deepEqual(await get(CONNECTION), {});
    assert.deepEqual(await get(`${LIMITS_GROUP}?param_names=`), DEFAULTS);
    assert.deepEqual(await get(`${LIMITS_GROUP}?param_names=minimum_soc_percent, max_charge_power_w`), {
      max_charge_power_w: 5_000,
      minimum_soc_percent: 10,
    });
    assert.deepEqual(await get(`${CONNECTION}?param_names=address,password`), {});
  });

  test('configuration takes values, and answers the whole group; null and reset restore the default', async () => {
    const set = { minimum_soc_percent: 20, max_charge_power_w: 4_000, grid_feed_in_allowed: false };
    assert.deepEqual(await patch(LIMITS_GROUP, { set }), { ...DEFAULTS, ...set });
    for (const nothing of [{}, { set: null, reset: null }, { set: {}, reset: [] }, undefined])
      assert.deepEqual(await patch(LIMITS_GROUP, nothing), { ...DEFAULTS, ...set });
    assert.deepEqual(
      await patch(LIMITS_GROUP, { set: { minimum_soc_percent: null }, reset: ['max_charge_power_w'] }),
      { ...DEFAULTS, grid_feed_in_allowed: false },
    );
  });

  test('configuration is reset as a whole; without a default the value is gone', async () => {
    await patch(CONNECTION, { set: { address: 'tcp://192.168.0.10:502' } });
    for (const [path, expected] of [
      [LIMITS_GROUP, DEFAULTS],
      [CONNECTION, {}],
    ] as const) {
      const { configuration } = await gateway().ok('INSTALLER', 'POST', `${path}/reset_all`);
      assert.deepEqual(configuration, expected);
      assert.deepEqual(await get(path), expected);
    }
  });

  test('configuration shows sensitive values to nobody, and keeps them', async () => {
    assert.deepEqual(
      await patch(CONNECTION, { set: { password: 'hidden', address: 'tcp://192.168.0.10:502' } }),
      { address: 'tcp://192.168.0.10:502' },
    );
    assert.deepEqual(await get(`${CONNECTION}?param_names=password`), {});
  });

  test('configuration tells on request which sensitive values have been set', async () => {
    const { ok } = gateway();
    await ok('INSTALLER', 'POST', `${CONNECTION}/reset_all`);
    const asked = (): Promise<unknown> => ok('INSTALLER', 'GET', `${CONNECTION}?expand=hidden`);
    assert.deepEqual(await asked(), { configuration: {}, hidden: [] });
    await patch(CONNECTION, { set: { password: 'hidden' } });
    assert.deepEqual(await asked(), { configuration: {}, hidden: ['password'] });
    assert.deepEqual(await ok('INSTALLER', 'GET', CONNECTION), { configuration: {} });
  });

  test('configuration survives a restart', async () => {
    await patch(LIMITS_GROUP, { set: { minimum_soc_percent: 33 } });
    await gateway().restart();
    assert.deepEqual(await get(LIMITS_GROUP), { ...DEFAULTS, minimum_soc_percent: 33 });
  });
});

describe('sensitive values', () => {
  /** The values as stored, which are not given over HTTP. */
  const kept = (): unknown[] => {
    const state = new BetterSqlite3(join(gateway().dataDir, 'state.db'), { readonly: true });
    const rows = state
      .prepare(
        "SELECT parameter FROM device_configuration WHERE group_name = 'connection' ORDER BY parameter",
      )
      .pluck()
      .all();
    state.close();
    return rows;
  };
  /** The sample under a new id. */
  const anotherBlueprint = async (): Promise<unknown> => {
    const { request, sampleBlueprintId, ok } = gateway();
    const zip = await request(
      'OWNER',
      'GET',
      `/v3/blueprints/${await sampleBlueprintId()}/zip?view=ORIGINAL`,
    );
    return (await ok('OWNER', 'POST', '/v3/blueprints/upload', Buffer.from(await zip.arrayBuffer())))['id'];
  };

  const handovers: [title: string, path: string, body: () => Promise<object>][] = [
    ['another blueprint', 'assign_blueprint', async () => ({ blueprint_id: await anotherBlueprint() })],
    ['new credentials', 'generate_config', async () => ({ protocol: 'MQTT' })],
  ];
  for (const [title, path, body] of handovers)
    test(`sensitive values are forgotten when somebody below their level gives the device ${title}; others stay`, async () => {
      const { ok } = gateway();
      await patch(CONNECTION, { set: { password: 'hidden', address: 'tcp://192.168.0.10:502' } });
      await ok('INSTALLER', 'POST', `/v3/devices/battery/${path}`, await body());
      assert.deepEqual(kept(), ['address', 'password']);
      await ok('OWNER', 'POST', `/v3/devices/battery/${path}`, await body());
      assert.deepEqual(kept(), ['address']);
    });
});
