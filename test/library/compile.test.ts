/** Templates that are written wrongly, and what a compiled one has alike each time. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compileTemplate, faultsOf, parseTemplate, TemplateError } from '#library';
import { loadBuiltInProfiles } from '../../src/capabilities/blueprints/built-in.ts';
import { books, compileFromLibrary, templateIds } from './library-files.ts';

const METER = `template: device/1
name: Meter
maker: Acme
products: [M1]
category: power-meters
sources: [manual]
verified: one source
modbus: { transports: [tcp] }
values:
  total_power: { input: 3 }
roles: [{ role: grid, power: total_power }]
commands:
  set_limit:
    name: Set Limit
    arguments: { limit: { name: Limit } }
    do: [write: { holding: 7, value: $limit }]
`;

/** All faults of a text as `line: message`. */
function faults(text: string): string[] {
  const parsed = parseTemplate(text);
  const said = (found: { line: number; message: string }[]): string[] =>
    found.map(({ line, message }) => `${line}: ${message}`);
  if (!parsed.template) return said(parsed.faults);
  try {
    compileTemplate({ template: parsed.template, id: 'acme-meter' }, books);
    return [];
  } catch (error) {
    if (error instanceof TemplateError) return said(faultsOf(error.problems, parsed));
    throw error;
  }
}

describe('a mistake in a template is named with its line', () => {
  const rows: [title: string, from: string, to: string, expected: RegExp][] = [
    [
      'an unknown key',
      'input: 3',
      'inputt: 3',
      /^10: values\.total_power.*inputt: unknown key, did you mean "input"\?/,
    ],
    ['a key that is like no other', 'input: 3', 'input: 3, zzzzz: 1', /unknown key; known here: .*, scale, /],
    [
      'a name that is not in the book',
      'total_power: { input: 3 }',
      'total_power: { input: 3 }\n  charge_session_energy: { input: 4 }',
      /^11: .*\(like it: charge_energy_session.*\): give it a name and a unit/,
    ],
    ['a step of no kind', '[write:', '[writes:', /do\.0: must have one of write, get, post,/],
    [
      'a test of recognition of the wrong kind',
      'maker: Acme\n',
      'maker: Acme\nrecognise: [{ http: { path: /, equals: a } }]\n',
      /^4: recognise\.0\.http\.equals: must be a list in \[ \], not a$/,
    ],
    [
      'an unknown category',
      'category: power-meters',
      'category: x',
      /category: must be .*hvac.* or sensors, not x/,
    ],
    ['a register that does not exist', 'input: 3', 'input: 70000', /^10: .*input/],
    ['an unknown type of registers', 'input: 3', 'input: 3, as: u24', /^10: .*as/],
    ['a value without a source', '{ input: 3 }', '{ scale: 2 }', /^10: values\.total_power/],
    ['a name in another form', 'total_power: {', 'Total-Power: {', /^\d+: values.*snake_case/],
    [
      'a role of a value that is not there',
      'power: total_power',
      'power: power',
      /^11: .*there is no value power/,
    ],
    ['an unknown role', 'role: grid', 'role: moon', /^11: roles\.0\.role/],
    ['a missing maker', 'maker: Acme\n', '', /^1: maker: is missing/],
    [
      'no connection',
      'modbus: { transports: [tcp] }\n',
      '',
      /^1: the file: must have one of modbus, http, mqtt, telegrams, udp and clock/m,
    ],
    [
      'a moment in an unknown form',
      'modbus: { transports: [tcp] }',
      "http: { moments: { hour: { step_min: 60, format: '%Q' } } }",
      /^8: http\.moments\.hour\.format.*may have %Y/m,
    ],
    ['a code of telegrams in an unknown form', 'input: 3', "obis: '1.8.0'", /^10: .*such as 1-0:1\.8\.0/],
    [
      'a register in a telegram',
      'modbus: { transports: [tcp] }',
      'telegrams: { format: p1, transports: [tcp], port: 23 }',
      /^10: values\.total_power: needs obis/m,
    ],
    [
      'a schedule in no form',
      'modbus: { transports: [tcp] }\nvalues:\n  total_power: { input: 3 }',
      'http: {}\nvalues:\n  total_power: { schedule: { from: rates, starts: hours } }',
      /^10: values\.total_power\.schedule: must have tariff, or from and one of/m,
    ],
    [
      'a schedule out of registers',
      'total_power: { input: 3 }',
      'total_power: { schedule: { from: rates, by_time: watts } }',
      /^10: values\.total_power: a schedule needs http, mqtt or clock/m,
    ],
    [
      'a tariff with a setting that is not there',
      'total_power: { input: 3 }',
      'total_power: { schedule: { tariff: { value: price } } }',
      /^10: values\.total_power.*there is no setting price/m,
    ],
    [
      'the present of a value that is no schedule',
      'total_power: { input: 3 }',
      'total_power: { input: 3 }\n  power_now: { name: Now, now: total_power }',
      /^11: values\.power_now.*total_power is no schedule/m,
    ],
    ['an argument that is not there', 'value: $limit', 'value: $other', /^16: .*other/],
    ['a key twice', 'maker: Acme\n', 'maker: Acme\nmaker: Other\n', /^4: /],
  ];
  for (const [title, from, to, expected] of rows)
    test(title, () => {
      assert.ok(METER.includes(from));
      assert.match(faults(METER.replace(from, to)).join('\n'), expected);
    });

  test('a good template has no mistake', () => {
    assert.deepEqual(faults(METER), []);
  });
});

test('the same template and parameters give the same bytes, and another choice another digest', () => {
  for (const id of templateIds) assert.deepEqual(compileFromLibrary(id), compileFromLibrary(id));
  const { digest } = compileFromLibrary('eastron/sdm630');
  assert.notEqual(compileFromLibrary('eastron/sdm630', { role: 'pv' }).digest, digest);
});

test("a value with a profile's name and another unit or type fulfils no profile", () => {
  const implemented = (value: string): unknown => {
    const { template } = parseTemplate(METER.replace('{ input: 3 }', value));
    assert.ok(template);
    return compileTemplate({ template, id: 'own-meter' }, books).manifest['implements'];
  };
  assert.deepEqual(implemented('{ input: 12 }'), ['lib.energy.power_meter.power']);
  for (const other of ['unit: A', 'type: string', 'property: true'])
    assert.deepEqual(implemented(`{ input: 12, ${other} }`), [], other);
});

test('a group of attributes.yml named like a profile has the members of the profile', () => {
  const { profiles } = loadBuiltInProfiles();
  for (const [group, members] of Object.entries(books.attributes.groups)) {
    const profile = profiles.get(group);
    if (!group.startsWith('lib.')) continue;
    assert.ok(profile, `${group} is no profile`);
    const declared = profile.members.map(({ name }) => name);
    assert.deepEqual(Object.keys(members).toSorted(), declared.toSorted(), group);
  }
});
