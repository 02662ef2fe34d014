/**
 * The existing clients of the interface, line by line: what each sends, byte for byte where that matters, and
 * what it fails without. The ids are those of the client matrix: PY Python SDK, GO and GN command line in Go,
 * GD and GP Grafana, MC MCP server, VS editor extension, SA standalone device runner.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { describe, test } from 'node:test';
import mqtt from 'mqtt';
import { zipOf } from '../capabilities/blueprints/support.ts';
import type { MockDevice } from '../support/mock-device.ts';
import { connected } from '../support/mqtt.ts';
import { trace } from '../support/trace.ts';
import { refusal, useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

type Json = Record<string, unknown>;

const ROLES = ['READONLY', 'USER', 'OWNER', 'INSTALLER', 'SYSTEM', 'VENDOR'];
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z$/;
const MODULE = `V${'0123456789ABCDEF'.repeat(2)}`;
const MANIFEST = 'blueprint_spec: device/3.0\ndisplay_name: S\nruntime: {type: embedded}\n';
const LUA_MANIFEST =
  'blueprint_spec: device/3.0\ndisplay_name: L\nruntime: {type: lua, options: {file: main.lua}}\n';

let device: MockDevice;
let siteId: string;
let zip: Buffer;
let luaId: string;

const gateway = useTestGateway({}, async (started) => {
  device = await started.provision('Battery');
  await device.connect();
  device.obey({ limit_w: 5 });
  const nowS = Math.floor(Date.now() / 1_000);
  for (let ageS = 4; ageS >= 0; ageS--)
    await device.telemetry({ timestamp: nowS - ageS, battery_soc: 50 + ageS, alerts: ['battery_low'] });
  await device.log('hello', { timestamp: nowS, severity: 'warning', persist: true });
  zip = await zipOf({ 'manifest.yml': MANIFEST });
  siteId = ((await started.ok('OWNER', 'GET', '/v3/site'))['site'] as { id: string }).id;
  const lua = await zipOf({ 'manifest.yml': LUA_MANIFEST, 'main.lua': 'return 1' });
  luaId = String((await started.ok('OWNER', 'POST', '/v3/blueprints/upload', lua))['id']);
});

interface RawAnswer {
  status: number;
  /** One entry per header line. */
  lines: [name: string, value: string][];
  text: string;
}

/** Exactly these headers besides Host and the length; no client library adds its own. */
function raw(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string | Buffer,
): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
  const sent = httpRequest(
    gateway().origin + path,
    {
      method,
      headers: { ...headers, ...(body !== undefined && { 'Content-Length': Buffer.byteLength(body) }) },
    },
    (response: IncomingMessage) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const status = response.statusCode ?? 0;
        trace({ method, path, headers, body, status });
        const { rawHeaders } = response;
        const lines = rawHeaders.flatMap((name, index) =>
          index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1] ?? ''] as [string, string]] : [],
        );
        resolve({ status, lines, text: Buffer.concat(chunks).toString('utf8') });
      });
    },
  );
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

const header = ({ lines }: RawAnswer, name: string): string[] =>
  lines.filter(([key]) => key === name).map(([, value]) => value);

/** The body of a good answer, whose content type some clients compare as a whole. */
function json(answer: RawAnswer): Json {
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(header(answer, 'content-type'), ['application/json']);
  return JSON.parse(answer.text) as Json;
}

/** As each client identifies itself. */
const py = () => ({
  'X-Enapter-Auth-Token': gateway().token('INSTALLER'),
  'X-Enapter-Allow-HTTP': 'true',
  'User-Agent': 'python-httpx/0.28.1',
  Accept: '*/*',
});
const go = () => ({
  'X-Enapter-Auth-Token': gateway().token('INSTALLER'),
  'User-Agent': 'Go-http-client/1.1',
  'Content-Type': '',
});
const goNew = () => ({ ...go(), 'User-Agent': 'enapter-cli/3.0.0' });
const grafana = () => ({
  'X-Enapter-Auth-Token': gateway().token('USER'),
  'X-Enapter-Auth-User': 'does_not_exist',
  'User-Agent': 'Go-http-client/1.1',
});
const editor = () => ({ 'X-Enapter-Auth-Token': gateway().token('OWNER') });

/** JSON is sent as such by the Python client. */
const pyJson = async (method: string, path: string, body: unknown): Promise<Json> =>
  json(await raw(method, path, { ...py(), 'Content-Type': 'application/json' }, JSON.stringify(body)));
const pyGet = async (path: string): Promise<Json> => json(await raw('GET', path, py()));

function assertSite(site: Json): void {
  for (const name of ['id', 'name', 'timezone']) assert.equal(typeof site[name], 'string');
  assert.equal(site['version'], 'V3');
  assert.ok(ROLES.includes(String(site['authorized_role'])));
  const location = site['location'] as Json | undefined;
  assert.ok(location === undefined || typeof location['name'] === 'string');
}

function assertDevice(found: Json): void {
  for (const name of ['id', 'blueprint_id', 'name', 'site_id', 'slug', 'type'])
    assert.equal(typeof found[name], 'string');
  assert.match(String(found['updated_at']), ISO);
  assert.ok(ROLES.includes(String(found['authorized_role'])));
}

function assertExecution(execution: Json): void {
  assert.equal(typeof execution['id'], 'string');
  assert.equal(execution['device_id'], device.id);
  assert.match(String(execution['state']), /^(NEW|IN_PROGRESS|SUCCESS|ERROR|TIMEOUT|UNSYNC)$/);
  assert.match(String(execution['created_at']), ISO);
  const { name, arguments: given } = execution['request'] as Json;
  assert.equal(typeof name, 'string');
  assert.equal(typeof given, 'object');
}

describe('PY: the Python SDK', () => {
  test('PY-0: an error is JSON with a list of errors, and no redirect', async () => {
    const answer = await raw('GET', '/v3/devices/nobody', py());
    assert.equal(answer.status, 404);
    const [error] = (JSON.parse(answer.text) as { errors: Json[] }).errors;
    assert.deepEqual(Object.keys(error ?? {}), ['code', 'message']);
  });

  test('PY-1, PY-2: a site, and a list by offset alone until a page is empty', async () => {
    assertSite((await pyGet('/v3/site'))['site'] as Json);
    assertSite((await pyGet(`/v3/sites/${siteId}`))['site'] as Json);
    const first = await pyGet('/v3/sites?offset=0');
    assert.equal((first['sites'] as unknown[]).length, 1);
    assert.deepEqual((await pyGet('/v3/sites?offset=1'))['sites'], []);
  });

  test('PY-3, PY-5: making and deleting a site are refused with the envelope', async () => {
    const location = { name: 'Hall', latitude: null, longitude: null };
    for (const [method, path, body] of [
      ['POST', '/v3/sites', JSON.stringify({ name: 'S', timezone: 'UTC', location })],
      ['DELETE', `/v3/sites/${siteId}`, undefined],
    ] as const) {
      const { status, text } = await raw(method, path, py(), body);
      assert.equal(status, 422);
      assert.equal((JSON.parse(text) as { errors: Json[] }).errors[0]?.['code'], 'not_available_on_gateway');
    }
  });

  test('PY-4: an update with nulls for everything unchanged', async () => {
    for (const path of ['/v3/site', `/v3/sites/${siteId}`]) {
      const before = (await pyGet(path))['site'];
      const { site } = await pyJson('PATCH', path, { name: null, timezone: null, location: null });
      assert.deepEqual(site, before);
      const location = { name: null, latitude: null, longitude: null };
      assert.deepEqual(
        (await pyJson('PATCH', path, { name: null, timezone: null, location }))['site'],
        before,
      );
    }
  });

  test('PY-6, PY-7: devices with an empty expand, by offset until a page is empty', async () => {
    assertDevice((await pyGet(`/v3/devices/${device.id}?expand=`))['device'] as Json);
    const list = await pyGet(`/v3/sites/${siteId}/devices?expand=&offset=0`);
    for (const found of list['devices'] as Json[]) assertDevice(found);
    const path = `/v3/devices?expand=&offset=${String(list['total_count'])}`;
    assert.deepEqual((await pyGet(path))['devices'], []);
  });

  test('PY-8 … PY-14: a device is made, read, changed, configured and deleted', async () => {
    const made = await pyJson('POST', '/v3/provisioning/standalone', {
      name: 'P',
      site_id: null,
      slug: null,
    });
    const path = `/v3/devices/${String(made['device_id'])}`;
    assertDevice((await pyGet(`${path}?expand=`))['device'] as Json);
    assertDevice((await pyJson('PATCH', path, { name: null, slug: 'py-slug' }))['device'] as Json);
    assertDevice((await pyJson('PATCH', path, { name: 'Q', slug: null }))['device'] as Json);
    const assign = `${path}/assign_blueprint`;
    assertDevice((await pyJson('POST', assign, { blueprint_id: luaId }))['device'] as Json);
    const { config } = await pyJson('POST', `${path}/generate_config`, { protocol: 'MQTT' });
    assert.equal(Object.keys(config as object).length, 9);
    assert.equal('ucm_id' in (config as object), false);
    json(await raw('DELETE', path, py()));
  });

  test('PY-9, PY-10: a virtual module and a Lua device on it', async () => {
    const module = await pyJson('POST', '/v3/provisioning/vucm', {
      name: 'M',
      hardware_id: MODULE,
      site_id: null,
    });
    const path = `/v3/devices/${String(module['device_id'])}?expand=communication`;
    assertDevice((await pyGet(path))['device'] as Json);
    const lua = await pyJson('POST', '/v3/provisioning/lua_device', {
      runtime_id: module['device_id'],
      blueprint_id: luaId,
      name: 'L',
      slug: null,
    });
    assertDevice((await pyGet(`/v3/devices/${String(lua['device_id'])}?expand=`))['device'] as Json);
  });

  test('PY-15 … PY-19: blueprints as raw zip without Content-Type, and profiles', async () => {
    const { blueprint } = json(await raw('POST', '/v3/blueprints/upload', py(), zip));
    assert.match(String((blueprint as Json)['created_at']), ISO);
    const path = `/v3/blueprints/${String((blueprint as Json)['id'])}`;
    assert.deepEqual((await pyGet(path))['blueprint'], blueprint);
    assert.deepEqual(json(await raw('POST', '/v3/blueprints/validate', py(), zip)), {});
    const broken = await zipOf({ 'manifest.yml': 'display_name: X\n' });
    const { validation_errors: errors } = json(await raw('POST', '/v3/blueprints/validate', py(), broken));
    assert.ok((errors as unknown[]).every((text) => typeof text === 'string'));
    for (const view of ['ORIGINAL', 'COMPILED'])
      assert.equal((await raw('GET', `${path}/zip?view=${view}`, py())).status, 200);
    assert.equal((await raw('GET', '/v3/blueprints/device_profiles/download', py())).status, 200);
  });

  test('PY-20 … PY-24: commands by the older paths, with an empty expand', async () => {
    const root = `/v3/devices/${device.id}`;
    const body = { name: 'read_settings', arguments: {} };
    const { execution } = await pyJson('POST', `${root}/execute_command?expand=`, body);
    assertExecution(execution as Json);
    assert.equal((execution as Json)['state'], 'SUCCESS');
    const { execution_id: id } = await pyJson('POST', `${root}/command_executions`, body);
    assertExecution(
      (await pyGet(`${root}/command_executions/${String(id)}?expand=log`))['execution'] as Json,
    );
    const query =
      'order=CREATED_AT_DESC&created_at.gte=2020-01-01T00:00:00&created_at.lt=2100-01-01T00:00:00' +
      '&state.in=SUCCESS,IN_PROGRESS,NEW&name.in=read_settings&offset=';
    const list = await pyGet(`${root}/command_executions?${query}0`);
    for (const item of list['executions'] as Json[]) assertExecution(item);
    const end = String(list['total_count']);
    assert.deepEqual((await pyGet(`${root}/command_executions?${query}${end}`))['executions'], []);
    const site = await pyGet(`/v3/sites/${siteId}/commands/executions?device_id.in=${device.id}&${query}0`);
    // One of them may still run.
    const ids = ({ executions }: Json): unknown[] => (executions as Json[]).map(({ id: each }) => each);
    assert.deepEqual(ids(site), ids(list));
  });

  test('PY-25 … PY-32: rules, the list first without offset', async () => {
    const root = '/v3/site/rule_engine';
    const { engine } = await pyGet(root);
    assert.match(String((engine as Json)['state']), /^(ACTIVE|SUSPENDED)$/);
    for (const verb of ['suspend', 'resume']) json(await raw('POST', `${root}/${verb}`, py()));
    const code = Buffer.from('return 1 -- ü').toString('base64');
    const made = await pyJson('POST', `${root}/rules`, {
      slug: 'py-rule',
      script: { code, runtime_version: 'V3' },
      disable: true,
    });
    const { id, script, disabled, state } = made['rule'] as Json;
    assert.deepEqual([disabled, state], [true, 'STOPPED']);
    assert.deepEqual(script, { code, runtime_version: 'V3' });
    const list = await pyGet(`${root}/rules`);
    assert.equal(list['total_count'], 1);
    assert.deepEqual((await pyGet(`${root}/rules?offset=1`))['rules'], []);
    const path = `${root}/rules/${String(id)}`;
    assert.deepEqual((await pyGet(path))['rule'], made['rule']);
    await pyJson('PATCH', path, { slug: 'py-rule-2' });
    await pyJson('POST', `${path}/update_script`, { script: { code, runtime_version: 'V1' } });
    for (const verb of ['enable', 'disable']) json(await raw('POST', `${path}/${verb}`, py()));
    json(await raw('DELETE', path, py()));
  });

  test('PY-33: latest values by brackets that are percent-encoded', async () => {
    const name = encodeURIComponent(`devices[${device.id}]`);
    const path = `/v3/telemetry/latest?${name}=battery_soc,status&relevance_interval=60s`;
    const { telemetry } = await pyGet(path);
    const { battery_soc: soc, status } = (telemetry as Record<string, Json>)[device.id] ?? {};
    assert.deepEqual(Object.keys(soc as object), ['value', 'timestamp']);
    assert.equal(typeof (soc as Json)['timestamp'], 'number');
    assert.deepEqual(Object.keys(status as object), ['warning']);
  });

  test('PY-34: a time series by naive times, an attribute array and gap filling none', async () => {
    const isoOf = (offsetMs: number): string =>
      new Date(Date.now() + offsetMs).toISOString().replace('Z', '000');
    const body = {
      from: isoOf(-60_000),
      to: isoOf(60_000),
      granularity: '1s',
      telemetry: [
        {
          device: device.id,
          attribute: ['battery_soc', 'alerts'],
          aggregation: 'auto',
          gap_filling: { method: 'none', look_around: '0s' },
        },
      ],
    };
    const headers = { ...py(), Accept: 'text/csv', 'Content-Type': 'application/json' };
    const answer = await raw('POST', '/v3/telemetry/query_timeseries', headers, JSON.stringify(body));
    assert.equal(answer.status, 200, answer.text);
    assert.equal(header(answer, 'x-enapter-timeseries-data-types').join(','), 'string_array,float');
    assert.deepEqual(header(answer, 'x-service-timeseries-data-types'), ['string_array,float']);
    const [head = '', ...rows] = answer.text.split('\n');
    assert.equal(rows.pop(), '');
    assert.equal(rows.length, 5);
    const [ts, ...labels] = head.split(',');
    assert.equal(ts, 'ts');
    for (const label of labels)
      for (const pair of label.split(' ')) assert.equal(pair.split('=').length, 2, pair);
    for (const row of rows) assert.match(row, /^\d+,"\[""battery_low""\]",\d+$/);
  });
});

describe('GO, GN: the command line', () => {
  test('GO-1, GO-2, GN-6: sites with a total, also by the doubled path', async () => {
    for (const path of [
      '/v3/sites?offset=0&limit=50',
      '/v3/sites/users/me/sites?limit=1',
      '/v3/users/me/sites',
    ]) {
      const { sites, total_count: total } = json(await raw('GET', path, go()));
      assert.equal(total, 1);
      assert.equal((sites as Json[])[0]?.['id'], siteId);
    }
  });

  test('GO-3 … GO-6: sites and devices with the older expand and a needless site_id', async () => {
    json(await raw('GET', `/v3/sites/${siteId}`, go()));
    const query = `expand=communication_info,connectivity&limit=50&site_id=${siteId}`;
    for (const root of ['/v3/devices', `/v3/sites/${siteId}/devices`]) {
      const { devices, total_count: total } = json(await raw('GET', `${root}?${query}`, go()));
      assert.equal((devices as unknown[]).length, total);
      assert.ok((devices as Json[]).every((found) => 'communication' in found));
    }
    json(await raw('GET', `/v3/devices/${device.id}?expand=communication_info`, go()));
  });

  test('GO-7 … GO-10, GN-2, GN-7: provisioning with empty texts and an empty Content-Type', async () => {
    const post = async (path: string, body: unknown): Promise<Json> =>
      json(await raw('POST', path, go(), JSON.stringify(body)));
    const made = await post('/v3/provisioning/standalone', { site_id: '', name: 'G' });
    await post('/v3/provisioning/lua_device', {
      runtime_id: 'gateway',
      blueprint_id: luaId,
      name: 'GL',
      slug: '',
    });
    const path = `/v3/devices/${String(made['device_id'])}`;
    await post(`${path}/assign_blueprint`, { blueprint_id: luaId });
    await post(`${path}/generate_config`, { protocol: 'MQTT' });
    const below = `/v3/sites/${siteId}/devices/${String(made['device_id'])}`;
    const patched = json(await raw('PATCH', below, goNew(), '{"name":"","slug":"go-slug"}'));
    assert.deepEqual(
      [(patched['device'] as Json)['name'], (patched['device'] as Json)['slug']],
      ['G', 'go-slug'],
    );
    json(await raw('DELETE', path, go()));
  });

  test('GO-11, GO-12: a command without arguments, and its executions', async () => {
    const root = `/v3/devices/${device.id}`;
    const body = '{"name":"read_settings"}';
    const { execution } = json(await raw('POST', `${root}/execute_command`, go(), body));
    assert.deepEqual(((execution as Json)['request'] as Json)['arguments'], {});
    json(await raw('GET', `${root}/command_executions?expand=log`, go()));
    json(await raw('GET', `${root}/command_executions/${String((execution as Json)['id'])}`, go()));
  });

  test('GO-13 … GO-17: blueprints by name and id, profiles by the older paths', async () => {
    const { blueprint } = json(await raw('GET', '/v3/blueprints/enapter/battery-inverter/latest', go()));
    const unknown = await raw('GET', '/v3/blueprints/enapter/toaster/latest', go());
    assert.equal(unknown.status, 404);
    const uploaded = json(await raw('POST', '/v3/blueprints/upload', go(), zip));
    assert.equal((uploaded['blueprint'] as Json)['id'], uploaded['id']);
    json(await raw('GET', `/v3/blueprints/${String((blueprint as Json)['id'])}`, go()));
    const compiled = await raw('GET', `/v3/blueprints/${String((blueprint as Json)['id'])}/zip`, go());
    assert.deepEqual(header(compiled, 'content-type'), ['application/zip']);
    assert.match(header(compiled, 'content-disposition')[0] ?? '', /^attachment; filename=".+"$/);
    const profiles = await raw('GET', '/v3/blueprints/download_device_profiles', go());
    assert.equal(profiles.status, 200);
    const quiet = await zipOf({ 'sensor/quiet.yml': 'blueprint_spec: profile/1.0\ndisplay_name: Quiet\n' });
    assert.deepEqual(json(await raw('POST', '/v3/blueprints/upload_device_profiles', go(), quiet)), {});
  });

  test('GO-18 … GO-23: rules by the site alias, with exec_interval 0s and batches of slugs', async () => {
    const root = '/v3/site/rule_engine';
    const post = async (path: string, body?: string): Promise<Json> =>
      json(await raw('POST', root + path, go(), body));
    const script = {
      code: Buffer.from('return 1').toString('base64'),
      runtime_version: 'V3',
      exec_interval: '0s',
    };
    json(await raw('GET', root, go()));
    await post('/suspend');
    await post('/resume');
    const { rule } = await post('/rules', JSON.stringify({ slug: 'go-rule', script, disable: false }));
    json(await raw('GET', `${root}/rules`, go()));
    json(await raw('GET', `${root}/rules/go-rule`, go()));
    await post(
      '/rules/go-rule/update_script',
      JSON.stringify({ script: { ...script, runtime_version: 'V1' } }),
    );
    json(await raw('PATCH', `${root}/rules/go-rule`, go(), '{}'));
    for (const verb of ['batch_disable', 'batch_enable']) {
      const { rules } = await post(
        `/rules/${verb}`,
        JSON.stringify({ rule_ids: [(rule as Json)['id'], 'go-rule'] }),
      );
      assert.equal((rules as unknown[]).length, 1);
    }
    json(await raw('DELETE', `${root}/rules/go-rule`, { ...go(), 'Content-Type': 'application/json' }));
  });

  test('GO-24, GN: logs in both revisions; the device’s time only for who can read it', async () => {
    const query =
      'received_at_from=2020-01-01T00:00:00Z&received_at_to=2100-01-01T00:00:00Z' +
      '&offset=0&limit=10&severity=warning&order=RECEIVED_AT_ASC&show=PERSISTED_ONLY';
    const path = `/v3/devices/${device.id}/logs?${query}`;
    const [old] = json(await raw('GET', path, go()))['logs'] as Json[];
    for (const name of ['received_at', 'severity', 'message']) assert.equal(typeof old?.[name], 'string');
    assert.equal('timestamp' in (old ?? {}), false);
    const below = `/v3/sites/${siteId}/devices/${device.id}/logs?retention=PERSISTENT`;
    const [fresh] = json(await raw('GET', below, goNew()))['logs'] as Json[];
    assert.equal(Number.isInteger(fresh?.['timestamp']), true);
  });

  test('GO-25, GN-4: the log stream without a User-Agent is flat, and nested too', async () => {
    const { watch, token } = gateway();
    const headers = { 'X-Enapter-Auth-Token': token('USER') };
    const socket = await watch(null, `/v3/devices/${device.id}/logs?severity=error&show=ALL`, headers);
    const named = await watch(null, `/v3/sites/${siteId}/devices/${device.id}/logs`, {
      ...headers,
      'User-Agent': 'enapter-cli/3.0.0',
    });
    await device.log('streamed', { severity: 'error', timestamp: 1_772_352_000 });
    await until(() => socket.messages.length > 0 && named.messages.length > 0);
    const [flat, nested] = [socket.messages[0], named.messages[0]] as Json[];
    assert.deepEqual([flat?.['severity'], flat?.['message']], ['error', 'streamed']);
    assert.equal('timestamp' in (flat ?? {}), false);
    assert.deepEqual(nested?.['log'], { severity: 'error', message: 'streamed' });
    assert.equal(nested?.['timestamp'], 1_772_352_000);
    socket.close();
    named.close();
  });

  test('GO-26, GO-27, GN-3: telemetry and monitor, the monitor with a trailing slash and repeated ids', async () => {
    json(await raw('GET', `/v3/devices/${device.id}/telemetry`, go()));
    const { watch, token } = gateway();
    const headers = { 'X-Enapter-Auth-Token': token('USER') };
    const telemetry = await watch(null, `/v3/devices/${device.id}/telemetry`, headers);
    const monitor = await watch(null, `/v3/devices/?id.in=${device.id}&id.in=gateway`, headers);
    await device.telemetry({ battery_soc: 77 });
    await until(() => telemetry.messages.length > 0 && monitor.messages.length > 0);
    const [message] = monitor.messages as Json[];
    for (const name of ['device_id', 'received_at', 'timestamp', 'telemetry'])
      assert.ok(name in (message ?? {}));
    assert.equal(Number.isInteger(message?.['timestamp']), true);
    telemetry.close();
    monitor.close();
  });

  test('GN-5: the remote terminal is refused with the envelope', async () => {
    const { status, text } = await raw(
      'POST',
      `/v3/sites/${siteId}/devices/${device.id}/run_terminal`,
      goNew(),
      '{}',
    );
    assert.equal(status, 422);
    assert.equal((JSON.parse(text) as { errors: unknown[] }).errors.length, 1);
  });
});

describe('GD, GP: Grafana', () => {
  test('GD-1: the health probe of telemetry gets exactly one error with the code it compares', async () => {
    const body = {
      from: '2026-01-01T00:00:00Z',
      to: '2026-01-01T01:00:00Z',
      granularity: '1m',
      telemetry: [{ device: randomUUID(), attribute: 'does_not_exist' }],
    };
    const answer = await raw(
      'POST',
      '/v3/telemetry/query_timeseries',
      { ...grafana(), Accept: 'text/csv' },
      JSON.stringify(body),
    );
    assert.equal(answer.status, 404);
    assert.deepEqual(header(answer, 'content-type'), ['application/json']);
    const { errors } = JSON.parse(answer.text) as { errors: Json[] };
    assert.deepEqual(
      errors.map(({ code }) => code),
      ['telemetrypersistence/NO_TELEMETRY_ATTRIBUTES_FOUND'],
    );
  });

  test('GD-2: the health probe of devices gets exactly one error', async () => {
    const answer = await raw('GET', '/v3/devices/does_not_exist/manifest', grafana());
    assert.equal(answer.status, 404);
    assert.equal((JSON.parse(answer.text) as { errors: unknown[] }).errors.length, 1);
  });

  test('GD-3: a query has one header line per column, and rows as long as the head', async () => {
    const at = (offsetMs: number): string =>
      new Date(Date.now() + offsetMs).toISOString().replace('Z', '123456Z');
    const body = {
      from: at(-60_000),
      to: at(60_000),
      granularity: '1m0s',
      telemetry: [
        { device: device.slug, attribute: 'battery_soc', aggregation: 'avg' },
        { device: device.slug, attribute: 'status', aggregation: 'last' },
      ],
    };
    const headers = { ...grafana(), Accept: 'text/csv' };
    const answer = await raw('POST', '/v3/telemetry/query_timeseries', headers, JSON.stringify(body));
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(header(answer, 'content-type'), ['text/csv']);
    assert.notEqual(header(answer, 'content-length')[0], '0');
    assert.deepEqual(header(answer, 'x-enapter-timeseries-data-types'), ['float', 'string']);
    const [head = '', ...rows] = answer.text.trimEnd().split('\n');
    assert.match(head, /^ts,telemetry=battery_soc device=[0-9a-f-]{36} aggregation=avg granularity=1m0s /);
    assert.ok(rows.length > 0);
    for (const row of rows) assert.equal(row.split(',').length, 3, row);
  });

  test('GD-3: without rows there is still a head', async () => {
    const body = {
      from: '2026-01-01T00:00:00Z',
      to: '2026-01-01T01:00:00Z',
      telemetry: [{ device: device.slug, attribute: 'battery_soc' }],
    };
    const headers = { ...grafana(), Accept: 'text/csv' };
    const { text } = await raw('POST', '/v3/telemetry/query_timeseries', headers, JSON.stringify(body));
    assert.equal(text.split('\n').length, 2);
  });

  test('GD-4, GP-1: the manifest has what the panel reads', async () => {
    const { manifest } = json(
      await raw('GET', `/v3/devices/${device.id}/manifest`, { ...grafana(), Accept: 'application/json' }),
    );
    const commands = (manifest as { commands: Record<string, Json> }).commands;
    for (const command of Object.values(commands)) {
      assert.equal(typeof command['display_name'], 'string');
      for (const argument of Object.values((command['arguments'] ?? {}) as Record<string, Json>)) {
        assert.match(String(argument['type']), /^(integer|float|string|boolean)$/);
        assert.equal('enum' in argument && 'enum_with_metainfo' in argument, false);
      }
    }
  });

  test('GD-5, GP-2, GP-4: a command is answered when it has ended, with its values', async () => {
    const path = `/v3/devices/${device.id}/execute_command`;
    const body = '{"name":"read_settings","arguments":{}}';
    const { execution } = json(await raw('POST', path, grafana(), body));
    const { state, payload } = (execution as Json)['response'] as Json;
    assert.equal(String(state).toLowerCase(), 'succeeded');
    assert.deepEqual(payload, { result: { limit_w: 5 } });
  });

  test('GP-3: a failed command has an object with a message', async () => {
    device.onRequest = (request) => {
      device.answer(request, 'error', { reason: 'locked' }).catch(() => undefined);
    };
    const path = `/v3/devices/${device.id}/execute_command`;
    const { execution } = json(await raw('POST', path, grafana(), '{"name":"read_settings","arguments":{}}'));
    device.obey({ limit_w: 5 });
    assert.deepEqual(((execution as Json)['response'] as Json)['payload'], {
      reason: 'locked',
      message: 'locked',
    });
  });
});

describe('MC: the MCP server', () => {
  test('MC-2, MC-9: the gateway is in the list and ONLINE', async () => {
    const { devices } = await pyGet(
      `/v3/sites/${siteId}/devices?expand=connectivity,raised_alert_names&offset=0`,
    );
    const own = (devices as Json[]).filter(({ type }) => type === 'GATEWAY');
    assert.deepEqual(
      own.map(({ connectivity }) => connectivity),
      [{ status: 'ONLINE' }],
    );
  });

  test('MC-3: every manifest in the list has types, names and severities that it knows', async () => {
    const types = /^(integer|float|string|boolean|json|array_of_strings|object|alerts)$/;
    const path = '/v3/devices?expand=manifest,properties,connectivity,raised_alert_names&offset=0';
    for (const { manifest, raised_alert_names: raised } of (await pyGet(path))['devices'] as Json[]) {
      assert.ok(Array.isArray(raised));
      const { properties, telemetry, alerts, commands } = manifest as Record<string, Record<string, Json>>;
      for (const attribute of [...Object.values(properties ?? {}), ...Object.values(telemetry ?? {})]) {
        assert.equal(typeof attribute['display_name'], 'string');
        assert.match(String(attribute['type']), types);
        assert.ok(attribute['enum'] === undefined || Array.isArray(attribute['enum']));
      }
      for (const alert of Object.values(alerts ?? {}))
        assert.match(String(alert['severity']), /^(info|warning|error)$/);
      for (const command of Object.values(commands ?? {}))
        assert.ok(ROLES.includes(String(command['access_level']).toUpperCase()));
    }
  });

  test('MC-8: an attribute above the role is a missing column, not an error', async () => {
    const body = {
      from: '2026-01-01T00:00:00Z',
      to: '2026-01-01T01:00:00Z',
      telemetry: [
        { device: device.id, attribute: ['battery_soc', 'internal_fan_speed'], aggregation: 'avg' },
      ],
    };
    const headers = { ...grafana(), Accept: 'text/csv' };
    const answer = await raw('POST', '/v3/telemetry/query_timeseries', headers, JSON.stringify(body));
    assert.equal(answer.status, 200);
    assert.equal(answer.text.split(',').length, 2);
  });

  test('MC-9: a taken slug of a rule is a conflict', async () => {
    const { ok, call } = gateway();
    const script = { code: Buffer.from('return 1').toString('base64'), runtime_version: 'V3' };
    const rule = { slug: 'mcp-1', script, disable: true };
    await ok('OWNER', 'POST', '/v3/site/rule_engine/rules', rule);
    assert.equal(
      refusal(await call('OWNER', 'POST', '/v3/site/rule_engine/rules', rule)),
      '409 already_exists',
    );
  });
});

describe('VS: the editor extension', () => {
  test('VS-1 … VS-7: the site and the tree of devices below /api, in one page', async () => {
    const { site } = json(await raw('GET', '/api/v3/site', editor()));
    assert.equal((site as Json)['id'], siteId);
    const again = json(await raw('GET', `/api/v3/sites/${siteId}`, editor()));
    assert.equal((again['site'] as Json)['id'], siteId);
    const { devices, total_count: total } = json(
      await raw('GET', `/api/v3/sites/${siteId}/devices?expand=connectivity`, editor()),
    );
    assert.equal((devices as unknown[]).length, total);
    json(await raw('GET', `/api/v3/devices/${device.id}?expand=connectivity`, editor()));
    json(await raw('GET', '/api/v3/devices', editor()));
    json(await raw('GET', '/api/v3/devices?expand=properties,connectivity', editor()));
    const { sites } = json(await raw('GET', '/api/v3/sites?name=undefined', editor()));
    assert.equal((sites as unknown[]).length, 1);
  });

  test('VS-8: deleting a device answers JSON', async () => {
    const extra = await gateway().provision('Extra', null);
    const path = `/api/v3/sites/${siteId}/devices/${extra.id}`;
    assert.deepEqual(json(await raw('DELETE', path, editor())), {});
  });

  test('VS-9 … VS-11: a blueprint as application/zip; a broken one with a message per problem', async () => {
    const headers = { ...editor(), 'Content-Type': 'application/zip' };
    const uploaded = json(await raw('POST', '/api/v3/blueprints/upload', headers, zip));
    const id = String((uploaded['blueprint'] as Json)['id']);
    const broken = await zipOf({ 'manifest.yml': 'display_name: X\n' });
    const refused = await raw('POST', '/api/v3/blueprints/upload', headers, broken);
    assert.equal(refused.status, 422);
    const { errors } = JSON.parse(refused.text) as { errors: Json[] };
    assert.ok(errors.length > 0 && errors.every(({ message }) => typeof message === 'string'));
    const original = await gateway().request('OWNER', 'GET', `/api/v3/blueprints/${id}/zip?view=ORIGINAL`);
    assert.deepEqual(Buffer.from(await original.arrayBuffer()), zip);
    const extra = await gateway().provision('Assigned', null);
    const body = JSON.stringify({ blueprint_id: id });
    json(await raw('POST', `/api/v3/devices/${extra.id}/assign_blueprint`, editor(), body));
  });

  test('VS-12: the log stream of a device below its site', async () => {
    const headers = { 'X-Enapter-Auth-Token': gateway().token('USER') };
    const socket = await gateway().watch(null, `/api/v3/sites/${siteId}/devices/${device.id}/logs`, headers);
    await device.log('for the editor', { severity: 'debug' });
    await until(() => socket.messages.length > 0);
    assert.deepEqual((socket.messages[0] as Json)['log'], { severity: 'debug', message: 'for the editor' });
    socket.close();
  });
});

describe('SA: the standalone device runner', () => {
  test('SA-1 … SA-7: two sessions of one device, everything at QoS 0, a command across both', async () => {
    const { ok, sampleBlueprintId, ports } = gateway();
    const made = await ok('OWNER', 'POST', '/v3/provisioning/standalone', { name: 'Runner' });
    const path = `/v3/devices/${String(made['device_id'])}`;
    await ok('OWNER', 'POST', `${path}/assign_blueprint`, { blueprint_id: await sampleBlueprintId() });
    const config = made['config'] as Json;
    const { username, password } = config['mqtt_credentials'] as { username: string; password: string };
    const connect = async () => {
      const client = mqtt.connect({
        host: '127.0.0.1',
        port: ports.mqttPort,
        username,
        password,
        clientId: '',
        clean: true,
        keepalive: 60,
        protocolVersion: 4,
        reconnectPeriod: 0,
      });
      await connected(client);
      return client;
    };
    const [telling, hearing] = [await connect(), await connect()];
    const from = `v1/from/${String(config['hardware_id'])}/${String(config['channel_id'])}`;
    const to = from.replace('from', 'to');
    const tell = (subject: string, body: unknown) =>
      telling.publishAsync(`${from}/${subject}`, JSON.stringify(body), { qos: 0 });
    hearing.on('message', (_topic, payload) => {
      const request = JSON.parse(payload.toString()) as { id: string };
      assert.deepEqual(Object.keys(request), ['id', 'name', 'arguments']);
      void tell('v1/command/responses', {
        id: request.id,
        state: 'log',
        payload: { message: 'started working' },
      }).then(() =>
        tell('v1/command/responses', { id: request.id, state: 'completed', payload: { result: null } }),
      );
    });
    const granted = await hearing.subscribeAsync(`${to}/v1/command/requests`, { qos: 0 });
    assert.equal(granted[0]?.qos, 0);
    const timestamp = Math.floor(Date.now() / 1_000);
    await tell('v1/telemetry', { timestamp, battery_soc: 1, alerts: ['battery_low'] });
    await tell('v1/telemetry', { timestamp: timestamp + 1, battery_soc: 2, alerts: null });
    await tell('v1/register', { timestamp, vendor: 'SDK' });
    await tell('v3/logs', { timestamp, message: 'up', severity: 'info', persist: false });
    await until(async () => {
      const answer = await ok('USER', 'GET', `${path}?expand=properties,raised_alert_names`);
      const { properties, raised_alert_names: raised } = answer['device'] as Json;
      return (properties as Json)['vendor'] === 'SDK' && (raised as string[]).includes('battery_low');
    });
    await until(async () => ((await ok('USER', 'GET', `${path}/logs`))['logs'] as unknown[]).length > 0);
    const { execution } = await ok('USER', 'POST', `${path}/execute_command?expand=log`, {
      name: 'read_settings',
    });
    const { state, log } = execution as { state: string; log: { state: string }[] };
    assert.equal(state, 'SUCCESS');
    assert.deepEqual(
      log.map((entry) => entry.state),
      ['SUCCEEDED', 'IN_PROGRESS', 'STARTED'],
    );
    for (const client of [telling, hearing]) await client.endAsync(true);
  });
});

describe('what documentation and other clients send besides (2, 15)', () => {
  test('JSON under the form type of its curl samples', async () => {
    const headers = { ...editor(), 'Content-Type': 'application/x-www-form-urlencoded' };
    const { device: patched } = json(
      await raw('PATCH', `/v3/devices/${device.id}`, headers, '{"device_name":"Battery"}'),
    );
    assert.equal((patched as Json)['name'], 'Battery');
  });

  test('the token as Bearer, and of several the first of Service, Enapter, Bearer', async () => {
    const { token } = gateway();
    const role = async (headers: Record<string, string>): Promise<unknown> =>
      (json(await raw('GET', '/v3/site', headers))['site'] as Json)['authorized_role'];
    const bearer = { Authorization: `Bearer ${token('READONLY')}` };
    assert.equal(await role(bearer), 'READONLY');
    const enapter = { ...bearer, 'X-Enapter-Auth-Token': token('USER') };
    assert.equal(await role(enapter), 'USER');
    assert.equal(await role({ ...enapter, 'X-Service-Auth-Token': token('OWNER') }), 'OWNER');
  });

  test('an archive as multipart part data', async () => {
    const form = new FormData();
    form.set('data', new Blob([Uint8Array.from(zip)]), 'blueprint.zip');
    const sent = new Request(`${gateway().origin}/v3/blueprints/upload`, { method: 'POST', body: form });
    const body = Buffer.from(await sent.arrayBuffer());
    const headers = { ...editor(), 'Content-Type': sent.headers.get('content-type') ?? '' };
    const { id } = json(await raw('POST', '/v3/blueprints/upload', headers, body));
    assert.equal(typeof id, 'string');
  });

  test('every answer may be used by a time client, is not kept by caches, and echoes the request id', async () => {
    const answer = await raw('GET', '/v3/site', { ...editor(), 'X-Request-Id': 'abc-1' });
    const sentMs = Date.parse(header(answer, 'date')[0] ?? '');
    assert.ok(Math.abs(sentMs - Date.now()) < 5_000);
    assert.deepEqual(header(answer, 'cache-control'), ['no-store']);
    assert.deepEqual(header(answer, 'x-request-id'), ['abc-1']);
  });
});
