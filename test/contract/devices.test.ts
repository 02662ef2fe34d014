/** Devices over HTTP (docs/interface/http.md#devices). Denials first. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BUILT_IN_IDS } from '../../src/capabilities/blueprints/index.ts';
import { zipOf } from '../capabilities/blueprints/support.ts';
import type { MockDevice } from '../support/mock-device.ts';
import { refusal, useTestGateway } from '../support/test-gateway.ts';

const UNKNOWN_ID = '11111111-1111-4111-8111-111111111111';

let battery: MockDevice;
let scriptId: string;

const gateway = useTestGateway({}, async (started) => {
  battery = await started.provision('Battery');
  await battery.connect();
  await battery.properties({ vendor: 'A', commissioned_by: 'B', unheard_of: 1 });
  await battery.telemetry({ battery_soc: 50, alerts: ['battery_low'], conn_alerts: ['grid_lost'] });
  const manifest =
    'blueprint_spec: device/3.0\ndisplay_name: L\nruntime: {type: lua, options: {file: main.lua}}\n';
  const zip = await zipOf({ 'manifest.yml': manifest, 'main.lua': 'return 1' });
  scriptId = String((await started.ok('OWNER', 'POST', '/v3/blueprints/upload', zip))['id']);
  await started.ok('OWNER', 'POST', '/v3/provisioning/lua_device', {
    runtime_id: 'gateway',
    blueprint_id: scriptId,
    name: 'Script',
  });
});

type Wire = Record<string, unknown>;

async function get(path: string, role: 'READONLY' | 'USER' | 'INSTALLER' = 'READONLY'): Promise<Wire> {
  return (await gateway().ok(role, 'GET', path))['device'] as Wire;
}

describe('a call on devices is refused', () => {
  const rows: [title: string, method: string, path: string, body: unknown, expected: string][] = [
    ['an unknown device', 'GET', '/v3/devices/nobody', undefined, '404 device_not_found'],
    ['an unknown id', 'GET', `/v3/devices/${UNKNOWN_ID}`, undefined, '404 device_not_found'],
    ['a slug in another case', 'GET', '/v3/devices/Battery', undefined, '404 device_not_found'],
    ['below another site', 'GET', `/v3/sites/${UNKNOWN_ID}/devices/battery`, undefined, '404 site_not_found'],
    ['a list of another site', 'GET', `/v3/sites/${UNKNOWN_ID}/devices`, undefined, '404 site_not_found'],
    ['an unknown expand', 'GET', '/v3/devices/battery?expand=colour', undefined, '400 invalid_query'],
    ['an unknown expand of a list', 'GET', '/v3/devices?expand=log', undefined, '400 invalid_query'],
    ['a negative offset', 'GET', '/v3/devices?offset=-1', undefined, '400 invalid_query'],
    ['a fraction as limit', 'GET', '/v3/devices?limit=1.5', undefined, '400 invalid_query'],
    ['a word as limit', 'GET', '/v3/devices?limit=all', undefined, '400 invalid_query'],
    ['an unknown type', 'GET', '/v3/devices?type.in=TOASTER', undefined, '400 invalid_query'],
    [
      'the manifest of nobody',
      'GET',
      '/v3/devices/does_not_exist/manifest',
      undefined,
      '404 device_not_found',
    ],
    ['a name of another kind', 'PATCH', '/v3/devices/battery', { name: 5 }, '400 invalid_body'],
    ['a name of blanks', 'PATCH', '/v3/devices/battery', { name: '  ' }, '400 invalid_body'],
    ['a name too long', 'PATCH', '/v3/devices/battery', { name: 'x'.repeat(256) }, '400 invalid_body'],
    ['a slug with a blank', 'PATCH', '/v3/devices/battery', { slug: 'a b' }, '400 invalid_body'],
    ['a slug like an id', 'PATCH', '/v3/devices/battery', { slug: UNKNOWN_ID }, '400 invalid_body'],
    ['a slug too long', 'PATCH', '/v3/devices/battery', { slug: 'x'.repeat(65) }, '400 invalid_body'],
    ['a room that is no text', 'PATCH', '/v3/devices/battery', { room: 5 }, '400 invalid_body'],
    ['a room too long', 'PATCH', '/v3/devices/battery', { room: 'x'.repeat(256) }, '400 invalid_body'],
    ['an invisible room', 'PATCH', '/v3/devices/battery', { room: 'a\u200Bb' }, '400 invalid_body'],
    ['notes that are no text', 'PATCH', '/v3/devices/battery', { notes: [] }, '400 invalid_body'],
    ['notes too long', 'PATCH', '/v3/devices/battery', { notes: 'x'.repeat(4_001) }, '400 invalid_body'],
    ['a place before the first', 'PATCH', '/v3/devices/battery', { position: -1 }, '400 invalid_body'],
    ['half a place', 'PATCH', '/v3/devices/battery', { position: 0.5 }, '400 invalid_body'],
    ['a body that is no object', 'PATCH', '/v3/devices/battery', [], '400 invalid_body'],
    ['a body that is no JSON', 'PATCH', '/v3/devices/battery', '{', '400 invalid_body'],
    ['two faults', 'PATCH', '/v3/devices/battery', { name: 5, slug: ' ' }, '400 invalid_body invalid_body'],
    ['a slug that is taken', 'PATCH', '/v3/devices/battery', { slug: 'script' }, '409 already_exists'],
    ['no blueprint', 'POST', '/v3/devices/battery/assign_blueprint', {}, '400 invalid_body'],
    [
      'an unknown blueprint',
      'POST',
      '/v3/devices/battery/assign_blueprint',
      { blueprint_id: UNKNOWN_ID },
      '404 blueprint_not_found',
    ],
    [
      'a blueprint without a script for a Lua device',
      'POST',
      '/v3/devices/script/assign_blueprint',
      { blueprint_id: BUILT_IN_IDS.empty },
      '422 invalid_blueprint',
    ],
    [
      'another blueprint for the gateway',
      'POST',
      '/v3/devices/gateway/assign_blueprint',
      { blueprint_id: BUILT_IN_IDS.empty },
      '422 invalid_blueprint',
    ],
    ['the gateway’s own device', 'DELETE', '/v3/devices/gateway', undefined, '422 device_not_deletable'],
    [
      'the module that is built in',
      'DELETE',
      '/v3/devices/communication-module',
      undefined,
      '422 device_not_deletable',
    ],
    ['no protocol', 'POST', '/v3/devices/battery/generate_config', {}, '400 invalid_body'],
    [
      'an unknown protocol',
      'POST',
      '/v3/devices/battery/generate_config',
      { protocol: 'COAP' },
      '400 invalid_body',
    ],
    [
      'a configuration of a Lua device',
      'POST',
      '/v3/devices/script/generate_config',
      { protocol: 'MQTT' },
      '422 config_generation_not_supported',
    ],
    [
      'a configuration of the gateway',
      'POST',
      '/v3/devices/gateway/generate_config',
      { protocol: 'MQTT' },
      '422 config_generation_not_supported',
    ],
    [
      'a configuration of the module that is built in',
      'POST',
      '/v3/devices/communication-module/generate_config',
      { protocol: 'MQTT' },
      '422 config_generation_not_supported',
    ],
    ['a remote terminal', 'POST', '/v3/devices/battery/run_terminal', {}, '422 not_available_on_gateway'],
    ['another method', 'POST', '/v3/devices/battery', {}, '405 method_not_allowed'],
    ['another path', 'GET', '/v3/devices/battery/colour', undefined, '404 route_not_found'],
  ];
  for (const [title, method, path, body, expected] of rows)
    test(`a call on devices is refused with ${expected}: ${title}`, async () => {
      const before = await get('/v3/devices/battery?expand=communication', 'INSTALLER');
      assert.equal(refusal(await gateway().call('INSTALLER', method, path, body)), expected);
      assert.deepEqual(await get('/v3/devices/battery?expand=communication', 'INSTALLER'), before);
    });

  test('a call on devices is refused when it conflicts, with field and value, or names the parameter of a query', async () => {
    const taken = await gateway().call('OWNER', 'PATCH', '/v3/devices/battery', { slug: 'script' });
    assert.deepEqual((taken.body as { errors: { details: unknown }[] }).errors[0]?.details, {
      field: 'slug',
      value: 'script',
    });
    const unknown = await gateway().call('OWNER', 'GET', '/v3/devices?expand=colour');
    assert.deepEqual((unknown.body as { errors: { details: unknown }[] }).errors[0]?.details, {
      parameter: 'expand',
    });
    const method = await gateway().call('OWNER', 'POST', '/v3/devices/battery', {});
    assert.equal(method.headers.get('allow'), 'GET, PATCH, DELETE, HEAD');
  });

  test('a module that carries another device is not deleted: 422 device_has_dependents', async () => {
    const { ok, call } = gateway();
    const module = await ok('OWNER', 'POST', '/v3/provisioning/vucm', {
      name: 'Module',
      hardware_id: 'V00000000000000000000000000000001',
    });
    const script = await ok('OWNER', 'POST', '/v3/provisioning/lua_device', {
      runtime_id: module['device_id'],
      blueprint_id: scriptId,
      name: 'Carried',
    });
    const answer = await call('OWNER', 'DELETE', `/v3/devices/${String(module['slug'])}`);
    assert.equal(refusal(answer), '422 device_has_dependents');
    assert.deepEqual((answer.body as { errors: { details: unknown }[] }).errors[0]?.details, {
      device_ids: [script['device_id']],
    });
    await ok('OWNER', 'DELETE', `/v3/devices/${String(script['device_id'])}`);
    assert.deepEqual(await ok('OWNER', 'DELETE', `/v3/devices/${String(module['slug'])}`), {});
  });
});

const FIELDS = [
  'authorized_role',
  'blueprint_id',
  'id',
  'implemented_profiles',
  'name',
  'site_id',
  'slug',
  'type',
  'updated_at',
];

describe('a device', () => {
  test('a device always has exactly the documented fields', async () => {
    const device = await get('/v3/devices/battery');
    assert.deepEqual(Object.keys(device).toSorted(), FIELDS);
    assert.match(String(device['id']), /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/);
    assert.match(String(device['updated_at']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z$/);
    assert.equal(device['type'], 'STANDALONE');
    assert.ok((device['implemented_profiles'] as string[]).includes('energy.hybrid_inverter.1_phase'));
  });

  test('a device has the role of its caller, and is the same by id and slug', async () => {
    for (const role of ['READONLY', 'USER', 'INSTALLER'] as const)
      assert.equal((await get('/v3/devices/battery', role))['authorized_role'], role);
    assert.deepEqual(await get(`/v3/devices/${battery.id}`), await get('/v3/devices/battery'));
  });

  test('a device without a blueprint has that of the empty one and no profile', async () => {
    const fresh = await gateway().provision('Fresh', null);
    const device = await get(`/v3/devices/${fresh.id}?expand=properties,raised_alert_names`);
    assert.equal(device['blueprint_id'], BUILT_IN_IDS.empty);
    assert.deepEqual(device['implemented_profiles'], []);
    assert.deepEqual([device['properties'], device['raised_alert_names']], [{}, []]);
    await gateway().ok('OWNER', 'DELETE', `/v3/devices/${fresh.id}`);
  });
});

describe('expand', () => {
  const rows: [query: string, added: string[]][] = [
    ['', []],
    ['site', ['site']],
    ['manifest', ['manifest']],
    ['properties', ['properties']],
    ['connectivity', ['connectivity']],
    ['communication', ['communication']],
    ['communication_info', ['communication']],
    ['raised_alert_names', ['raised_alert_names']],
    ['room,notes,position', ['room', 'notes', 'position']],
    ['connectivity,connectivity, properties', ['connectivity', 'properties']],
    ['%20connectivity%20,,', ['connectivity']],
    ['connectivity&expand=site', ['connectivity', 'site']],
  ];
  for (const [query, added] of rows)
    test(`expand "${query}" adds ${added.join(', ') || 'nothing'}, to one and to a list`, async () => {
      const expected = [...FIELDS, ...added].toSorted();
      const one = await get(`/v3/devices/battery?expand=${query}`);
      assert.deepEqual(Object.keys(one).toSorted(), expected);
      const { devices } = await gateway().ok('READONLY', 'GET', `/v3/devices?expand=${query}`);
      for (const device of devices as Wire[]) assert.deepEqual(Object.keys(device).toSorted(), expected);
      const found = (devices as Wire[]).find(({ id }) => id === one['id']);
      assert.deepEqual(found, one);
    });

  test('each part of expand has the documented content', async () => {
    const device = await get(
      '/v3/devices/battery?expand=site,properties,connectivity,communication,raised_alert_names',
    );
    const { site } = await gateway().ok('READONLY', 'GET', '/v3/site');
    assert.deepEqual(device['site'], site);
    assert.deepEqual(device['properties'], { vendor: 'A' });
    assert.deepEqual(device['connectivity'], { status: 'ONLINE' });
    assert.deepEqual(device['communication'], {
      type: 'MQTT_V1_PLAINTEXT',
      hardware_id: battery.config.hardwareId,
      channel_id: 'ucm',
    });
    assert.deepEqual((device['raised_alert_names'] as string[]).toSorted(), ['battery_low', 'grid_lost']);
    const installer = await get('/v3/devices/battery?expand=properties', 'INSTALLER');
    assert.deepEqual(installer['properties'], { vendor: 'A', commissioned_by: 'B' });
  });

  test('the communication of a Lua device names the module that carries it, and no address', async () => {
    const module = await get('/v3/devices/communication-module?expand=communication');
    const script = await get('/v3/devices/script?expand=communication');
    assert.deepEqual(script['communication'], { type: 'UCM_LUA', upstream_id: module['id'] });
    assert.equal((module['communication'] as Wire)['type'], 'MQTT_V1_LOCALHOST');
    const own = await get('/v3/devices/gateway?expand=communication,connectivity');
    assert.equal((own['communication'] as Wire)['type'], 'MQTT_V1_LOCALHOST');
    assert.deepEqual(own['connectivity'], { status: 'ONLINE' });
  });

  test('the expanded manifest is that of the manifest operation, with every section as an object', async () => {
    const { manifest } = await gateway().ok('READONLY', 'GET', '/v3/devices/battery/manifest');
    assert.deepEqual((await get('/v3/devices/battery?expand=manifest'))['manifest'], manifest);
    for (const name of ['properties', 'telemetry', 'alerts', 'commands', 'configuration'])
      assert.equal(typeof (manifest as Wire)[name], 'object');
    assert.equal((manifest as Wire)['blueprint_spec'], 'device_compiled/3.0');
  });
});

describe('the list of devices', () => {
  const slugs = async (query: string): Promise<string[]> => {
    const { devices } = await gateway().ok('READONLY', 'GET', `/v3/devices?${query}`);
    return (devices as { slug: string }[]).map(({ slug }) => slug);
  };

  test('the list of devices has all kinds of devices, by id, with their number', async () => {
    const { devices, total_count: total } = await gateway().ok('READONLY', 'GET', '/v3/devices');
    const list = devices as { id: string; type: string }[];
    assert.equal(total, list.length);
    const ids = list.map(({ id }) => id);
    assert.deepEqual(ids, ids.toSorted());
    assert.deepEqual(list.map(({ type }) => type).toSorted(), [
      'GATEWAY',
      'LUA',
      'STANDALONE',
      'VIRTUAL_UCM',
    ]);
  });

  test('the list of devices comes in pages whose total stays', async () => {
    const all = await slugs('');
    const pages: string[] = [];
    for (let offset = 0; ; offset++) {
      const path = `/v3/devices?limit=1&offset=${offset}`;
      const { devices, total_count: total } = await gateway().ok('READONLY', 'GET', path);
      assert.equal(total, all.length);
      const [device] = devices as { slug: string }[];
      if (!device) break;
      pages.push(device.slug);
    }
    assert.deepEqual(pages, all);
    const none = await gateway().ok('READONLY', 'GET', '/v3/devices?limit=0');
    assert.deepEqual(none, { devices: [], total_count: all.length });
    assert.equal((await slugs('limit=1000000')).length, all.length);
  });

  const filters: [query: string, expected: string[]][] = [
    ['name.contains=BATT', ['battery']],
    ['name.contains=nothing', []],
    ['type.in=LUA,gateway', ['gateway', 'script']],
    ['type.in=LUA&type.in=STANDALONE', ['battery', 'script']],
    ['slug.in=battery', ['battery']],
    ['profiles.has=energy.hybrid_inverter.1_phase', ['battery']],
    ['profiles.has=energy.hybrid_inverter.1_phase,lib.firmware.version', ['battery']],
    ['profiles.has=energy.hybrid_inverter.1_phase,energy.fuel_cell', []],
    ['name.contains=&type.in=&profiles.has=', ['battery', 'communication-module', 'gateway', 'script']],
    [`site_id=${UNKNOWN_ID}&colour=red`, ['battery', 'communication-module', 'gateway', 'script']],
    ['site_id=', ['battery', 'communication-module', 'gateway', 'script']],
  ];
  for (const [query, expected] of filters)
    test(`the list of devices is ${expected.join(', ') || 'empty'} for ${query}`, async () => {
      const name = expected.includes('gateway') ? await ownSlug() : 'gateway';
      assert.deepEqual(
        (await slugs(query)).toSorted(),
        expected.map((slug) => (slug === 'gateway' ? name : slug)).toSorted(),
      );
    });

  const ownSlug = async (): Promise<string> => (await slugs('type.in=GATEWAY'))[0] ?? '';
});

describe('a change of a device', () => {
  const unchanged: [title: string, body: unknown][] = [
    ['no body', undefined],
    ['an empty body', ''],
    ['{}', {}],
    ['nulls', { name: null, slug: null }],
    ['empty texts', { name: '', slug: '' }],
    ['unknown fields beside what it has', { colour: 'red', type: 'LUA', name: 'Battery' }],
    ['what it has', { name: 'Battery', slug: 'battery' }],
  ];
  for (const [title, body] of unchanged)
    test(`a refused change leaves the device unchanged: ${title}`, async () => {
      const before = await get('/v3/devices/battery');
      const { device } = await gateway().ok('OWNER', 'PATCH', '/v3/devices/battery', body);
      assert.deepEqual(device, { ...before, authorized_role: 'OWNER' });
    });

  test('a change of a device takes name and slug, also by the older name, and answers the plain device', async () => {
    const { ok } = gateway();
    const patch = async (path: string, body: unknown): Promise<Wire> =>
      (await ok('OWNER', 'PATCH', path, body))['device'] as Wire;
    const named = await patch('/v3/devices/battery?expand=manifest', { device_name: ' Cellar ', slug: null });
    assert.deepEqual(Object.keys(named).toSorted(), FIELDS);
    assert.deepEqual([named['name'], named['slug']], ['Cellar', 'battery']);
    const both = await patch('/v3/devices/battery', { name: 'Roof', device_name: 'Cellar', slug: 'roof_1' });
    assert.deepEqual([both['name'], both['slug']], ['Roof', 'roof_1']);
    assert.equal(
      refusal(await gateway().call('OWNER', 'GET', '/v3/devices/battery')),
      '404 device_not_found',
    );
    const back = await patch('/v3/devices/roof_1', { name: 'Battery', slug: 'battery' });
    assert.ok(String(back['updated_at']) > String(named['updated_at']));
  });

  test('a change of a device keeps a name in any script, and replaces characters that are no text', async () => {
    const { ok } = gateway();
    for (const [sent, kept] of [
      ['Küche — 南 🔋', 'Küche — 南 🔋'],
      ['\ud800 half', '\ufffd half'],
      ['Battery', 'Battery'],
    ]) {
      const { device } = await ok('OWNER', 'PATCH', '/v3/devices/battery', { name: sent });
      assert.equal((device as Wire)['name'], kept);
    }
  });

  test('a change of a device keeps room and notes until they are emptied, and null changes nothing', async () => {
    const notes = 'Key at the door.\n'.repeat(200).padEnd(4_000, '…');
    const stored = async (): Promise<unknown> => {
      const { room, notes: text } = await get('/v3/devices/battery?expand=room,notes');
      return [room, text];
    };
    assert.deepEqual(await stored(), ['', '']);
    await gateway().ok('OWNER', 'PATCH', '/v3/devices/battery', { room: ' Keller ', notes });
    assert.deepEqual(await stored(), ['Keller', notes]);
    await gateway().ok('OWNER', 'PATCH', '/v3/devices/battery', { room: null, notes: null, name: '' });
    assert.deepEqual(await stored(), ['Keller', notes]);
    await gateway().ok('OWNER', 'PATCH', '/v3/devices/battery', { room: '', notes: '' });
    assert.deepEqual(await stored(), ['', '']);
  });

  test('a change of position moves a device, and the others keep their order', async () => {
    const order = async (): Promise<string[]> => {
      const { devices } = await gateway().ok('READONLY', 'GET', '/v3/devices?expand=position');
      const list = devices as { slug: string; position: number; type: string }[];
      const sorted = list.toSorted((a, b) => a.position - b.position);
      assert.deepEqual(
        sorted.map(({ position }) => position),
        sorted.map((_, index) => index),
      );
      return sorted.map(({ slug, type }) => (type === 'GATEWAY' ? 'gateway' : slug));
    };
    assert.deepEqual(await order(), ['battery', 'script', 'communication-module', 'gateway']);
    const before = await get('/v3/devices/script');
    await gateway().ok('OWNER', 'PATCH', '/v3/devices/script', { position: 0 });
    assert.deepEqual(await order(), ['script', 'battery', 'communication-module', 'gateway']);
    assert.deepEqual(await get('/v3/devices/script'), before);
    const added = await gateway().provision('Added', null);
    assert.deepEqual(await order(), ['script', 'battery', 'added', 'communication-module', 'gateway']);
    // Modules stay behind the other devices.
    await gateway().ok('OWNER', 'PATCH', '/v3/devices/communication-module', { position: 0 });
    await gateway().ok('OWNER', 'PATCH', '/v3/devices/battery', { position: 2_000 });
    assert.deepEqual(await order(), ['script', 'added', 'battery', 'communication-module', 'gateway']);
    await gateway().ok('OWNER', 'DELETE', `/v3/devices/${added.id}`);
    await gateway().ok('OWNER', 'PATCH', '/v3/devices/battery', { position: 0 });
    assert.deepEqual(await order(), ['battery', 'script', 'communication-module', 'gateway']);
  });

  test('a change of blueprint answers the plain device and keeps configuration that still fits', async () => {
    const { ok, sampleBlueprintId } = gateway();
    const group = '/v3/devices/battery/configuration/limits';
    await ok('OWNER', 'PATCH', group, { set: { minimum_soc_percent: 33 } });
    const assign = async (id: string): Promise<Wire> => {
      const answer = await ok('OWNER', 'POST', '/v3/devices/battery/assign_blueprint', { blueprint_id: id });
      return answer['device'] as Wire;
    };
    const sample = await sampleBlueprintId();
    const empty = await assign(BUILT_IN_IDS.empty);
    assert.deepEqual(Object.keys(empty).toSorted(), FIELDS);
    assert.equal(empty['blueprint_id'], BUILT_IN_IDS.empty);
    assert.equal(refusal(await gateway().call('OWNER', 'GET', group)), '404 configuration_group_not_found');
    assert.equal((await assign(sample))['blueprint_id'], sample);
  });
});
