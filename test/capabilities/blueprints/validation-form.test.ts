/** Form of manifests: one invalid example for each row of docs/interface/blueprints.md#problems. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  argument,
  attribute,
  command,
  EXPECTED_SPEC,
  lua,
  NAME_RULE,
  SCRIPT,
  testExamples,
  type Example,
} from './examples.ts';
import { manifestWith, oldManifestWith, problemsOf } from './support.ts';

const form: Example[] = [
  [
    'YAML syntax',
    'a: [1, 2\nb: 3\n',
    [
      'manifest.yml: line 2, column 1: Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
  ],
  [
    'a duplicate key',
    manifestWith('telemetry:\n  status: 1\nalerts: {}\ntelemetry: {}\n'),
    ['manifest.yml: line 8: duplicate key "telemetry"'],
  ],
  [
    'a second document',
    `${manifestWith('')}---\na: 1\n`,
    ['manifest.yml: line 5, column 1: more than one document'],
  ],
  [
    'an alias to nothing',
    manifestWith('description: *d\n'),
    ['manifest.yml: line 5, column 14: unresolved alias "d"'],
  ],
  [
    'an integer that no 64 bits hold',
    manifestWith('.a: 1152921504606846976\n.b: 9223372036854775808\n'),
    ['manifest.yml: line 6, column 5: the integer does not fit into 64 bits'],
  ],
  [
    'integers that would be rounded',
    manifestWith('.a: 9007199254740992\n.b: 9007199254740993\n.c: -0x20000000000001\n.d: 0x20000000000001\n'),
    [6, 8].map(
      (line) =>
        `manifest.yml: line ${line}, column 5: the integer cannot be kept exactly: write it as a text`,
    ),
  ],
  [
    'a number that no float holds',
    manifestWith('.a: [1, 1e400]\n'),
    ['manifest.yml: line 5, column 9: the number is not finite'],
  ],
  [
    'a forbidden key',
    manifestWith('.cloud:\n  __proto__: 1\n'),
    ['manifest.yml: line 6, column 3: key "__proto__" is not allowed'],
  ],
  ['no map', '- a\n- b\n', ['manifest.yml: must be a mapping']],
  ['an empty file', '', ['manifest.yml: must be a mapping']],
  ['a missing spec', 'display_name: S\n', ['blueprint_spec: required']],
  [
    'an unknown spec',
    'blueprint_spec: device/2.0\n',
    [`blueprint_spec: unsupported value "device/2.0", ${EXPECTED_SPEC}`],
  ],
  [
    'a compiled manifest',
    'blueprint_spec: device_compiled/3.0\n',
    [`blueprint_spec: unsupported value "device_compiled/3.0", ${EXPECTED_SPEC}`],
  ],
  [
    'a missing field',
    manifestWith('telemetry: {voltage: {type: float}}\n'),
    ['telemetry.voltage.display_name: required'],
  ],
  ['a missing runtime', 'blueprint_spec: device/3.0\ndisplay_name: S\n', ['runtime: required']],
  [
    'wrong kinds of values',
    manifestWith('description: 1\ncontributors: me\nsupport: me\nunits: []\n'),
    [
      'description: must be a string',
      'contributors: must be an array',
      'support: must be an object',
      'units: must be an object',
    ],
  ],
  [
    'a text for a flag and for a number',
    argument('type: float\nrequired: "yes"\nmin: low'),
    ['commands.c.arguments.a.required: must be a boolean', 'commands.c.arguments.a.min: must be a number'],
  ],
  [
    'an empty name',
    'blueprint_spec: device/3.0\ndisplay_name: ""\nruntime: {type: embedded}\n',
    ['display_name: must not be empty'],
  ],
  [
    'an unknown field close to a known one',
    attribute('type: float\nunits: V'),
    ['telemetry.x.units: unknown field, did you mean "unit"?'],
  ],
  [
    'an unknown field',
    manifestWith('telemetry_preprocessor: {lua_file: a.lua}\n'),
    ['telemetry_preprocessor: unknown field'],
  ],
  [
    'a field of another spec',
    manifestWith('vendor: Me\nverification_level: verified\n'),
    ['vendor: not supported in device/3.0', 'verification_level: not supported in device/3.0'],
  ],
  ['a bad name', attribute('type: float', 'telemetry', '1st'), [`telemetry.1st: invalid name, ${NAME_RULE}`]],
  [
    'a long name',
    attribute('type: float', 'telemetry', 'a'.repeat(129)),
    [`telemetry.${'a'.repeat(128)}…: name longer than 128 characters`],
  ],
];

const choices: Example[] = [
  [
    'a category',
    manifestWith('category: inverters\n'),
    [
      'category: unsupported value "inverters", expected one of: hydrogen-storage, electrolysers, solar-generators, ' +
        'fuel-cells, water-treatment, battery-systems, power-meters, hvac, electric-vehicles, control, data-providers, sensors',
    ],
  ],
  [
    'a severity',
    manifestWith('alerts: {a: {display_name: A, severity: fatal}}\n'),
    ['alerts.a.severity: unsupported value "fatal", expected one of: info, warning, error'],
  ],
  [
    'an access level',
    attribute('type: float\naccess_level: admin'),
    [
      'telemetry.x.access_level: unsupported value "admin", expected one of: readonly, user, owner, installer, vendor, system',
    ],
  ],
  [
    'a runtime type',
    'blueprint_spec: device/3.0\ndisplay_name: S\nruntime: {type: python}\n',
    ['runtime.type: unsupported value "python", expected one of: lua, embedded'],
  ],
  [
    'a colour',
    attribute('type: string\nenum: {a: {color: "#FF0000"}}', 'telemetry'),
    [
      'telemetry.x.enum.a.color: unsupported value "#FF0000", expected one of: ' +
        ['blue', 'yellow', 'green', 'red', 'cyan', 'pink', 'purple', 'orange']
          .flatMap((hue) => ['', '-lighter', '-light', '-dark', '-darker'].map((shade) => hue + shade))
          .join(', '),
    ],
  ],
  [
    'a severity of a confirmation',
    command('group: g\nconfirmation: {severity: error, title: T}'),
    ['commands.c.confirmation.severity: unsupported value "error", expected one of: info, warning'],
  ],
  [
    'an amalgamation mode',
    lua('options: {file: main.lua, amalg_mode: [isolate, fast]}'),
    ['runtime.options.amalg_mode[1]: unsupported value "fast", expected one of: isolate, nodebug'],
    SCRIPT,
  ],
  [
    'a type',
    attribute('type: number'),
    [
      'telemetry.x.type: unsupported value "number", expected one of: boolean, string, integer, float, array_of_strings, json, alerts',
    ],
  ],
  [
    'a type that properties do not have',
    attribute('type: alerts', 'properties'),
    [
      'properties.x.type: unsupported value "alerts", expected one of: boolean, string, integer, float, array_of_strings',
    ],
  ],
];

testExamples({ form, choices });

describe('problems', () => {
  test('problems appear once each, all in one pass, in document order', () => {
    assert.deepEqual(
      problemsOf(
        manifestWith(
          'icon: 1\ntelemetry:\n  b: {type: no, unit: 1}\n  a: {type: float, unit: foo}\nalerts: 1\n',
        ),
      ),
      [
        'icon: must be a string',
        'telemetry.b.type: unsupported value "no", expected one of: boolean, string, integer, float, array_of_strings, json, alerts',
        'telemetry.b.unit: must be a string',
        'telemetry.b.display_name: required',
        'telemetry.a.display_name: required',
        'telemetry.a.unit: unknown unit "foo"; use a UCUM code or declare it in units',
        'alerts: must be an object',
      ],
    );
  });

  test('problems are cut after two hundred, with the number of the others', () => {
    const lines = Array.from({ length: 250 }, (_, index) => `field_number_${index}: 1\n`).join('');
    const problems = problemsOf(manifestWith(lines));
    assert.equal(problems.length, 201);
    assert.equal(problems.at(-1), '... and 50 more');
  });

  test('problems never come from a missing icon, unknown formats and requirements, unused groups and alerts', () => {
    assert.deepEqual(
      problemsOf(
        manifestWith(
          'command_groups: {unused: {display_name: U}}\nalerts: {unused: {display_name: U, severity: info}}\n' +
            'configuration: {g: {display_name: G, parameters: {p: {display_name: P, type: string, format: moon}}}}\n' +
            '.cloud: {anything: [1, {a: null}]}\n',
        ).replace('embedded', 'embedded\n  requirements: [telepathy, lua_api_ver_3]'),
      ),
      [],
    );
  });

  test('problems do not appear in an old blueprint for what only the new spec forbids', () => {
    assert.deepEqual(
      problemsOf(
        oldManifestWith(
          'vendor: Me\nverification_level: verified\nsupport: null\n' +
            'properties: {x: {display_name: X, type: string, unit: celsius, enum: {a: {color: "#FF0000"}}}}\n' +
            'telemetry: {status: {display_name: S, type: integer}, y: {display_name: Y, type: float, unit: watt}}\n' +
            'command_groups: {g: {display_name: G}}\n' +
            'commands: {c: {display_name: C, group: g, arguments: {a: {display_name: A, type: float, unit: W, dscription: x}}}}\n',
        ),
        SCRIPT,
      ),
      [],
    );
  });
});
