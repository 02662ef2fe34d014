/** Attributes, alerts and commands: one invalid example for each row of docs/interface/blueprints.md#problems. */
import { argument, attribute, command, testExamples, type Example } from './examples.ts';
import { manifestWith } from './support.ts';

const attributes: Example[] = [
  [
    'a JSON property',
    attribute('type: json\njson_schema: "{}"', 'properties'),
    ['properties.x.type: json is not allowed for properties'],
  ],
  [
    'JSON without schema',
    argument('type: json'),
    ['commands.c.arguments.a.json_schema: required for type json'],
  ],
  [
    'a schema of another type',
    attribute('type: float\njson_schema: "{}"'),
    ['telemetry.x.json_schema: allowed only for type json'],
  ],
  [
    'a missing schema file',
    argument('type: json\njson_schema: msg_ids.json'),
    ['commands.c.arguments.a.json_schema: missed file msg_ids.json'],
  ],
  [
    'an unreadable schema',
    argument(`type: json\njson_schema: '{"type": }'`),
    ['commands.c.arguments.a.json_schema: invalid JSON schema: not valid JSON'],
  ],
  [
    'a schema of wrong form',
    argument(`type: json\njson_schema: '{"properties": {"a": {"type": "int"}}}'`),
    [
      'commands.c.arguments.a.json_schema: invalid JSON schema: /properties/a/type must be of: ' +
        'array, boolean, integer, null, number, object, string',
    ],
  ],
  [
    'a schema elsewhere',
    argument('type: json\njson_schema: ../s.json'),
    ['commands.c.arguments.a.json_schema: path leaves the blueprint'],
  ],
  [
    'reserved telemetry',
    manifestWith('telemetry: {alerts: {}, alert_details: {}, timestamp: {}}\nproperties: {timestamp: {}}\n'),
    [
      'telemetry.alerts: reserved, must not be declared',
      'telemetry.alert_details: reserved, must not be declared',
      'telemetry.timestamp: reserved, must not be declared',
      'properties.timestamp: reserved, must not be declared',
    ],
  ],
  [
    'a status that is no text',
    attribute('type: integer', 'telemetry', 'status'),
    ['telemetry.status.type: must be string', 'telemetry.status.enum: required'],
  ],
  [
    'an enum of flags',
    attribute('type: boolean\nenum: [true]'),
    ['telemetry.x.enum: not allowed for type boolean'],
  ],
  [
    'a value of another type in an enum',
    attribute('type: integer\nenum: [1, "2", 2.5, null]'),
    [
      'telemetry.x.enum[1]: must be integer, got string "2"',
      'telemetry.x.enum[2]: must be integer, got float 2.5',
      'telemetry.x.enum[3]: must be integer, got null',
    ],
  ],
  [
    'a key of another type in an enum',
    attribute('type: integer\nenum: {abc: {}, "1": {}}'),
    ['telemetry.x.enum.abc: must be integer'],
  ],
  [
    'a flag as key of an enum of texts',
    attribute('type: string\nenum: {true: {}, "off": {}}'),
    ['telemetry.x.enum.true: must be string'],
  ],
  ['an empty enum', attribute('type: string\nenum: []'), ['telemetry.x.enum: must not be empty']],
  [
    'a repeated value',
    attribute('type: string\nenum: [a, b, "on", "on"]'),
    ['telemetry.x.enum[3]: duplicate value "on"'],
  ],
  [
    'a repeated number',
    attribute('type: integer\nenum: {"1": {}, "01": {}}'),
    ['telemetry.x.enum.01: duplicate value 1'],
  ],
  ['a unit of a text', attribute('type: string\nunit: V'), ['telemetry.x.unit: not allowed for type string']],
  [
    'ambiguous units',
    manifestWith(
      'telemetry:\n  a: {display_name: A, type: float, unit: C}\n  b: {display_name: B, type: float, unit: F}\n',
    ),
    [
      'telemetry.a.unit: "C" means coulomb; use "Cel" or set allow_unit_c',
      'telemetry.b.unit: "F" means farad; use "[degF]" or set allow_unit_f',
    ],
  ],
  [
    'an unknown unit',
    attribute('type: float\nunit: watt'),
    ['telemetry.x.unit: unknown unit "watt"; use a UCUM code or declare it in units'],
  ],
  [
    'a scale of another kind',
    attribute('type: float\nunit: W\nauto_scale: [kW, MW, V]'),
    ['telemetry.x.auto_scale[2]: "V" is not compatible with unit "W"'],
  ],
  [
    'a scale without unit',
    attribute('type: float\nauto_scale: [kW]'),
    ['telemetry.x.auto_scale: requires unit'],
  ],
  ['a bad alias', attribute('type: float\naliases: [a.b]'), ['telemetry.x.aliases[0]: invalid alias "a.b"']],
  [
    'aliases in use',
    manifestWith(
      'telemetry:\n  x: {display_name: X, type: float, aliases: [y, z, alerts]}\n' +
        '  y: {display_name: Y, type: float, aliases: z}\n',
    ),
    [
      'telemetry.x.aliases[0]: name "y" is already used',
      'telemetry.x.aliases[2]: name "alerts" is already used',
      'telemetry.y.aliases: name "z" is already used',
    ],
  ],
];

const actions: Example[] = [
  [
    'a grace period',
    manifestWith('alerts: {a: {display_name: A, severity: info, grace_period: 5 minutes}}\n'),
    ['alerts.a.grace_period: invalid duration "5 minutes"'],
  ],
  [
    'telemetry of an alert',
    manifestWith('alerts: {a: {display_name: A, severity: info, telemetry: [volt]}}\n'),
    ['alerts.a.telemetry[0]: unknown telemetry attribute "volt"'],
  ],
  [
    'a name of an alert',
    manifestWith('alerts: {a b: {display_name: A, severity: info}}\n'),
    ['alerts.a b: invalid name, must match ^[A-Za-z0-9_-]+$'],
  ],
  ['a missing group', command('group: main'), ['commands.c.group: unknown command group "main"']],
  [
    'a command that fills the form',
    command('group: g\npopulate_values_command: read_cfg'),
    ['commands.c.populate_values_command: unknown command "read_cfg"'],
  ],
  [
    'bounds of a text',
    argument('type: string\nmin: 1\nmax: 2'),
    [
      'commands.c.arguments.a.min: allowed only for numeric types',
      'commands.c.arguments.a.max: allowed only for numeric types',
    ],
  ],
  [
    'bounds the wrong way round',
    argument('type: integer\nmin: 2\nmax: 1'),
    ['commands.c.arguments.a.min: must not be greater than max'],
  ],
  [
    'a default of another type',
    argument('type: integer\ndefault: "1"'),
    ['commands.c.arguments.a.default: must be integer'],
  ],
  [
    'a default outside the enum',
    argument('type: string\nenum: [a, b]\ndefault: c'),
    ['commands.c.arguments.a.default: must be one of: a, b'],
  ],
  [
    'a default outside the bounds',
    argument('type: float\nmin: 1\ndefault: 0'),
    ['commands.c.arguments.a.default: must be at least 1'],
  ],
  [
    'a default that is no single value',
    argument('type: array_of_strings\ndefault: [a]'),
    ['commands.c.arguments.a.default: must be a string, a number or a boolean'],
  ],
  ['a virtual command', command('group: g\nvirtual: true'), ['commands.c.virtual: unknown field']],
  [
    'a configuration group without parameters',
    manifestWith('configuration: {g: {display_name: G, parameters: {}}}\n'),
    ['configuration.g.parameters: must not be empty'],
  ],
];

testExamples({ attributes, actions });
