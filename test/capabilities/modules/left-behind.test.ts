/** Commands that a module leaves behind when it ends without a word, over real MQTT. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeArchive } from '../../../src/capabilities/blueprints/source/archive.ts';
import { startTestGateway } from '../../support/test-gateway.ts';
import { until } from '../../support/until.ts';
import { provisionModule } from './played-module.ts';

const MANIFEST = `
blueprint_spec: device/3.0
display_name: Counter
runtime: { type: lua, options: { file: main.lua } }
commands:
  reset: { display_name: Reset, group: main }
command_groups:
  main: { display_name: Main }
`;

test('a restarted module ends the programs of its earlier run, and no newer ones', async (t) => {
  const gateway = await startTestGateway(t);
  const module = await provisionModule(gateway, 'Board', 'V00000000000000000000000000000004');
  const files = { 'manifest.yml': MANIFEST, 'main.lua': '' };
  const zip = await writeArchive(
    new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)])),
  );
  const { id: blueprintId } = await gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
  const body = { name: 'Counter', runtime_id: module.device.id, blueprint_id: blueprintId };
  const made = await gateway.ok('OWNER', 'POST', '/v3/provisioning/lua_device', body);
  const deviceId = String(made['device_id']);
  const channelId = deviceId.replaceAll('-', '');
  const path = `/v3/devices/${deviceId}/commands/executions`;
  const create = async (): Promise<string> =>
    String((await gateway.ok('OWNER', 'POST', path, { name: 'reset' }))['execution_id']);
  const last = async (id: string): Promise<unknown[]> => {
    const { execution } = await gateway.ok('READONLY', 'GET', `${path}/${id}`);
    const { state, response } = execution as { state: string; response: { payload: object } };
    return [state, response.payload];
  };
  const hello = (run: string): Promise<void> =>
    module.say({ type: 'hello', version: 1, run, offers: ['http'] });
  const comeBack = async (): Promise<void> => {
    await module.device.leave();
    await module.connect();
  };

  await module.connect();
  await hello('r1');
  const script = '0'.repeat(64);
  await module.say({ type: 'status', channel_id: channelId, state: 'running', script });
  const left = await create();
  await comeBack();
  await hello('r1');
  assert.deepEqual(await last(left), ['IN_PROGRESS', {}]);
  await comeBack();
  const since = await create();
  await hello('r2');
  const message = 'The communication module was started again before the command ended.';
  await until(async () => (await last(left))[0] !== 'IN_PROGRESS');
  assert.deepEqual(await last(left), ['ERROR', { message }]);
  assert.deepEqual(await last(since), ['IN_PROGRESS', {}]);
  await module.device.send('v1/command/responses', { id: since, state: 'completed', payload: {} }, channelId);
  assert.deepEqual(await last(since), ['SUCCESS', {}]);
});
