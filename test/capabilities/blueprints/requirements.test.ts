import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  missingRequirements,
  offersOfModule,
  remedyFor,
} from '../../../src/capabilities/blueprints/index.ts';
import { compiled, manifestWith, oldManifestWith } from './support.ts';

const needing = (requirements: string): string[] =>
  missingRequirements(
    compiled(manifestWith('').replace('embedded', `embedded\n  requirements: ${requirements}`)).manifest,
  );

test('requirements name what a software module lacks', () => {
  assert.deepEqual(needing('[modbus, can, lua_api_ver_3, relay, telepathy]'), ['can', 'relay', 'telepathy']);
});

test('requirements that a software module fulfils, and none at all, are accepted', () => {
  assert.deepEqual(needing('[modbus, http, lua_api_ver_3]'), []);
  assert.deepEqual(missingRequirements(compiled(manifestWith('')).manifest), []);
});

test('requirements of an old blueprint name the hardware it is written for', () => {
  const files = { 'main.lua': 'return 1' };
  const old = oldManifestWith('');
  assert.deepEqual(missingRequirements(compiled(old, files).manifest), []);
  assert.deepEqual(missingRequirements(compiled(old.replace('ENP-VIRTUAL', 'ENP-RS485'), files).manifest), [
    'ENP-RS485',
  ]);
});

test('a module offers what its ports serve, and a whole board only with all of its ports', () => {
  const relays = [1, 2, 3, 4, 5, 6].map((n) => `digital_output:rl-${n}`);
  for (const [said, wanted, expected] of [
    [[], 'can', false],
    [['can:bus'], 'can', true],
    [['can:bus'], 'ENP-CAN', false],
    [['can:can'], 'ENP-CAN', true],
    [['can:can'], 'enp_can_ports', true],
    [['digital_input:di-1'], 'digitalin', true],
    [['digital_input:di-1'], 'relay', false],
    [relays, 'relay', true],
    [relays, 'digitalout', true],
    [relays, 'ENP-RL6', true],
    [relays.slice(1), 'enp_rl6_ports', false],
    [relays.map((name) => name.replace('rl-', 'do-')), 'enp_rl6_ports', true],
    [['analog_input:ai-1'], 'analogin', true],
  ] as const)
    assert.equal(offersOfModule(said).has(wanted), expected, `${said.join()} ${wanted}`);
});

test('requirements say how a module gets ports, and name no hardware without a port', () => {
  assert.equal(remedyFor(['telepathy']), undefined);
  assert.equal(
    remedyFor(['ENP-CAN']),
    'a module provides it with a port named "can": add with POST /v3/io_ports, or in the configuration of a module on another board',
  );
  assert.match(remedyFor(['enp_rl6_ports']) ?? '', /ports named "rl-1" to "rl-6"/);
  assert.match(
    remedyFor(['serial', 'digitalin']) ?? '',
    /serial port named "rs485".*a port of the kind DIGITAL_INPUT/,
  );
});
