/** People are told although the disk takes nothing: above all that it does not. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { LIMITS } from '../../src/lib/limits.ts';
import { type PostServer, startPostServer } from '../support/receivers.ts';
import { settle, TestClock } from '../support/test-clock.ts';
import { startTestGateway, type TestGatewayOptions } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const { gatherMs, retryFirstMs } = LIMITS.notifications;
const { checkIntervalMs } = LIMITS.alerts;

const STEP_MS = 1_000;

interface Sent {
  id: string;
  title: string;
  alerts: { change: string; name: string; details: string | null }[];
}

/** An attempt that was late by the clock of the test comes again with the same id, and is the same message. */
const sent = (server: PostServer): Sent[] => {
  const messages = server.posts.map(({ body }) => JSON.parse(body) as Sent);
  return [...new Map(messages.map((message) => [message.id, message])).values()];
};

async function start(t: TestContext, options: TestGatewayOptions = {}) {
  const clock = new TestClock();
  const gateway = await startTestGateway(t, { ...options, clock });
  const server = await startPostServer(t);
  const device = await gateway.provision('Battery');
  const channel = { name: 'Hook', type: 'WEBHOOK', webhook: { url: server.url }, device_ids: [device.id] };
  await gateway.ok('OWNER', 'POST', '/v3/notification_channels', channel);
  // The broker's time flies, and the client's does not: a ping would come too late.
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

test('an alert that cannot be stored is told once, and so is its end', async (t) => {
  const { device, eventually, inState, pass, server } = await start(t);
  inState(REFUSE);
  await device.telemetry({ alerts: ['made_up'] });
  await pass(gatherMs);
  await eventually(() => sent(server).length === 1);
  await pass(6 * checkIntervalMs);
  assert.deepEqual(
    sent(server).map(({ title }) => title),
    ['Battery: made_up'],
  );
  await device.telemetry({ alerts: [] });
  await pass(3 * checkIntervalMs);
  await eventually(() => sent(server).length === 2);
  assert.equal(sent(server)[1]?.title, 'Battery: made_up is over');
});

test('an alert that was told before it could be stored is not told again, but its end is', async (t) => {
  const { device, eventually, gateway, inState, pass, server } = await start(t);
  inState(REFUSE);
  await device.telemetry({ alerts: ['made_up'] });
  await pass(gatherMs);
  await eventually(() => sent(server).length === 1);
  inState(TAKE);
  await pass(3 * checkIntervalMs);
  const { alerts } = await gateway.ok('OWNER', 'GET', '/v3/alerts');
  assert.equal((alerts as unknown[]).length, 1);
  await pass(6 * checkIntervalMs);
  assert.equal(sent(server).length, 1);
  await device.telemetry({ alerts: [] });
  await pass(gatherMs);
  await eventually(() => sent(server).length === 2);
  assert.equal(sent(server)[1]?.title, 'Battery: made_up is over');
});

test('an alert that is stored before anybody was told of it is told once', async (t) => {
  const { device, eventually, inState, pass, server } = await start(t);
  server.status = 500;
  inState(REFUSE);
  await device.telemetry({ alerts: ['made_up'] });
  inState(TAKE);
  server.status = 204;
  await pass(3 * checkIntervalMs);
  await eventually(() => sent(server).length > 0);
  await pass(6 * checkIntervalMs);
  assert.deepEqual(
    sent(server).map(({ title }) => title),
    ['Battery: made_up'],
  );
});

test('people are notified even when the disk fails every sync', async (t) => {
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

test('a delivery that was sent but could not be noted is not sent again', async (t) => {
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
