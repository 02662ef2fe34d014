/** What holds alike for every operation of a kind: names in filters, moments, things by their id. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal, useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const gateway = useTestGateway({}, async (started) => {
  await started.provision('Battery');
});

const UNKNOWN = ['nobody', '00000000-0000-4000-8000-000000000000'];

test('an unknown device in a filter is refused by every list', async () => {
  for (const path of [
    '/v3/devices?id.in=',
    '/v3/devices?slug.in=',
    '/v3/site/commands/executions?device_id.in=',
    '/v3/site/commands/executions?device.parent_id.in=',
    '/v3/alerts?device_id.in=',
    '/v3/site/outputs?device_id.in=',
  ])
    for (const name of UNKNOWN)
      for (const names of [name, `battery,${name}`])
        assert.equal(
          refusal(await gateway().call('OWNER', 'GET', path + names)),
          '404 device_not_found',
          path + names,
        );
  for (const parameter of ['id.in', 'telemetry.of'])
    await assert.rejects(gateway().watch('OWNER', `/v3/devices?${parameter}=nobody`), { status: 404 });
});

test('an unknown profile, type, category or role in a filter is refused by every list', async () => {
  for (const [path, expected] of [
    ['/v3/devices?profiles.has=', '404 profile_not_found'],
    ['/v3/site/commands/executions?device.profiles.has_all=', '404 profile_not_found'],
    ['/v3/devices?type.in=', '400 invalid_query'],
    ['/v3/site/commands/executions?device.child_type.in=', '400 invalid_query'],
    ['/v3/library/devices?category.in=', '400 invalid_query'],
    ['/v3/library/devices?role.in=', '400 invalid_query'],
    ['/v3/library/devices?transport.in=', '400 invalid_query'],
    ['/v3/library/strategies?category.in=', '400 invalid_query'],
  ] as const)
    assert.equal(refusal(await gateway().call('OWNER', 'GET', `${path}energy.nuclear`)), expected, path);
  for (const path of [
    '/v3/devices?profiles.has=energy.battery',
    '/v3/site/commands/executions?device.profiles.has_all=energy.battery',
    '/v3/library/devices?category.in=solar-generators&role.in=PV',
  ])
    assert.equal((await gateway().call('OWNER', 'GET', path)).status, 200, path);
});

test('a device in a filter may be named by id or slug', async () => {
  const { device } = (await gateway().ok('OWNER', 'GET', '/v3/devices/battery')) as {
    device: { id: string };
  };
  for (const name of ['battery', device.id]) {
    for (const parameter of ['id.in', 'slug.in']) {
      const { devices } = await gateway().ok('OWNER', 'GET', `/v3/devices?${parameter}=${name}`);
      assert.deepEqual(
        (devices as { id: string }[]).map(({ id }) => id),
        [device.id],
      );
    }
    for (const path of [
      '/v3/alerts?device_id.in=',
      '/v3/site/commands/executions?device_id.in=',
      '/v3/site/outputs?device_id.in=',
    ])
      assert.equal((await gateway().call('OWNER', 'GET', path + name)).status, 200);
  }
});

test('from and to may be RFC 3339 or Unix seconds wherever they are taken', async () => {
  const moments = [
    '2026-03-01T08:00:00Z',
    '2026-03-01 08:00:00',
    '2026-03-01T09:00:00%2B01:00',
    '1772352000',
    '1772352000.5',
  ];
  for (const path of [
    '/v3/alerts?from=',
    '/v3/alerts?to=',
    '/v3/audit?from=',
    '/v3/audit/export?to=',
    '/v3/site/energy?from=',
  ]) {
    for (const moment of moments)
      assert.equal((await gateway().call('OWNER', 'GET', path + moment)).status, 200, path + moment);
    for (const wrong of ['yesterday', '-1', '2026-13-01T08:00:00Z', '1e9'])
      assert.equal(
        refusal(await gateway().call('OWNER', 'GET', path + wrong)),
        '400 invalid_query',
        path + wrong,
      );
  }
});

test('every listed object with an id is answered by its id too', async () => {
  const { call, ok } = gateway();
  const { paths } = (await ok('READONLY', 'GET', '/v3/openapi.json')) as {
    paths: Record<string, Record<string, unknown>>;
  };
  const changed = Object.entries(paths).filter(
    ([path, item]) => /\/\{\w+\}$/.test(path) && ('delete' in item || 'patch' in item),
  );
  assert.deepEqual(
    changed.filter(([, item]) => !('get' in item)).map(([path]) => path),
    [],
  );
  const made = (await ok('INSTALLER', 'POST', '/v3/auth/users', {
    name: 'anna',
    role: 'USER',
    password: 'correct horse',
  })) as { user: { id: string } };
  const { access_token: token } = (await ok('INSTALLER', 'POST', '/v3/auth/tokens', {
    name: 'dashboard',
    role: 'READONLY',
  })) as { access_token: { id: string } };
  await ok('INSTALLER', 'POST', '/v3/serial_ports', { name: 'rs485', path: '/dev/ttyS98' });
  await ok('INSTALLER', 'POST', '/v3/io_ports', { name: 'can', kind: 'CAN', path: 'can0' });
  const { entries } = (await ok('OWNER', 'GET', '/v3/audit')) as { entries: { number: number }[] };
  for (const [path, key] of [
    [`/v3/auth/users/${made.user.id}`, 'user'],
    [`/v3/auth/tokens/${token.id}`, 'access_token'],
    ['/v3/serial_ports/rs485', 'serial_port'],
    ['/v3/io_ports/can', 'io_port'],
    ['/v3/blueprints/device_profiles/energy.battery', 'profile'],
    [`/v3/audit/${entries[0]?.number}`, 'entry'],
  ] as const)
    assert.deepEqual(Object.keys(await ok('INSTALLER', 'GET', path)), [key]);
  for (const [path, code] of [
    ['/v3/auth/users/', 'user_not_found'],
    ['/v3/auth/tokens/', 'token_not_found'],
    ['/v3/serial_ports/', 'serial_port_not_found'],
    ['/v3/io_ports/', 'io_port_not_found'],
    ['/v3/blueprints/device_profiles/', 'profile_not_found'],
    ['/v3/alerts/', 'alert_not_found'],
    ['/v3/notification_channels/', 'notification_channel_not_found'],
    ['/v3/notification_deliveries/', 'notification_delivery_not_found'],
    ['/v3/audit/', 'audit_entry_not_found'],
    ['/v3/targets/', 'target_not_found'],
  ] as const)
    for (const id of [...UNKNOWN, '999999'])
      assert.equal(refusal(await call('INSTALLER', 'GET', path + id)), `404 ${code}`, path + id);
});

test('a fault of a whole object names the missing member', async () => {
  const answer = await gateway().call('OWNER', 'POST', '/v3/targets', { name: 'stick', kind: 'FOLDER' });
  assert.deepEqual((answer.body as { errors: unknown }).errors, [
    {
      code: 'invalid_body',
      message: 'Field "folder" is required for the kind FOLDER.',
      details: { field: 'folder' },
    },
  ]);
});

test('a rule of V1 with functions of V3 is reported by the check and in its log', async () => {
  const { ok } = gateway();
  const code = Buffer.from('scheduler.add(1000, function() end)').toString('base64');
  const script = { code, runtime_version: 'V1', exec_interval: '1m' };
  const warning = { line: 1, message: 'scheduler.add is of runtime V3; this rule has runtime V1.' };
  assert.deepEqual(await ok('OWNER', 'POST', '/v3/site/rule_engine/rules/check', { script }), {
    warnings: [warning],
  });
  const newer = { code, runtime_version: 'V3' };
  assert.deepEqual(await ok('OWNER', 'POST', '/v3/site/rule_engine/rules/check', { script: newer }), {});
  await ok('OWNER', 'POST', '/v3/site/rule_engine/rules', { slug: 'older', script, disable: true });
  const logs = async () =>
    (await ok('USER', 'GET', '/v3/site/rule_engine/rules/older/logs')) as {
      logs: { message: string; severity: string }[];
    };
  await until(async () => (await logs()).logs.length > 0);
  const [entry] = (await logs()).logs;
  assert.deepEqual([entry?.severity, entry?.message], ['warning', `older.lua:1: ${warning.message}`]);
});
