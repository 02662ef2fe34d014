/**
 * Whole numbers beyond 2^53 on their way to a device and back (docs/interface/http.md#commands and #configuration): with
 * all their digits, wherever they are shown. Texts are compared, because reading them would round them.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zipOf } from '../capabilities/blueprints/support.ts';
import type { MockDevice } from '../support/mock-device.ts';
import { refusal, useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const LARGE = '9007199254740993';
const LARGEST = '9223372036854775807';
const BEYOND = '9223372036854775808';
const ARGUMENTS = `{"number":${LARGE},"ratio":${LARGEST},"plan":{"id":${LARGEST},"ids":[{"at":-${LARGE}}]}}`;
const PAYLOAD = `{"result":${LARGE},"list":[${LARGEST},-${LARGE}]}`;
const MANIFEST = `blueprint_spec: device/3.0
display_name: Counter
runtime: {type: embedded}
command_groups: {main: {display_name: Main}}
commands:
  store:
    display_name: Store
    group: main
    arguments:
      number: {display_name: N, type: integer, min: 1}
      ratio: {display_name: R, type: float}
      plan: {display_name: P, type: json, json_schema: '{"type": "object", "properties": {"id": {"type": "integer"}}}'}
properties:
  serial: {display_name: S, type: integer}
  yield: {display_name: Y, type: float}
configuration:
  main:
    display_name: Main
    parameters:
      number: {display_name: N, type: integer, max: 10000000000000000}
      plan: {display_name: P, type: json, json_schema: '{"type": "object"}'}
`;
const CONFIGURATION = '/v3/devices/counter/configuration/main';
const EXECUTE = '/v3/devices/counter/execute_command';
const EXECUTIONS = '/v3/devices/counter/commands/executions';

const requests: string[] = [];
let device: MockDevice;

const gateway = useTestGateway({}, async ({ ok, provision }) => {
  const { id } = await ok(
    'OWNER',
    'POST',
    '/v3/blueprints/upload',
    await zipOf({ 'manifest.yml': MANIFEST }),
  );
  device = await provision('Counter', String(id));
  const { client } = await device.connect();
  const { hardwareId, channelId } = device.config;
  await device.subscribe(`v1/to/${hardwareId}/${channelId}/v1/configuration`);
  client.on('message', (_topic, payload) => void requests.push(payload.toString()));
  device.onRequest = (request) => {
    const answer = `{"id":"${request.id}","state":"completed","payload":${PAYLOAD}}`;
    void device.publish(device.from('v1/command/responses'), answer);
  };
});

async function said(method: string, path: string, body?: string): Promise<string> {
  const answer = await gateway().request('USER', method, path, body);
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return text;
}

test('large integers reach the device, and stand in the answer, the execution and both lists', async () => {
  const executed = await said('POST', EXECUTE, `{"name":"store","arguments":${ARGUMENTS}}`);
  assert.ok(requests.join().includes(`"arguments":${ARGUMENTS}`), requests.join());
  const { id } = (JSON.parse(executed) as { execution: { id: string } }).execution;
  for (const text of [
    executed,
    await said('GET', `${EXECUTIONS}/${id}?expand=log`),
    await said('GET', EXECUTIONS),
    await said('GET', '/v3/site/commands/executions?expand=log'),
  ]) {
    assert.ok(text.includes(`"arguments":${ARGUMENTS}`), text);
    assert.ok(text.includes(`"payload":${PAYLOAD}`), text);
  }
});

for (const [title, values] of [
  ['below the least that is allowed', `{"number":-${LARGE}}`],
  ['as a text', `{"number":"${LARGE}"}`],
  ['with a fraction', `{"number":${LARGE.slice(0, 10)}.5}`],
] as const)
  test(`a large integer is judged like any other number: ${title}`, async () => {
    const answer = await gateway().call('USER', 'POST', EXECUTE, `{"name":"store","arguments":${values}}`);
    assert.equal(refusal(answer), '422 invalid_command_arguments');
  });

for (const number of [BEYOND, `-${BEYOND.slice(0, -1)}9`, '18446744073709551615', '1e400'])
  test(`the number ${number} is refused because no type holds it unchanged`, async () => {
    const body = `{"name":"store","arguments":{"plan":{"id":${number}}}}`;
    assert.equal(refusal(await gateway().call('USER', 'POST', EXECUTE, body)), '400 invalid_body');
  });

test('a large integer is refused where an object is needed', async () => {
  const answer = await gateway().call('USER', 'POST', EXECUTE, `{"name":"store","arguments":${LARGEST}}`);
  assert.equal(refusal(answer), '400 invalid_body');
});

test('a body with a large integer may nest no deeper than any other', async () => {
  const deep = `{"name":"store","arguments":{"plan":${'['.repeat(100_000)}${LARGE}${']'.repeat(100_000)}}}`;
  assert.equal(refusal(await gateway().call('USER', 'POST', EXECUTE, deep)), '400 invalid_body');
});

test('half a surrogate pair, which no UTF-8 holds, reaches the device as U+FFFD, a whole one as it is', async () => {
  const given = String.raw`{"plan":{"half \ud83d":"\ude00","whole":"\ud83d\ude00"}}`;
  const plan = '"plan":{"half \ufffd":"\ufffd","whole":"\u{1f600}"}';
  requests.length = 0;
  for (const text of [
    await said('POST', EXECUTE, `{"name":"store","arguments":${given}}`),
    await said('PATCH', CONFIGURATION, `{"set":${given}}`),
  ])
    assert.ok(text.includes(plan), text);
  await until(() => requests.length === 2);
  for (const text of requests) assert.ok(text.includes(plan), text);
});

test('large integers are kept as configuration, shown, and sent to the device, also after a restart', async () => {
  const values = `{"number":${LARGE},"plan":{"id":${LARGEST},"ids":[-${LARGE}]}}`;
  const changed = await said('PATCH', CONFIGURATION, `{"set":${values}}`);
  await until(() => requests.includes(`{"main":${values}}`));
  await gateway().restart();
  for (const text of [changed, await said('GET', CONFIGURATION)])
    assert.equal(text, `{"configuration":${values}}`);
  const more = await gateway().call('USER', 'PATCH', CONFIGURATION, `{"set":{"number":${LARGEST}}}`);
  assert.equal(refusal(more), '422 invalid_configuration');
});

test('large integers are kept as properties and shown, also after a restart', async () => {
  const values = `{"serial":${LARGE},"yield":${LARGEST}}`;
  await device.connect();
  await device.publish(device.from('v1/register'), values);
  for (const isRestarted of [false, true]) {
    if (isRestarted) await gateway().restart();
    for (const path of [
      '/v3/devices/counter?expand=properties',
      '/v3/devices?slug.in=counter&expand=properties',
    ]) {
      const text = await said('GET', path);
      assert.ok(text.includes(`"properties":${values}`), text);
    }
  }
});
