import assert from 'node:assert/strict';
import { test } from 'node:test';
import { missingRequirements } from '../../../src/capabilities/blueprints/index.ts';
import { compiled, manifestWith, oldManifestWith } from './support.ts';

const needing = (requirements: string): string[] =>
  missingRequirements(
    compiled(manifestWith('').replace('embedded', `embedded\n  requirements: ${requirements}`)).manifest,
  );

test('names what a software module does not have', () => {
  assert.deepEqual(needing('[modbus, can, lua_api_ver_3, relay, telepathy]'), ['can', 'relay', 'telepathy']);
});

test('is content with what a software module has, and with nothing', () => {
  assert.deepEqual(needing('[modbus, http, lua_api_ver_3]'), []);
  assert.deepEqual(missingRequirements(compiled(manifestWith('')).manifest), []);
});

test('names the hardware that an old blueprint is written for', () => {
  const files = { 'main.lua': 'return 1' };
  const old = oldManifestWith('');
  assert.deepEqual(missingRequirements(compiled(old, files).manifest), []);
  assert.deepEqual(missingRequirements(compiled(old.replace('ENP-VIRTUAL', 'ENP-RS485'), files).manifest), [
    'ENP-RS485',
  ]);
});
