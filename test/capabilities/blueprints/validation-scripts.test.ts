/**
 * Scripts, profiles and the older spec: one invalid example for each row of docs/interface/blueprints.md#problems.
 */
import { attribute, lua, NAME_RULE, SCRIPT, testExamples, type Example } from './examples.ts';
import { manifestWith, oldManifestWith } from './support.ts';

const scripts: Example[] = [
  [
    'a script without options',
    'blueprint_spec: device/3.0\ndisplay_name: S\nruntime: {type: lua}\n',
    ['runtime.options: required for runtime type lua'],
  ],
  [
    'options without a script',
    manifestWith('').replace('embedded', 'embedded\n  options: {file: main.lua}'),
    ['runtime.options: not allowed for runtime type embedded'],
  ],
  ['neither file nor folder', lua('options: {}'), ['runtime.options: either file or dir is required']],
  [
    'file and folder',
    lua('options: {file: main.lua, dir: .}'),
    ['runtime.options: file and dir are mutually exclusive'],
    SCRIPT,
  ],
  [
    'two lists of rocks',
    lua('options: {file: main.lua, rockspec: x.rockspec, luarocks: []}'),
    [
      'runtime.options: luarocks and rockspec are mutually exclusive',
      'runtime.options.rockspec: missed file x.rockspec',
    ],
    SCRIPT,
  ],
  ['a missing file', lua('options: {file: main.lua}'), ['runtime.options.file: missed file main.lua']],
  ['a missing folder', lua('options: {dir: src}'), ['runtime.options.dir: missed file src/main.lua']],
  ['a way out', lua('options: {file: ../main.lua}'), ['runtime.options.file: path leaves the blueprint']],
  [
    'Lua syntax',
    lua('options: {file: main.lua}'),
    ["main.lua:2: unexpected symbol near '='"],
    {
      'main.lua': 'local a = 1\nx = = 1\n',
    },
  ],
  [
    'Lua syntax of a module',
    lua('options: {dir: src}'),
    ["src/lib/a.lua:1: unexpected symbol near '='"],
    {
      'src/main.lua': 'require("lib.a")',
      'src/lib/a.lua': 'x = = 1',
    },
  ],
  [
    'a missing module',
    lua('options: {dir: src}'),
    ['src/main.lua: module "foo" not found'],
    {
      'src/main.lua': 'require "json"; require("foo"); pcall(require, "bar"); -- require "baz"\n',
    },
  ],
  [
    'a rock of wrong form',
    lua('options: {file: main.lua, luarocks: ["x >>> 1", "", "enapter-ucm ~> one", "enapter-ucm >= 0.3,"]}'),
    [
      'runtime.options.luarocks[0]: invalid dependency "x >>> 1"',
      'runtime.options.luarocks[1]: invalid dependency ""',
      'runtime.options.luarocks[2]: invalid dependency "enapter-ucm ~> one"',
      'runtime.options.luarocks[3]: invalid dependency "enapter-ucm >= 0.3,"',
    ],
    SCRIPT,
  ],
  [
    'rocks in development, whose versions are words',
    lua(
      'options: {file: main.lua, luarocks: ["hashes ~> scm-1", "enapter-ucm dev-1", "enapter-ucm >= 0.3, < 0.5-1"]}',
    ),
    ['runtime.options.luarocks[0]: package "hashes" is not available'],
    SCRIPT,
  ],
  [
    'a rock that is not there',
    lua('options: {file: main.lua, luarocks: ["enapter-ucm ~> 0.4.0", net-url]}'),
    ['runtime.options.luarocks[1]: package "net-url" is not available'],
    SCRIPT,
  ],
];

const METER = [
  'vendor: {display_name: V, type: string}',
  'model: {display_name: M, type: string}',
  'serial_number: {display_name: S, type: string}',
];
const meter = (sections: string): string =>
  manifestWith(`implements: [sensor.ambient_temperature]\nproperties: {${METER.join(', ')}}\n${sections}`);

const profiles: Example[] = [
  [
    'an unknown profile',
    manifestWith('implements: [sensor.helium]\n'),
    ['implements[0]: unknown profile "sensor.helium"'],
  ],
  [
    'a draft among the others',
    manifestWith('implements: [lib.energy.electrolyser.control]\n'),
    ['implements[0]: profile "lib.energy.electrolyser.control" is a draft; list it in implements_draft'],
  ],
  [
    'a missing member',
    manifestWith('implements: lib.energy.battery.soc\n'),
    ['implements: profile "lib.energy.battery.soc" requires telemetry "battery_soc"'],
  ],
  [
    'a missing member of an implied profile',
    meter('telemetry: {}\n'),
    [
      'implements[0]: profile "sensor.ambient_temperature" requires telemetry "ambient_temperature" ' +
        '(from lib.sensor.temperature.ambient)',
    ],
  ],
  [
    'a member of another type and unit',
    meter('telemetry: {ambient_temperature: {display_name: T, type: integer, unit: K}}\n'),
    [
      'telemetry.ambient_temperature: type integer does not match float required by lib.sensor.temperature.ambient',
      'telemetry.ambient_temperature: unit K does not match Cel required by lib.sensor.temperature.ambient',
    ],
  ],
  [
    'a member with other values',
    manifestWith(
      'implements: [lib.energy.inverter.grid.mode]\n' +
        'properties: {grid_mode: {display_name: G, type: string, enum: [grid_tied, island]}}\n',
    ),
    [
      'properties.grid_mode: enum values differ from lib.energy.inverter.grid.mode: missing off_grid; extra island',
    ],
  ],
  [
    'a command without its argument',
    manifestWith(
      'implements_draft: [lib.energy.electrolyser.control]\ncommand_groups: {g: {display_name: G}}\ncommands:\n' +
        '  start: {display_name: S, group: g}\n  stop: {display_name: S, group: g}\n' +
        '  set_production_rate: {display_name: S, group: g}\n',
    ),
    ['commands.set_production_rate.arguments.value: required by lib.energy.electrolyser.control'],
  ],
  [
    'a reference to nothing',
    attribute('type: float\nimplements: a.b.c'),
    ['telemetry.x.implements: unknown profile attribute "a.b.c"'],
  ],
  [
    'a reference to a profile that is not listed',
    attribute('type: float\nimplements: [lib.energy.battery.soc.battery_soc]'),
    ['telemetry.x.implements[0]: profile "lib.energy.battery.soc" is not listed in implements'],
  ],
];

const old: Example[] = [
  [
    'no communication module',
    'blueprint_spec: device/1.0\ndisplay_name: S\n',
    ['communication_module: required'],
  ],
  [
    'a module without product',
    'blueprint_spec: device/1.0\ndisplay_name: S\ncommunication_module: {}\n',
    ['communication_module.product: required'],
  ],
  [
    'a script that is not there',
    oldManifestWith(''),
    ['communication_module.lua_file: missed file main.lua'],
  ],
  [
    'the same form',
    oldManifestWith('telemetry: {1st: {type: number}}\nalerts: {2760Y: {display_name: A, severity: bad}}\n'),
    [
      `telemetry.1st: invalid name, ${NAME_RULE}`,
      'telemetry.1st.type: unsupported value "number", expected one of: boolean, string, integer, float, array_of_strings',
      'telemetry.1st.display_name: required',
      'alerts.2760Y.severity: unsupported value "bad", expected one of: info, warning, error',
    ],
    SCRIPT,
  ],
  [
    'a rock that is not there',
    'blueprint_spec: device/1.0\ndisplay_name: S\ncommunication_module:\n' +
      '  product: ENP-VIRTUAL\n  lua: {file: main.lua, dependencies: [redis]}\n',
    ['communication_module.lua.dependencies[0]: package "redis" is not available'],
    SCRIPT,
  ],
];

testExamples({ scripts, profiles, old });
