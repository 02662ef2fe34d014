/** The MCP server, tool by tool: an assistant that reads the gateway through the Python SDK. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusal } from '../../support/test-gateway.ts';
import {
  assertExecution,
  assertSite,
  device,
  gateway,
  grafana,
  type Json,
  pyGet,
  pyJson,
  raw,
  ROLES,
  siteId,
  useClientGateway,
} from './support.ts';

useClientGateway();

const TYPES = /^(integer|float|string|boolean|json|array_of_strings|object|alerts)$/;

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
    const path = '/v3/devices?expand=manifest,properties,connectivity,raised_alert_names&offset=0';
    for (const { manifest, raised_alert_names: raised } of (await pyGet(path))['devices'] as Json[]) {
      assert.ok(Array.isArray(raised));
      const { properties, telemetry, alerts, commands } = manifest as Record<string, Record<string, Json>>;
      for (const attribute of [...Object.values(properties ?? {}), ...Object.values(telemetry ?? {})]) {
        assert.equal(typeof attribute['display_name'], 'string');
        assert.match(String(attribute['type']), TYPES);
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

  test('MC-1: sites by offset until a page is empty', async () => {
    const { sites } = await pyGet('/v3/sites?offset=0');
    for (const site of sites as Json[]) assertSite(site);
    assert.deepEqual((await pyGet('/v3/sites?offset=1'))['sites'], []);
  });

  test('MC-4: every section of a blueprint is an object, and its commands have what is read of them', async () => {
    const path = `/v3/devices/${device.id}?expand=manifest`;
    const { manifest } = (await pyGet(path))['device'] as { manifest: Record<string, Json> };
    for (const section of ['properties', 'telemetry', 'alerts', 'commands', 'configuration'])
      assert.equal(Object.getPrototypeOf(manifest[section]), Object.prototype, section);
    assert.ok(Array.isArray(manifest['implements']));
    for (const command of Object.values(manifest['commands'] ?? {}) as Json[]) {
      assert.equal(typeof command['display_name'], 'string');
      for (const argument of Object.values((command['arguments'] ?? {}) as Record<string, Json>))
        assert.match(String(argument['type']), TYPES);
      const { confirmation } = command;
      assert.ok(confirmation === undefined || typeof (confirmation as Json)['title'] === 'string');
    }
  });

  test('MC-5: an executed command has ended, and its payload is an object', async () => {
    const path = `/v3/devices/${device.id}/execute_command?expand=`;
    const { execution } = await pyJson('POST', path, { name: 'read_settings', arguments: {} });
    const { state, response } = execution as { state: string; response: Json };
    assert.deepEqual([state, response['state']], ['SUCCESS', 'SUCCEEDED']);
    assert.deepEqual(response['payload'], { result: { limit_w: 5 } });
  });

  test('MC-6: executions newest first, between times with a zone, of one state', async () => {
    const query = [
      'order=CREATED_AT_DESC',
      `created_at.gte=${encodeURIComponent('2020-01-01T01:00:00+01:00')}`,
      `created_at.lt=${encodeURIComponent('2100-01-01T00:00:00+00:00')}`,
      'state.in=SUCCESS',
    ].join('&');
    for (const path of [
      `/v3/devices/${device.id}/command_executions?${query}`,
      `/v3/sites/${siteId}/commands/executions?${query}&device_id.in=${device.id}`,
    ]) {
      const executions = (await pyGet(path))['executions'] as Json[];
      assert.ok(executions.length > 0);
      for (const execution of executions) {
        assertExecution(execution);
        assert.equal(execution['state'], 'SUCCESS');
      }
      const times = executions.map(({ created_at: at }) => String(at));
      assert.deepEqual(times, times.toSorted().toReversed());
    }
  });

  test('MC-7: latest values of several devices, of which one is not there', async () => {
    const path = `/v3/telemetry/latest?devices%5B${device.id}%5D=battery_soc&devices%5Bnobody%5D=battery_soc`;
    const { telemetry } = await pyGet(`${path}&relevance_interval=3600s`);
    const { [device.id]: own, nobody } = telemetry as Record<string, Record<string, Json>>;
    assert.deepEqual(Object.keys(own?.['battery_soc'] ?? {}), ['value', 'timestamp']);
    assert.deepEqual(Object.keys(nobody?.['battery_soc'] ?? {}), ['warning']);
  });
});
