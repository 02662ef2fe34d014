/** From the alert of a device to the people outside, by mail, webhook and ntfy. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { LIMITS } from '../../src/lib/limits.ts';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { startMailServer, startPostServer } from '../support/receivers.ts';
import { sent, SIGNING_SECRET, useNotifications } from './notification-support.ts';

const { gatherMs, namedAlerts, retryFirstMs } = LIMITS.notifications;
const { addChannel, addDevice, addWebhook, deliveriesOf, eventually, gatewayOf, pass } = useNotifications();

test('a raised alert and its end reach mail, webhook and ntfy', async (t) => {
  const gateway = gatewayOf();
  const device = await addDevice(gateway);
  const mail = await startMailServer(t);
  const ntfy = await startPostServer(t);
  const only = { device_ids: [device.id] };
  const { server: hook } = await addWebhook(t, only);
  const email = {
    host: '127.0.0.1',
    port: mail.port,
    encryption: 'NONE',
    from: 'gw@example.org',
    to: ['anna@example.org'],
  };
  await addChannel(t, { name: 'Mail', kind: 'EMAIL', email, ...only });
  const server = `http://127.0.0.1:${ntfy.port}`;
  await addChannel(t, {
    name: 'Phones',
    kind: 'NTFY',
    ntfy: { server, topic: 'depot', token: 'tk_1' },
    ...only,
  });
  await device.telemetry({ alerts: ['made_up'], alert_details: { made_up: 'cell 7' } });
  await pass(gatherMs);
  await eventually(() => mail.mails.length + hook.posts.length + ntfy.posts.length === 3);

  const [letter] = mail.mails;
  assert.deepEqual([letter?.from, letter?.to], ['gw@example.org', ['anna@example.org']]);
  assert.match(letter?.content ?? '', /^Subject: \[Depot\] Battery: made_up$/m);
  assert.match(letter?.content ?? '', /ERROR {2}Battery: made_up, raised 2026-/);
  assert.match(letter?.content ?? '', /cell 7/);

  const [call] = hook.posts;
  const [told] = sent(hook);
  assert.equal(call?.path, '/alerts?key=of-the-address');
  const signature = createHmac('sha256', SIGNING_SECRET)
    .update(call?.body ?? '')
    .digest('hex');
  assert.equal(call?.headers['x-hub-signature-256'], `sha256=${signature}`);
  assert.equal(call?.headers['idempotency-key'], told?.id);
  assert.deepEqual([told?.type, told?.raised_count, told?.cleared_count], ['alerts', 1, 0]);
  assert.deepEqual([told?.alerts[0]?.change, told?.alerts[0]?.device_name], ['RAISED', 'Battery']);

  const [push] = ntfy.posts;
  assert.equal(push?.headers.authorization, 'Bearer tk_1');
  const published = JSON.parse(push?.body ?? '{}') as Record<string, unknown>;
  assert.deepEqual(
    [published['topic'], published['title'], published['priority']],
    ['depot', 'Depot: Battery: made_up', 5],
  );

  await device.telemetry({ alerts: [] });
  await pass(gatherMs);
  await eventually(() => hook.posts.length === 2 && mail.mails.length === 2 && ntfy.posts.length === 2);
  assert.equal(sent(hook)[1]?.title, 'Battery: made_up is over');
});

test('a recipient refused by the mail server does not affect the others, who get it once', async (t) => {
  const gateway = gatewayOf();
  const device = await addDevice(gateway);
  const mail = await startMailServer(t);
  mail.refusal = '550 nobody of that name';
  mail.refusedReceiver = 'gone@example.org';
  const to = ['gone@example.org', 'anna@example.org'];
  const email = { host: '127.0.0.1', port: mail.port, encryption: 'NONE', from: 'gw@example.org', to };
  const id = await addChannel(t, { name: 'Mail', kind: 'EMAIL', email, device_ids: [device.id] });
  await device.telemetry({ alerts: ['made_up'] });
  await pass(gatherMs);
  await eventually(async () => !['SENDING', undefined].includes((await deliveriesOf(id))[0]?.status));
  const [delivery] = await deliveriesOf(id);
  assert.deepEqual(
    [delivery?.status, delivery?.error],
    ['DELIVERED', `127.0.0.1:${mail.port} does not take mail for gone@example.org.`],
  );
  await pass(2 * retryFirstMs);
  assert.deepEqual(
    mail.mails.map((letter) => letter.to),
    [['anna@example.org']],
  );
});

test('a storm of alerts is one message with a count', async (t) => {
  const gateway = gatewayOf();
  const devices = [await addDevice(gateway), await addDevice(gateway)];
  const { id, server } = await addWebhook(t, { device_ids: devices.map((device) => device.id) });
  for (const device of devices)
    await device.telemetry({ alerts: Array.from({ length: 250 }, (_, index) => `made_up_${index}`) });
  await pass(gatherMs);
  // What was received and not noted yet would be sent again.
  await eventually(async () => (await deliveriesOf(id))[0]?.status === 'DELIVERED');
  await pass(10 * gatherMs);
  const [only, ...more] = sent(server);
  assert.equal(more.length, 0);
  assert.deepEqual([only?.title, only?.raised_count], ['Alerts: 500 raised', 500]);
  assert.deepEqual([only?.alerts.length, only?.omitted_count], [namedAlerts, 500 - namedAlerts]);
  for (const device of devices) await gateway.ok('OWNER', 'DELETE', `/v3/devices/${device.id}`);
});

test('severity, devices and grace periods decide who is notified', async (t) => {
  const gateway = gatewayOf();
  const device = await addDevice(gateway);
  const other = await addDevice(gateway);
  const { server: all } = await addWebhook(t, { minimum_severity: 'info', device_ids: [device.id] });
  const { server: errors } = await addWebhook(t, {
    minimum_severity: 'error',
    notify_cleared: false,
    device_ids: [device.id],
  });
  const { server: ofOther } = await addWebhook(t, { minimum_severity: 'info', device_ids: [other.slug] });
  // Alerts of severity warning, and with a grace period of 15 s.
  await device.telemetry({ alerts: ['grid_lost', 'battery_low'] });
  await pass(gatherMs);
  await eventually(() => all.posts.length === 1);
  assert.deepEqual(
    sent(all)[0]?.alerts.map(({ name }) => name),
    ['battery_low'],
  );
  await pass(30_000);
  await eventually(() => all.posts.length === 2);
  assert.deepEqual(
    sent(all)[1]?.alerts.map(({ name }) => name),
    ['grid_lost'],
  );
  await device.telemetry({ alerts: [] });
  await pass(60_000);
  await device.telemetry({ alerts: ['grid_lost'] });
  await device.telemetry({ alerts: [] });
  await pass(30_000);
  assert.ok(
    !sent(all)
      .slice(2)
      .some(({ raised_count: raised }) => raised > 0),
    'too short to be told',
  );
  assert.equal(errors.posts.length + ofOther.posts.length, 0);
});

test('an alert that is raised again before its end was sent is not sent again', async (t) => {
  const gateway = gatewayOf();
  const device = await addDevice(gateway);
  const { id, server } = await addWebhook(t, { device_ids: [device.id] });
  await device.telemetry({ alerts: ['made_up'] });
  await pass(gatherMs);
  await eventually(async () => (await deliveriesOf(id))[0]?.status === 'DELIVERED');
  await device.telemetry({ alerts: [] });
  await device.telemetry({ alerts: ['made_up'] });
  await pass(6 * gatherMs);
  assert.equal(server.posts.length, 1);
});

test('a dead receiver is retried and named in its own log, and others are served', async (t) => {
  const gateway = gatewayOf();
  const device = await addDevice(gateway);
  const { id, server: dead } = await addWebhook(t, { device_ids: [device.id] });
  const { server: alive } = await addWebhook(t, { device_ids: [device.id] });
  await dead.close();
  await device.telemetry({ alerts: ['made_up'] });
  await pass(gatherMs);
  await eventually(async () => (await deliveriesOf(id))[0]?.status === 'RETRYING');
  await eventually(() => alive.posts.length === 1);
  assert.equal((await deliveriesOf(id))[0]?.error, `Nothing listens at 127.0.0.1:${dead.port}.`);
  await pass(retryFirstMs);
  await eventually(async () => (await deliveriesOf(id))[0]?.attempts === 2);
  await device.telemetry({ alerts: ['made_up', 'another'] });
  await dead.listenAgain();
  await pass(2 * retryFirstMs);
  await eventually(() => dead.posts.length === 1);
  await pass(gatherMs);
  await eventually(() => dead.posts.length === 2);
  assert.deepEqual(
    sent(dead).map(({ title }) => title),
    ['Battery: made_up', 'Battery: another'],
  );
  // The receiver has it a moment before the gateway knows.
  await eventually(async () => (await deliveriesOf(id))[0]?.status === 'DELIVERED');
  const log = await deliveriesOf(id);
  assert.deepEqual(
    log.map(({ status, attempts }) => `${status} ${attempts}`),
    ['DELIVERED 1', 'DELIVERED 3'],
  );
});

test('a restart loses no notification and sends none twice', async (t) => {
  const gateway = gatewayOf();
  const device = await addDevice(gateway);
  const { id, server } = await addWebhook(t, { device_ids: [device.id] });
  await device.telemetry({ alerts: ['made_up'] });
  await gateway.restart();
  await pass(gatherMs);
  await eventually(() => server.posts.length === 1);
  await eventually(async () => (await deliveriesOf(id))[0]?.status === 'DELIVERED');
  await device.connect();
  await device.telemetry({ alerts: ['made_up'] });
  await gateway.restart();
  await pass(3 * gatherMs);
  assert.equal(server.posts.length, 1);
  // A delivery on its way keeps its name.
  server.status = 500;
  await device.connect();
  await device.telemetry({ alerts: ['made_up', 'another'] });
  await pass(gatherMs);
  await eventually(async () => (await deliveriesOf(id))[0]?.status === 'RETRYING');
  await gateway.restart();
  server.status = 204;
  await pass(gatherMs);
  await eventually(() => server.posts.length === 3);
  const [, first, second] = sent(server);
  assert.equal(first?.id, second?.id);
});

test('a message is given up after a day of attempts', async (t) => {
  const gateway = gatewayOf();
  const device = await addDevice(gateway);
  const { id, server } = await addWebhook(t, { device_ids: [device.id] });
  server.status = 503;
  await device.telemetry({ alerts: ['made_up'] });
  await pass(gatherMs);
  await eventually(async () => (await deliveriesOf(id))[0]?.status === 'RETRYING');
  // The day goes by in the table: all attempts but the last were made.
  const handle = new BetterSqlite3(join(gateway.dataDir, 'state.db'));
  const changed = handle
    .prepare('UPDATE notification_delivery SET attempts = ? WHERE channel_id = ?')
    .run(LIMITS.notifications.attempts - 1, id);
  handle.close();
  assert.equal(changed.changes, 1);
  await pass(retryFirstMs);
  await eventually(async () => (await deliveriesOf(id))[0]?.status === 'FAILED');
  assert.match((await deliveriesOf(id))[0]?.error ?? '', /answered 503: it has a fault of its own/);
  const attempts = server.posts.length;
  await pass(4 * retryFirstMs);
  assert.equal(server.posts.length, attempts);
  // The next one is tried as often, from the shortest pause on.
  await device.connect();
  await device.telemetry({ alerts: ['made_up', 'another'] });
  await pass(gatherMs);
  await eventually(async () => (await deliveriesOf(id))[0]?.status === 'RETRYING');
  server.status = 204;
  await pass(retryFirstMs);
  await eventually(() => server.posts.length === attempts + 2);
  // What was given up and is still raised goes along.
  assert.deepEqual(
    sent(server)
      .at(-1)
      ?.alerts.map(({ name }) => name)
      .toSorted(),
    ['another', 'made_up'],
  );
});

test('an alert for installers is sent outside only once an owner may see it', async (t) => {
  const gateway = gatewayOf();
  const manifest =
    'blueprint_spec: device/3.0\ndisplay_name: G\nruntime: {type: embedded}\n' +
    'telemetry:\n  service: {display_name: Service, type: alerts, access_level: installer}\n';
  const zip = await zipOf({ 'manifest.yml': manifest });
  const { id: blueprintId } = await gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
  const device = await gateway.provision('Guarded', String(blueprintId));
  await device.connect();
  const { id, server } = await addWebhook(t, { device_ids: [device.id] });
  await device.telemetry({ service: ['worn', 'leak'] });
  await device.telemetry({ service: ['leak'], alerts: ['low'] });
  await pass(gatherMs);
  await eventually(() => server.posts.length === 1);
  const namesOf = (index: number) =>
    sent(server)[index]?.alerts.map(({ change, name }) => `${change} ${name}`);
  assert.deepEqual(namesOf(0), ['RAISED low']);
  await device.telemetry({ service: ['leak'], alerts: ['low', 'leak'] });
  await pass(gatherMs);
  await eventually(() => server.posts.length === 2);
  assert.deepEqual(namesOf(1), ['RAISED leak']);
  assert.equal((await deliveriesOf(id)).length, 2);
});

test('an alert raised before an upgrade is not sent again after it', async (t) => {
  const gateway = gatewayOf();
  const device = await addDevice(gateway);
  const { id, server } = await addWebhook(t, { device_ids: [device.id] });
  await device.telemetry({ alerts: ['made_up'] });
  await pass(gatherMs);
  // What was received and not noted yet would be sent again.
  await eventually(async () => (await deliveriesOf(id))[0]?.status === 'DELIVERED');
  const handle = new BetterSqlite3(join(gateway.dataDir, 'state.db'));
  handle.exec('UPDATE alert SET read_role = NULL');
  handle.close();
  await gateway.restart();
  await pass(gatherMs);
  const { alerts } = await gateway.ok('READONLY', 'GET', `/v3/alerts?device_id.in=${device.id}&state=RAISED`);
  assert.deepEqual(
    (alerts as { name: string }[]).map(({ name }) => name),
    ['made_up'],
  );
  await device.connect();
  await device.telemetry({ alerts: ['made_up', 'other'] });
  await pass(gatherMs);
  await eventually(() => server.posts.length === 2);
  assert.deepEqual(
    sent(server)[1]?.alerts.map(({ name }) => name),
    ['other'],
  );
});
