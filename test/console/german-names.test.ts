/** German names of what profiles and library templates declare. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { nameInGerman, stateInGerman } from '../../src/console/words/de/of-profiles.ts';
import { projectFiles } from '../support/source-files.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

type Part = Record<string, unknown>;

const read = (path: string): Part => parse(readFileSync(join(PROJECT_ROOT, path), 'utf8')) as Part;
const partOf = (whole: Part, name: string): Part => (whole[name] ?? {}) as Part;
const filesIn = (folder: string): string[] =>
  projectFiles(PROJECT_ROOT, folder).filter((path) => path.endsWith('.yml'));

/** Written the same in German, or a name of its own. */
const SAME = new Set([
  'Status',
  'Gas',
  'Firmware',
  'Token',
  'Broker',
  'Standby',
  'Normal',
  'Boost',
  'Rate',
  'Generator',
  'generator',
]);

/** Of the names of the library: a template may come before its German names. */
const UNTRANSLATED_MAX = 0.05;

interface Found {
  names: Set<string>;
  states: Set<string>;
}

/** Names and states of a declaration and of its arguments. */
function collect(declared: unknown, found: Found): void {
  if (typeof declared !== 'object' || declared === null) return;
  const one = declared as Part;
  const name = one['display_name'] ?? one['name'];
  if (typeof name === 'string') found.names.add(name);
  const items = Object.values((one['enum'] ?? {}) as Part);
  for (const item of items) {
    const text = typeof item === 'object' && item !== null ? partOf({ item }, 'item')['display_name'] : item;
    if (typeof text === 'string') found.states.add(text);
  }
  for (const argument of Object.values(partOf(one, 'arguments'))) collect(argument, found);
}

const untranslated = ({ names, states }: Found): string[] => [
  ...[...names].filter((name) => !SAME.has(name) && nameInGerman(name) === name),
  ...[...states].filter((state) => !SAME.has(state) && stateInGerman(state) === state),
];

describe('German names', () => {
  test('German names exist for every value, state and command of the device profiles', () => {
    const found: Found = { names: new Set(), states: new Set() };
    for (const path of filesIn('src/capabilities/blueprints/built-in/profiles'))
      for (const section of ['properties', 'telemetry', 'commands'])
        for (const one of Object.values(partOf(read(path), section))) collect(one, found);
    assert.ok(found.names.size > 100, `${found.names.size} names`);
    assert.deepEqual(untranslated(found), []);
  });

  test('German names exist for the values, states and commands of the device library, but for a few of the newest', () => {
    const found: Found = { names: new Set(), states: new Set() };
    for (const group of Object.values(partOf(read('src/library/attributes.yml'), 'groups')))
      for (const one of Object.values(group as Part)) collect(one, found);
    for (const path of filesIn('src/library/devices')) {
      const template = read(path);
      for (const one of Object.values(partOf(template, 'values')))
        if ((one as Part)['internal'] !== true) collect(one, found);
      for (const one of Object.values(partOf(template, 'commands'))) collect(one, found);
    }
    assert.ok(found.names.size > 150, `${found.names.size} names`);
    const missing = untranslated(found);
    assert.ok(missing.length <= found.names.size * UNTRANSLATED_MAX, missing.join(', '));
  });

  test('German names keep the numbers of a name and the unit behind it, and leave other names as they are', () => {
    assert.equal(nameInGerman('PV String 2 Power'), 'Leistung PV-String 2');
    assert.equal(nameInGerman('AC L1-L2 Voltage'), 'Spannung L1-L2');
    assert.equal(nameInGerman('Current (A)'), 'Strom (A)');
    assert.equal(nameInGerman('Kettle of the captain'), 'Kettle of the captain');
    assert.equal(nameInGerman('constructor'), 'constructor');
    assert.equal(stateInGerman('lithium_based'), 'Lithium');
  });

  test('German names stand in the manifest that the pages of a German reader show, its states too', async () => {
    const manifest = {
      display_name: 'Inverter',
      telemetry: {
        battery_soc: { display_name: 'Battery State of Charge', type: 'float' },
        status: { display_name: 'Status', type: 'string', enum: ['charging', 'of its own'] },
      },
      commands: { stop: { display_name: 'Stop', arguments: { power: { display_name: 'Power (W)' } } } },
    };
    const script = `
      const own = (value) => ({ value, configurable: true });
      Object.defineProperties(globalThis, {
        document: own({ documentElement: { lang: '' }, addEventListener: () => undefined }),
        localStorage: own({ getItem: () => 'de' }),
      });
      const { translatedManifest } = await import('./translated-manifest.ts');
      console.log(JSON.stringify(translatedManifest(${JSON.stringify(manifest)}, { type: 'LUA' })));
    `;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', script],
      { cwd: join(PROJECT_ROOT, 'src/console') },
    );
    const shown = JSON.parse(stdout) as typeof manifest & {
      telemetry: { status: { enum_with_metainfo: unknown } };
    };
    assert.equal(shown.telemetry.battery_soc.display_name, 'Ladezustand der Batterie');
    assert.deepEqual(shown.telemetry.status.enum_with_metainfo, [
      { value: 'charging', display_name: 'Lädt' },
      { value: 'of its own', display_name: 'of its own' },
    ]);
    assert.equal(shown.commands.stop.display_name, 'Stoppen');
    assert.equal(shown.commands.stop.arguments.power.display_name, 'Leistung (W)');
  });
});
