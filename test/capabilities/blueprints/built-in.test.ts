import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUILT_IN_IDS } from '../../../src/capabilities/blueprints/index.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { startBlueprints } from './support.ts';

test('an unknown id or name of a blueprint is refused', (t) => {
  const { blueprints } = startBlueprints(t);
  for (const ask of [
    () => blueprints.require('6d1f0e52-3a57-4c1b-9f0e-000000000000'),
    () => blueprints.manifest('constructor'),
    () => blueprints.requireByName('enapter', 'battery-inverter', 'v1'),
    () => blueprints.requireByName('other', 'battery-inverter', 'latest'),
  ])
    assert.throws(ask, (error) => error instanceof GatewayError && error.code === 'blueprint_not_found');
});

test('the built-in blueprints are written once and keep their creation time over a restart', async (t) => {
  const { clock, database, lines, restart } = startBlueprints(t);
  database.prepare('DELETE FROM blueprint').run();
  const before = restart().require(BUILT_IN_IDS.gateway);
  assert.equal(lines.filter((line) => line.message === 'built-in blueprint written').length, 4);
  await clock.advance(60_000);
  assert.deepEqual(restart().require(BUILT_IN_IDS.gateway), before);
  assert.equal(lines.filter((line) => line.message === 'built-in blueprint written').length, 4);
});

test('a built-in blueprint of an older version is replaced', (t) => {
  const { database, restart } = startBlueprints(t);
  database
    .prepare("UPDATE blueprint SET manifest = '{}', fingerprint = 'older' WHERE id = ?")
    .run(BUILT_IN_IDS.gateway);
  assert.equal(restart().manifest(BUILT_IN_IDS.gateway).display_name, 'Gateway');
});

test('a built-in blueprint of the present version is not compiled again', (t) => {
  const { database, restart } = startBlueprints(t);
  database.prepare("UPDATE blueprint SET manifest = '{}' WHERE id = ?").run(BUILT_IN_IDS.gateway);
  assert.equal(restart().manifest(BUILT_IN_IDS.gateway).display_name, undefined);
});

test('a built-in blueprint is found by its name', (t) => {
  const { blueprints } = startBlueprints(t);
  assert.equal(
    blueprints.requireByName('enapter', 'battery-inverter', 'latest').id,
    BUILT_IN_IDS.batteryInverter,
  );
});

test('a manifest is frozen, shared, and has no inherited names', (t) => {
  const { blueprints } = startBlueprints(t);
  const manifest = blueprints.manifest(BUILT_IN_IDS.batteryInverter);
  assert.equal(blueprints.manifest(BUILT_IN_IDS.batteryInverter), manifest);
  assert.ok(Object.isFrozen(manifest.telemetry['battery_soc']));
  assert.equal(manifest.commands['constructor'], undefined);
  assert.equal(manifest.commands['set_charge_limit']?.arguments?.['toString'], undefined);
});

test('every built-in blueprint has the sections that clients expect', (t) => {
  const { blueprints } = startBlueprints(t);
  for (const id of Object.values(BUILT_IN_IDS)) {
    const manifest = blueprints.manifest(id);
    assert.equal(manifest.blueprint_spec, 'device_compiled/3.0');
    for (const section of ['properties', 'telemetry', 'alerts', 'commands', 'configuration'] as const)
      assert.equal(typeof manifest[section], 'object');
    assert.equal(manifest.telemetry['alerts']?.type, 'alerts');
    assert.equal(manifest.alerts['not_configured']?.severity, 'info');
  }
  assert.deepEqual(Object.keys(blueprints.manifest(BUILT_IN_IDS.empty).commands), []);
});
