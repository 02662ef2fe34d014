/** A device without hardware, as the console makes one: from the file that comes with it, by nothing but HTTP. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { stop as stopBundler } from 'esbuild';
import { bundleConsole } from '../../scripts/support/console-bundle.ts';
import { refusal, startTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from '../support/workspace.ts';

type Json = Record<string, unknown>;

interface Role {
  role: string;
  power_w: number | null;
}

test('the simulated house runs, is the energy of the site, and leaves nothing when it is deleted', async (t) => {
  const consoleDir = temporaryFolder(t);
  const files = await bundleConsole(consoleDir);
  await stopBundler();
  assert.ok(files.some(({ name, isFirst }) => name === 'simulated-house.zip' && !isFirst));
  const gateway = await startTestGateway(t, {
    consoleDir,
    environment: { GATEWAY_BUILT_IN_MODULE: 'true' },
  });
  const { ok, call } = gateway;
  const { blueprints } = (await ok('OWNER', 'GET', '/v3/blueprints')) as { blueprints: Json[] };
  assert.deepEqual(
    blueprints.filter(({ source }) => source !== 'BUILT_IN'),
    [],
    'a new gateway lists what is built in alone',
  );

  const file = await fetch(`${gateway.origin}/simulated-house.zip`);
  assert.equal(file.headers.get('content-type'), 'application/zip');
  const zip = new Uint8Array(await file.arrayBuffer());
  const { blueprint } = (await ok('OWNER', 'POST', '/v3/blueprints/upload', zip)) as { blueprint: Json };
  const { devices } = (await ok('OWNER', 'GET', '/v3/devices')) as { devices: Json[] };
  const { device_id: id } = await ok('OWNER', 'POST', '/v3/provisioning/lua_device', {
    name: 'Simulated House',
    runtime_id: devices.find(({ type }) => type === 'GATEWAY')?.['id'],
    blueprint_id: blueprint['id'],
  });
  const rolesNow = async (): Promise<Role[]> =>
    (((await ok('USER', 'GET', '/v3/site/energy/now'))['power'] as Json)['roles'] as Role[]).filter(
      ({ power_w: powerW }) => powerW !== null,
    );
  await until(async () => (await rolesNow()).length === 4);
  const powers = Object.fromEntries((await rolesNow()).map(({ role, power_w: powerW }) => [role, powerW]));
  assert.equal(
    (powers['pv'] ?? 0) + (powers['battery'] ?? 0) + (powers['grid'] ?? 0),
    powers['load'],
    JSON.stringify(powers),
  );

  const execute = `/v3/devices/${String(id)}/commands/execute`;
  const limited = { name: 'set_charge_limit', arguments: { limit_w: 0 } };
  assert.equal(refusal(await call('USER', 'POST', execute, limited)), '403 insufficient_role');
  const { execution } = await ok('USER', 'POST', execute, { name: 'stop' });
  assert.equal((execution as Json)['state'], 'SUCCESS');

  const state = new BetterSqlite3(join(gateway.dataDir, 'state.db'), { readonly: true });
  t.after(() => state.close());
  const kept = (): unknown => state.prepare('SELECT count(*) FROM device_storage').pluck().get();
  assert.equal(kept(), 1);
  await ok('OWNER', 'DELETE', `/v3/devices/${String(id)}`);
  assert.equal(kept(), 0);
  assert.deepEqual(await rolesNow(), []);
});
