import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { Aedes } from 'aedes';
import { type DeviceLink, LinkLost, openDeviceLink } from '../../../scripts/support/device-link.ts';
import { TestClock } from '../../support/test-clock.ts';

interface Scene {
  broker: Aedes;
  sockets: Socket[];
  clock: TestClock;
  link: DeviceLink;
  /** Reasons of losses, in order. */
  losses: string[];
  connected: () => Promise<void>;
  lost: () => Promise<void>;
}

async function scene(test: TestContext, password = 'right'): Promise<Scene> {
  const broker = await Aedes.createBroker();
  broker.authenticate = (_client, _user, given, done) =>
    given?.toString() === 'right'
      ? done(null, true)
      : done(Object.assign(new Error('no'), { returnCode: 4 }), false);
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    broker.handle(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const clock = new TestClock();
  const losses: string[] = [];
  let onConnected = Promise.withResolvers<void>();
  let onLost = Promise.withResolvers<void>();
  const link = openDeviceLink({
    config: {
      mqttHost: '127.0.0.1',
      mqttPort: (server.address() as AddressInfo).port,
      hardwareId: 'H',
      channelId: 'ucm',
      credentials: { protocol: 'MQTT', username: 'H', password },
    },
    clock,
    qos: 1,
    reconnectDelayMs: 5_000,
    onConnected: () => onConnected.resolve(),
    onLost: (reason) => {
      losses.push(reason);
      onLost.resolve();
    },
    onCommand: () => undefined,
    onUnreadable: () => undefined,
  });
  test.after(async () => {
    await link.close(0);
    await new Promise<void>((resolve) => broker.close(resolve));
    server.close();
  });
  return {
    broker,
    sockets,
    clock,
    link,
    losses,
    connected: async () => {
      await onConnected.promise;
      onConnected = Promise.withResolvers();
    },
    lost: async () => {
      await onLost.promise;
      onLost = Promise.withResolvers();
    },
  };
}

describe('the MQTT link of a device', { timeout: 10_000 }, () => {
  it('the MQTT link of a device names the reason when the credentials are refused, and tries again after the pause', async (test) => {
    const { clock, losses, lost } = await scene(test, 'wrong');
    await lost();
    assert.match(losses[0] ?? '', /refused/i);
    await clock.advance(4_999);
    assert.equal(losses.length, 1);
    await clock.advance(1);
    await lost();
    assert.equal(losses.length, 2);
  });

  it('the MQTT link of a device does not publish before it is connected', async (test) => {
    const { link } = await scene(test);
    await assert.rejects(link.publish('telemetry', {}), LinkLost);
  });

  it('the MQTT link of a device resolves a publication only when the broker has acknowledged it', async (test) => {
    const { broker, link, connected } = await scene(test);
    const arrived = Promise.withResolvers<() => void>();
    broker.authorizePublish = (_client, _packet, done) => arrived.resolve(() => done(null));
    await connected();
    let resolved = false;
    const published = link.publish('telemetry', { a: 1 }).then(() => (resolved = true));
    const acknowledge = await arrived.promise;
    assert.equal(resolved, false);
    acknowledge();
    await published;
    assert.equal(resolved, true);
  });

  it('the MQTT link of a device rejects what was not acknowledged when the connection ends, and sends nothing twice', async (test) => {
    const { broker, sockets, clock, link, connected, lost } = await scene(test);
    let arrivals = 0;
    const first = Promise.withResolvers<void>();
    broker.authorizePublish = () => {
      arrivals += 1;
      first.resolve();
    };
    await connected();
    const published = assert.rejects(link.publish('log', { message: 'x' }), LinkLost);
    await first.promise;
    sockets[0]?.destroy();
    await published;
    await lost();
    await clock.advance(5_000);
    await connected();
    broker.authorizePublish = (_client, _packet, done) => {
      arrivals += 1;
      done(null);
    };
    await link.publish('log', { message: 'y' });
    assert.equal(arrivals, 2);
  });
});
