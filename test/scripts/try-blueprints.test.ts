/** Blueprints of both generations, each for one thing that published ones do, as the program tries them on a real gateway. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { findBlueprints } from '../../scripts/try-blueprints/find.ts';
import type { Trial } from '../../scripts/try-blueprints/trial.ts';
import { tableOf } from '../../scripts/try-blueprints.ts';
import { writeArchive } from '../../src/capabilities/blueprints/source/archive.ts';
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
  'older/serial_line': {
    manifest: older('ENP-RS485'),
    main: "rs485.init(9600, 8, 'N', 1)",
    expected: { loaded: 'not carried', firstValue: '' },
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
    test(`is refused ${title}`, () => {
      const { status, stderr } = run(...words);
      assert.equal(status, 2);
      assert.match(stderr, problem);
    });

  test('finds the same in a folder and in the archive of a repository, with the files of each', async (t) => {
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

  test('says of each what became of it on a gateway of its own', (t) => {
    const { status, stdout, stderr } = run(
      folderWith(t, ALL),
      '--json',
      '--seconds',
      '20',
      '--at-once',
      '10',
    );
    const trials = JSON.parse(stdout || assert.fail(stderr)) as Trial[];
    for (const [name, { expected }] of Object.entries(FIXTURES)) {
      const trial = trials.find((each) => each.name === name) ?? assert.fail(name);
      assert.deepEqual({ ...trial, ...expected }, trial, name);
    }
    const errorOf = (name: string): string => trials.find((each) => each.name === name)?.firstError ?? '';
    assert.match(errorOf('newer/fails_at_once'), /no such device/);
    assert.match(errorOf('newer/not_a_blueprint'), /blueprint_spec/);
    assert.match(errorOf('older/serial_line'), /ENP-RS485/);
    assert.equal(status, 1, 'one was refused');
    assert.match(stderr, /10 of 10: /);
    assert.match(tableOf(trials), /^blueprint +accepted +loaded +first value +first error\n/);
  });
});
