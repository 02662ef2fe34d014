/** Blueprints of both generations, each for one thing that published ones do, as the program tries them on a real gateway. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { findBlueprints } from '../../scripts/try-blueprints/find.ts';
import type { Trial } from '../../scripts/try-blueprints/trial.ts';
import { notesText, tableOf } from '../../scripts/try-blueprints.ts';
import { writeArchive } from '../../src/capabilities/blueprints/source/archive.ts';
import { startTestGateway } from '../support/test-gateway.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

const SCRIPT = join(PROJECT_ROOT, 'scripts', 'try-blueprints.ts');

const newer = (more = '', requirements = ''): string => `blueprint_spec: device/3.0
display_name: Fixture
runtime:
  type: lua
  requirements: [${requirements}]
  options: { file: main.lua }
telemetry:
  status: { display_name: Status, type: string, enum: [ok, error] }
  flow: { display_name: Flow, type: float }
  conn_alerts: { display_name: Connection Alerts, type: alerts }
alerts:
  cable_cut: { display_name: Cable Cut, severity: error }
${more}`;

const older = (product: string, more = ''): string => `blueprint_spec: device/1.0
display_name: Fixture
communication_module: { product: ${product}, lua_file: main.lua }
properties: { vendor: { display_name: Vendor, type: string } }
telemetry: { flow: { display_name: Flow, type: float } }
alerts: { 2760Y: { display_name: Cable Cut, severity: error } }
${more}`;

const COMMANDS = `command_groups: { connection: { display_name: Connection } }
commands:
  write_configuration:
    display_name: Configure
    group: connection
    populate_values_command: read_configuration
    arguments: { address: { display_name: Address, type: string, required: true } }
  read_configuration: { display_name: Read, group: connection }
`;

/** As power meters were written before the profiles of meters were renamed. */
const EARLIER_METER = `implements: [energy.power_meter.ac.1_phase]
properties:
${['vendor', 'model', 'serial_number']
  .map((name) => `  ${name}: { display_name: N, type: string }\n`)
  .join('')}`;
const EARLIER_TELEMETRY = [
  ['total_power', 'W'],
  ['energy_total', 'Wh'],
  ['ac_frequency', 'Hz'],
  ['ac_l1_power', 'W'],
  ['ac_l1_voltage', 'V'],
  ['ac_l1_current', 'A'],
]
  .map(([name, unit]) => `  ${name}: { display_name: N, type: float, unit: ${unit} }\n`)
  .join('');

interface Row {
  manifest: string;
  main: string;
  /** What the program must say of it. */
  expected: Partial<Trial>;
}

const FIXTURES: Record<string, Row> = {
  'newer/own_profile': {
    manifest: newer('implements: [lib.sensor.temperature.ambient]').replace(
      'telemetry:\n',
      'telemetry:\n  ambient_temperature: { display_name: Temperature, type: float, unit: Cel }\n',
    ),
    main: 'function enapter.main() enapter.send_telemetry({ status = "ok", ambient_temperature = 21.5 }) end',
    expected: { loaded: 'yes', firstValue: 'ambient_temperature=21.5' },
  },
  'newer/earlier_profile': {
    manifest: newer(EARLIER_METER).replace('telemetry:\n', `telemetry:\n${EARLIER_TELEMETRY}`),
    main: 'enapter.send_telemetry({ total_power = 230.5 })',
    expected: { loaded: 'yes', firstValue: 'total_power=230.5', firstError: '' },
  },
  'older/configured_by_commands': {
    manifest: older('ENP-VIRTUAL', COMMANDS),
    main: `local config = require('enapter.ucm.config')
config.init({ address = { type = 'string', required = true } })
enapter.send_properties({ vendor = 'Sample Works' })`,
    expected: { loaded: 'yes', firstValue: '', firstError: '' },
  },
  'newer/alerts_that_end': {
    manifest: newer(),
    main: `enapter.send_telemetry({ status = 'error', conn_alerts = { 'cable_cut' } })
enapter.send_telemetry({ status = 'ok', flow = 3, alerts = {} })`,
    expected: { loaded: 'yes', firstValue: 'flow=3' },
  },
  'older/code_0_is_success': {
    manifest: older('ENP-VIRTUAL'),
    main: `local _, missing = storage.read('none')
local values, code = modbustcp.new('127.0.0.1:1'):read_holdings(1, 0, 1, 100)
if missing == 0 and values == nil and code ~= 0 and modbustcp.err_to_str(code) ~= '' then
  enapter.send_telemetry({ flow = 4 })
end`,
    expected: { loaded: 'yes', firstValue: 'flow=4', firstError: '' },
  },
  'older/require_that_is_not_reached': {
    manifest: older('ENP-VIRTUAL'),
    main: `local bits = _VERSION == 'Lua 5.1' and require('bit32') or { band = function(a, b) return a & b end }
enapter.send_telemetry({ flow = bits.band(7, 13) })`,
    expected: { loaded: 'yes', firstValue: 'flow=5' },
  },
  'older/module_that_nobody_has': {
    manifest: older('ENP-VIRTUAL'),
    main: "local hashes = require('hashes-of-ours')",
    expected: { isAccepted: false, loaded: '' },
  },
  'older/serial_line': {
    manifest: older('ENP-RS485'),
    main: "enapter.send_telemetry({ flow = rs485.init(9600, 8, 'N', 1) == 0 and 1 or 2 })",
    expected: { loaded: 'not carried', firstValue: '' },
  },
  'older/frames': {
    manifest: older('ENP-CAN'),
    main: "enapter.send_telemetry({ flow = type(can.init) == 'function' and 6 or 0 })",
    expected: { loaded: 'not carried', firstValue: '' },
  },
  'newer/frames_and_relay': {
    manifest: newer('', 'can, relay'),
    main: `local bus, pump = can.new('port://can'), relay.new('port://rl-1')
enapter.send_telemetry({ flow = (bus and 1 or 0) + (pump and 2 or 0) })`,
    expected: { loaded: 'not carried', firstValue: '' },
  },
  'newer/port_by_its_second_name': {
    manifest: newer(),
    main: `local port, problem = serial.new('port://ttyS0')
if port then enapter.send_telemetry({ flow = 9 })
elseif problem:find('not available') then enapter.send_telemetry({ flow = 8 }) end`,
    expected: { loaded: 'yes', firstValue: 'flow=8' },
  },
  'older/one_text_as_alerts': {
    manifest: older('ENP-VIRTUAL'),
    main: "enapter.send_telemetry({ alerts = '2760Y' })",
    expected: { loaded: 'yes', firstValue: 'alerts=["2760Y"]' },
  },
  'newer/properties_again_and_again': {
    manifest: newer('properties: { vendor: { display_name: Vendor, type: string } }'),
    main: "scheduler.add(200, function() enapter.send_properties({ vendor = 'Sample Works' }) end)",
    expected: { loaded: 'yes', firstValue: '' },
  },
  'newer/fails_at_once': {
    manifest: newer(),
    main: "error('no such device')",
    expected: { loaded: 'no', firstValue: '' },
  },
  'newer/not_a_blueprint': {
    manifest: 'blueprint_spec: device/9.9\n',
    main: '',
    expected: { isAccepted: false, loaded: '' },
  },
  'newer/two_problems': {
    manifest: newer().replace('type: string', 'type: colour').replace('type: float', 'type: sound'),
    main: '',
    expected: { isAccepted: false, loaded: '' },
  },
  'newer/undeclared_and_unhandled': {
    manifest: newer(`command_groups: { valve: { display_name: Valve } }
commands:
  open: { display_name: Open, group: valve }
  close: { display_name: Close, group: valve }
`),
    main: `enapter.register_command_handler('open', function() end)
scheduler.add(200, function() enapter.send_telemetry({ flow = 1, pressure = 2 }) end)`,
    expected: { loaded: 'yes', firstValue: 'flow=1' },
  },
};

const ALL = Object.entries(FIXTURES).flatMap(([name, { manifest, main }]) => [
  [`${name}/manifest.yml`, manifest] as const,
  [`${name}/main.lua`, main] as const,
]);

function folderWith(t: TestContext, files: Iterable<readonly [string, string | Buffer]>): string {
  const folder = mkdtempSync(join(tmpdir(), 'blueprints-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [path, content] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

const run = (...words: string[]) => spawnSync(process.execPath, [SCRIPT, ...words], { encoding: 'utf8' });

describe('trying blueprints', () => {
  const rows: [title: string, words: string[], problem: RegExp][] = [
    ['without a place', [], /name one folder or archive/],
    ['with a place that is not there', ['/no/such/place'], /there is no \/no\/such\/place/],
    ['with a folder without blueprints', [join(PROJECT_ROOT, 'migrations')], /no folder with a manifest/],
    ['with a file that is no archive', [join(PROJECT_ROOT, 'package.json')], /not a zip archive/],
    ['with a gateway and no token', [join(PROJECT_ROOT, 'docs'), '--gateway', 'http://x'], /needs --token/],
  ];
  for (const [title, words, problem] of rows)
    test(`trying blueprints is refused ${title}`, () => {
      const { status, stderr } = run(...words);
      assert.equal(status, 2);
      assert.match(stderr, problem);
    });

  test('trying blueprints finds the same in a folder and in the archive of a repository, with the files of each', async (t) => {
    const folder = folderWith(t, ALL);
    const zip = await writeArchive(
      new Map(ALL.map(([path, text]) => [`repository-main/${path}`, Buffer.from(text)])),
    );
    const archive = join(folderWith(t, [['all.zip', zip]]), 'all.zip');
    const found = await findBlueprints(folder);
    assert.deepEqual(
      found.map(({ name }) => name),
      Object.keys(FIXTURES).toSorted(),
    );
    assert.deepEqual(await findBlueprints(archive), found);
    assert.deepEqual([...(found[0]?.files.keys() ?? [])].toSorted(), ['main.lua', 'manifest.yml']);
  });

  test('trying blueprints reports the result of each on a gateway of its own', (t) => {
    const { status, stdout, stderr } = run(
      folderWith(t, ALL),
      '--json',
      '--seconds',
      '20',
      '--at-once',
      '10',
    );
    const trials = JSON.parse(stdout || assert.fail(stderr)) as Trial[];
    for (const [name, { expected }] of Object.entries(FIXTURES))
      assert.deepEqual({ ...trialOf(trials, name), ...expected }, trialOf(trials, name), name);
    for (const [name, error] of [
      ['newer/fails_at_once', /no such device/],
      ['newer/not_a_blueprint', /blueprint_spec/],
      ['older/module_that_nobody_has', /hashes-of-ours|blueprint_checks/],
      ['older/serial_line', /ENP-RS485; a module provides it with a serial port named "rs485"/],
      ['older/frames', /ENP-CAN; a module provides it with a port named "can"/],
      ['newer/frames_and_relay', /does not provide: can, relay/],
    ] as const)
      assert.match(trialOf(trials, name).firstError, error);
    for (const [name, notes] of [
      ['newer/two_problems', [/colour/, /sound/]],
      ['newer/undeclared_and_unhandled', [/does not declare telemetry "pressure"/, /"close" has no handler/]],
      ['newer/alerts_that_end', [/schedules nothing/]],
      ['newer/fails_at_once', [/^error: .*no such device/, /No value came within 20 s/]],
    ] as const)
      for (const note of notes)
        assert.ok(
          trialOf(trials, name).notes.some((text) => note.test(text)),
          `${name}: ${trialOf(trials, name).notes.join(' | ')}`,
        );
    assert.ok(
      !trialOf(trials, 'newer/undeclared_and_unhandled').notes.some((text) => /"open"|schedules/.test(text)),
    );
    assert.match(notesText(trials), /^\nnewer\/alerts_that_end\n {2}The script schedules nothing/m);
    assert.equal(status, 1, 'two were refused');
    assert.match(stderr, new RegExp(`${Object.keys(FIXTURES).length} of ${Object.keys(FIXTURES).length}: `));
    assert.match(tableOf(trials), /^blueprint +accepted +loaded +first value +first error\n/);
  });

  test('trying blueprints runs those with hardware on a gateway with such ports', async (t) => {
    const gateway = await startTestGateway(t, { environment: { GATEWAY_BUILT_IN_MODULE: 'true' } });
    const add = (path: string, port: object) => gateway.ok('INSTALLER', 'POST', path, port);
    await add('/v3/serial_ports', { name: 'rs485', path: '/dev/null', aliases: ['/dev/ttyS0', 'ttyS0'] });
    await add('/v3/io_ports', { name: 'can', kind: 'CAN', path: 'can0' });
    await add('/v3/io_ports', { name: 'rl-1', kind: 'DIGITAL_OUTPUT', path: '/dev/gpiochip0', line: 4 });
    const expected = {
      'older/serial_line': 'flow=1',
      'older/frames': 'flow=6',
      'newer/frames_and_relay': 'flow=3',
      'newer/port_by_its_second_name': 'flow=9',
    };
    const folder = folderWith(
      t,
      ALL.filter(([path]) => Object.keys(expected).includes(dirname(path))),
    );
    const words = ['--gateway', gateway.origin, '--token', gateway.token('INSTALLER'), '--json'];
    const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, folder, ...words]);
    const trials = JSON.parse(stdout) as Trial[];
    for (const [name, firstValue] of Object.entries(expected))
      assert.equal(trialOf(trials, name).firstValue, firstValue, JSON.stringify(trialOf(trials, name)));
    assert.equal((await gateway.ok('OWNER', 'GET', '/v3/devices?type.in=LUA'))['total_count'], 0);
  });
});

function trialOf(trials: readonly Trial[], name: string): Trial {
  return trials.find((each) => each.name === name) ?? assert.fail(name);
}
