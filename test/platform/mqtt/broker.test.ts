/** The broker over real sockets with the real client, as the SDK uses it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { startTestBroker, type TestBroker, until } from '../../support/mqtt.ts';

async function overTcp(
  t: Parameters<typeof startTestBroker>[0],
  options: Parameters<typeof startTestBroker>[1] = {},
): Promise<{ b: TestBroker; dial: (options?: IClientOptions) => Promise<MqttClient> }> {
  const clients: MqttClient[] = [];
  // Registered before the broker's own, so it runs first.
  t.after(() => clients.forEach((client) => client.end(true)));
  const b = await startTestBroker(t, options);
  const { port } = await b.broker.start();
  const dial = async (clientOptions: IClientOptions = {}): Promise<MqttClient> => {
    const client = await connectAsync(`mqtt://127.0.0.1:${port}`, {
      username: 'a',
      password: 'secret',
      reconnectPeriod: 0,
      ...clientOptions,
    });
    clients.push(client);
    return client;
  };
  return { b, dial };
}

describe('the real client over TCP', () => {
  test('the real client over TCP is refused with the reason', async (t) => {
    const { dial } = await overTcp(t, { limits: { sessions: 1 } });
    await assert.rejects(dial({ password: 'wrong' }), { code: 4 });
    await assert.rejects(dial({ username: undefined, password: undefined }), { code: 5 });
    await assert.rejects(dial({ protocolVersion: 5 }), { code: 132 });
    await dial();
    await assert.rejects(dial(), { code: 3 });
  });

  test('the real client over TCP publishes at QoS 0, 1 and 2 and gets what the gateway publishes', async (t) => {
    const { b, dial } = await overTcp(t);
    const client = await dial();
    await client.publishAsync('from/a/x', 'zero', { qos: 0 });
    await client.publishAsync('from/a/x', 'one', { qos: 1 });
    await client.publishAsync('from/a/x', 'two', { qos: 2, retain: true });
    assert.deepEqual(
      b.messages.map(({ topic, payload, qos }) => [topic, payload.toString(), qos]),
      [
        ['from/a/x', 'zero', 0],
        ['from/a/x', 'one', 1],
        ['from/a/x', 'two', 2],
      ],
    );
    const deliveries: [string, string, number][] = [];
    client.on('message', (topic, payload, { qos }) => deliveries.push([topic, payload.toString(), qos]));
    await client.subscribeAsync('to/a/#', { qos: 1 });
    await assert.rejects(client.subscribeAsync('to/b/#', { qos: 1 }));
    assert.equal(await b.broker.publish('to/a/y', 'hello'), 1);
    await until(
      () => deliveries.length > 0,
      () => 'the delivery',
    );
    assert.deepEqual(deliveries, [['to/a/y', 'hello', 1]]);
  });

  test('the real client over TCP waits for the acknowledgement until the message is taken', async (t) => {
    const resolves: (() => void)[] = [];
    const { dial } = await overTcp(t, {
      hook: { onMessage: () => new Promise<void>((resolve) => void resolves.push(resolve)) },
    });
    const client = await dial();
    let acknowledged = 0;
    const published = ([1, 2] as const).map(async (qos) => {
      await client.publishAsync('from/a/x', 'y', { qos });
      acknowledged++;
    });
    await until(
      () => resolves.length === 2,
      () => 'both messages',
    );
    assert.equal(acknowledged, 0);
    for (const resolve of resolves) resolve();
    await Promise.all(published);
  });

  test('the real client over TCP sends 20 000 messages of 500 bytes in one connection, all taken in order', async (t) => {
    let next = 0;
    const { dial } = await overTcp(t, {
      limits: { messagesPerSecond: 1_000_000, messageBurst: 1_000_000 },
      hook: {
        onMessage: async ({ payload }) => {
          assert.equal(payload.readUInt32BE(0), next);
          next++;
        },
      },
    });
    const client = await dial();
    const payloads = Array.from({ length: 20_000 }, (_, index) => {
      const payload = Buffer.alloc(500);
      payload.writeUInt32BE(index);
      return payload;
    });
    for (let from = 0; from < payloads.length; from += 1_000)
      await Promise.all(
        payloads
          .slice(from, from + 1_000)
          .map((payload, index) => client.publishAsync('from/a/x', payload, { qos: index % 2 ? 1 : 2 })),
      );
    assert.equal(next, 20_000);
  });

  test('the real client over TCP keeps its session, is taken over, and leaves its will', async (t) => {
    const { b, dial } = await overTcp(t);
    const kept: IClientOptions = { clientId: 'meter', clean: false };
    const will = { topic: 'from/a/will', payload: Buffer.from('gone'), qos: 1, retain: false } as const;
    const first = await dial({ ...kept, will });
    await first.subscribeAsync('to/a/x', { qos: 1 });
    const second = await dial(kept);
    assert.deepEqual(
      b.messages.map(({ topic }) => topic),
      ['from/a/will'],
    );
    assert.equal(b.broker.subscribers('to/a/x'), 1);
    const delivered = new Promise((resolve) =>
      second.once('message', (_topic, payload) => resolve(payload.toString())),
    );
    assert.equal(await b.broker.publish('to/a/x', 'hello'), 1);
    assert.equal(await delivered, 'hello');
    await second.endAsync();
    await until(
      () => b.closed.length === 2,
      () => 'the end of both sessions',
    );
  });

  test('the real client works over an in-memory pair as well', async (t) => {
    const b = await startTestBroker(t);
    const client = await b.client('a');
    await client.publishAsync('from/a/x', 'one', { qos: 1 });
    await client.publishAsync('from/a/x', 'two', { qos: 2 });
    assert.equal(b.messages.length, 2);
    assert.equal(b.opened[0]?.remoteAddress, '10.0.0.1');
  });
});
