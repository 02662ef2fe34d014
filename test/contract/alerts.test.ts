/** Alerts over HTTP. Denials first. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { zipOf } from '../capabilities/blueprints/support.ts';
import type { MockDevice } from '../support/mock-device.ts';
import { type Caller, refusal, useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const ALERTS = '/v3/alerts';
let device: MockDevice;
const gateway = useTestGateway({}, async (started) => {
  device = await started.provision('Battery');
  await device.connect();
  const nowS = Math.floor(Date.now() / 1_000);
  await device.telemetry({ timestamp: nowS - 7_200, alerts: ['battery_low'] });
  await device.telemetry({ timestamp: nowS - 3_600, alerts: [] });
  await device.telemetry({ timestamp: nowS, alerts: ['made_up'], conn_alerts: ['grid_lost'] });
});

const names = async (query = ''): Promise<string[]> => {
  const { alerts } = await gateway().ok('READONLY', 'GET', `${ALERTS}?device_id.in=battery${query}`);
  return (alerts as { name: string }[]).map(({ name }) => name).toSorted();
};

describe('is refused', () => {
  const id = '5b0a3a5c-3e0b-4d4e-8a5f-0d6a4c1f2b33';
  for (const [title, caller, method, path, wanted] of [
    ['the list without a token', null, 'GET', ALERTS, '401 invalid_header'],
    [
      'an acknowledgement by READONLY',
      'READONLY',
      'POST',
      `${ALERTS}/${id}/acknowledge`,
      '403 insufficient_role',
    ],
    ['one of everything by READONLY', 'READONLY', 'POST', `${ALERTS}/acknowledge`, '403 insufficient_role'],
    ['a snooze by READONLY', 'READONLY', 'POST', `${ALERTS}/${id}/snooze`, '403 insufficient_role'],
    ['one of nothing', 'USER', 'POST', `${ALERTS}/${id}/acknowledge`, '404 alert_not_found'],
    ['an unknown device', 'USER', 'GET', `${ALERTS}?device_id.in=nobody`, '404 device_not_found'],
    ['an unknown severity', 'USER', 'GET', `${ALERTS}?severity=fatal`, '400 invalid_query'],
    ['a flag that is none', 'USER', 'GET', `${ALERTS}?acknowledged=maybe`, '400 invalid_query'],
    ['an unknown state', 'USER', 'GET', `${ALERTS}?state=OPEN`, '400 invalid_query'],
    ['a moment that is none', 'USER', 'GET', `${ALERTS}?from=yesterday`, '400 invalid_query'],
  ] as const)
    test(title, async () => assert.equal(refusal(await gateway().call(caller, method, path)), wanted));
});

test('the list of alerts is filtered by state, severity, device and time, and paged', async () => {
  assert.deepEqual(await names(), ['battery_low', 'grid_lost', 'made_up']);
  assert.deepEqual(await names('&state=RAISED'), ['grid_lost', 'made_up']);
  assert.deepEqual(await names('&state=cleared'), ['battery_low']);
  for (const none of ['0', 'FALSE']) assert.deepEqual((await names(`&acknowledged=${none}`)).length, 3);
  assert.deepEqual(await names('&acknowledged=1'), []);
  assert.deepEqual(await names('&severity=error'), ['made_up']);
  assert.deepEqual(await names('&severity=error,warning'), ['grid_lost', 'made_up']);
  const ago = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();
  assert.deepEqual(await names(`&from=${ago(90)}`), ['battery_low', 'grid_lost', 'made_up']);
  assert.deepEqual(await names(`&from=${ago(30)}`), ['grid_lost', 'made_up']);
  assert.deepEqual(await names(`&to=${ago(30)}`), ['battery_low']);
  const { alerts, total_count: total } = await gateway().ok('USER', 'GET', `${ALERTS}?limit=1&offset=2`);
  assert.deepEqual([(alerts as { name: string }[])[0]?.name, total], ['battery_low', 3]);
});

test('an acknowledgement keeps who was first, and not every role sees the name', async () => {
  const { alerts } = await gateway().ok('USER', 'GET', `${ALERTS}?state=RAISED&severity=error`);
  const [{ id } = { id: '' }] = alerts as { id: string }[];
  const first = await gateway().ok('USER', 'POST', `${ALERTS}/${id}/acknowledge`);
  const again = await gateway().ok('OWNER', 'POST', `${ALERTS}/${id}/acknowledge`);
  assert.deepEqual(again, first);
  const { acknowledged_by: by, acknowledged_at: at } = first['alert'] as Record<string, unknown>;
  assert.equal(by, 'USER');
  assert.ok(typeof at === 'string');
  const seen = await gateway().ok('READONLY', 'GET', `${ALERTS}?acknowledged=true`);
  const [shown] = seen['alerts'] as Record<string, unknown>[];
  assert.deepEqual([shown?.['id'], shown?.['acknowledged_by'], shown?.['acknowledged_at']], [id, null, at]);
  const { entries } = await gateway().ok('OWNER', 'GET', '/v3/audit?operation=acknowledge_alert&limit=1');
  const [{ target } = { target: {} }] = entries as { target: Record<string, string> }[];
  assert.deepEqual(target, { alert_id: id, device_id: device.id, device_name: 'Battery', alert: 'made_up' });
});

test('all raised alerts are acknowledged at once, and reported as it happens', async (t) => {
  const watched = await gateway().watch('USER', ALERTS);
  t.after(() => watched.close());
  const { alerts, total_count: count } = await gateway().ok('USER', 'POST', `${ALERTS}/acknowledge`);
  assert.deepEqual(
    (alerts as { name: string }[]).map(({ name }) => name),
    ['grid_lost'],
  );
  assert.equal(count, 1);
  await device.telemetry({ alerts: ['made_up', 'another'] });
  const heard = (): string[] =>
    watched.messages.map((message) => {
      const { change, alert } = message as { change: string; alert: { name: string } };
      return `${change} ${alert.name}`;
    });
  await until(() => heard().length >= 3);
  assert.deepEqual(heard(), ['ACKNOWLEDGED grid_lost', 'CLEARED grid_lost', 'RAISED another']);
});

test('raised_alert_names leaves out those of telemetry above the role, in one and in a list', async () => {
  const manifest =
    'blueprint_spec: device/3.0\ndisplay_name: G\nruntime: {type: embedded}\n' +
    'telemetry:\n  service: {display_name: Service, type: alerts, access_level: installer}\n';
  const zip = await zipOf({ 'manifest.yml': manifest });
  const { id } = await gateway().ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
  const guarded = await gateway().provision('Guarded', String(id));
  await guarded.connect();
  await guarded.telemetry({ alerts: ['low'], service: ['worn'] });
  for (const [role, names] of [
    ['INSTALLER', ['low', 'worn']],
    ['OWNER', ['low']],
    ['READONLY', ['low']],
  ] as const) {
    const query = 'expand=raised_alert_names';
    const one = (await gateway().ok(role, 'GET', `/v3/devices/guarded?${query}`))['device'] as {
      raised_alert_names: string[];
    };
    const list = (await gateway().ok(role, 'GET', `/v3/devices?slug.in=guarded&${query}`))['devices'];
    assert.deepEqual(
      [one.raised_alert_names, (list as { raised_alert_names: string[] }[])[0]?.raised_alert_names],
      [names, names],
    );
  }
  await guarded.leave();
  await gateway().ok('OWNER', 'DELETE', `/v3/devices/${guarded.id}`);
});

describe('an alert of an attribute above the role', () => {
  let guarded: MockDevice;
  const manifest =
    'blueprint_spec: device/3.0\ndisplay_name: G\nruntime: {type: embedded}\n' +
    'telemetry:\n  service: {display_name: Service, type: alerts, access_level: installer}\n';

  before(async () => {
    const zip = await zipOf({ 'manifest.yml': manifest });
    const { id } = await gateway().ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
    guarded = await gateway().provision('Guarded', String(id));
    await guarded.connect();
    await guarded.telemetry({ alerts: ['low'], service: ['worn', 'low'] });
  });

  after(async () => {
    await guarded.leave();
    await gateway().ok('OWNER', 'DELETE', `/v3/devices/${guarded.id}`);
  });

  const listed = async (role: Caller, query = '') => {
    const answer = await gateway().ok(role, 'GET', `${ALERTS}?device_id.in=guarded${query}`);
    const alerts = answer['alerts'] as { id: string; name: string; acknowledged_by: string | null }[];
    assert.equal(answer['total_count'], alerts.length);
    return alerts.toSorted((a, b) => a.name.localeCompare(b.name));
  };
  const namesFor = async (role: Caller, query = ''): Promise<string[]> =>
    (await listed(role, query)).map(({ name }) => name);
  const BELOW = ['READONLY', 'USER', 'OWNER'] as const;

  test('an alert of an attribute above the role is neither listed nor counted below it', async () => {
    for (const role of BELOW) assert.deepEqual(await namesFor(role), ['low'], role);
    assert.deepEqual(await namesFor('INSTALLER'), ['low', 'worn']);
    const { total_count: count } = await gateway().ok('OWNER', 'GET', `${ALERTS}?state=RAISED&limit=0`);
    const { total_count: all } = await gateway().ok('INSTALLER', 'GET', `${ALERTS}?state=RAISED&limit=0`);
    assert.equal(Number(all) - Number(count), 1);
  });

  test('an alert of an attribute above the role is acknowledged by nobody below it, neither by its id nor with all others', async () => {
    const worn = (await listed('INSTALLER')).find(({ name }) => name === 'worn') ?? assert.fail();
    for (const role of ['USER', 'OWNER'] as const) {
      const refused = await gateway().call(role, 'POST', `${ALERTS}/${worn.id}/acknowledge`);
      assert.equal(refusal(refused), '404 alert_not_found', role);
      const { alerts } = await gateway().ok(role, 'POST', `${ALERTS}/acknowledge`);
      assert.ok(!(alerts as { name: string }[]).some(({ name }) => name === 'worn'), role);
    }
    const [, still] = await listed('INSTALLER');
    assert.equal(still?.acknowledged_by, null);
    const { alerts } = await gateway().ok('INSTALLER', 'POST', `${ALERTS}/acknowledge`);
    assert.deepEqual(
      (alerts as { name: string }[]).map(({ name }) => name),
      ['worn'],
    );
  });

  test('an alert of an attribute above the role is reported below it only once all may read who acknowledged it, and its end to everybody then', async (t) => {
    const owner = await gateway().watch('OWNER', ALERTS);
    const installer = await gateway().watch('INSTALLER', ALERTS);
    t.after(() => (owner.close(), installer.close()));
    const said = ({ messages }: typeof owner): string[] =>
      messages.map((message) => {
        const { change, alert } = message as { change: string; alert: { name: string } };
        return `${change} ${alert.name}`;
      });
    await guarded.telemetry({ service: ['worn', 'low', 'leak'] });
    await guarded.telemetry({ service: ['leak'], alerts: ['low'] });
    await guarded.telemetry({ service: ['leak'], alerts: ['low', 'leak'] });
    assert.deepEqual(await namesFor('OWNER', '&state=RAISED'), ['leak', 'low']);
    // It stays theirs until it is over.
    await guarded.telemetry({ service: ['leak'], alerts: ['low'] });
    await guarded.telemetry({ service: [], alerts: ['low'] });
    const heard = ['RAISED leak', 'CLEARED leak'];
    await until(() => said(owner).length >= heard.length && said(installer).length >= 3);
    assert.deepEqual(said(owner), heard);
    assert.deepEqual(said(installer), ['RAISED leak', 'CLEARED worn', 'CLEARED leak']);
    assert.deepEqual(await namesFor('OWNER'), ['leak', 'low']);
  });

  test('an alert of an attribute above the role is theirs with its beginning when it comes back within a moment in a text that all may read', async () => {
    await guarded.telemetry({ alerts: ['low', 'worn'] });
    assert.deepEqual(await namesFor('OWNER'), ['leak', 'low', 'worn']);
    await guarded.telemetry({ alerts: ['low'], service: ['pin'] });
    await guarded.telemetry({ alerts: ['low'], service: [] });
  });

  test('an alert of an attribute above the role stays theirs alone under a blueprint without the attribute, and when it is over', async () => {
    const zip = await zipOf({ 'manifest.yml': manifest.slice(0, manifest.indexOf('telemetry:')) });
    const { id } = await gateway().ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
    const path = '/v3/devices/guarded/assign_blueprint';
    await gateway().ok('OWNER', 'POST', path, { blueprint_id: id });
    assert.deepEqual(await namesFor('OWNER'), ['leak', 'low', 'worn']);
    assert.deepEqual(await namesFor('INSTALLER'), ['leak', 'low', 'pin', 'worn']);
  });
});

test('a snooze needs a moment, and an acknowledgement after it is for good', async () => {
  const other = await gateway().provision('Snoozed');
  await other.connect();
  await other.telemetry({ alerts: ['grid_lost'] });
  const { alerts } = await gateway().ok('USER', 'GET', `${ALERTS}?state=RAISED&device_id.in=snoozed`);
  const [{ id } = { id: '' }] = alerts as { id: string }[];
  const snooze = (until: string) => gateway().call('USER', 'POST', `${ALERTS}/${id}/snooze`, { until });
  assert.equal(refusal(await snooze('tomorrow')), '400 invalid_body');
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const snoozed = await gateway().ok('USER', 'POST', `${ALERTS}/${id}/snooze`, { until });
  assert.partialDeepStrictEqual(snoozed, { alert: { acknowledged_by: 'USER', acknowledged_until: until } });
  const seen = await gateway().ok('OWNER', 'POST', `${ALERTS}/${id}/acknowledge`);
  assert.partialDeepStrictEqual(seen, { alert: { acknowledged_by: 'OWNER', acknowledged_until: null } });
  await gateway().ok('OWNER', 'DELETE', `/v3/devices/${other.id}`);
});
