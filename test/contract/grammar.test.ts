/**
 * The common grammar on the wire (docs/interface/http.md#values): moments, durations, flags, words and lists as
 * callers write them, on operations of the whole gateway that take them.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusal, useTestGateway } from '../support/test-gateway.ts';

let createdAt: string;
const gateway = useTestGateway({}, async (started) => {
  const device = await started.provision('Battery');
  await device.connect();
  device.obey();
  await device.telemetry({ battery_soc: 50 });
  const { execution } = await started.ok('USER', 'POST', '/v3/devices/battery/execute_command', {
    name: 'read_settings',
  });
  createdAt = (execution as { created_at: string }).created_at;
});

const EXECUTIONS = '/v3/devices/battery/commands/executions';

/** How many executions a query finds, or why it is refused. */
async function found(query: string): Promise<string> {
  const answer = await gateway().call('USER', 'GET', `${EXECUTIONS}?${query}`);
  if (answer.status !== 200) return refusal(answer) ?? '';
  return String((answer.body as { total_count: number }).total_count);
}

describe('a moment', () => {
  for (const [text, expected] of [
    ['2020-01-01T00:00:00Z', '1'],
    ['2020-01-01t00:00:00z', '1'],
    ['2020-01-01 00:00:00', '1'],
    ['2020-01-01T00:00:00', '1'],
    ['2020-01-01T00:00:00.1', '1'],
    ['2020-01-01T00:00:00.123456789+05:30', '1'],
    ['2100-01-01T00:00:00-12:00', '0'],
    ['', '1'],
    ['2020-01-01', '400 invalid_query'],
    ['2020-01-01T00:00Z', '400 invalid_query'],
    ['2020-02-30T00:00:00Z', '400 invalid_query'],
    ['2020-01-01T24:00:00Z', '400 invalid_query'],
    ['2020-01-01T00:00:00.1234567890Z', '400 invalid_query'],
    ['2020-01-01T00:00:00+0530', '400 invalid_query'],
    ['1577836800', '400 invalid_query'],
    ['yesterday', '400 invalid_query'],
  ] as const)
    test(`the moment ${JSON.stringify(text)} in the query: ${expected}`, async () => {
      assert.equal(await found(`created_at.gte=${encodeURIComponent(text)}`), expected);
    });

  test('a moment is shown in UTC with 3 to 6 digits, from is inclusive and to exclusive', async () => {
    assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z$/);
    const same = encodeURIComponent(createdAt);
    assert.equal(await found(`created_at.gte=${same}`), '1');
    assert.equal(await found(`created_at.lt=${same}`), '0');
  });
});

describe('a duration', () => {
  for (const [text, isTaken] of [
    ['30s', true],
    ['1m0s', true],
    ['24h0m0s', true],
    ['3600s', true],
    ['1.5m', true],
    ['.5h', true],
    ['5.m', true],
    ['1h30m15s500ms', true],
    ['90000000us', true],
    ['90000000µs', true],
    ['90000000μs', true],
    ['90000000000ns', true],
    ['1d', true],
    ['1y', true],
    ['0', true],
    ['', true],
    ['30', false],
    ['-30s', false],
    ['+30s', false],
    ['1 m', false],
    ['1M', false],
    ['s', false],
    ['.', false],
    ['1e3s', false],
    ['2y', false],
  ] as const)
    test(`the duration ${JSON.stringify(text)} is ${isTaken ? 'taken' : 'refused'}`, async () => {
      const path = `/v3/devices/battery/telemetry?relevance_interval=${encodeURIComponent(text)}`;
      const answer = await gateway().call('READONLY', 'GET', path);
      assert.equal(answer.status === 200 ? '200' : refusal(answer), isTaken ? '200' : '400 invalid_query');
    });
});

describe('a flag', () => {
  for (const [text, expected] of [
    ['true', '200'],
    ['TRUE', '200'],
    ['1', '200'],
    ['false', '404 site_not_found'],
    ['False', '404 site_not_found'],
    ['0', '404 site_not_found'],
    ['', '404 site_not_found'],
    ['yes', '400 invalid_query'],
    ['2', '400 invalid_query'],
  ] as const)
    test(`the flag ${JSON.stringify(text)}: ${expected}`, async () => {
      const answer = await gateway().call(
        'OWNER',
        'POST',
        `/v3/sites/elsewhere/archive?skip_check_existence=${text}`,
      );
      assert.equal(answer.status === 200 ? '200' : refusal(answer), expected);
    });
});

describe('words', () => {
  for (const [query, expected] of [
    ['retention=all', '1'],
    ['retention=Ephemeral', '0'],
    ['retention=', '1'],
    ['retention=SOME', '400 invalid_query'],
    ['order=created_at_desc', '1'],
    ['order=created_at', '400 invalid_query'],
    ['state.in=SUCCESS', '1'],
    ['state.in=ERROR,SUCCESS', '1'],
    ['state.in=ERROR&state.in=SUCCESS', '1'],
    ['state.in=ERROR, ,', '0'],
    ['state.in=DONE', '400 invalid_query'],
    ['name.in=read_settings,start', '1'],
    ['name.in=READ_SETTINGS', '0'],
    ['expand=', '1'],
    ['expand=log,log,%20log%20,', '1'],
    ['expand=log&expand=ephemeral', '1'],
    ['expand=site', '400 invalid_query'],
    ['Retention=SOME', '1'],
  ] as const)
    test(`the words of ${query}: ${expected}`, async () => {
      assert.equal(await found(query), expected);
    });
});
