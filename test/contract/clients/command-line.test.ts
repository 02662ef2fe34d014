/** The command line in Go, its released and its later revisions, call by call. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { zipOf } from '../../capabilities/blueprints/support.ts';
import { until } from '../../support/until.ts';
import {
  type Json,
  device,
  siteId,
  zip,
  luaId,
  gateway,
  raw,
  header,
  json,
  go,
  goNew,
  useClientGateway,
} from './support.ts';

useClientGateway();

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

  test('GO-28: the log stream of a rule has whole seconds, by slug and id', async () => {
    const { ok, watch, token } = gateway();
    const rules = '/v3/site/rule_engine/rules';
    const script = (text: string) => ({
      code: Buffer.from(text).toString('base64'),
      runtime_version: 'V3',
    });
    const rule = { slug: 'go-log', script: script('return 1'), disable: true };
    const made = (await ok('OWNER', 'POST', rules, rule))['rule'] as Json;
    const headers = { 'X-Enapter-Auth-Token': token('USER') };
    const sockets = [
      await watch(null, `${rules}/go-log/logs`, headers),
      await watch(null, `/v3/sites/${siteId}/rule_engine/rules/${String(made['id'])}/logs/ws`, headers),
    ];
    await ok('OWNER', 'POST', `${rules}/go-log/update_script`, { script: script('return (') });
    for (const socket of sockets) {
      await until(() => socket.messages.length > 0);
      const { timestamp, severity, message } = socket.messages[0] as Json;
      assert.deepEqual([Number.isInteger(timestamp), severity], [true, 'error']);
      assert.equal(typeof message, 'string');
      socket.close();
    }
    await ok('OWNER', 'DELETE', `${rules}/go-log`);
  });

  test('GN-1: every call on a device below its site', async () => {
    const root = `/v3/sites/${siteId}/devices/${device.id}`;
    for (const path of [
      `${root}?expand=connectivity,manifest`,
      `${root}/manifest`,
      `${root}/telemetry`,
      `${root}/logs?limit=10`,
      `${root}/command_executions?expand=log`,
    ])
      json(await raw('GET', path, goNew()));
    json(await raw('POST', `${root}/execute_command`, goNew(), '{"name":"read_settings"}'));
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
