/** Notifications while the disk refuses writes. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { LIMITS } from '../../src/lib/limits.ts';
import { type PostServer, startPostServer } from '../support/receivers.ts';
import { settle, TestClock } from '../support/test-clock.ts';
import { startTestGateway, type TestGatewayOptions } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const { diskNoticeMs, gatherMs, retryFirstMs } = LIMITS.notifications;
const { checkIntervalMs } = LIMITS.alerts;

const STEP_MS = 1_000;

interface Sent {
  id: string;
  title: string;
  alerts: { change: string; name: string; details: string | null }[];
}

/** Messages by id: an attempt that was late by the clock of the test comes again with the same id. */
const sent = (server: PostServer): Sent[] => {
  const messages = server.posts.map(({ body }) => JSON.parse(body) as Sent);
  return [...new Map(messages.map((message) => [message.id, message])).values()];
};

async function start(t: TestContext, options: TestGatewayOptions = {}) {
  const clock = new TestClock();
  const gateway = await startTestGateway(t, { ...options, clock });
  const server = await startPostServer(t);
  const device = await gateway.provision('Battery');
  const channel = { name: 'Hook', kind: 'WEBHOOK', webhook: { url: server.url }, device_ids: [device.id] };
  await gateway.ok('OWNER', 'POST', '/v3/notification_channels', channel);
  // The clock of the broker runs ahead of the client's: a ping would come too late.
  await device.connect({ keepalive: 0 });
  /** Time goes on while sockets have their turns, so that no answer is late by the clock of the test alone. */
  const pass = async (durationMs: number): Promise<void> => {
    for (let passedMs = 0; passedMs < durationMs; passedMs += STEP_MS) {
      await clock.advance(STEP_MS);
      for (let turn = 0; turn < 20; turn++) await settle();
    }
  };
  return {
    clock,
    device,
    gateway,
    pass,
    server,
    eventually: (condition: () => boolean) =>
      until(async () => {
        await clock.advance(5);
        return condition();
      }),
    /** Runs SQL beside the gateway. */
    inState: (statement: string): void => {
      const handle = new BetterSqlite3(join(gateway.dataDir, 'state.db'));
      handle.exec(statement);
      handle.close();
    },
  };
}

const REFUSE = "CREATE TRIGGER refuse BEFORE INSERT ON alert BEGIN SELECT RAISE(ABORT, 'refused'); END";
const TAKE = 'DROP TRIGGER refuse';

test('no message about the disk is sent when it takes the alert within the usual delay', async (t) => {
  const { device, eventually, inState, pass, server } = await start(t);
  inState(REFUSE);
  await device.telemetry({ alerts: ['made_up'] });
  inState(TAKE);
  await pass(3 * checkIntervalMs);
  await eventually(() => sent(server).length > 0);
  await pass(6 * checkIntervalMs);
  assert.deepEqual(
    sent(server).map(({ title }) => title),
    ['Battery: made_up'],
  );
});

test('no message about the disk is sent over a disabled channel', async (t) => {
  const { device, gateway, inState, pass, server } = await start(t);
  const listed = await gateway.ok('OWNER', 'GET', '/v3/notification_channels');
  const { id } = (listed['notification_channels'] as { id: string }[])[0] ?? assert.fail();
  await gateway.ok('OWNER', 'PATCH', `/v3/notification_channels/${id}`, { enabled: false });
  inState(REFUSE);
  await device.telemetry({ alerts: ['made_up'] });
  await pass(gatherMs + 2 * checkIntervalMs);
  assert.equal(server.posts.length, 0);
});

test('one message a day is sent while the disk refuses alerts, and the alerts once it takes them', async (t) => {
  const { clock, device, eventually, inState, pass, server } = await start(t);
  inState(REFUSE);
  await device.telemetry({ alerts: ['made_up', 'another'] });
  await pass(gatherMs);
  await eventually(() => sent(server).length === 1);
  const [notice] = sent(server);
  assert.match(notice?.title ?? '', /: The disk refuses writes$/);
  assert.deepEqual(
    notice?.alerts.map(({ change, name }) => `${change} ${name}`),
    ['RAISED disk_refuses_writes'],
  );
  await pass(6 * checkIntervalMs);
  assert.equal(sent(server).length, 1);
  await clock.advance(diskNoticeMs);
  await pass(2 * checkIntervalMs + gatherMs);
  await eventually(() => sent(server).length === 2);
  inState(TAKE);
  await pass(3 * checkIntervalMs + gatherMs);
  await eventually(() => sent(server).length === 3);
  const names = sent(server)[2]?.alerts.map(({ name }) => name) ?? [];
  assert.ok(names.includes('made_up') && names.includes('another'), names.join());
});

test('the message about the disk is sent again when the receiver refused it', async (t) => {
  const { device, eventually, inState, pass, server } = await start(t);
  server.status = 500;
  inState(REFUSE);
  await device.telemetry({ alerts: ['made_up'] });
  await pass(gatherMs);
  await eventually(() => server.posts.length === 1);
  server.status = 204;
  await pass(retryFirstMs);
  await eventually(() => server.posts.length === 2);
  await pass(4 * retryFirstMs);
  assert.equal(server.posts.length, 2);
});

test('an alert is sent although every sync fails', async (t) => {
  const disk: { fault?: Error } = {};
  const { device, eventually, pass, server } = await start(t, {
    syncFile: async () => {
      if (disk.fault) throw disk.fault;
    },
  });
  disk.fault = Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
  await device.telemetry({ alerts: ['made_up'] });
  await pass(2 * checkIntervalMs);
  await eventually(() => sent(server).length > 0);
  assert.equal(sent(server)[0]?.alerts[0]?.name, 'made_up');
});

test('a message is sent once although its outcome cannot be stored', async (t) => {
  const { device, eventually, gateway, inState, pass, server } = await start(t);
  inState(
    "CREATE TRIGGER refuse BEFORE UPDATE OF attempts ON notification_delivery BEGIN SELECT RAISE(ABORT, 'refused'); END",
  );
  await device.telemetry({ alerts: ['made_up'] });
  await pass(gatherMs);
  await eventually(() => gateway.lines.some(({ message }) => message.includes('could not be sent')));
  assert.equal(server.posts.length, 1);
  await pass(4 * retryFirstMs);
  assert.equal(server.posts.length, 1);
  inState(TAKE);
  await device.telemetry({ alerts: ['made_up', 'another'] });
  await pass(2 * gatherMs);
  await eventually(() => sent(server).length === 2);
  assert.equal(sent(server)[1]?.title, 'Battery: another');
});
