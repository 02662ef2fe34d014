/** Notifications after a receiver was away for long. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { LIMITS } from '../../src/lib/limits.ts';
import { sent, useNotifications } from './notification-support.ts';

const { gatherMs, namedAlerts, retryFirstMs } = LIMITS.notifications;
const { addDevice, addWebhook, deliveriesOf, eventually, gatewayOf, pass } = useNotifications();

test('an alert that is still raised an hour after its delivery was given up is sent again', async (t) => {
  const gateway = gatewayOf();
  const device = await addDevice(gateway);
  const { id, server } = await addWebhook(t, { device_ids: [device.id] });
  server.status = 503;
  await device.telemetry({ alerts: ['stays', 'ends'] });
  await pass(gatherMs);
  await eventually(async () => (await deliveriesOf(id))[0]?.status === 'RETRYING');
  await device.telemetry({ alerts: ['stays'] });
  const handle = new BetterSqlite3(join(gateway.dataDir, 'state.db'));
  handle
    .prepare('UPDATE notification_delivery SET attempts = ? WHERE channel_id = ?')
    .run(LIMITS.notifications.attempts - 1, id);
  // No other delivery waits that would wake the channel.
  handle.prepare("DELETE FROM notification_pending WHERE channel_id = ? AND kind = 'CLEARED'").run(id);
  handle.close();
  await pass(retryFirstMs);
  await eventually(async () => (await deliveriesOf(id))[0]?.status === 'FAILED');
  server.status = 204;
  const attempts = server.posts.length;
  await pass(LIMITS.notifications.retryMaxMs);
  await eventually(() => server.posts.length === attempts + 1);
  const told = sent(server)
    .at(-1)
    ?.alerts.map(({ name }) => name);
  // Nobody keeps the connection alive meanwhile.
  assert.deepEqual(
    told?.filter((name) => name !== 'offline'),
    ['stays'],
  );
});

test('alerts without a place in the queue are counted after a restart, and cleared ones are dropped first', async (t) => {
  const gateway = gatewayOf();
  const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `made_up_${index}`);
  const devices = await Promise.all(Array.from({ length: 5 }, () => addDevice(gateway)));
  const { id, server } = await addWebhook(t, { device_ids: devices.map((device) => device.id) });
  server.status = 503;
  const [first, ...others] = devices as [(typeof devices)[0], ...typeof devices];
  await first.telemetry({ alerts: ['begun'] });
  await pass(gatherMs);
  await eventually(async () => (await deliveriesOf(id))[0]?.status === 'RETRYING');
  await first.telemetry({ alerts: ['begun', ...names(200)] });
  await first.telemetry({ alerts: ['begun'] });
  for (const device of others) await device.telemetry({ alerts: names(250) });
  await gateway.restart();
  server.status = 204;
  await pass(gatherMs);
  await eventually(async () => (await deliveriesOf(id))[0]?.status === 'DELIVERED');
  await pass(2 * gatherMs);
  await eventually(() => sent(server).at(-1)?.title === 'Alerts: 1000 raised, 400 more');
  assert.equal(sent(server).at(-1)?.omitted_count, 1_000 - namedAlerts + 400);
  for (const device of devices) await gateway.ok('OWNER', 'DELETE', `/v3/devices/${device.id}`);
});
