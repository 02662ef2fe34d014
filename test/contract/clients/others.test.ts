/** The editor extension, the standalone device runner, and what else is sent. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import mqtt from 'mqtt';
import { zipOf } from '../../capabilities/blueprints/support.ts';
import { connected } from '../../support/mqtt.ts';
import { refusal, startTestGateway } from '../../support/test-gateway.ts';
import { until } from '../../support/until.ts';
import {
  type Json,
  device,
  siteId,
  zip,
  gateway,
  raw,
  header,
  json,
  editor,
  useClientGateway,
} from './support.ts';

useClientGateway();

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

  test('VS-13: a device opened in a browser is its page of the console; without a console 404', async (t) => {
    const path = '/ems/devices/battery-1';
    const consoleDir = mkdtempSync(join(tmpdir(), 'console-'));
    t.after(() => rmSync(consoleDir, { recursive: true }));
    const bare = await startTestGateway(t, { consoleDir });
    assert.equal(refusal(await bare.call(null, 'GET', path)), '404 route_not_found');
    writeFileSync(join(consoleDir, 'index.html'), '<!doctype html>');
    const served = await startTestGateway(t, { consoleDir });
    const { status, headers } = await served.call(null, 'GET', path);
    assert.deepEqual([status, headers.get('location')], [302, '/#/devices/battery-1']);
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

describe('what documentation and other clients send besides', () => {
  test('the form type of curl samples is accepted for JSON', async () => {
    const headers = { ...editor(), 'Content-Type': 'application/x-www-form-urlencoded' };
    const { device: patched } = json(
      await raw('PATCH', `/v3/devices/${device.id}`, headers, '{"device_name":"Battery"}'),
    );
    assert.equal((patched as Json)['name'], 'Battery');
  });

  test('the token is taken as Bearer, and of several the first of Service, Enapter, Bearer', async () => {
    const { token } = gateway();
    const role = async (headers: Record<string, string>): Promise<unknown> =>
      (json(await raw('GET', '/v3/site', headers))['site'] as Json)['authorized_role'];
    const bearer = { Authorization: `Bearer ${token('READONLY')}` };
    assert.equal(await role(bearer), 'READONLY');
    const enapter = { ...bearer, 'X-Enapter-Auth-Token': token('USER') };
    assert.equal(await role(enapter), 'USER');
    assert.equal(await role({ ...enapter, 'X-Service-Auth-Token': token('OWNER') }), 'OWNER');
  });

  test('an archive is taken as multipart part data', async () => {
    const form = new FormData();
    form.set('data', new Blob([Uint8Array.from(zip)]), 'blueprint.zip');
    const sent = new Request(`${gateway().origin}/v3/blueprints/upload`, { method: 'POST', body: form });
    const body = Buffer.from(await sent.arrayBuffer());
    const headers = { ...editor(), 'Content-Type': sent.headers.get('content-type') ?? '' };
    const { id } = json(await raw('POST', '/v3/blueprints/upload', headers, body));
    assert.equal(typeof id, 'string');
  });

  test('every answer is usable by a time client, not cached, and echoes the request id', async () => {
    const answer = await raw('GET', '/v3/site', { ...editor(), 'X-Request-Id': 'abc-1' });
    const sentMs = Date.parse(header(answer, 'date')[0] ?? '');
    assert.ok(Math.abs(sentMs - Date.now()) < 5_000);
    assert.deepEqual(header(answer, 'cache-control'), ['no-store']);
    assert.deepEqual(header(answer, 'x-request-id'), ['abc-1']);
  });
});
