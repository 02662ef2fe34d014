/**
 * What authors may write: a valid blueprint for each row of docs/interface/blueprints.md. The
 * counterpart, what they may not, is in the files named validation-*.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BLUEPRINT_CATEGORIES } from '../../../src/lib/blueprint-categories.ts';
import { ACCESS_LEVELS } from '../../../src/capabilities/blueprints/validation/attributes.ts';
import { COLORS } from '../../../src/capabilities/blueprints/source/enums.ts';
import { parseUnit } from '../../../src/capabilities/blueprints/source/units.ts';
import { argument, attribute, command, lua, SCRIPT } from './examples.ts';
import { compiled, manifestWith, oldManifestWith, problemsOf } from './support.ts';

type Files = Record<string, string>;
type Valid = [title: string, manifest: string, files?: Files];

const parameter = (fields: string): string =>
  manifestWith(`configuration: {g: {display_name: G, parameters: {p: {display_name: P, ${fields}}}}}\n`);
const argumentOf = (fields: string): string => argument(fields.split(', ').join('\n'));

const topLevel: Valid[] = [
  ['the least there is', manifestWith('')],
  [
    'everything at once',
    manifestWith(
      'description: D\nicon: any-icon\nlicense: MIT\nauthor: me\ncontributors: [you, them]\n' +
        'support: {url: https://example.test, email: a@example.test, .note: x}\nimplements: []\nimplements_draft: []\n' +
        'properties: {}\ntelemetry: {}\nalerts: {}\ncommands: {}\ncommand_groups: {}\nconfiguration: {}\nunits: {}\n',
    ),
  ],
  ['no contributors and no support fields', manifestWith('contributors: []\nsupport: {}\n')],
  ...BLUEPRINT_CATEGORIES.map((name): Valid => [`category ${name}`, manifestWith(`category: ${name}\n`)]),
  [
    'free dot fields, anywhere',
    manifestWith(
      '.cloud: {category: x, mobile_charts: [a]}\n.platform: {silently_drop_unknown_telemetry: true}\n.: 1\n' +
        'telemetry: {.any: [], t: {display_name: T, type: string, .hint: {a: 1}, enum: {a: {.note: 1}}}}\n' +
        'alerts: {a: {display_name: A, severity: info, .x: null}}\nunits: {u: {symbol: U, .x: 1}}\n',
    ),
  ],
  [
    'names of every allowed form',
    manifestWith(
      `telemetry: {A9_: {display_name: N, type: float}, ${'n'.repeat(128)}: {display_name: N, type: float}}\n` +
        'alerts: {2760Y: {display_name: N, severity: error}, a-b_C: {display_name: N, severity: error}}\n' +
        'units: {any code!: {symbol: S}}\n',
    ),
  ],
  [
    'a profile as text',
    manifestWith(
      'implements: lib.firmware.version\nproperties: {firmware_version: {display_name: F, type: string}}\n',
    ),
  ],
  [
    'a draft where drafts are listed',
    manifestWith(
      'implements_draft: lib.energy.electrolyser.feed_water.pressure\ntelemetry:\n' +
        '  feed_water_pressure: {display_name: P, type: float, unit: "bar{gauge}"}\n',
    ),
  ],
];

const runtimes: Valid[] = [
  ['embedded with empty options', manifestWith('').replace('embedded', 'embedded\n  options: {}')],
  [
    'requirements, known and not',
    manifestWith('').replace('embedded', 'embedded\n  requirements: [modbus, anything]'),
  ],
  ['one file, elsewhere too', lua('options: {file: ./fw/main.lua}'), { 'fw/main.lua': 'return 1' }],
  [
    'a folder',
    lua('options: {dir: src/}'),
    { 'src/main.lua': 'return require("a.b")', 'src/a/b.lua': 'return 1' },
  ],
  [
    'a rockspec',
    lua('options: {file: main.lua, rockspec: x.rockspec}'),
    { ...SCRIPT, 'x.rockspec': 'package = "x"' },
  ],
  ...[
    'enapter-ucm',
    'enapter-ucm ~> 0.4.0',
    'enapter-sma >= 1, < 2',
    'lua == 5.3',
    'json',
    'inspect 3.1.1-0',
    'enapter-ucm scm-1',
  ].map((rock): Valid => [
    `the rock ${rock}`,
    lua(`options: {file: main.lua, luarocks: ["${rock}"]}`),
    SCRIPT,
  ]),
  [
    'a rock that came along',
    lua('options: {file: main.lua, luarocks: [net-url]}'),
    { ...SCRIPT, 'net/url.lua': 'return 1' },
  ],
  ['rocks in development', lua('options: {file: main.lua, luarocks: [], allow_dev_luarocks: true}'), SCRIPT],
  ...['isolate', 'nodebug', '[]', '[isolate, nodebug]'].map((mode): Valid => [
    `amalgamation ${mode}`,
    lua(`options: {file: main.lua, amalg_mode: ${mode}}`),
    SCRIPT,
  ]),
  [
    'modules that the runtime brings',
    lua('options: {file: main.lua}'),
    {
      'main.lua':
        'require("json") require("enapter.ucm.config") require("enapter.ucm.generics.can") require("enapter.sma.modbustcp")',
    },
  ],
];

const TYPES = ['string', 'integer', 'float', 'boolean', 'array_of_strings'];
const JSON_TYPE = `type: json, json_schema: '{"type":"object"}'`;

const attributes: Valid[] = [
  ...TYPES.flatMap((type): Valid[] => [
    [`a property of type ${type}`, attribute(`type: ${type}`, 'properties')],
    [`telemetry of type ${type}`, attribute(`type: ${type}`)],
    [`an argument of type ${type}`, argument(`type: ${type}`)],
    [`a response of type ${type}`, command(`group: g\nresponse: {r: {type: ${type}}}`)],
    [`a parameter of type ${type}`, parameter(`type: ${type}`)],
  ]),
  ['telemetry of type alerts', attribute('type: alerts', 'telemetry', 'conn_alerts')],
  ['telemetry of type json', attribute(JSON_TYPE.replace(', ', '\n'))],
  ['an argument of type json', argumentOf(JSON_TYPE)],
  ['a response of type json', command(`group: g\nresponse: {r: {${JSON_TYPE}}}`)],
  ['a parameter of type json', parameter(JSON_TYPE)],
  ['a schema in a file', argument('type: json\njson_schema: schemas/a.json'), { 'schemas/a.json': 'true' }],
  ['a schema after blanks', argument(`type: json\njson_schema: '  {}'`)],
  [
    'every optional field',
    attribute('type: float\ndescription: D\nunit: W\nauto_scale: [kW, MW]\naccess_level: owner\naliases: a'),
  ],
  ['no scales', attribute('type: float\nunit: W\nauto_scale: []')],
  ...ACCESS_LEVELS.flatMap((level): Valid[] => [
    [`telemetry for ${level}`, attribute(`type: float\naccess_level: ${level}`)],
    [`a command for ${level}`, command(`group: g\naccess_level: ${level}\nread_access_level: ${level}`)],
    [
      `a configuration group for ${level}`,
      manifestWith(
        `configuration: {g: {display_name: G, access_level: ${level}, parameters: {p: {display_name: P, type: string}}}}\n`,
      ),
    ],
  ]),
  ['aliases as a list, digits first', attribute('type: float\naliases: [a, 1_b, C]')],
  [
    'an alias that another section has',
    manifestWith(
      'properties: {x: {display_name: X, type: float}}\ntelemetry: {y: {display_name: Y, type: float, aliases: x}}\n',
    ),
  ],
  ['a status', attribute('type: string\nenum: [ok]', 'telemetry', 'status')],
  ['a property named status, of any type', attribute('type: float', 'properties', 'status')],
  ['a state beside nothing', attribute('type: integer', 'telemetry', 'state')],
];

const ENUMS: [title: string, fields: string][] = [
  ['a list of texts', 'type: string\nenum: [a, "1", "", no, on, off]'],
  ['a list of whole numbers', 'type: integer\nenum: [0, -1, 5.0, 100]'],
  ['a list of numbers, whole ones too', 'type: float\nenum: [1, 2.5, -0.25]'],
  ['a map of texts', 'type: string\nenum: {a: {display_name: A, description: D}, b: {}, c: }'],
  ['a map of numbers, written as text too', 'type: integer\nenum: {1: {}, "2": {display_name: Two}, -3: {}}'],
  ['a map of fractions', 'type: float\nenum: {1.5: {}, "2": {}}'],
];

const enums: Valid[] = [
  ...ENUMS.flatMap(([title, fields]): Valid[] => [
    [`${title} on telemetry`, attribute(fields)],
    [`${title} on a property`, attribute(fields, 'properties')],
    [`${title} on an argument`, argument(fields)],
  ]),
  [
    'every colour',
    attribute(`type: string\nenum: {${COLORS.map((color) => `${color}: {color: ${color}}`).join(', ')}}`),
  ],
  ['colours on a property', attribute('type: string\nenum: {a: {color: red-darker}}', 'properties')],
];

const UNITS =
  '% %LEL [ppm] 1 A mA Ah V mV kV W kW MW Wh kWh MWh VA kVA VAR kVAR Hz Ohm J Cel K [degF] mbar bar bar{gauge} Pa kPa s ms ' +
  'min h d deg W/m2 uS/cm Nl Nl/h L m3 L/min m3/h kg g m mm m/s rpm dB dBm Mbps lx';

const units: Valid[] = [
  ...UNITS.split(' ').map((unit): Valid => [`the unit ${unit}`, attribute(`type: float\nunit: "${unit}"`)]),
  [
    'coulomb and farad, when meant',
    manifestWith(
      'telemetry:\n  c: {display_name: C, type: float, unit: C, allow_unit_c: true}\n' +
        '  f: {display_name: F, type: integer, unit: F, allow_unit_f: true, auto_scale: [mF]}\n',
    ),
  ],
  ['a unit of a property', attribute('type: integer\nunit: Wh', 'properties')],
  [
    "the author's own, also as a scale",
    attribute('type: float\nunit: packets\nauto_scale: [boxes]') +
      'units: {packets: {symbol: pkt, display_name: P, description: D}, boxes: {symbol: box}}\n',
  ],
];

const actions: Valid[] = [
  ...['15s', '1m', '2m30s', '0s', '500ms', '1h'].map((period): Valid => [
    `a grace period of ${period}`,
    manifestWith(`alerts: {a: {display_name: A, severity: error, grace_period: ${period}}}\n`),
  ]),
  [
    'an alert with every field',
    manifestWith(
      'telemetry: {t: {display_name: T, type: float}}\nalerts:\n  a: {display_name: A, severity: warning, description: D, ' +
        'code: F01, troubleshooting: [one, two], telemetry: [t], components: [fan], conditions: [heat]}\n',
    ),
  ],
  [
    "the author's own not_configured",
    manifestWith('alerts: {not_configured: {display_name: N, severity: info}}\n'),
  ],
  [
    'a command with every field',
    manifestWith(
      'command_groups: {g: {display_name: G, description: D, ui: {icon: i}}}\ncommands:\n  read_c: {display_name: R, group: g}\n' +
        '  c:\n    display_name: C\n    group: g\n    description: D\n    populate_values_command: read_c\n' +
        '    ui: {icon: i, quick_access: true, mobile_quick_access: false}\n    aliases: [d]\n    implements: []\n' +
        '    confirmation: {severity: warning, title: Sure?, description: D}\n    arguments: {}\n    response: {}\n',
    ),
  ],
  [
    'a group that is declared later',
    manifestWith('commands: {c: {display_name: C, group: g}}\ncommand_groups: {g: {display_name: G}}\n'),
  ],
  [
    'names of the older configuration',
    manifestWith(
      'command_groups: {g: {display_name: G}}\ncommands: {read_configuration: {display_name: R, group: g}, write_configuration: {display_name: W, group: g, populate_values_command: read_configuration}}\n',
    ),
  ],
  [
    'an argument with every field',
    argument(
      'type: integer\nrequired: true\ndescription: D\nmin: 1\nmax: 1\nsensitive: true\ndefault: 1\nformat: moon',
    ),
  ],
  ['a default that is text for a flag', argument('type: boolean\ndefault: "false"')],
  ['a whole default of a fraction', argument('type: float\nmin: -0.5\nmax: 2\ndefault: 1')],
  ['a default that is a whole fraction', argument('type: integer\ndefault: 2.0')],
  ['a default of the enum', argument('type: string\nenum: {a: {}, b: {}}\ndefault: b')],
  [
    'a response with every field and any name',
    command(
      'group: g\nresponse: {"any name": {display_name: R, type: string, required: true, description: D, enum: [a], format: f}}',
    ),
  ],
  [
    'a parameter with every field',
    parameter(
      'type: string, description: D, required: true, default: tcp://a, sensitive: true, format: connection_uri, enum: [tcp://a]',
    ),
  ],
  [
    'a group with icon and description',
    manifestWith(
      'configuration: {g: {display_name: G, description: D, ui: {icon: i}, parameters: {p: {display_name: P, type: float, min: 0, max: 1}}}}\n',
    ),
  ],
];

const PRODUCTS = [
  'ENP-VIRTUAL',
  'ENP-RS485',
  'ENP-CAN',
  'ENP-RS232',
  'ENP-RL6',
  'ENP-DI7',
  'ENP-AI4',
  'ENP-KIT-RL1',
];
const oldModule = (fields: string): string =>
  `blueprint_spec: device/1.0\ndisplay_name: S\ncommunication_module: {product: ENP-VIRTUAL, ${fields}}\n`;

const older: Valid[] = [
  ...PRODUCTS.map((product): Valid => [
    `the product ${product}`,
    oldModule('lua_file: main.lua').replace('ENP-VIRTUAL', product),
    SCRIPT,
  ]),
  [
    'a folder with one dependency as text',
    oldModule('lua: {dir: fw, dependencies: enapter-ucm ~> 0.1.8}'),
    { 'fw/main.lua': '' },
  ],
  ['dependencies of no module', oldModule('lua_file: main.lua, dependencies: anything'), SCRIPT],
  [
    'a rockspec and a mode',
    oldModule('lua: {dir: src, rockspec: a.rockspec, amalg_mode: nodebug}'),
    { 'src/main.lua': '', 'a.rockspec': '' },
  ],
  [
    'rocks in development',
    oldModule('lua: {file: main.lua, dependencies: [], allow_dev_dependencies: true}'),
    SCRIPT,
  ],
  [
    'files of the cloud',
    oldModule(
      'lua_file: main.lua, telemetry_preprocessor: {lua_file: p.lua}, virtual_commands: {lua_file: v.lua}',
    ),
    SCRIPT,
  ],
  [
    'several modules',
    'blueprint_spec: "device/1.0"\ndisplay_name: S\ncommunication_modules: {enp-virtual: {product: ENP-VIRTUAL, lua_file: main.lua}}\n' +
      'telemetry: {t: {display_name: T, type: float, communication_module: enp-virtual}}\n',
    SCRIPT,
  ],
  [
    'free units, any colour, words that YAML of old took for flags',
    oldManifestWith(
      'telemetry:\n  t: {display_name: T, type: float, unit: °C}\n' +
        '  s: {display_name: S, type: string, enum: [off, on, N, "no"]}\n  status: {display_name: S, type: string, enum: {a: {color: "#FF0000"}}}\n',
    ),
    SCRIPT,
  ],
  [
    'misspelt and unknown fields, also of arguments',
    oldManifestWith(
      'whatever: 1\ncommand_groups: {g: {display_name: G}}\ncommands: {c: {display_name: C, group: g, arguments: {a: {display_name: A, type: float, unit: W, dscription: D}}}}\n',
    ),
    SCRIPT,
  ],
  [
    'a reserved name',
    oldManifestWith('telemetry: {alerts: {display_name: A, type: array_of_strings}}\n'),
    SCRIPT,
  ],
  [
    'a text over several lines with dashes',
    oldManifestWith(
      'alerts:\n  a:\n    display_name: A\n    severity: info\n    description: Over\n      - several\n      - lines\n',
    ),
    SCRIPT,
  ],
];

const SUBJECTS: Record<string, readonly Valid[]> = {
  topLevel,
  runtimes,
  attributes,
  enums,
  units,
  actions,
  older,
};

for (const [subject, rows] of Object.entries(SUBJECTS))
  describe(`an author may write (${subject}):`, () => {
    for (const [title, manifest, files] of rows)
      test(title, () => {
        assert.deepEqual(problemsOf(manifest, files), []);
        const { manifest: made } = compiled(manifest, files);
        assert.match(made.blueprint_spec, /^device_compiled\/(1|3)\.0$/);
        for (const section of ['properties', 'telemetry', 'alerts', 'commands', 'configuration'] as const)
          assert.equal(typeof made[section], 'object', section);
      });
  });

test('units that must be known are spelt canonically', () => {
  for (const unit of UNITS.split(' ')) assert.equal(parseUnit(unit)?.code, unit);
});
