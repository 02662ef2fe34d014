/** The Grafana data source and its commands panel, call by call. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { type Json, device, raw, header, json, grafana, useClientGateway } from './support.ts';

useClientGateway();

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
      // Without the answer the execution would end as TIMEOUT, which fails below.
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
