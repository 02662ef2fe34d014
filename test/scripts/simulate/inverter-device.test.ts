import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { Aedes } from 'aedes';
import { startInverterDevice } from '../../../scripts/simulate/inverter-device.ts';
import { createRandom } from '../../../scripts/support/random.ts';
import { createStatistics, type Statistics } from '../../../scripts/simulate/statistics.ts';
import { TestClock } from '../../support/test-clock.ts';

interface Message {
  channel: string;
  body: Record<string, unknown>;
}

/** A plain broker with one simulated inverter; time moves only when the test says so. */
async function connectedDevice(test: TestContext): Promise<{
  clock: TestClock;
  broker: Aedes;
  statistics: Statistics;
  next: (channel: string, where?: (body: Record<string, unknown>) => boolean) => Promise<Message['body']>;
  request: (body: Record<string, unknown>) => void;
  cut: () => void;
}> {
  const broker = await Aedes.createBroker();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    broker.handle(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const messages: Message[] = [];
  let arrived = (): void => undefined;
  broker.on('publish', ({ topic, payload }) => {
    if (!topic.startsWith('v1/from/H/ucm/')) return;
    const body = JSON.parse(payload.toString()) as Record<string, unknown>;
    messages.push({ channel: topic.slice('v1/from/H/ucm/'.length), body });
    arrived();
  });
  const clock = new TestClock();
  const statistics = createStatistics();
  const device = startInverterDevice({
    config: {
      mqttHost: '127.0.0.1',
      mqttPort: (server.address() as AddressInfo).port,
      hardwareId: 'H',
      channelId: 'ucm',
      credentials: { protocol: 'MQTT', username: 'H', password: 'x' },
    },
    clock,
    random: createRandom(5),
    qos: 1,
    intervalMs: 1_000,
    phaseMs: 0,
    timeScale: 1,
    hourOfDay: 12,
    socPercent: 50,
    mishapsPerDay: 0,
    statistics,
    say: () => undefined,
  });
  test.after(async () => {
    await device.stop();
    await new Promise<void>((resolve) => broker.close(resolve));
    server.close();
  });
  const next = async (
    channel: string,
    where: (body: Record<string, unknown>) => boolean = () => true,
  ): Promise<Message['body']> => {
    for (;;) {
      const index = messages.findIndex((message) => message.channel === channel && where(message.body));
      const found = messages[index];
      if (found) {
        messages.splice(0, index + 1);
        return found.body;
      }
      await new Promise<void>((resolve) => (arrived = resolve));
    }
  };
  const publish = (body: Record<string, unknown>): void =>
    broker.publish(
      {
        cmd: 'publish',
        topic: 'v1/to/H/ucm/v1/command/requests',
        payload: Buffer.from(JSON.stringify(body)),
        qos: 1,
        retain: false,
        dup: false,
      },
      () => undefined,
    );
  return {
    clock,
    broker,
    statistics,
    next,
    request: publish,
    cut: () => sockets.forEach((socket) => socket.destroy()),
  };
}

describe('a simulated inverter on a broker', { timeout: 10_000 }, () => {
  it('a simulated inverter on a broker sends properties and its start log when connected, then telemetry with whole seconds', async (test) => {
    const { clock, next } = await connectedDevice(test);
    assert.equal((await next('v1/register')).model, 'HX-6000');
    assert.match(String((await next('v3/logs')).message), /started$/);
    await clock.advance(1_000);
    const sample = await next('v1/telemetry');
    assert.equal(sample.timestamp, Math.floor(clock.wallMs() / 1_000));
    assert.equal(sample.mode, 'self_consumption');
    await clock.advance(1_000);
    assert.equal((await next('v1/telemetry')).timestamp, sample.timestamp + 1);
  });

  it('a simulated inverter on a broker answers a command like the public SDK: log, progress, completed with a result', async (test) => {
    const { clock, next, request } = await connectedDevice(test);
    await next('v3/logs');
    request({ id: 'e1', name: 'set_charge_limit', arguments: { limit_w: 700 } });
    const answers = [await next('v1/command/responses')];
    for (let step = 0; step < 2; step += 1) {
      await clock.advance(400);
      answers.push(await next('v1/command/responses'));
    }
    assert.deepEqual(
      answers.map(({ id, state }) => [id, state]),
      [
        ['e1', 'log'],
        ['e1', 'log'],
        ['e1', 'completed'],
      ],
    );
    assert.deepEqual(answers[2]?.payload, { result: null });
    await clock.advance(1_000);
    assert.equal((await next('v1/telemetry', (body) => body.charge_limit_w === 700)).charge_limit_w, 700);
  });

  it('a simulated inverter on a broker refuses a bad argument with an error and runs a repeated request once', async (test) => {
    const { next, request, statistics } = await connectedDevice(test);
    await next('v3/logs');
    request({ id: 'e2', name: 'set_charge_limit', arguments: {} });
    assert.deepEqual(await next('v1/command/responses'), {
      id: 'e2',
      state: 'error',
      payload: { message: 'limit_w must be a number from 0 to 10000.' },
    });
    request({ id: 'e2', name: 'stop', arguments: {} });
    await next('v3/logs', ({ message }) => /came twice/.test(String(message)));
    assert.equal(statistics.commands, 1);
  });

  it('a simulated inverter on a broker reconnects after 5 s and delivers the samples taken in between', async (test) => {
    const { clock, next, cut, statistics } = await connectedDevice(test);
    await next('v3/logs');
    await clock.advance(1_000);
    const before = await next('v1/telemetry');
    cut();
    while (statistics.connectionsLost === 0) await clock.advance(1);
    await clock.advance(6_000);
    await next('v3/logs', ({ message }) => String(message).startsWith('connected again'));
    const missed = await next('v1/telemetry');
    assert.equal(missed.timestamp, Number(before.timestamp) + 1);
  });
});
