/** The sample blueprints of docs/samples, through the same door as an upload. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { missingRequirements } from '../../../src/capabilities/blueprints/index.ts';
import { SAMPLE_BLUEPRINTS, sampleBlueprint } from '../../support/samples.ts';
import { startBlueprints, zipOf } from './support.ts';

const names = readdirSync(SAMPLE_BLUEPRINTS, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

describe('the sample blueprints', () => {
  test('the sample blueprints are four, and each is listed', () => {
    assert.deepEqual(names.sort(), ['http-weather', 'modbus-inverter', 'relay', 'simulated-house']);
    const list = readFileSync(join(SAMPLE_BLUEPRINTS, 'README.md'), 'utf8');
    for (const name of names) assert.ok(list.includes(`\`${name}\``), name);
  });

  for (const name of names)
    test(`the sample blueprint ${name} is valid by the strict check, compiles, and runs on a software module`, async (t) => {
      const { blueprints } = startBlueprints(t, 'STRICT');
      const zip = await zipOf(sampleBlueprint(name));
      assert.deepEqual(await blueprints.validate(zip), []);
      const { id } = await blueprints.upload(zip);
      const manifest = blueprints.manifest(id);
      assert.deepEqual(missingRequirements(manifest), []);
      const script = Buffer.from(blueprints.script(id) ?? assert.fail()).toString('utf8');
      for (const command of Object.keys(manifest.commands))
        assert.ok(script.includes(`'${command}'`), `${command} has no handler`);
      // What the script sends is declared; helpers apart, names of attributes are written out.
      for (const attribute of Object.keys(manifest.telemetry))
        if (attribute !== 'timestamp') assert.ok(script.includes(attribute), `${attribute} is never sent`);
    });
});
