/** A site file against a whole gateway: what it changes, and what it leaves alone. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { Api, apply, type Outcome, readSiteFile } from '../../src/site-file/index.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { blueprintZip, SECRETS, siteFile } from './support.ts';

const WHOLE = `
site:
  name: Plant 17
  timezone: europe/berlin
  location: {name: Hall 2, latitude: 52.5, longitude: 13.4}
users:
  - {name: anna, role: OWNER, password: {env: ANNA}}
blueprints:
  - {name: meter, file: meter.zip}
  - {name: script, file: script.zip}
targets:
  - name: fleet
    kind: INFLUXDB
    influxdb:
      url: http://127.0.0.1:9/write?u=box&p=hidden
      token_scheme: Bearer
      secret: {file: token}
    selection: {interval_s: 60, attributes: [power]}
devices:
  - {slug: meter-1, name: Meter, type: STANDALONE, blueprint: meter}
  - {slug: inverter, name: Inverter, type: LUA, blueprint: script}
  - slug: battery
    name: Battery
    type: STANDALONE
    blueprint: enapter/battery-inverter/latest
    configuration:
      limits: {minimum_soc_percent: {env: LEAST}, max_charge_power_w: 5000}
      connection: {password: {file: token}}
tariffs:
  currency: EUR
  items:
    - valid_from: '2026-07-01'
      import_price: {kind: DEVICE, device_id: battery, attribute: battery_soc}
    - {valid_from: '2026-01-01', import_price: {kind: FIXED, price: 0.3}, vat_percent: 19}
rules:
  - {slug: surplus, file: surplus.lua}
  - {slug: older, file: older.lua, runtime_version: V1, exec_interval: 5s, enabled: false}
notifications:
  - {name: Phones, kind: NTFY, device_ids: [battery], ntfy: {topic: plant-17, token: {env: FLEET}}}
  - {name: Desk, kind: WEBHOOK, webhook: {url: {env: HOOK}, signing_secret: {file: token}}}
`;

const RULE = 'while true do sleep(1) end\n';

const CHANGES = [
  'site: name "Plant 17" instead of "Depot", timezone "Europe/Berlin" instead of "UTC", location.name "Hall 2" instead of none, location.latitude 52.5 instead of none, location.longitude 13.4 instead of none',
  'user "anna": new, OWNER',
  'blueprint "meter": new',
  'blueprint "script": new',
  'device "meter-1": new, STANDALONE',
  'device "meter-1": blueprint "meter"',
  'device "inverter": new, LUA on "gateway" with the blueprint "script"',
  'device "battery": new, STANDALONE',
  'device "battery": blueprint "enapter/battery-inverter/latest"',
  'device "battery": configuration limits.minimum_soc_percent, limits.max_charge_power_w',
  'device "battery": configuration connection.password',
  'tariffs: currency EUR, 2 instead of 0',
  'target "fleet": new, INFLUXDB',
  'rule "surplus": new, V3',
  'rule "older": new, V1, disabled',
  'notification channel "Phones": new, NTFY',
  'notification channel "Desk": new, WEBHOOK',
];

async function start(t: TestContext) {
  const gateway = await startTestGateway(t);
  const clock = createSystemClock();
  t.after(() => clock.close());
  const beside = {
    'meter.zip': await blueprintZip('Meter'),
    'script.zip': await blueprintZip('Script', { isLua: true }),
    token: `${SECRETS.FLEET}\n`,
    'surplus.lua': RULE,
    'older.lua': 'local done = true\n',
  };
  const api = new Api({
    origin: 'http://gateway.test',
    token: gateway.token('INSTALLER'),
    fetch: (request) => gateway.gateway.fetch(request),
    clock,
  });
  const run = (text: string, isDryRun = false): Promise<Outcome> =>
    apply(readSiteFile(siteFile(t, text, beside), SECRETS), api, { isDryRun });
  return { gateway, run };
}

const made = (done: string[]): Outcome => ({ done, failed: undefined, left: [] });

async function listOf(
  gateway: TestGateway,
  path: string,
  member: string,
): Promise<Record<string, unknown>[]> {
  return (await gateway.ok('INSTALLER', 'GET', path))[member] as Record<string, unknown>[];
}

describe('a site file', () => {
  test('a site file sets a new box up, and changes nothing the second time', async (t) => {
    const { gateway, run } = await start(t);
    assert.deepEqual(await run(WHOLE), made(CHANGES));
    const { device } = (await gateway.ok('OWNER', 'GET', '/v3/devices/meter-1')) as {
      device: { name: string; type: string };
    };
    assert.deepEqual([device.name, device.type], ['Meter', 'STANDALONE']);
    const [target] = await listOf(gateway, '/v3/targets', 'targets');
    const settings = target?.['influxdb'] as { has_secret: boolean } | undefined;
    assert.equal(settings?.has_secret, true);
    const [user] = await listOf(gateway, '/v3/auth/users', 'users');
    assert.deepEqual([user?.['name'], user?.['has_password']], ['anna', true]);
    const configuration = '/v3/devices/battery/configuration';
    const limits = await gateway.ok('INSTALLER', 'GET', `${configuration}/limits`);
    assert.equal((limits['configuration'] as Record<string, number>)['minimum_soc_percent'], 15);
    assert.deepEqual(await gateway.ok('INSTALLER', 'GET', `${configuration}/connection?expand=hidden`), {
      configuration: {},
      hidden: ['password'],
    });
    const rules = await listOf(gateway, '/v3/site/rule_engine/rules', 'rules');
    const ruleOf = (slug: string) => rules.find((rule) => rule['slug'] === slug);
    assert.deepEqual([ruleOf('surplus')?.['disabled'], ruleOf('older')?.['disabled']], [false, true]);
    assert.deepEqual(ruleOf('surplus')?.['script'], {
      code: Buffer.from(RULE).toString('base64'),
      runtime_version: 'V3',
    });
    const channels = await listOf(gateway, '/v3/notification_channels', 'notification_channels');
    const channelOf = (name: string) => channels.find((channel) => channel['name'] === name);
    assert.deepEqual(channelOf('Phones')?.['ntfy'], {
      server: 'https://ntfy.sh',
      topic: 'plant-17',
      has_token: true,
    });
    assert.deepEqual(channelOf('Desk')?.['webhook'], {
      origin: 'http://127.0.0.1:9',
      form: 'JSON',
      has_signing_secret: true,
    });
    assert.deepEqual(await run(WHOLE), made([]));
  });

  test('a site file only tells what it would change in a dry run', async (t) => {
    const { gateway, run } = await start(t);
    assert.deepEqual(await run(WHOLE, true), { done: [], failed: undefined, left: CHANGES });
    assert.deepEqual(await listOf(gateway, '/v3/targets', 'targets'), []);
    assert.deepEqual(await run(WHOLE, true), { done: [], failed: undefined, left: CHANGES });
  });

  test('a site file changes what differs, and leaves alone what it does not name', async (t) => {
    const { gateway, run } = await start(t);
    await run(WHOLE);
    await gateway.ok('INSTALLER', 'POST', '/v3/auth/users', {
      name: 'ben',
      role: 'USER',
      password: SECRETS.ANNA,
    });
    const changed = WHOLE.replace('role: OWNER', 'role: USER')
      .replace('interval_s: 60', 'interval_s: 10')
      .replace('127.0.0.1:9/write', '127.0.0.1:9/other')
      .replace('name: Meter,', 'name: Grid meter,')
      .replace('{name: meter, file: meter.zip}', '{name: meter, file: script.zip}')
      .replace('max_charge_power_w: 5000', 'max_charge_power_w: 4000')
      .replace('{password: {file: token}}', '{password: {file: token}, address: "http://127.0.0.1:9"}')
      .replace(/ {2}- \{slug: inverter.*\n/, '')
      .replace('file: surplus.lua', 'file: older.lua, enabled: false')
      .replace('exec_interval: 5s, enabled: false', 'exec_interval: 0.5m, enabled: true')
      .replace('device_ids: [battery]', 'device_ids: [battery, meter-1], minimum_severity: error')
      .replace('topic: plant-17', 'topic: plant-18')
      .replace('{env: HOOK}', '{env: OTHER_HOOK}');
    assert.deepEqual(
      await run(changed),
      made([
        'user "anna": role USER instead of OWNER',
        'device "meter-1": name "Grid meter" instead of "Meter"',
        'device "meter-1": blueprint "meter"',
        'device "battery": configuration limits.max_charge_power_w 4000 instead of 5000',
        'device "battery": configuration connection.address "http://127.0.0.1:9" instead of none, connection.password',
        'target "fleet": influxdb.url "http://127.0.0.1:9/other" instead of "http://127.0.0.1:9/write", influxdb.secret, selection.interval_s 10 instead of 60',
        'rule "surplus": disabled',
        'rule "surplus": script changes',
        'rule "older": exec_interval "30s" instead of "5s"',
        'rule "older": enabled',
        'notification channel "Phones": minimum_severity "error" instead of "warning", device_ids change, ntfy.topic "plant-18" instead of "plant-17", ntfy.token',
        'notification channel "Desk": webhook.url',
      ]),
    );
    assert.deepEqual(await run(changed), made([]));
    const slugs = (await listOf(gateway, '/v3/devices', 'devices')).map(({ slug }) => slug);
    assert.ok(slugs.includes('inverter'));
    const names = (await listOf(gateway, '/v3/auth/users', 'users')).map(({ name }) => String(name));
    assert.ok(names.includes('ben'));
  });

  test('a site file sets the commands of a broker that it names, and leaves the rest', async (t) => {
    const { gateway, run } = await start(t);
    await run('devices:\n  - {slug: battery, name: Battery, type: STANDALONE}\n');
    const broker = (commands: string): string =>
      `targets:\n  - {name: above, kind: MQTT, enabled: false, mqtt: {url: "mqtt://127.0.0.1:9", commands: ${commands}}}\n`;
    await run(broker('{devices: [battery], topic: plant/commands}'));
    assert.deepEqual(await run(broker('{devices: [battery]}')), made([]));
    assert.equal((await run(broker('{devices: [battery], level: OWNER}'))).done.length, 1);
    const [target] = await listOf(gateway, '/v3/targets', 'targets');
    assert.partialDeepStrictEqual(target?.['mqtt'], {
      commands: { devices: ['battery'], level: 'OWNER', topic: 'plant/commands' },
    });
    assert.deepEqual(await run(broker('null')), made([]));
  });

  test('a site file is refused as a whole when the box cannot become what it says', async (t) => {
    const { gateway, run } = await start(t);
    await run('devices: [{slug: meter-1, name: Meter, type: STANDALONE}]');
    await run('notifications: [{name: Desk, kind: NTFY, ntfy: {topic: a}}]');
    await run('targets: [{name: stick, kind: INFLUXDB, influxdb: {url: "http://127.0.0.1:9/write"}}]');
    await assert.rejects(
      run(`
site: {name: Plant 17, timezone: UTC}
targets: [{name: stick, kind: MQTT, mqtt: {url: "mqtt://127.0.0.1:9"}, selection: {devices: [other, nobody]}}]
devices:
  - {slug: meter-1, name: Meter, type: LUA, blueprint: script, runtime: nobody}
  - {slug: other, name: Other, type: STANDALONE, blueprint: a/b/c}
notifications:
  - {name: Desk, kind: WEBHOOK, device_ids: [other, nobody], webhook: {url: {env: HOOK}}}
`),
      {
        message: [
          'the site file is not usable:',
          '  - devices[0].blueprint: there is no "script", neither in this file nor on the gateway',
          '  - devices[0].runtime: there is no device "nobody"',
          '  - devices[0].type: "meter-1" is STANDALONE here; delete it first',
          '  - devices[1].blueprint: there is no "a/b/c", neither in this file nor on the gateway',
          '  - targets[0].selection.devices: there is no device "nobody"',
          '  - targets[0].kind: "stick" is INFLUXDB here; delete it first',
          '  - notifications[0].device_ids: there is no device "nobody"',
          '  - notifications[0].kind: "Desk" is NTFY here; delete it first',
        ].join('\n'),
      },
    );
    const { site } = (await gateway.ok('OWNER', 'GET', '/v3/site')) as { site: { name: string } };
    assert.equal(site.name, 'Depot');
  });

  test('a site file is refused when it sets an undeclared setting of a device, or holds a secret of it', async (t) => {
    const { run } = await start(t);
    await run(WHOLE);
    const wrong = WHOLE.replace(
      '{file: token}}\ntariffs',
      'hunter-222}\n      colours: {wall: red}\ntariffs',
    ).replace('max_charge_power_w: 5000', 'power: 5');
    await assert.rejects(run(wrong), {
      message: [
        'the site file is not usable:',
        '  - devices[2].configuration.limits.power: is unknown; the group has max_charge_power_w, max_discharge_power_w, minimum_soc_percent, grid_feed_in_allowed',
        '  - devices[2].configuration.connection.password: must be {env: NAME} or {file: PATH}, so that no secret stands in this file',
        '  - devices[2].configuration.colours: is unknown; the device has limits, connection',
      ].join('\n'),
    });
  });

  test('a site file sets a missing secret of a device, and keeps an existing one', async (t) => {
    const { gateway, run } = await start(t);
    await run(WHOLE);
    await gateway.ok('INSTALLER', 'POST', '/v3/devices/battery/configuration/connection/reset_all');
    await gateway.ok('INSTALLER', 'PATCH', '/v3/devices/battery/configuration/limits', {
      set: { minimum_soc_percent: 30 },
    });
    assert.deepEqual(
      await run(WHOLE),
      made([
        'device "battery": configuration limits.minimum_soc_percent changes',
        'device "battery": configuration connection.password',
      ]),
    );
    assert.deepEqual(await run(WHOLE), made([]));
  });

  test('a site file reports what was done and what not when a change is refused, and continues from there', async (t) => {
    const { run } = await start(t);
    const broken = WHOLE.replace('file: script.zip', 'file: token');
    const { done, failed, left } = await run(broken);
    assert.deepEqual(done, CHANGES.slice(0, 3));
    assert.equal(failed?.change, 'blueprint "script": new');
    assert.match(failed?.reason ?? '', /\(invalid_body\)$/);
    assert.deepEqual(left, CHANGES.slice(4));
    assert.deepEqual(await run(WHOLE), made(CHANGES.slice(3)));
  });

  test('a site file waits where its requests exceed a rate', async (t) => {
    const gateway = await startTestGateway(t, {
      environment: { GATEWAY_HTTP_REQUESTS_PER_SECOND: '5', GATEWAY_HTTP_REQUEST_BURST: '1' },
    });
    const clock = createSystemClock();
    t.after(() => clock.close());
    const api = new Api({
      origin: 'http://gateway.test',
      token: gateway.token('INSTALLER'),
      fetch: (request) => gateway.gateway.fetch(request),
      clock,
    });
    const devices = [1, 2].map((number) => `{slug: m${number}, name: M, type: STANDALONE}`);
    const file = readSiteFile(siteFile(t, `devices: [${devices.join(', ')}]`), {});
    assert.equal((await apply(file, api, { isDryRun: false })).done.length, 2);
  });
});
