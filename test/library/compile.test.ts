/** Templates that are written wrongly, and what a compiled one has alike each time. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compileTemplate, faultsOf, judgeTemplate, parseTemplate, TemplateError } from '#library';
import { loadBuiltInProfiles } from '../../src/capabilities/blueprints/built-in.ts';
import { books, compileFromLibrary, templateIds, templateText } from './library-files.ts';

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
    ['a number without end', 'input: 3', 'input: 3, scale: .inf', /^10: .*scale: must be a finite number/],
    [
      'a scale that makes every value nothing',
      'input: 3',
      'input: 3, scale: 0',
      /^10: .*scale: must not be 0/,
    ],
    [
      'a number beyond the last register',
      'input: 3',
      'input: 65535, as: u32',
      /^10: values\.total_power: u32 needs 2 registers, and the last one is 65535/,
    ],
    [
      'bits in the wrong order',
      'input: 3',
      'input: 3, bits: [11, 8]',
      /^10: .*bits: must be the lowest and the highest bit, from 0 to 15/,
    ],
    ['bits that the register does not have', 'input: 3', 'input: 3, bits: [8, 16]', /^10: .*from 0 to 15/],
    [
      'more bits than a number has',
      'input: 3',
      'input: 3, as: u64, bits: [0, 63]',
      /^10: .*from 0 to 63, at most 53 bits/,
    ],
    [
      'an alert of a bit that is none',
      'input: 3',
      'input: 3, alert_bits: { low: total_power }',
      /^10: .*must be a bit from 0 to 63/,
    ],
    [
      'a condition on a parameter that is not there',
      'input: 3',
      'input: 3, when: { phases: 3 }',
      /^10: values\.total_power\.when\.phases: there is no parameter phases$/m,
    ],
    [
      'a condition on a choice that is not there',
      'values:\n  total_power: { input: 3 }',
      'parameters: { phases: { name: Phases, choices: { 1: One, 3: Three }, default: 3 } }\nvalues:\n' +
        '  total_power: { input: 3 }\n  ac_frequency: { input: 4, when: { phases: 2 } }',
      /^12: values\.ac_frequency\.when\.phases: must be one of 1, 3$/m,
    ],
    [
      'a unit that is not there',
      'input: 3',
      'input: 3, unit_id: meter',
      /^10: .*unit_id: there is no unit meter under modbus\.units; known are unit_id/,
    ],
    [
      'a sum of a text',
      'total_power: { input: 3 }',
      'model: { input: 3, as: string2 }\n  total_power: { sum: [model, 1] }',
      /^11: values\.total_power: sum needs numbers, and model is a text/m,
    ],
    [
      'a role of a value in another unit',
      'input: 3',
      'input: 3, unit: A',
      /^11: roles\.0\.power: total_power is in A, it must be in W, kW or MW/,
    ],
    [
      'a role of a value that is not sent',
      'input: 3',
      'input: 3, internal: true',
      /^11: roles\.0\.power: total_power is internal/,
    ],
    [
      'a meter of a value that is not there',
      'roles: [{ role: grid, power: total_power }]',
      'meter: { power: total_power, imported: energy }',
      /^11: meter\.imported: there is no value energy$/,
    ],
    [
      'a step of another connection',
      '[write: { holding: 7, value: $limit }]',
      '[get: /limit]',
      /^16: commands\.set_limit\.do\.0: modbus has steps with write, not get/,
    ],
    [
      'a write to two places',
      'holding: 7,',
      'holding: 7, coil: 7,',
      /^16: .*write: must have one of holding, coil, sunspec/,
    ],
    [
      'an argument in the preparation',
      'commands:\n',
      'prepare: [write: { holding: 7, value: $limit }]\ncommands:\n',
      /^12: prepare\.0\.write\.value: there is no argument limit$/m,
    ],
    [
      'a request of another connection',
      'values:\n',
      'requests: { all: { get: /all } }\nvalues:\n',
      /^9: requests\.all: modbus has no requests$/m,
    ],
    [
      'a test of recognition that asks nothing',
      'maker: Acme\n',
      'maker: Acme\nrecognise: [register: { input: 4 }]\n',
      /^4: recognise\.0\.register: must have one of input and holding, and one of equals/,
    ],
    ['a register that is none', 'input: 3', 'input: -1', /^10: .*input: must be 0 or more/],
    ['a part of a register', 'input: 3', 'input: 3.5', /^10: .*input: must be a whole number/],
    [
      'a name that every object has',
      'total_power: { input: 3 }',
      'constructor: { input: 3 }',
      /^10: constructor: must have/,
    ],
    [
      'a name that the gateway sends',
      'total_power: { input: 3 }',
      'total_power: { input: 3 }\n  conn_alerts: { name: Alerts, input: 4 }',
      /^11: values\.conn_alerts: is sent by every device/,
    ],
    ['a name of blanks', 'name: Meter', "name: '  '", /^2: name: must not be empty/],
    [
      'an endless name',
      'name: Meter',
      `name: ${'x'.repeat(101)}`,
      /^2: name: must have 100 characters or less/,
    ],
    ['no values', '  total_power: { input: 3 }', '  {}', /: values: must have one at least/],
    ['an alias of nothing', 'input: 3', 'input: *first', /^10: \*first: there is no &first before it/],
    [
      'a text that is written to a register',
      'limit: { name: Limit }',
      'limit: { name: Limit, type: string }',
      /^16: .*write\.value: limit is a text: map says its numbers/,
    ],
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

  test('lists within lists, a thousand times', () => {
    assert.match(faults(`${METER}more: ${'['.repeat(30_000)}`).join('\n'), /too deeply/);
  });

  test('a name in a path or a message that nothing fills', () => {
    const http = METER.replace(
      'modbus: { transports: [tcp] }',
      'http: { settings: { channel: { name: Channel } } }',
    )
      .replace('values:', 'requests: { all: { get: "/all?channel={chanel}" } }\nvalues:')
      .replace('{ input: 3 }', '{ from: all, path: power }')
      .replace(
        '[write: { holding: 7, value: $limit }]',
        '[{ post: /limit, body: \'{"to": {limits*1000}}\' }]',
      );
    assert.deepEqual(faults(http), [
      '9: requests.all: there is nothing for {chanel}; known are channel, address, user, password',
      '17: commands.set_limit.do.0: there is nothing for {limits}; known are limit, channel, address, user, password',
    ]);
    assert.deepEqual(faults(http.replace('{chanel}', '{channel}').replace('{limits*', '{limit*')), []);
  });
});

test('a template is judged with every choice of its parameters, not with the defaults alone', () => {
  const text = METER.replace(
    'values:\n  total_power: { input: 3 }',
    'parameters: { phases: { name: Phases, choices: { 1: One, 3: Three }, default: 3 } }\nvalues:\n' +
      '  total_power: { input: 3, when: { phases: 3 } }',
  );
  const parsed = parseTemplate(text);
  const { template } = parsed;
  assert.ok(template);
  assert.deepEqual(faults(text), []);
  assert.throws(
    () => judgeTemplate({ template, id: 'own-meter' }, books),
    (error) => {
      assert.ok(error instanceof TemplateError);
      assert.deepEqual(faultsOf(error.problems, parsed), [
        { line: 12, message: 'roles.0.power: there is no value total_power (with phases: 1)' },
      ]);
      return true;
    },
  );
  for (const id of templateIds)
    judgeTemplate({ template: parseTemplate(templateText(id)).template ?? assert.fail(id), id }, books);
});

test('the same template and parameters give the same bytes, and another choice another digest', () => {
  for (const id of templateIds) assert.deepEqual(compileFromLibrary(id), compileFromLibrary(id));
  const { digest } = compileFromLibrary('eastron/sdm630');
  assert.notEqual(compileFromLibrary('eastron/sdm630', { role: 'pv' }).digest, digest);
});

test("a value with a profile's name and another unit or type fulfils no profile", () => {
  const implemented = (value: string): unknown => {
    const { template } = parseTemplate(METER.replace('{ input: 3 }', value).replace(/^roles.*$/m, ''));
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
