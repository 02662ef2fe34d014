/** Provisioning over HTTP (docs/interface/http.md#provisioning). Denials first. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BUILT_IN_IDS } from '../../src/capabilities/blueprints/index.ts';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { refusal, useTestGateway } from '../support/test-gateway.ts';

const UNKNOWN_ID = '11111111-1111-4111-8111-111111111111';
const MODULE = 'V0123456789ABCDEF0123456789ABCDEF';

let scriptId: string;
let needyId: string;
let siteId: string;

const gateway = useTestGateway({}, async ({ ok }) => {
  const upload = async (runtime: string): Promise<string> => {
    const manifest = `blueprint_spec: device/3.0\ndisplay_name: L\nruntime: ${runtime}\n`;
    const zip = await zipOf({ 'manifest.yml': manifest, 'main.lua': 'return 1' });
    return String((await ok('OWNER', 'POST', '/v3/blueprints/upload', zip))['id']);
  };
  scriptId = await upload('{type: lua, options: {file: main.lua}}');
  needyId = await upload('{type: lua, requirements: [can, modbus, relay], options: {file: main.lua}}');
  siteId = ((await ok('OWNER', 'GET', '/v3/site'))['site'] as { id: string }).id;
  await ok('OWNER', 'POST', '/v3/provisioning/standalone', { name: 'Taken' });
});

describe('provisioning is refused', () => {
  const lua = (fields: object) => () => ({
    runtime_id: 'gateway',
    blueprint_id: scriptId,
    name: 'L',
    ...fields,
  });
  const rows: [title: string, path: string, body: () => unknown, expected: string][] = [
    ['no name', 'standalone', () => ({}), '400 invalid_body'],
    ['no body', 'standalone', () => undefined, '400 invalid_body'],
    ['an empty name', 'standalone', () => ({ name: ' ' }), '400 invalid_body'],
    ['another site', 'standalone', () => ({ name: 'S', site_id: UNKNOWN_ID }), '404 site_not_found'],
    ['a bad slug', 'standalone', () => ({ name: 'S', slug: '-a' }), '400 invalid_body'],
    ['a taken slug', 'standalone', () => ({ name: 'S', slug: 'taken' }), '409 already_exists'],
    ['an unknown protocol', 'standalone', () => ({ name: 'S', protocol: 'X' }), '400 invalid_body'],
    [
      'TLS that is off',
      'standalone',
      () => ({ name: 'S', protocol: 'MQTTS' }),
      '422 not_available_on_gateway',
    ],
    ['no hardware id', 'vucm', () => ({ name: 'V' }), '400 invalid_body'],
    ['a short hardware id', 'vucm', () => ({ name: 'V', hardware_id: 'V123456' }), '400 invalid_body'],
    [
      'a hardware id with a slash',
      'ucm',
      () => ({ name: 'V', hardware_id: 'V1234567/' }),
      '400 invalid_body',
    ],
    ['a long hardware id', 'ucm', () => ({ name: 'V', hardware_id: 'V'.repeat(65) }), '400 invalid_body'],
    [
      'another site for a module',
      'vucm',
      () => ({ name: 'V', hardware_id: MODULE, site_id: UNKNOWN_ID }),
      '404 site_not_found',
    ],
    ['nothing at all', 'lua_device', () => ({}), '400 invalid_body invalid_body invalid_body'],
    ['an unknown runtime', 'lua_device', lua({ runtime_id: 'nobody' }), '404 device_not_found'],
    ['a runtime that is none', 'lua_device', lua({ runtime_id: 'taken' }), '422 invalid_runtime'],
    ['an unknown blueprint', 'lua_device', lua({ blueprint_id: UNKNOWN_ID }), '404 blueprint_not_found'],
    [
      'a blueprint without script',
      'lua_device',
      lua({ blueprint_id: BUILT_IN_IDS.empty }),
      '422 invalid_blueprint',
    ],
    ['a taken slug for Lua', 'lua_device', lua({ slug: 'taken' }), '409 already_exists'],
  ];
  for (const [title, path, body, expected] of rows)
    test(`provisioning is refused with ${expected}: ${title}`, async () => {
      const count = async (): Promise<unknown> =>
        (await gateway().ok('OWNER', 'GET', '/v3/devices?limit=0'))['total_count'];
      const before = await count();
      const answer = await gateway().call('OWNER', 'POST', `/v3/provisioning/${path}`, body());
      assert.equal(refusal(answer), expected);
      assert.equal(await count(), before);
    });

  test('a blueprint that needs what no module has is refused with 422 invalid_blueprint', async () => {
    const answer = await gateway().call('OWNER', 'POST', '/v3/provisioning/lua_device', {
      runtime_id: 'gateway',
      blueprint_id: needyId,
      name: 'L',
    });
    assert.equal(refusal(answer), '422 invalid_blueprint');
    assert.match(
      JSON.stringify(answer.body),
      /runtime device does not provide: can, relay; a module provides it with a port of the kind CAN and/,
    );
  });

  test('a blueprint of a serial line is refused with 422 invalid_blueprint, which says how a module gets one', async () => {
    const zip = await zipOf({
      'manifest.yml':
        'blueprint_spec: device/1.0\ndisplay_name: Meter\ncommunication_module: {product: ENP-RS485, lua_file: main.lua}\n',
      'main.lua': 'return 1',
    });
    const { id } = await gateway().ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
    const answer = await gateway().call('OWNER', 'POST', '/v3/provisioning/lua_device', {
      runtime_id: 'gateway',
      blueprint_id: id,
      name: 'Meter',
    });
    assert.equal(refusal(answer), '422 invalid_blueprint');
    assert.match(
      JSON.stringify(answer.body),
      /does not provide: ENP-RS485; a module provides it with a serial port named \\"rs485\\"/,
    );
  });

  test('a hardware id of a device of another type is refused with 409 already_exists', async () => {
    const { ok, call } = gateway();
    const { config } = await ok('OWNER', 'POST', '/v3/provisioning/standalone', { name: 'Owner' });
    const body = { name: 'V', hardware_id: (config as { hardware_id: string }).hardware_id };
    for (const path of ['vucm', 'ucm'])
      assert.equal(
        refusal(await call('OWNER', 'POST', `/v3/provisioning/${path}`, body)),
        '409 already_exists',
      );
  });
});

const CONFIG_FIELDS = [
  'channel_id',
  'hardware_id',
  'mqtt_credentials',
  'mqtt_host',
  'mqtt_port',
  'mqtt_protocol',
  'time_sync_host',
  'time_sync_port',
  'time_sync_protocol',
];

describe('a standalone device', () => {
  const bodies: [title: string, body: () => object][] = [
    ['only a name', () => ({ name: 'New' })],
    ['nulls', () => ({ name: 'New', site_id: null, slug: null, protocol: null })],
    ['empty texts', () => ({ name: 'New', site_id: '', slug: '' })],
    ['the site', () => ({ name: 'New', site_id: siteId, protocol: 'mqtt' })],
  ];
  for (const [title, body] of bodies)
    test(`a standalone device is made with ${title}, and has a configuration of nine fields`, async () => {
      const { ok, ports } = gateway();
      const answer = await ok('OWNER', 'POST', '/v3/provisioning/standalone', body(), {
        Host: 'box.example:8080',
      });
      assert.deepEqual(Object.keys(answer), ['device_id', 'slug', 'config']);
      assert.match(String(answer['slug']), /^new(-\d+)?$/);
      const config = answer['config'] as Record<string, unknown>;
      assert.deepEqual(Object.keys(config).toSorted(), CONFIG_FIELDS);
      const { hardware_id: hardwareId, mqtt_credentials: credentials, ...rest } = config;
      assert.deepEqual(rest, {
        mqtt_host: 'box.example',
        mqtt_port: ports.mqttPort,
        mqtt_protocol: 'MQTT',
        time_sync_protocol: 'HTTP',
        time_sync_host: 'box.example',
        time_sync_port: ports.httpPort,
        channel_id: 'ucm',
      });
      assert.match(String(hardwareId), /^[0-9A-F]{40}$/);
      assert.deepEqual(Object.keys(credentials as object), ['username', 'password']);
    });

  test('a standalone device keeps the slug it is given', async () => {
    const answer = await gateway().ok('OWNER', 'POST', '/v3/provisioning/standalone', {
      name: 'New',
      slug: 'My_Slug-1',
    });
    assert.equal(answer['slug'], 'My_Slug-1');
  });

  test('a standalone device gets a configuration of the same address again, by any case of the protocol', async () => {
    const { ok } = gateway();
    const made = await ok('OWNER', 'POST', '/v3/provisioning/standalone', { name: 'Again' });
    const path = `/v3/devices/${String(made['slug'])}/generate_config`;
    const { config } = await ok('OWNER', 'POST', path, { protocol: 'Mqtt' });
    const [first, second] = [made['config'], config] as Record<string, unknown>[];
    assert.deepEqual({ ...second, mqtt_credentials: null }, { ...first, mqtt_credentials: null });
    assert.notDeepEqual(second?.['mqtt_credentials'], first?.['mqtt_credentials']);
  });
});

describe('a module', () => {
  for (const [path, type, hardwareId] of [
    ['vucm', 'VIRTUAL_UCM', MODULE],
    ['ucm', 'HARDWARE_UCM', '0123456789ABCDEF0123456789ABCDEF'],
  ] as const)
    test(`a module is made once at ${path} for its hardware id, and renamed after that`, async () => {
      const { ok } = gateway();
      const provision = (name: string) =>
        ok('OWNER', 'POST', `/v3/provisioning/${path}`, { name, hardware_id: hardwareId, site_id: null });
      const first = await provision('One');
      assert.equal((first['config'] as Record<string, unknown>)['hardware_id'], hardwareId);
      const second = await provision('Two');
      assert.deepEqual(second, { device_id: first['device_id'], slug: first['slug'] });
      const { device } = await ok(
        'OWNER',
        'GET',
        `/v3/devices/${String(first['slug'])}?expand=communication`,
      );
      const wire = device as Record<string, unknown>;
      assert.deepEqual([wire['name'], wire['type']], ['Two', type]);
    });
});

describe('a Lua device', () => {
  for (const slug of [null, '', undefined, 'own-slug'])
    test(`a Lua device is made with the slug ${JSON.stringify(slug)}, on the module of the gateway`, async () => {
      const { ok } = gateway();
      const made = await ok('OWNER', 'POST', '/v3/provisioning/lua_device', {
        runtime_id: 'gateway',
        blueprint_id: scriptId,
        name: 'Weather',
        slug,
      });
      assert.deepEqual(Object.keys(made), ['device_id', 'slug']);
      assert.match(String(made['slug']), slug === 'own-slug' ? /^own-slug$/ : /^weather(-\d)?$/);
      const path = `/v3/devices/${String(made['slug'])}?expand=communication,connectivity`;
      const { device } = await ok('OWNER', 'GET', path);
      const { type, connectivity } = device as Record<string, unknown>;
      assert.deepEqual([type, connectivity], ['LUA', { status: 'OFFLINE' }]);
    });
});
