/** Names that every object of the machine has or in rare letters, and bodies of which nothing is known: handled, not dropped. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { refusal, useTestGateway } from '../support/test-gateway.ts';

const INHERITED = ['constructor', 'prototype', '__proto__', 'toString'];
/** JSON text: in an object literal `__proto__` is no member. */
const only = (name: string, value: unknown): string => `{${JSON.stringify(name)}: ${JSON.stringify(value)}}`;

const MANIFEST = `blueprint_spec: device/3.0
display_name: Odd
runtime: {type: embedded}
configuration:
  constructor:
    display_name: Odd
    parameters:
      constructor: {display_name: C, type: integer}
      prototype: {display_name: P, type: string, default: p}
commands:
  constructor:
    display_name: C
    group: main
    arguments:
      prototype: {display_name: P, type: integer}
command_groups: {main: {display_name: Main}}
telemetry:
  constructor: {display_name: C, type: float}
`;

const gateway = useTestGateway({}, async ({ ok, provision }) => {
  await provision('Battery');
  const zip = await zipOf({ 'manifest.yml': MANIFEST });
  const { id } = await ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
  await provision('Odd');
  await ok('OWNER', 'POST', '/v3/devices/odd/assign_blueprint', { blueprint_id: id });
});

describe('a name that every object has is refused by its name', () => {
  for (const name of INHERITED) {
    test(`an inherited name is refused as an unknown parameter: ${name}`, async () => {
      const path = '/v3/devices/battery/configuration/limits';
      const answer = await gateway().call('OWNER', 'PATCH', path, `{"set": ${only(name, 1)}}`);
      assert.equal(refusal(answer), '422 invalid_configuration');
      assert.match(JSON.stringify(answer.body), new RegExp(`Unknown parameter \\\\"${name}\\\\"`));
    });

    test(`an inherited name is refused as an unknown matcher: ${name}`, async () => {
      for (const item of [
        `{"attribute": ${only(name, 'x')}}`,
        `{"attribute": "battery_soc", "device": [${only(name, ['x'])}]}`,
      ]) {
        const body = `{"from": 0, "to": 60, "telemetry": [${item}]}`;
        const headers = { Accept: 'text/csv' };
        const answer = await gateway().call(
          'READONLY',
          'POST',
          '/v3/telemetry/query_timeseries',
          body,
          headers,
        );
        assert.equal(refusal(answer), '400 invalid_body', item);
      }
    });

    test(`an inherited name is refused as an unknown argument: ${name}`, async () => {
      const body = `{"name": "read_settings", "arguments": ${only(name, 1)}}`;
      const answer = await gateway().call('OWNER', 'POST', '/v3/devices/battery/commands/execute', body);
      assert.equal(refusal(answer), '422 invalid_command_arguments');
    });
  }
});

test('a group and parameters with names of inherited members are configured like any other', async () => {
  const path = '/v3/devices/odd/configuration/constructor';
  const { ok } = gateway();
  assert.deepEqual(await ok('OWNER', 'GET', path), { configuration: { prototype: 'p' } });
  const set = { set: { constructor: 5, prototype: 'q' } };
  assert.deepEqual(await ok('OWNER', 'PATCH', path, JSON.stringify(set)), {
    configuration: { constructor: 5, prototype: 'q' },
  });
});

describe('a name of a device', () => {
  const rename = (name: string) => gateway().call('OWNER', 'PATCH', '/v3/devices/odd', { name });

  test('a name of a device has 255 characters at most, also of those that need two units of UTF-16', async () => {
    assert.equal((await rename('🔋'.repeat(255))).status, 200);
    assert.equal(refusal(await rename('🔋'.repeat(256))), '400 invalid_body');
  });

  test('a name of a device is found by a part of it, however the letters are put together', async () => {
    assert.equal((await rename('Ku\u0308che')).status, 200);
    for (const part of ['K\u00fcch', 'KU\u0308CH']) {
      const path = `/v3/devices?name.contains=${encodeURIComponent(part)}`;
      const { devices } = await gateway().ok('READONLY', 'GET', path);
      assert.deepEqual(
        (devices as { slug: string }[]).map(({ slug }) => slug),
        ['odd'],
        part,
      );
    }
  });
});

describe('a body of which nothing is known', () => {
  const call = (method: string, path: string, body: string) => gateway().call('OWNER', method, path, body);

  for (const path of ['/v3/site', '/v3/devices/battery', '/v3/devices/battery/configuration/limits'])
    test(`a body with unknown members only changes nothing: PATCH ${path}`, async () => {
      const before = await call('PATCH', path, '{}');
      assert.equal(before.status, 200);
      for (const name of ['nmae', 'constructor', '__proto__']) {
        const { status, body } = await call('PATCH', path, only(name, 'x'));
        assert.deepEqual([status, body], [200, before.body], name);
      }
    });

  test('a body with unknown members only lacks what is required', async () => {
    const answer = await call('POST', '/v3/provisioning/standalone', only('nmae', 'x'));
    assert.equal(refusal(answer), '400 invalid_body');
    assert.match(JSON.stringify(answer.body), /Field \\"name\\" is required/);
  });
});
