/**
 * Every list of the whole gateway (docs/interface/http.md#lists): pages, totals, what is refused, what is ignored.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../support/until.ts';
import { connectAsync } from 'mqtt';
import { WITH_SANDBOX } from '../flows/rule-support.ts';
import { type TestGateway, useTestGateway } from '../support/test-gateway.ts';

interface List {
  path: string;
  key: string;
  /** A larger limit is refused, not lowered. */
  strictLimit?: number;
  /** Pages are counted back from the newest. */
  fromEnd?: boolean;
}

/** Devices of a template that has changed since. */
async function addOutdatedDevices({ ok }: TestGateway): Promise<void> {
  const template = (address: number): string =>
    'template: device/1\nname: Pump\nmaker: Acme\nproducts: [P]\ncategory: sensors\nsources: [manual]\n' +
    'verified: one source\nmodbus: { transports: [tcp] }\n' +
    `values: { flow: { input: ${address}, name: Flow } }\n`;
  await ok('INSTALLER', 'POST', '/v3/library/devices', template(1));
  const { blueprint } = await ok('OWNER', 'POST', '/v3/library/devices/own-pump/blueprint');
  const { devices } = await ok('OWNER', 'GET', '/v3/devices?type.in=GATEWAY');
  for (let index = 0; index < 3; index++)
    await ok('OWNER', 'POST', '/v3/provisioning/lua_device', {
      name: `Pump ${index}`,
      blueprint_id: (blueprint as { id: string }).id,
      runtime_id: (devices as [{ id: string }])[0].id,
    });
  await ok('INSTALLER', 'POST', '/v3/library/devices', template(2));
}

/** Holds an output of the battery. */
const HOLDING = `
scheduler.add(1000, function()
  output.request('battery', 'set_mode', { mode = 'backup' }, { safe = { mode = 'self_consumption' } })
end)`;

let outputId = '';

const gateway = useTestGateway(WITH_SANDBOX, async (started) => {
  const { ok } = started;
  const device = await started.provision('Battery');
  await device.connect();
  device.obey();
  await ok('OWNER', 'POST', '/v3/devices/battery/documents', 'a plain text');
  for (let index = 0; index < 4; index++) {
    await device.log(`entry ${index}`);
    await ok('USER', 'POST', '/v3/devices/battery/execute_command', { name: 'read_settings' });
    const code = Buffer.from('return (').toString('base64');
    await ok('OWNER', 'POST', '/v3/site/rule_engine/rules', {
      slug: `rule-${index}`,
      script: { code, runtime_version: 'V3' },
      disable: true,
    });
    await ok('OWNER', 'POST', '/v3/site/rule_engine/rules/rule-0/update_script', {
      script: { code, runtime_version: 'V3' },
    });
    await ok('INSTALLER', 'POST', '/v3/auth/users', {
      name: `user-${index}`,
      role: 'USER',
      password: 'correct horse',
    });
    await ok('OWNER', 'POST', '/v3/targets', {
      name: `target-${index}`,
      kind: 'INFLUXDB',
      enabled: false,
      influxdb: { url: 'http://127.0.0.1:9/write' },
    });
    const { notification_channel: channel } = await ok('OWNER', 'POST', '/v3/notification_channels', {
      name: `channel-${index}`,
      kind: 'NTFY',
      ntfy: { server: 'http://127.0.0.1:9', topic: 'nobody' },
    });
    await ok('OWNER', 'POST', `/v3/notification_channels/${(channel as { id: string }).id}/test`);
    const login = { username: `guest-${index}`, password: 'a long password' };
    await ok('OWNER', 'POST', '/v3/mqtt_guests', {
      name: login.username,
      topics: [`plug-${index}`],
      ...login,
    });
    const guest = await connectAsync(`mqtt://127.0.0.1:${gateway().ports.mqttPort}`, login);
    const announced = JSON.stringify({ name: 'Power', state_topic: `plug-${index}/power` });
    await guest.publishAsync(`homeassistant/sensor/plug-${index}/config`, announced, { qos: 1 });
    await guest.endAsync();
    // The audit trail of all this has to fit the default page.
    if (index >= 2) continue;
    await ok('INSTALLER', 'POST', '/v3/serial_ports', { name: `port-${index}`, path: `/dev/ttyS9${index}` });
    await ok('INSTALLER', 'POST', '/v3/io_ports', { name: `can-${index}`, kind: 'CAN', path: `can${index}` });
  }
  await addOutdatedDevices(started);
  const code = Buffer.from(HOLDING).toString('base64');
  const script = { code, runtime_version: 'V3' };
  await ok('OWNER', 'POST', '/v3/site/rule_engine/rules', { slug: 'holding', script });
  await ok('OWNER', 'PATCH', '/v3/site/rule_engine/rules/holding', { traced: true });
  const held = async (): Promise<{ id: string; command?: object }[]> =>
    (await ok('READONLY', 'GET', '/v3/site/outputs'))['outputs'] as never;
  await until(async () => {
    const outputs = await held();
    return outputs[0]?.command !== undefined;
  });
  const runs = '/v3/site/rule_engine/rules/holding/runs';
  await until(async () => Number((await ok('USER', 'GET', runs))['total_count']) >= 3);
  await ok('OWNER', 'POST', '/v3/site/rule_engine/rules/holding/disable');
  outputId = (await held())[0]?.id ?? '';
  const changes = `/v3/site/outputs/${outputId}/changes`;
  await until(async () => Number((await ok('READONLY', 'GET', changes))['total_count']) >= 2);
  await device.telemetry({ alerts: ['battery_low', 'grid_lost'] });
  await until(async () => Number((await ok('USER', 'GET', '/v3/alerts'))['total_count']) >= 2);
  for (const path of ['/v3/devices/battery/logs', '/v3/site/rule_engine/rules/rule-0/logs'])
    await until(async () => Number((await ok('USER', 'GET', path))['total_count']) >= 4);
});

const LISTS: readonly List[] = [
  { path: '/v3/sites', key: 'sites' },
  { path: '/v3/users/me/sites', key: 'sites' },
  { path: '/v3/devices', key: 'devices' },
  { path: '/v3/devices/battery/documents', key: 'documents' },
  { path: '/v3/site/devices', key: 'devices' },
  { path: '/v3/blueprints', key: 'blueprints' },
  { path: '/v3/site/rule_engine/rules', key: 'rules' },
  { path: '/v3/devices/battery/commands/executions', key: 'executions' },
  { path: '/v3/site/commands/executions', key: 'executions' },
  { path: '/v3/devices/battery/logs', key: 'logs', strictLimit: 50, fromEnd: true },
  { path: '/v3/site/rule_engine/rules/rule-0/logs', key: 'logs', strictLimit: 50, fromEnd: true },
  { path: '/v3/site/rule_engine/rules/rule-0/versions', key: 'rule_versions' },
  { path: '/v3/site/rule_engine/rules/holding/runs', key: 'runs' },
  { path: '/v3/site/outputs', key: 'outputs' },
  { path: '/v3/site/outputs/OUTPUT/changes', key: 'changes' },
  { path: '/v3/blueprints/device_profiles', key: 'profiles' },
  { path: '/v3/library/devices', key: 'devices' },
  { path: '/v3/library/updates', key: 'updates' },
  { path: '/v3/library/strategies', key: 'strategies' },
  { path: '/v3/targets', key: 'targets' },
  { path: '/v3/mqtt_guests', key: 'mqtt_guests' },
  { path: '/v3/announced_devices', key: 'announced_devices' },
  { path: '/v3/notification_channels', key: 'notification_channels' },
  { path: '/v3/notification_deliveries', key: 'notification_deliveries' },
  { path: '/v3/serial_ports', key: 'serial_ports' },
  { path: '/v3/io_ports', key: 'io_ports' },
  { path: '/v3/alerts', key: 'alerts' },
  { path: '/v3/audit', key: 'entries' },
  { path: '/v3/auth/users', key: 'users' },
  { path: '/v3/auth/tokens', key: 'access_tokens' },
];

const addressOf = (path: string): string => path.replace('OUTPUT', outputId);

async function read({ path, key }: List, query = ''): Promise<{ items: unknown[]; total: number }> {
  const answer = await gateway().ok('INSTALLER', 'GET', addressOf(path) + (query && `?${query}`));
  assert.deepEqual(Object.keys(answer).toSorted(), [key, 'total_count'].toSorted());
  assert.ok(Number.isInteger(answer['total_count']));
  return { items: answer[key] as unknown[], total: answer['total_count'] as number };
}

test('every list of the interface is tried below', async () => {
  const { paths } = (await gateway().ok('READONLY', 'GET', '/v3/openapi.json')) as {
    paths: Record<string, { get?: { responses: Record<string, { $ref?: string }> } }>;
  };
  const { routes } = gateway().gateway.operations();
  const lists = routes.filter(
    ({ method, answer }) =>
      method === 'GET' &&
      answer !== null &&
      answer !== undefined &&
      'entries' in answer &&
      'total_count' in (answer.entries as object),
  );
  assert.ok(lists.every(({ paths: [path] }) => path in paths));
  const tried = new Set(
    LISTS.map(({ path }) =>
      path.replace(/battery|rule-0|holding|OUTPUT/, '{}').replace('/v3/sites', '/v3/site'),
    ),
  );
  const canonical = (path: string): string =>
    path
      .replace('/v3/sites/{site_id}', '/v3/site')
      .replace(/\{\w+\}/g, '{}')
      .replace('/v3/sites', '/v3/site');
  assert.deepEqual(
    lists.map(({ paths: [path] }) => canonical(path)).filter((path) => !tried.has(path)),
    [],
  );
  assert.ok(lists.length >= 18, String(lists.length));
});

for (const list of LISTS)
  describe(`the list ${list.path}`, () => {
    test('every list refuses a limit and an offset that are no whole number from 0, with the name', async () => {
      // A limit beyond what is given at once is lowered to that, however large it is, and nothing is behind the end.
      const tooFar = (name: string): string[] =>
        name === 'limit' && list.strictLimit ? ['9'.repeat(30)] : [];
      for (const name of ['limit', 'offset'])
        for (const value of ['-1', '1.5', 'all', '1e3', '0x1', '%2B1', '1%20', ...tooFar(name)]) {
          const { status, body } = await gateway().call(
            'INSTALLER',
            'GET',
            `${addressOf(list.path)}?${name}=${value}`,
          );
          assert.equal(status, 400, `${name}=${value}`);
          const [{ code, details }] = (body as { errors: [{ code: string; details: unknown }] }).errors;
          assert.deepEqual([code, details], ['invalid_query', { parameter: name }]);
        }
    });

    test(`the list ${list.path} is whole by default, with the number of all that match`, async () => {
      const { items, total } = await read(list);
      assert.equal(items.length, total);
      assert.ok(total > 0);
    });

    test('every list has pages that make the whole, until one is empty, each with the same total', async () => {
      const { items: whole, total } = await read(list);
      const pages: unknown[][] = [];
      for (let offset = 0; ; offset += 2) {
        const page = await read(list, `limit=2&offset=${offset}`);
        assert.equal(page.total, total);
        if (page.items.length === 0) break;
        pages.push(page.items);
      }
      assert.deepEqual((list.fromEnd ? pages.toReversed() : pages).flat(), whole);
    });

    test(`the list ${list.path} is empty with limit 0 and behind its end, and keeps its total`, async () => {
      const { total } = await read(list);
      for (const query of ['limit=0', `offset=${total}`, `offset=${'9'.repeat(30)}`, 'limit=0&offset=0'])
        assert.deepEqual(await read(list, query), { items: [], total }, query);
    });

    test(
      list.strictLimit ? 'refuses a limit above 50' : 'lowers a limit above 1 000 instead of refusing it',
      async () => {
        if (list.strictLimit) {
          assert.equal((await read(list, `limit=${list.strictLimit}`)).items.length > 0, true);
          const path = `${addressOf(list.path)}?limit=${list.strictLimit + 1}`;
          assert.equal((await gateway().call('INSTALLER', 'GET', path)).status, 400);
        } else assert.deepEqual(await read(list, 'limit=100000'), await read(list));
      },
    );

    test('every list takes an empty parameter as none, the first of several, and ignores unknown ones', async () => {
      const whole = await read(list);
      assert.deepEqual(await read(list, 'limit=&offset=&unheard_of=1'), whole);
      assert.equal((await read(list, 'limit=1&limit=2')).items.length, 1);
    });
  });
