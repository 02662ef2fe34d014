/** The module's connection, against a real broker that comes and goes. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { LIMITS, type Limits } from '../../src/lib/limits.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { GatewayLink } from '../../src/field-module/mqtt.ts';
import { until } from '../support/until.ts';
import { type StandInGateway, startStandInGateway } from './stand-in-gateway.ts';

interface Opened {
  link: GatewayLink;
  gateway: StandInGateway;
  lost: string[];
  connections: () => number;
  commands: [string, string][];
  /** Before each further attempt. */
  pausesMs: number[];
}

async function open(
  t: TestContext,
  options: { limits?: Partial<Limits['module']>; password?: string } = {},
): Promise<Opened> {
  const clock = createSystemClock();
  const gateway = await startStandInGateway();
  const lost: string[] = [];
  const commands: [string, string][] = [];
  const pausesMs: number[] = [];
  let connections = 0;
  const link = new GatewayLink({
    connection: {
      ...gateway.connection,
      credentials: { protocol: 'MQTT', username: 'VTEST', password: options.password ?? 'secret' },
    },
    clock: {
      ...clock,
      setTimer: (durationMs, fn) => {
        pausesMs.push(durationMs);
        return clock.setTimer(durationMs, fn);
      },
    },
    limits: { ...LIMITS.module, ...options.limits },
    onConnected: () => {
      connections += 1;
    },
    onLost: (reason) => lost.push(reason),
    onModuleMessage: () => undefined,
    onCommand: (channelId, payload) => commands.push([channelId, payload.toString()]),
  });
  t.after(async () => {
    await link.close();
    await gateway.stop();
    clock.close();
  });
  return { link, gateway, lost, connections: () => connections, commands, pausesMs };
}

const logs = (gateway: StandInGateway): unknown[] => gateway.bodies('c1', 'v3/logs').map(({ n }) => n);

describe('the link of a module', () => {
  test('the link of a module reports why it cannot connect, and tries again', async (t) => {
    const { link, lost } = await open(t, { password: 'wrong' });
    await until(() => lost.length >= 2);
    assert.match(lost[0] ?? '', /(?:Not authorized|Bad username).*make a connection configuration .* anew/i);
    assert.equal(link.isReady, false);
    assert.equal(link.send('c1', 'telemetry', '{}'), false);
  });

  test('the link of a module takes no more than may wait for an acknowledgement', async (t) => {
    const { link, connections, gateway } = await open(t, { limits: { unacknowledged: 3 } });
    await until(() => connections() === 1);
    const taken = [1, 2, 3, 4].map((n) => link.send('c1', 'log', JSON.stringify({ n })));
    assert.deepEqual(taken, [true, true, true, false]);
    assert.equal(link.isReady, false);
    await until(() => link.isReady && logs(gateway).length === 3);
  });

  test('the link of a module keeps a bounded number of bytes for later', async (t) => {
    const { link, gateway } = await open(t, { limits: { keptBytes: 20 } });
    await gateway.interrupt();
    assert.equal(link.keep('c1', 'log', '{"n":1}'), true);
    assert.equal(link.keep('c1', 'log', '{"n":2}'), true);
    assert.equal(link.keep('c1', 'log', '{"n":3}'), false);
    await gateway.resume();
    await until(() => logs(gateway).length === 2);
  });

  test('the link of a module sends what it keeps after a loss, in order, and forgets what is acknowledged', async (t) => {
    const { link, gateway, connections } = await open(t);
    await until(() => connections() === 1);
    await gateway.interrupt();
    await until(() => !link.isReady);
    assert.equal(link.send('c1', 'log', '{"n":0}'), false);
    for (const n of [1, 2, 3]) link.keep('c1', 'log', JSON.stringify({ n }));
    await gateway.resume();
    await until(() => logs(gateway).length === 3);
    await gateway.interrupt();
    await gateway.resume();
    await until(() => connections() === 3);
    link.keep('c1', 'log', '{"n":4}');
    await until(() => logs(gateway).length === 4);
    assert.deepEqual(logs(gateway), [1, 2, 3, 4]);
  });

  test('the link of a module takes control messages also when there is room for nothing else', async (t) => {
    const { link, connections, gateway } = await open(t, { limits: { unacknowledged: 1 } });
    await until(() => connections() === 1);
    assert.equal(link.send('c1', 'log', '{"n":1}'), true);
    assert.equal(link.send('c1', 'log', '{"n":2}'), false);
    const status = { type: 'status', channel_id: 'c1', state: 'failed', script: 'a'.repeat(64) };
    assert.equal(link.send('ucm', 'module', JSON.stringify(status)), true);
    await until(() => gateway.said.length === 1);
    await gateway.interrupt();
    await until(() => !link.isReady);
    assert.equal(link.send('ucm', 'module', JSON.stringify(status)), false);
  });

  test('the link of a module after a loss brings responses at once, and log entries of each device in their order, so many a second', async (t) => {
    const { link, gateway } = await open(t, { limits: { keptLogsPerSecond: 2 } });
    await gateway.interrupt();
    for (const n of [1, 2, 3]) for (const channel of ['c1', 'c2']) link.keep(channel, 'log', `{"n":${n}}`);
    link.keep('c1', 'commandResponse', '{"id":"e1"}');
    await gateway.resume();
    const numbers = (channel: string): unknown[] => gateway.bodies(channel, 'v3/logs').map(({ n }) => n);
    await until(() => gateway.bodies('c1', 'v1/command/responses').length === 1);
    await until(() => numbers('c1').length === 2 && numbers('c2').length === 2);
    // What is new waits behind what is old.
    link.keep('c1', 'log', '{"n":4}');
    link.keep('c1', 'commandResponse', '{"id":"e2"}');
    await until(() => gateway.bodies('c1', 'v1/command/responses').length === 2);
    assert.deepEqual(numbers('c1'), [1, 2]);
    await until(() => numbers('c1').length === 4);
    assert.deepEqual(
      [numbers('c1'), numbers('c2')],
      [
        [1, 2, 3, 4],
        [1, 2, 3],
      ],
    );
  });

  test('the link of a module has room for responses when log entries have filled theirs', async (t) => {
    const { link, gateway } = await open(t, { limits: { keptBytes: 20 } });
    await gateway.interrupt();
    assert.equal(link.keep('c1', 'log', `{"n":${'1'.repeat(14)}}`), true);
    assert.equal(link.keep('c1', 'log', '{"n":2}'), false);
    assert.equal(link.keep('c1', 'commandResponse', '{"id":"e1"}'), true);
    assert.equal(link.keep('c1', 'commandResponse', '{"id":"e2"}'), false);
  });

  test('the link of a module reconnects after ever longer pauses while each connection is closed soon', async (t) => {
    const limits = { reconnectFirstMs: 10, reconnectMaxMs: 600_000 };
    const { gateway, connections, pausesMs } = await open(t, { limits });
    for (const times of [1, 2, 3]) {
      await until(() => connections() === times);
      await gateway.interrupt();
      await until(() => pausesMs.length >= times);
      await gateway.resume();
    }
    assert.deepEqual(
      pausesMs,
      pausesMs.map((_, attempt) => 10 * 2 ** attempt),
    );
  });

  test('the link of a module receives commands of every channel of its hardware', async (t) => {
    const { gateway, connections, commands } = await open(t);
    await until(() => connections() === 1);
    gateway.command('c7', 'e1', 'start');
    gateway.command('ucm', 'e2', 'reboot');
    await until(() => commands.length === 2);
    assert.deepEqual(
      commands.map(([channelId]) => channelId),
      ['c7', 'ucm'],
    );
  });

  test('the link of a module closes within its limit when the broker does not answer', async (t) => {
    const { link, gateway, connections } = await open(t);
    await until(() => connections() === 1);
    await gateway.interrupt();
    const before = performance.now();
    await link.close();
    assert.ok(performance.now() - before < LIMITS.module.goodbyeMs + 8_000);
  });
});
