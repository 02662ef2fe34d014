/** A communication module as a process of its own, with its own credentials, against the whole gateway. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseSimulateModbusOptions } from '../../scripts/simulate/modbus-options.ts';
import { simulateModbus } from '../../scripts/simulate/modbus-run.ts';
import { createRandom } from '../../scripts/support/random.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { programEntry } from '../../src/platform/processes/index.ts';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { sampleBlueprint } from '../support/samples.ts';
import { startTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from '../support/workspace.ts';

type Json = Record<string, unknown>;

function startModule(file: string): ChildProcess {
  return spawn(process.execPath, [programEntry('field-module/main'), '--config', file], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {},
  });
}

test('a module without a valid configuration says so and ends with 78', async (t) => {
  const broken = join(temporaryFolder(t), 'broken.json');
  writeFileSync(broken, '{"config": {}}');
  const torn = join(temporaryFolder(t), 'torn.json');
  writeFileSync(torn, '{"config": {"mqtt_host": ');
  const pipe = join(temporaryFolder(t), 'pipe.json');
  execFileSync('mkfifo', [pipe]);
  for (const [args, said] of [
    [['--config', pipe], /pipe\.json is not a file/],
    [[], /give --config FILE/],
    [['--config', broken], /broken\.json: mqtt_credentials/],
    [['--config', torn], /torn\.json: the configuration is neither JSON nor base64 of JSON/],
    [['--config', join(broken, 'none')], /no such file|ENOENT|ENOTDIR/],
  ] as const) {
    const child = spawn(process.execPath, [programEntry('field-module/main'), ...args]);
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    const [code] = (await once(child, 'close')) as [number];
    assert.equal(code, 78);
    assert.match(errors, said);
  }
});

test('a blueprint with Lua measures, obeys, is reconfigured, and survives the death of its module', async (t) => {
  const clock = createSystemClock();
  const options = parseSimulateModbusOptions(['--port', '0', '--hour', '12']) ?? assert.fail();
  const parts = { options, clock, random: createRandom(5), terminal: { line: () => undefined } };
  const simulated = await simulateModbus(parts);
  const gateway = await startTestGateway(t);
  const { ok } = gateway;

  const made = await ok('OWNER', 'POST', '/v3/provisioning/vucm', {
    name: 'Shed',
    hardware_id: 'VSHED0001',
  });
  const file = join(temporaryFolder(t), 'module.json');
  writeFileSync(file, JSON.stringify(made));
  let child = startModule(file);
  t.after(async () => {
    child.kill('SIGKILL');
    await simulated.stop();
    clock.close();
  });

  const zip = await zipOf(sampleBlueprint('modbus-inverter'));
  const { blueprint } = (await ok('OWNER', 'POST', '/v3/blueprints/upload', zip)) as { blueprint: Json };
  const { device_id: id } = await ok('OWNER', 'POST', '/v3/provisioning/lua_device', {
    name: 'Inverter',
    runtime_id: made['device_id'],
    blueprint_id: blueprint['id'],
  });
  const path = `/v3/devices/${String(id)}`;
  const address = `tcp://127.0.0.1:${simulated.servers[0]?.port}`;
  await ok('OWNER', 'PATCH', `${path}/configuration/connection`, { set: { address } });

  const latest = async (attribute: string): Promise<{ value?: unknown; timestamp?: number }> => {
    const { telemetry } = await ok('USER', 'GET', `${path}/telemetry?attribute.in=${attribute}`);
    return (telemetry as Record<string, { value?: unknown; timestamp?: number }>)[attribute] ?? {};
  };
  const value = async (attribute: string): Promise<unknown> => (await latest(attribute)).value;
  const isOnline = async (): Promise<boolean> => {
    const { device } = await ok('USER', 'GET', `${path}?expand=connectivity`);
    return JSON.stringify(device).includes('"ONLINE"');
  };
  await until(async () => Number(await value('pv_total_power')) > 0);
  await until(isOnline);
  const properties = JSON.stringify(await ok('USER', 'GET', `${path}?expand=properties`));
  assert.match(properties, /Hybrid 6000/);

  const { execution } = (await ok('OWNER', 'POST', `${path}/commands/execute`, {
    name: 'set_charge_limit',
    arguments: { limit_w: 1_500 },
  })) as { execution: Json };
  assert.equal(execution['state'], 'SUCCESS');
  await until(async () => (await value('charge_limit')) === 1_500);

  // The board loses its power.
  child.kill('SIGKILL');
  await once(child, 'close');
  const { timestamp: lastS = 0 } = await latest('pv_total_power');
  child = startModule(file);
  await until(async () => Number((await latest('pv_total_power')).timestamp) > lastS + 1);
  assert.ok(await isOnline());

  child.kill('SIGTERM');
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 0);
});
