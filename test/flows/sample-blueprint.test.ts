/** A sample blueprint on the gateway's own module, by nothing but HTTP: upload, provision, configure, read, command. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSimulateModbusOptions } from '../../scripts/simulate/modbus-options.ts';
import { simulateModbus } from '../../scripts/simulate/modbus-run.ts';
import { createRandom } from '../../scripts/support/random.ts';
import type { CompiledManifest } from '../../src/capabilities/blueprints/index.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { sampleBlueprint } from '../support/samples.ts';
import { refusal, startTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

type Json = Record<string, unknown>;

test('the sample inverter is uploaded, provisioned, configured, commanded and read over HTTP alone', async (t) => {
  const clock = createSystemClock();
  const options = parseSimulateModbusOptions(['--port', '0', '--hour', '12']) ?? assert.fail();
  const parts = { options, clock, random: createRandom(5), terminal: { line: () => undefined } };
  const simulated = await simulateModbus(parts);
  t.after(async () => {
    await simulated.stop();
    clock.close();
  });
  const { ok, call } = await startTestGateway(t, { environment: { GATEWAY_BUILT_IN_MODULE: 'true' } });

  const zip = await zipOf(sampleBlueprint('modbus-inverter'));
  assert.deepEqual(await ok('READONLY', 'POST', '/v3/blueprints/validate', zip), {});
  const { blueprint } = (await ok('OWNER', 'POST', '/v3/blueprints/upload', zip)) as { blueprint: Json };
  const { devices } = (await ok('OWNER', 'GET', '/v3/devices')) as { devices: Json[] };
  const { device_id: id } = await ok('OWNER', 'POST', '/v3/provisioning/lua_device', {
    name: 'Inverter',
    runtime_id: devices.find(({ type }) => type === 'VIRTUAL_UCM')?.['id'],
    blueprint_id: blueprint['id'],
  });
  const path = `/v3/devices/${String(id)}`;
  const latest = async (attribute: string): Promise<unknown> => {
    const { telemetry } = await ok('USER', 'GET', `${path}/telemetry?attribute.in=${attribute}`);
    return ((telemetry as Json)[attribute] as Json | undefined)?.['value'];
  };
  const raised = async (): Promise<unknown> =>
    ((await ok('USER', 'GET', `${path}?expand=raised_alert_names`))['device'] as Json)['raised_alert_names'];

  // A device without configuration raises an alert.
  await until(async () => JSON.stringify(await raised()) === '["not_configured"]');
  const group = `${path}/configuration/connection`;
  assert.equal(refusal(await call('USER', 'GET', group)), '403 insufficient_role');
  assert.deepEqual(await ok('OWNER', 'GET', group), { configuration: { unit_id: 1, meter_unit_id: 2 } });
  for (const set of [{ address: 'somewhere' }, { unit_id: 256 }, { speed: 9_600 }])
    assert.equal(refusal(await call('OWNER', 'PATCH', group, { set })), '422 invalid_configuration');
  const address = `tcp://127.0.0.1:${simulated.servers[0]?.port}`;
  const { configuration } = await ok('OWNER', 'PATCH', group, { set: { address } });
  assert.deepEqual(configuration, { address, unit_id: 1, meter_unit_id: 2 });
  await until(async () => Number(await latest('pv_total_power')) > 0);
  await until(async () => JSON.stringify(await raised()) === '[]');

  // Wrong arguments are refused before anything is sent; right ones change what is measured.
  const execute = (body: unknown) => call('OWNER', 'POST', `${path}/commands/execute`, body);
  for (const [body, expected] of [
    [{ name: 'fly' }, '422 command_not_found'],
    [{ name: 'set_charge_limit' }, '422 invalid_command_arguments'],
    [{ name: 'set_charge_limit', arguments: { limit_w: 5_001 } }, '422 invalid_command_arguments'],
    [{ name: 'set_mode', arguments: { mode: 'turbo' } }, '422 invalid_command_arguments'],
    [{ name: 'stop', arguments: { now: true } }, '422 invalid_command_arguments'],
  ] as const)
    assert.equal(refusal(await execute(body)), expected, JSON.stringify(body));
  const limited = { name: 'set_charge_limit', arguments: { limit_w: 1_500 } };
  assert.equal(
    refusal(await call('USER', 'POST', `${path}/commands/execute`, limited)),
    '403 insufficient_role',
  );
  const { execution } = (await execute(limited)).body as { execution: Json };
  assert.equal(execution['state'], 'SUCCESS');
  assert.deepEqual((execution['response'] as Json)['payload'], { limit_w: 1_500 });
  await until(async () => (await latest('charge_limit')) === 1_500);

  // The manifest is the same by its own path and with the device, and tells what a form needs.
  const { manifest } = (await ok('USER', 'GET', `${path}/manifest`)) as { manifest: Json };
  const { device } = (await ok('USER', 'GET', `${path}?expand=manifest`)) as { device: Json };
  assert.deepEqual(device['manifest'], manifest);
  const { commands } = manifest as unknown as CompiledManifest;
  assert.equal(commands['stop']?.confirmation?.severity, 'warning');
  assert.deepEqual(
    commands['set_mode']?.arguments?.['mode']?.enum_with_metainfo?.map(({ value }) => value),
    ['self_consumption', 'backup', 'peak_shaving'],
  );
  assert.ok((device['implemented_profiles'] as string[]).includes('lib.energy.battery.soc'));
});
