/** The Python SDK and its command line, call by call. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { zipOf } from '../../capabilities/blueprints/support.ts';
import {
  type Json,
  ISO,
  MODULE,
  device,
  siteId,
  zip,
  luaId,
  raw,
  header,
  json,
  py,
  pyJson,
  pyGet,
  assertSite,
  assertDevice,
  assertExecution,
  useClientGateway,
} from './support.ts';

useClientGateway();

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
