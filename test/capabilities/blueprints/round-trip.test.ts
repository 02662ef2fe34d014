/**
 * The compiled view says everything about the device: written as a manifest again, with nothing else at hand, it
 * compiles to itself (docs/interface/blueprints.md#archive and docs/interface/blueprints.md#compiled).
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stringify } from 'yaml';
import { builtInFiles } from '../../../src/capabilities/blueprints/built-in.ts';
import { BUILT_IN_BLUEPRINTS } from '../../../src/capabilities/blueprints/model.ts';
import { readArchive } from '../../../src/capabilities/blueprints/source/archive.ts';
import { parseYaml, plainOf } from '../../../src/capabilities/blueprints/source/yaml.ts';
import { sampleBlueprint } from '../../support/samples.ts';
import { manifestWith, oldManifestWith, startBlueprints, zipOf, type BlueprintSetup } from './support.ts';

type Json = Record<string, unknown>;

const EVERYTHING = manifestWith(
  'implements: [sensor.gas.hydrogen, lib.sensor.gas.ppm]\n.cloud: {a: [1, null]}\nproperties:\n' +
    '  vendor: {display_name: V, type: string}\n  model: {display_name: M, type: string}\n  odd: {display_name: "yes", type: string, enum: ["no", "1.0", "2026-01-01", "~"]}\n' +
    '  serial: {display_name: S, type: string, implements: lib.device.nameplate.serial_number}\n' +
    'telemetry:\n  c: {display_name: C, type: float, unit: "%LEL", implements: lib.sensor.gas.lel.gas_lel}\n' +
    '  gas_ppm: {display_name: P, type: float, unit: "[ppm]"}\n  e: {display_name: E, type: integer, enum: {3: {color: red}, 1: {}}}\n' +
    '  w: {display_name: W, type: float, unit: W.h, auto_scale: [kW.h], aliases: energy}\n' +
    `  j: {display_name: J, type: json, json_schema: '{"type": "array"}'}\n  own: {display_name: O, type: float, unit: l}\n` +
    'units: {l: {symbol: lots}}\nalerts: {a: {display_name: A, severity: error, grace_period: 15s, code: "007"}}\n' +
    'command_groups: {g: {display_name: G}}\ncommands:\n  c:\n    display_name: C\n    group: g\n' +
    '    ui: {mobile_quick_access: true}\n    arguments:\n' +
    '      a: {display_name: A, type: boolean, default: "true"}\n      b: {display_name: B, type: string, enum: [x, y], default: y}\n' +
    '      m: {display_name: M, type: integer, enum: {1: {display_name: One}, "2": {}}}\n' +
    'configuration: {k: {display_name: K, parameters: {p: {display_name: P, type: json, json_schema: s.json}}}}\n',
);

const BLUEPRINTS: Record<string, Record<string, string | Uint8Array>> = {
  everything: { 'manifest.yml': EVERYTHING, 's.json': '{"type": "object"}' },
  ...Object.fromEntries(
    ['http-weather', 'modbus-inverter', 'relay'].map((name) => [`the sample ${name}`, sampleBlueprint(name)]),
  ),
  ...Object.fromEntries(
    BUILT_IN_BLUEPRINTS.map(({ name }) => [`the built-in ${name}`, Object.fromEntries(builtInFiles(name))]),
  ),
};

async function unpacked(zip: Uint8Array): Promise<{ manifest: Json; script: Buffer | undefined }> {
  const { files } = await readArchive(zip);
  const { value, problems } = parseYaml(files?.get('manifest.yml')?.toString('utf8') ?? '', 'manifest.yml');
  assert.deepEqual(problems, []);
  return { manifest: plainOf(value) as Json, script: files?.get('main.lua') ?? undefined };
}

/** An entry as an author writes it: schemas as texts, one form of the enum. */
function authoredEntry(entry: unknown): unknown {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return entry;
  const { enum_with_metainfo: described, json_schema: schema, ...rest } = entry as Json;
  const items = described as { value: string | number }[] | undefined;
  return {
    ...Object.fromEntries(
      Object.entries(rest).map(([key, value]) => [key, key.startsWith('.') ? value : authoredEntry(value)]),
    ),
    ...(items && { enum: new Map(items.map(({ value, ...meta }) => [value, meta])) }),
    ...(schema !== undefined && { json_schema: JSON.stringify(schema) }),
  };
}

function authored(manifest: Json): string {
  const { alerts: _, alert_details: __, ...telemetry } = manifest['telemetry'] as Json;
  return stringify(authoredEntry({ ...manifest, blueprint_spec: 'device/3.0', telemetry }), {
    compat: 'yaml-1.1',
    aliasDuplicateObjects: false,
  });
}

/** Uploads; the unpacked COMPILED zip. */
async function recompiled(
  { blueprints }: BlueprintSetup,
  files: Record<string, string | Uint8Array>,
): Promise<{ manifest: Json; script: Buffer | undefined }> {
  const zip = await zipOf(files);
  assert.deepEqual(await blueprints.validate(zip), []);
  const { id } = await blueprints.upload(zip);
  const made = await unpacked(await blueprints.zip(id, 'COMPILED'));
  // The zip and what clients see are the same.
  assert.deepEqual(made.manifest, JSON.parse(JSON.stringify(blueprints.manifest(id))));
  return made;
}

describe('the compiled view, uploaded as a blueprint of its own,', () => {
  for (const [title, files] of Object.entries(BLUEPRINTS))
    test(`the compiled view, uploaded as a blueprint of its own, is the same again: ${title}`, async (t) => {
      const setup = startBlueprints(t);
      const first = await recompiled(setup, files);
      const again = (made: typeof first): Promise<typeof first> =>
        recompiled(setup, {
          'manifest.yml': authored(made.manifest),
          ...(made.script && { 'main.lua': made.script }),
        });
      const second = await again(first);
      const third = await again(second);
      assert.deepEqual(third, second);
      assert.deepEqual(second.script, first.script);
      // Profiles that were implied are listed the second time, so entries may refer to more of them.
      const withoutReferences = (manifest: Json): unknown =>
        JSON.parse(
          JSON.stringify(manifest, (key, value: unknown) => (key === 'implements' ? undefined : value)),
        );
      assert.deepEqual(withoutReferences(second.manifest), withoutReferences(first.manifest));
      assert.deepEqual(second.manifest['implements'], first.manifest['implements']);
    });

  test('the compiled view, uploaded as a blueprint of its own, needs that: as it comes it is refused, for both specs', async (t) => {
    const { blueprints } = startBlueprints(t);
    for (const manifest of [manifestWith(''), oldManifestWith('')]) {
      const { id } = await blueprints.upload(await zipOf({ 'manifest.yml': manifest, 'main.lua': '' }));
      const spec = blueprints.manifest(id).blueprint_spec;
      assert.deepEqual(await blueprints.validate(await blueprints.zip(id, 'COMPILED')), [
        `blueprint_spec: unsupported value "${spec}", expected one of: device/1.0, device/3.0`,
      ]);
    }
  });
});
