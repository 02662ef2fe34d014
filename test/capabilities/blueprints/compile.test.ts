/** The documented changes of the compiled view: one test for each row of docs/interface/blueprints.md#compiled. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compiled, manifestWith, oldManifestWith } from './support.ts';

const attributes = (entries: string): string => manifestWith(`telemetry:\n${entries}`);

describe('the compiled manifest', () => {
  test('the compiled manifest names its own spec', () => {
    assert.equal(compiled(manifestWith('')).manifest.blueprint_spec, 'device_compiled/3.0');
  });

  test('the compiled manifest names one Lua file, whichever option led to it', () => {
    const { manifest } = compiled(
      'blueprint_spec: device/3.0\ndisplay_name: S\nruntime:\n  type: lua\n  requirements: [modbus]\n' +
        '  options: {dir: src, luarocks: [enapter-ucm], allow_dev_luarocks: true, amalg_mode: isolate}\n',
      { 'src/main.lua': 'return 1' },
    );
    assert.deepEqual(manifest.runtime, {
      type: 'lua',
      requirements: ['modbus'],
      options: { file: 'main.lua' },
    });
  });

  test('the compiled manifest holds JSON schemas, inline ones parsed and files included', () => {
    const { manifest } = compiled(
      manifestWith(
        'telemetry: {t: {display_name: T, type: json, json_schema: "{\\"type\\": \\"array\\"}"}}\n' +
          'configuration: {g: {display_name: G, parameters: {p: {display_name: P, type: json, json_schema: ./s/p.json}}}}\n',
      ),
      { 's/p.json': '{"type": "object"}' },
    );
    assert.deepEqual(manifest.telemetry['t']?.json_schema, { type: 'array' });
    assert.deepEqual(manifest.configuration['g']?.parameters['p']?.json_schema, { type: 'object' });
  });

  test('the compiled manifest has enums of telemetry in both forms, in author order, every item named and coloured', () => {
    const { manifest } = compiled(
      attributes(
        '  a: {display_name: A, type: string, enum: [online, strange, fault, odd]}\n' +
          '  b: {display_name: B, type: integer, enum: {3: {display_name: Three, color: red-dark}, "1": {description: One}, 2: null}}\n',
      ),
    );
    assert.deepEqual(manifest.telemetry['a']?.enum, ['online', 'strange', 'fault', 'odd']);
    assert.deepEqual(manifest.telemetry['a']?.enum_with_metainfo, [
      { value: 'online', display_name: 'online', color: 'green' },
      { value: 'strange', display_name: 'strange', color: 'purple' },
      { value: 'fault', display_name: 'fault', color: 'red' },
      { value: 'odd', display_name: 'odd', color: 'cyan' },
    ]);
    assert.deepEqual(manifest.telemetry['b']?.enum, [3, 1, 2]);
    assert.deepEqual(manifest.telemetry['b']?.enum_with_metainfo, [
      { value: 3, display_name: 'Three', color: 'red-dark' },
      { value: 1, display_name: '1', description: 'One', color: 'purple' },
      { value: 2, display_name: '2', color: 'orange' },
    ]);
  });

  test('the compiled manifest has enums of properties in both forms, coloured only by the author', () => {
    const { manifest } = compiled(
      manifestWith('properties: {p: {display_name: P, type: string, enum: {a: {color: red}, b: {}}}}\n'),
    );
    assert.deepEqual(manifest.properties['p']?.enum_with_metainfo, [
      { value: 'a', display_name: 'a', color: 'red' },
      { value: 'b', display_name: 'b' },
    ]);
  });

  test('the compiled manifest has enums of arguments, responses and parameters in the form of the author only', () => {
    const { manifest } = compiled(
      manifestWith(
        'command_groups: {g: {display_name: G}}\ncommands:\n  c:\n    display_name: C\n    group: g\n' +
          '    arguments:\n      a: {display_name: A, type: float, enum: [1, 2.5]}\n' +
          '      b: {display_name: B, type: float, enum: {1: {display_name: One}}}\n' +
          '    response:\n      any name: {type: string, enum: [x]}\n',
      ),
    );
    const command = manifest.commands['c'];
    assert.deepEqual(command?.arguments?.['a'], { display_name: 'A', type: 'float', enum: [1, 2.5] });
    assert.deepEqual(command?.arguments?.['b'], {
      display_name: 'B',
      type: 'float',
      enum_with_metainfo: [{ value: 1, display_name: 'One' }],
    });
    assert.deepEqual(command?.response?.['any name'], { type: 'string', enum: ['x'] });
  });

  test('the compiled manifest has the telemetry and the alert that every device has', () => {
    const { manifest } = compiled(manifestWith(''));
    const common = { access_level: 'readonly', implements: [], aliases: [] };
    assert.deepEqual(manifest.telemetry, {
      alerts: { display_name: 'Alerts', type: 'alerts', ...common },
      alert_details: { display_name: 'Alert Details', type: 'object', ...common },
    });
    assert.deepEqual(manifest.alerts, {
      not_configured: { severity: 'info', display_name: 'Not Configured' },
    });
  });

  test("the compiled manifest keeps the author's own not_configured", () => {
    const { manifest } = compiled(
      manifestWith('alerts: {not_configured: {display_name: Mine, severity: warning}}\n'),
    );
    assert.deepEqual(manifest.alerts, { not_configured: { display_name: 'Mine', severity: 'warning' } });
  });

  test('the compiled manifest names every access level', () => {
    const { manifest } = compiled(
      manifestWith(
        'properties: {p: {display_name: P, type: string}}\ntelemetry: {t: {display_name: T, type: float, access_level: owner}}\n' +
          'command_groups: {g: {display_name: G}}\ncommands: {c: {display_name: C, group: g}}\n' +
          'configuration: {k: {display_name: K, parameters: {p: {display_name: P, type: string}}}}\n',
      ),
    );
    assert.deepEqual(
      [
        manifest.properties['p'],
        manifest.telemetry['t'],
        manifest.commands['c'],
        manifest.configuration['k'],
      ].map((entry) => entry?.access_level),
      ['readonly', 'owner', 'user', 'user'],
    );
  });

  test('the compiled manifest has canonical units, and explains all it uses', () => {
    const { manifest } = compiled(
      attributes(
        '  a: {display_name: A, type: float, unit: W.h, auto_scale: [kW.h]}\n' +
          '  b: {display_name: B, type: float, unit: Cel}\n  c: {display_name: C, type: integer, unit: packets}\n',
      ) + 'units: {packets: {symbol: pkt}, unused: {symbol: u, display_name: U}}\n',
    );
    assert.equal(manifest.telemetry['a']?.unit, 'Wh');
    assert.deepEqual(manifest.telemetry['a']?.auto_scale, ['kWh']);
    assert.deepEqual(manifest.units, {
      packets: { symbol: 'pkt' },
      unused: { symbol: 'u', display_name: 'U' },
      Wh: { symbol: 'Wh', display_name: 'watt hour' },
      kWh: { symbol: 'kWh', display_name: 'kilowatt hour' },
      Cel: { symbol: '°C', display_name: 'degree Celsius' },
    });
  });

  test("the compiled manifest keeps an author's own unit, even one that is another spelling of a known unit", () => {
    const { manifest } = compiled(
      attributes('  a: {display_name: A, type: float, unit: l, auto_scale: [pct]}\n') +
        'units: {l: {symbol: lots}, pct: {symbol: points}}\n',
    );
    assert.equal(manifest.telemetry['a']?.unit, 'l');
    assert.deepEqual(manifest.telemetry['a']?.auto_scale, ['pct']);
    assert.deepEqual(manifest.units, { l: { symbol: 'lots' }, pct: { symbol: 'points' } });
  });

  test('the compiled manifest has implements and aliases as lists', () => {
    const { manifest } = compiled(attributes('  a: {display_name: A, type: float, aliases: b}\n'));
    assert.deepEqual(manifest.implements, []);
    assert.deepEqual(manifest.telemetry['a']?.aliases, ['b']);
    assert.deepEqual(manifest.telemetry['a']?.implements, []);
  });

  test('the compiled manifest has profiles filled in: closure, references and aliases', () => {
    const { manifest } = compiled(
      manifestWith(
        'implements: [sensor.gas.hydrogen, lib.sensor.gas.ppm]\n' +
          'properties:\n  vendor: {display_name: V, type: string}\n  model: {display_name: M, type: string}\n' +
          '  serial: {display_name: S, type: string, implements: sensor.gas.hydrogen.serial_number}\n' +
          'telemetry:\n  concentration: {display_name: C, type: float, unit: "%LEL", implements: [lib.sensor.gas.lel.gas_lel]}\n' +
          '  gas_ppm: {display_name: P, type: float, unit: "[ppm]"}\n  other: {display_name: O, type: float}\n',
      ),
    );
    assert.deepEqual(manifest.implements, [
      'sensor.gas.hydrogen',
      'lib.sensor.gas.ppm',
      'lib.device.nameplate',
      'lib.sensor.gas.lel',
    ]);
    assert.deepEqual(manifest.properties['serial']?.implements, [
      'sensor.gas.hydrogen.serial_number',
      'lib.device.nameplate.serial_number',
    ]);
    assert.deepEqual(manifest.properties['serial']?.aliases, ['serial_number']);
    assert.deepEqual(manifest.telemetry['concentration']?.implements, [
      'lib.sensor.gas.lel.gas_lel',
      'sensor.gas.hydrogen.gas_lel',
    ]);
    assert.deepEqual(manifest.telemetry['concentration']?.aliases, ['gas_lel']);
    assert.deepEqual(manifest.telemetry['gas_ppm']?.implements, [
      'lib.sensor.gas.ppm.gas_ppm',
      'sensor.gas.hydrogen.gas_ppm',
    ]);
    assert.deepEqual(manifest.telemetry['other']?.implements, []);
  });

  test('the compiled manifest may refer to a member once for a profile and for a part of it that is listed too', () => {
    const { manifest } = compiled(
      manifestWith(
        'implements: [lib.sensor.gas.lel, sensor.hydrogen]\nproperties:\n' +
          ['vendor', 'model', 'serial_number']
            .map((name) => `  ${name}: {display_name: N, type: string}\n`)
            .join('') +
          'telemetry: {h2: {display_name: H, type: float, unit: "%LEL", implements: sensor.hydrogen.gas_lel}}\n',
      ),
    );
    assert.deepEqual(manifest.telemetry['h2']?.implements, [
      'sensor.hydrogen.gas_lel',
      'lib.sensor.gas.lel.gas_lel',
    ]);
  });

  test('the compiled manifest is judged by the earlier revision of a profile when it conforms to that one', () => {
    const { manifest } = compiled(
      manifestWith(
        'implements: energy.power_meter.ac.1_phase\nproperties:\n' +
          ['vendor', 'model', 'serial_number']
            .map((name) => `  ${name}: {display_name: N, type: string}\n`)
            .join('') +
          'telemetry:\n' +
          [
            ['ac_frequency', 'Hz'],
            ['ac_l1_power', 'W'],
            ['ac_l1_voltage', 'V'],
            ['ac_l1_current', 'A'],
            ['energy_total', 'Wh'],
            ['total_power', 'W'],
          ]
            .map(([name, unit]) => `  ${name}: {display_name: N, type: float, unit: ${unit}}\n`)
            .join(''),
      ),
    );
    assert.ok(manifest.implements.includes('lib.energy.power_meter.energy.total'));
    assert.ok(!manifest.implements.includes('lib.energy.power_meter.energy.lifetime'));
    assert.deepEqual(manifest.telemetry['energy_total']?.implements, [
      'energy.power_meter.ac.1_phase.energy_total',
      'lib.energy.power_meter.energy.total.energy_total',
    ]);
  });

  test('the compiled manifest keeps everything else as it is, dot fields included', () => {
    const { manifest } = compiled(
      manifestWith(
        '.cloud: {category: x, list: [1, {a: null}]}\ntelemetry: {t: {display_name: T, type: float, .hint: [true]}}\n',
      ),
    );
    assert.deepEqual(manifest['.cloud'], { category: 'x', list: [1, { a: null }] });
    assert.deepEqual(manifest.telemetry['t']?.['.hint'], [true]);
  });

  test('the compiled manifest takes a dot field among the entries of a section for a note', () => {
    const { manifest } = compiled(
      attributes('  .defaults: &d {type: float}\n  a: {display_name: A, <<: *d}\n') +
        'alerts: {.note: x}\ncommands: {.note: x}\nconfiguration: {.note: x}\nunits: {.note: x}\n',
    );
    assert.deepEqual(Object.keys(manifest.telemetry), ['a', 'alerts', 'alert_details']);
    assert.deepEqual(Object.keys(manifest.alerts), ['not_configured']);
    assert.deepEqual(
      [manifest.commands, manifest.configuration, manifest['command_groups']],
      [{}, {}, undefined],
    );
  });

  test('the compiled manifest has values that aliases and merge keys of YAML stand for', () => {
    const { manifest } = compiled(
      manifestWith(
        '.base: &base {type: float, unit: V}\ntelemetry:\n  a: {display_name: A, <<: *base}\n  b: &b {display_name: B, <<: *base, unit: A}\n',
      ),
    );
    assert.equal(manifest.telemetry['a']?.unit, 'V');
    assert.equal(manifest.telemetry['b']?.unit, 'A');
  });

  test('the compiled manifest takes a default of a flag written as text, and the older name of a hint', () => {
    const { manifest } = compiled(
      manifestWith(
        'command_groups: {g: {display_name: G}}\ncommands:\n  c:\n    display_name: C\n    group: g\n    ui: {icon: i, mobile_quick_access: true}\n' +
          '    arguments: {a: {display_name: A, type: boolean, default: "true"}}\n',
      ),
    );
    assert.equal(manifest.commands['c']?.arguments?.['a']?.default, true);
    assert.deepEqual(manifest.commands['c']?.['ui'], { icon: 'i', quick_access: true });
  });
});

describe('the compiled manifest of the older spec', () => {
  const { manifest } = compiled(
    oldManifestWith(
      'vendor: Me\nmystery: 1\nsupport: null\ntelemetry: {t: {display_name: T, type: string, unit: celsius, enum: {a: {color: "#FF0000"}, ok: {}}}}\n' +
        'alerts: {2760Y: {display_name: A, severity: error}}\n',
    ),
    { 'main.lua': 'return 1' },
  );

  test('the compiled manifest of the older spec has the same form under its own spec', () => {
    assert.equal(manifest.blueprint_spec, 'device_compiled/1.0');
    assert.deepEqual(Object.keys(manifest), [
      'blueprint_spec',
      'display_name',
      'vendor',
      'mystery',
      'telemetry',
      'alerts',
      'implements',
      'properties',
      'commands',
      'configuration',
      'communication_modules',
    ]);
    assert.deepEqual(manifest['communication_modules'], {
      main: { product: 'ENP-VIRTUAL', lua_file: 'main.lua' },
    });
  });

  test('the compiled manifest of the older spec keeps units and colours as they are', () => {
    const { t } = manifest.telemetry;
    assert.equal(t?.unit, 'celsius');
    assert.deepEqual(t?.enum_with_metainfo, [
      { value: 'a', display_name: 'a', color: '#FF0000' },
      { value: 'ok', display_name: 'ok' },
    ]);
  });

  test('the compiled manifest of the older spec has alerts as telemetry, but no alert of its own', () => {
    assert.equal(manifest.telemetry['alerts']?.type, 'alerts');
    assert.deepEqual(Object.keys(manifest.alerts), ['2760Y']);
  });
});
