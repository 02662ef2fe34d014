/** Anything at all as a blueprint: it is judged, never thrown at the caller, and never for long. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  anything,
  array,
  assert as assertProperty,
  asyncProperty,
  constantFrom,
  dictionary,
  integer,
  nat,
  oneof,
  property,
  record,
  string,
  tuple,
  uint8Array,
} from 'fast-check';
import { stringify } from 'yaml';
import { builtInFiles, catalogueOf } from '../../../src/capabilities/blueprints/built-in.ts';
import {
  compileArchive,
  compileFiles,
  type CompiledBlueprint,
} from '../../../src/capabilities/blueprints/compile-archive.ts';
import { parseProfiles } from '../../../src/capabilities/blueprints/profiles/files.ts';
import { findRequires } from '../../../src/capabilities/blueprints/source/lua-requires.ts';
import { parseUnit } from '../../../src/capabilities/blueprints/source/units.ts';
import { CHARACTER } from '../../support/characters.ts';
import { filesOf, zipOf } from './support.ts';
import { runs } from '../../support/runs.ts';

const profiles = catalogueOf(new Map());
const LONGEST_MS = 20_000;

const SCRIPTED =
  'blueprint_spec: device/3.0\ndisplay_name: Scripted\nimplements: [lib.energy.battery.soc]\n' +
  'runtime: {type: lua, options: {dir: src, luarocks: [enapter-ucm]}}\n' +
  'telemetry:\n  battery_soc: {display_name: S, type: float, unit: "%", aliases: [soc]}\n' +
  '  status: {display_name: S, type: string, enum: {ok: {color: green}, fault: {}}}\n' +
  '  j: {display_name: J, type: json, json_schema: j.json}\n' +
  'alerts: {a: {display_name: A, severity: error, grace_period: 1m, telemetry: [status]}}\n' +
  'command_groups: {g: {display_name: G}}\n' +
  'commands: {c: {display_name: C, group: g, arguments: {n: {display_name: N, type: integer, min: 1, max: 5, default: 2}}}}\n' +
  'configuration: {k: {display_name: K, parameters: {p: {display_name: P, type: string, required: true}}}}\n' +
  'units: {x: {symbol: X}}\n';

const FILES = {
  'j.json': '{"type": "object", "properties": {"a": {"pattern": "^a"}}}',
  'src/main.lua': 'local m = require("m")\nreturn m\n',
  'src/m.lua': 'return { name = "m" } -- end\n',
};

/** A verdict is either a compiled blueprint that survives the wire, or problems. */
function assertVerdict(result: CompiledBlueprint): void {
  if (result.manifest === undefined) {
    assert.ok(result.problems.length > 0);
    for (const problem of result.problems) assert.equal(typeof problem, 'string');
    return;
  }
  const text = JSON.stringify(result.manifest);
  assert.equal(JSON.stringify(JSON.parse(text)), text);
}

function timed<Result>(work: () => Result): Result {
  const startMs = performance.now();
  const result = work();
  assert.ok(performance.now() - startMs < LONGEST_MS, 'judged within bounds');
  return result;
}

/** Changes to a text: what is cut out at a place, and what is put there. */
const edits = array(
  record({
    at: nat(),
    cut: integer({ min: 0, max: 40 }),
    put: oneof(
      string({ maxLength: 8, unit: CHARACTER }),
      constantFrom(
        ': ',
        '\n',
        '\n  ',
        '- ',
        '{',
        '}',
        '[',
        ']',
        '&a ',
        '*a',
        '<<: *a',
        '"',
        "'",
        '!!int ',
        '|\n',
        '#',
        'null',
        'true',
        '.nan',
        '1e999',
        '__proto__: ',
        'constructor: ',
        '? ',
        '---\n',
        '\t',
        '\u0000',
        'type: json',
        '.x: ',
      ),
    ),
  }),
  { minLength: 1, maxLength: 6 },
);

function edited(text: string, changes: readonly { at: number; cut: number; put: string }[]): string {
  return changes.reduce((current, { at, cut, put }) => {
    const from = at % (current.length + 1);
    return current.slice(0, from) + put + current.slice(from + cut);
  }, text);
}

describe('whatever is uploaded is judged:', () => {
  test('edited manifests are judged without a crash', () => {
    assertProperty(
      property(edits, (changes) => {
        const files = filesOf({ ...FILES, 'manifest.yml': edited(SCRIPTED, changes) });
        assertVerdict(timed(() => compileFiles(files, profiles)));
      }),
      { numRuns: runs(150) },
    );
  });

  // Two edits leave a letter, so no name turns into a number.
  const gentle = array(
    record({
      at: nat(),
      cut: integer({ min: 0, max: 1 }),
      put: string({ maxLength: 2, unit: constantFrom('a', '1', '_', 'é') }),
    }),
    { minLength: 1, maxLength: 2 },
  );

  test('gently edited manifests are judged without a crash', () => {
    assertProperty(
      property(gentle, (changes) => {
        const files = filesOf({ ...FILES, 'manifest.yml': edited(SCRIPTED, changes) });
        assertVerdict(timed(() => compileFiles(files, profiles)));
      }),
      { numRuns: runs(60) },
    );
  });

  test('a manifest whose name is edited is as valid as before', () => {
    assertProperty(
      property(gentle, (changes) => {
        const manifest = SCRIPTED.replace('Scripted', edited('Scripted', changes));
        const result = timed(() => compileFiles(filesOf({ ...FILES, 'manifest.yml': manifest }), profiles));
        assertVerdict(result);
        assert.equal(result.problems, undefined);
      }),
      { numRuns: runs(60) },
    );
  });

  test('edits of the sample are judged without a crash', () => {
    const sample = builtInFiles('battery-inverter').get('manifest.yml')?.toString() ?? '';
    assertProperty(
      property(edits, (changes) => {
        assertVerdict(
          timed(() => compileFiles(filesOf({ 'manifest.yml': edited(sample, changes) }), profiles)),
        );
      }),
      { numRuns: runs(10) },
    );
  });

  test('any values in the places of the manifest are judged without a crash', () => {
    const sections = constantFrom(
      'display_name',
      'runtime',
      'properties',
      'telemetry',
      'alerts',
      'commands',
      'command_groups',
      'configuration',
      'units',
      'implements',
      'implements_draft',
      'category',
      'support',
      'contributors',
      'communication_module',
    );
    const fields = constantFrom(
      'display_name',
      'type',
      'enum',
      'unit',
      'auto_scale',
      'implements',
      'aliases',
      'access_level',
      'json_schema',
      'arguments',
      'response',
      'parameters',
      'default',
      'min',
      'max',
      'group',
      'ui',
      'confirmation',
      'options',
      'x',
    );
    const value = oneof(
      anything({
        maxDepth: 3,
        withBigInt: false,
        withDate: false,
        withSet: false,
        withMap: false,
        withTypedArray: false,
      }),
      constantFrom(
        'string',
        'integer',
        'float',
        'json',
        'alerts',
        '{}',
        'main.lua',
        'lua',
        'embedded',
        1,
        true,
        null,
      ),
    );
    const entry = oneof(value, dictionary(fields, oneof(value, dictionary(fields, value))));
    const spec = constantFrom('device/3.0', 'device/1.0');
    assertProperty(
      property(
        spec,
        dictionary(sections, oneof(value, dictionary(string(), entry), dictionary(fields, entry))),
        (name, rest) => {
          let text: string;
          try {
            text = stringify({ blueprint_spec: name, ...rest });
          } catch (error) {
            // Some values (symbols, functions) have no form in YAML.
            assert.ok(error instanceof Error);
            return;
          }
          assertVerdict(timed(() => compileFiles(filesOf({ ...FILES, 'manifest.yml': text }), profiles)));
        },
      ),
      { numRuns: runs(30) },
    );
  });

  test('zips with changed bytes are judged without a crash', async () => {
    const zip = await zipOf({ ...FILES, 'manifest.yml': SCRIPTED });
    assertVerdict(await compileArchive(zip, profiles));
    await assertProperty(
      asyncProperty(
        array(tuple(nat(), integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 8 }),
        oneof({ weight: 3, arbitrary: nat({ max: 0 }) }, nat({ max: zip.length })),
        async (changes, cut) => {
          const bytes = Buffer.from(zip.subarray(0, zip.length - cut));
          for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte;
          const startMs = performance.now();
          assertVerdict(await compileArchive(bytes, profiles));
          assert.ok(performance.now() - startMs < LONGEST_MS);
        },
      ),
      { numRuns: runs(150) },
    );
  });

  test('any bytes are judged without a crash', async () => {
    await assertProperty(
      asyncProperty(uint8Array({ maxLength: 300 }), async (bytes) => {
        assertVerdict(await compileArchive(bytes, profiles));
        assertVerdict(await compileArchive(Buffer.concat([Buffer.from('PK\u0003\u0004'), bytes]), profiles));
        assertVerdict(compileFiles(new Map([['manifest.yml', Buffer.from(bytes)]]), profiles));
      }),
      { numRuns: runs(60) },
    );
  });

  test('edited profiles are judged without a crash', () => {
    const text =
      'blueprint_spec: profile/1.0\ndisplay_name: P\nimplements: [lib.b]\ntelemetry:\n' +
      '  x: {display_name: X, type: string, enum: {a: {}, b: {}}}\n  y: {display_name: Y, type: float, unit: W/m2}\n' +
      'commands: {c: {display_name: C, arguments: {a: {display_name: A, type: float, required: true}}}}\n';
    assertProperty(
      property(edits, edits, (first, second) => {
        const files = new Map([
          ['lib/a.yml', edited(text, first)],
          ['lib/b.yml', edited(text.replace('lib.b', 'lib.c'), second)],
          ['lib/c.yml', text.replace('implements: [lib.b]\n', '')],
        ]);
        const parsed = timed(() => parseProfiles(files, new Map()));
        assert.ok(Array.isArray(parsed.problems));
      }),
      { numRuns: runs(60) },
    );
  });

  test('any unit and any Lua text are judged without a crash', () => {
    assertProperty(
      property(
        string({ unit: CHARACTER }),
        string({ unit: constantFrom('k', 'W', '.', '/', 'h', '2', '-', '{', '}', '[', ']', '%') }),
        (any, unit) => {
          parseUnit(any);
          const parsed = parseUnit(unit);
          // The canonical code is its own canonical code.
          if (parsed !== undefined) assert.deepEqual(parseUnit(parsed.code), parsed);
          findRequires(any);
        },
      ),
      { numRuns: runs(200) },
    );
  });
});

test('the same input is compiled to the same output, whatever was compiled before', () => {
  assertProperty(
    property(edits, (changes) => {
      const files = filesOf({ ...FILES, 'manifest.yml': edited(SCRIPTED, changes) });
      const [first, second] = [compileFiles(files, profiles), compileFiles(files, catalogueOf(new Map()))];
      assert.equal(JSON.stringify(second), JSON.stringify(first));
    }),
    { numRuns: runs(10) },
  );
});
