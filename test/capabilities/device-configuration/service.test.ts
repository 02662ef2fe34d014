import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { array, assert as assertProperty, constantFrom, oneof, property, record } from 'fast-check';
import { LIMITS } from '../../../src/lib/limits.ts';
import { manifestOf, PARAMETERS, problemsOf, startConfiguration } from './support.ts';
import { runs } from '../../support/runs.ts';

describe('configuration is refused', () => {
  test('configuration is refused for a group that the manifest does not have, inherited names included', (t) => {
    const { configuration, device } = startConfiguration(t);
    for (const group of ['nothing', 'constructor', '__proto__'])
      for (const work of [
        () => configuration.get(device, group, 'SYSTEM'),
        () => configuration.update(device, group, 'SYSTEM', { set: {}, reset: [] }),
        () => configuration.resetAll(device, group, 'SYSTEM'),
      ])
        assert.deepEqual(problemsOf(work), [
          `configuration_group_not_found: The device has no configuration group "${group}".`,
        ]);
  });

  test('configuration is refused for names that the group does not have', (t) => {
    const { configuration, device, update } = startConfiguration(t);
    assert.deepEqual(
      problemsOf(() => configuration.get(device, 'main', 'OWNER', ['limit', 'toString'])),
      ['invalid_query: Configuration group "main" has no parameter "toString".'],
    );
    const has = 'the group has: address, password, limit, mode, tags, extra, since.';
    assert.deepEqual(
      problemsOf(() => update({ set: { nope: 1 }, reset: ['gone'] })),
      [
        `invalid_configuration: Unknown parameter "nope"; ${has}`,
        `invalid_configuration: Unknown parameter "gone"; ${has}`,
      ],
    );
  });

  test('configuration is refused for a bounded number of names at once', (t) => {
    const { update } = startConfiguration(t);
    const set = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`name_${index}`, 1]));
    assert.equal(problemsOf(() => update({ set })).length, LIMITS.http.problems);
    assert.deepEqual(update({ reset: Array.from({ length: 1_000 }, () => 'limit') }), { limit: 5 });
  });

  const wrong: [parameter: string, value: unknown, reason: string][] = [
    ['address', '192.168.0.10', 'must be a connection URI such as tcp://192.168.0.10:502'],
    ['address', null, 'is required and cannot be null'],
    ['limit', 11, 'must be at most 10'],
    ['limit', '1', 'must be integer, got string'],
    ['mode', 'off', 'must be one of: auto, manual'],
    ['tags', 'a', 'must be an array of strings, got string'],
    [
      'extra',
      1,
      'does not match its JSON schema: #: Instance type "number" is invalid. Expected "object", "null"',
    ],
    ['since', 'yesterday', 'must be an RFC 3339 timestamp such as 2026-03-01T08:00:00Z'],
    ['password', 'x'.repeat(LIMITS.deviceConfiguration.valueBytes), 'is larger than 16384 bytes'],
  ];
  for (const [parameter, value, reason] of wrong)
    test(`configuration is refused for ${parameter} that ${reason}`, (t) => {
      const { update } = startConfiguration(t);
      assert.deepEqual(
        problemsOf(() => update({ set: { [parameter]: value } })),
        [`invalid_configuration: Parameter "${parameter}" ${reason}.`],
      );
    });

  test('configuration is refused when one of several values is wrong, and nothing is changed', (t) => {
    const { configuration, device, update, changes } = startConfiguration(t);
    assert.equal(problemsOf(() => update({ set: { mode: 'auto', limit: 11, tags: 1 } })).length, 2);
    assert.deepEqual(configuration.get(device, 'main', 'OWNER'), { limit: 5 });
    assert.deepEqual(changes, []);
  });
});

describe('configuration', () => {
  test('configuration never shows a sensitive value, but gives it to the device', (t) => {
    const { configuration, device, update } = startConfiguration(t);
    assert.deepEqual(update({ set: { password: 'secret' } }), { limit: 5 });
    assert.deepEqual(configuration.get(device, 'main', 'SYSTEM', ['password']), {});
    assert.deepEqual(configuration.valuesForDevice(device), {
      main: { password: 'secret', limit: 5 },
      other: {},
    });
  });

  test('configuration returns to the default by reset and by null; a JSON null is a value', (t) => {
    const { configuration, device, update } = startConfiguration(t);
    update({ set: { limit: 7, mode: 'auto', extra: null } });
    assert.deepEqual(configuration.get(device, 'main', 'OWNER'), { limit: 7, mode: 'auto', extra: null });
    assert.deepEqual(update({ set: { mode: null }, reset: ['limit', 'extra'] }), { limit: 5 });
    update({ set: { limit: 7, mode: 'auto', password: 'x' } });
    assert.deepEqual(configuration.resetAll(device, 'main', 'OWNER'), { limit: 5 });
    assert.deepEqual(configuration.valuesForDevice(device)['main'], { limit: 5 });
  });

  test('configuration reports every change once, with the whole group in clear, and nothing without a change', (t) => {
    const { configuration, device, update, changes } = startConfiguration(t);
    update({ set: { password: 'secret', limit: 7 } });
    update({ set: { limit: 7 } });
    update({ set: {}, reset: ['mode'] });
    configuration.resetAll(device, 'main', 'OWNER');
    configuration.resetAll(device, 'main', 'OWNER');
    assert.deepEqual(changes, [
      ['main', { password: 'secret', limit: 7 }],
      ['main', { limit: 5 }],
    ]);
  });

  test('configuration stays over a restart, and goes with its device', (t) => {
    const setup = startConfiguration(t);
    const { device, update, restart, database } = setup;
    update({ set: { mode: 'auto', tags: ['a', 'b'] } });
    assert.deepEqual(restart().get(device, 'main', 'OWNER'), { limit: 5, mode: 'auto', tags: ['a', 'b'] });
    setup.deleteDevice(device);
    assert.deepEqual(database.prepare('SELECT count(*) AS n FROM device_configuration').get(), { n: 0 });
  });
});

describe('another blueprint', () => {
  test('another blueprint keeps values whose name and type agree and that it still allows', (t) => {
    const setup = startConfiguration(t);
    const { configuration, device, update } = setup;
    update({ set: { address: 'tcp://a', limit: 7, mode: 'manual', tags: ['a'] } });
    const next =
      '      address: {display_name: A, type: string}\n' +
      '      limit: {display_name: L, type: float, default: 1.5}\n' +
      '      mode: {display_name: M, type: string, enum: [auto, "off"], default: "off"}\n';
    setup.assignManifest(device, manifestOf(next));
    assert.deepEqual(configuration.get(device, 'main', 'OWNER'), {
      address: 'tcp://a',
      limit: 1.5,
      mode: 'off',
    });
    setup.assignManifest(device, manifestOf(PARAMETERS));
    assert.deepEqual(configuration.get(device, 'main', 'OWNER'), { address: 'tcp://a', limit: 5 });
  });

  test('another blueprint does not reveal a sensitive value', (t) => {
    const setup = startConfiguration(t);
    const { configuration, device, update } = setup;
    update({ set: { password: 'secret' } });
    setup.assignManifest(device, manifestOf('      password: {display_name: P, type: string}\n', 'readonly'));
    assert.deepEqual(configuration.get(device, 'main', 'READONLY'), {});
    assert.deepEqual(configuration.valuesForDevice(device)['main'], {});
  });
});

describe('a handover', () => {
  test("a handover forgets the sensitive values of a group above the caller's access level, and no others", (t) => {
    const setup = startConfiguration(t);
    const { configuration, device, update } = setup;
    update({ set: { address: 'tcp://a', password: 'secret' } });
    configuration.dropSecretsAbove('OWNER', device);
    assert.deepEqual(configuration.valuesForDevice(device)['main'], {
      address: 'tcp://a',
      password: 'secret',
      limit: 5,
    });
    configuration.dropSecretsAbove('USER', device);
    assert.deepEqual(configuration.valuesForDevice(device)['main'], { address: 'tcp://a', limit: 5 });
  });

  test('a handover goes by the level under which the value was set, not by that of the next blueprint', (t) => {
    const setup = startConfiguration(t);
    const { configuration, device, update } = setup;
    update({ set: { password: 'secret' } });
    configuration.dropSecretsAbove('USER', device);
    setup.assignManifest(device, manifestOf(PARAMETERS, 'readonly'));
    assert.deepEqual(configuration.valuesForDevice(device)['main'], { limit: 5 });
  });
});

test('any order of changes leaves what the last ones said', (t) => {
  const { configuration, device, update } = startConfiguration(t);
  const values = {
    limit: [1, 2],
    mode: ['auto', 'manual'],
    tags: [['a'], []],
    password: ['x', 'y'],
  };
  const name = constantFrom('limit' as const, 'mode' as const, 'tags' as const, 'password' as const);
  const step = oneof(
    record({ kind: constantFrom('set' as const), name, pick: constantFrom(0, 1) }),
    record({ kind: constantFrom('reset' as const, 'null' as const), name }),
    record({ kind: constantFrom('all' as const) }),
  );
  assertProperty(
    property(array(step, { maxLength: 12 }), (steps) => {
      configuration.resetAll(device, 'main', 'OWNER');
      let expected: Record<string, unknown> = { limit: 5 };
      for (const change of steps) {
        if (change.kind === 'all') {
          configuration.resetAll(device, 'main', 'OWNER');
          expected = { limit: 5 };
        } else if (change.kind === 'set') {
          const value = values[change.name][change.pick];
          update({ set: { [change.name]: value } });
          expected[change.name] = value;
        } else {
          update(change.kind === 'null' ? { set: { [change.name]: null } } : { reset: [change.name] });
          delete expected[change.name];
          if (change.name === 'limit') expected['limit'] = 5;
        }
      }
      assert.deepEqual(configuration.valuesForDevice(device)['main'], expected);
    }),
    { numRuns: runs(40) },
  );
});
