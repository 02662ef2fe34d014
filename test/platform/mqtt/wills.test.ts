import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { login, type RawClient, startTestBroker, type TestBroker, turns } from '../../support/mqtt.ts';

describe('a will', () => {
  const will = { topic: 'from/a/will', payload: 'gone', qos: 1 };

  test('a will outside the permission is ignored, and the client is let in', async (t) => {
    const b = await startTestBroker(t);
    const { client, connack } = await login(b, { will: { topic: 'from/b/will', payload: 'gone' } });
    assert.equal(connack, '20020000');
    client.stream.destroy();
    await client.closed();
    assert.deepEqual(b.messages, []);
  });

  test('[MQTT-3.14.4-3] a will is discarded by DISCONNECT', async (t) => {
    const b = await startTestBroker(t);
    const { client } = await login(b, { will });
    client.send([0xe0, 0]);
    await client.closed();
    assert.deepEqual(b.messages, []);
  });

  test('a will is not delivered for a login that is refused', async (t) => {
    const b = await startTestBroker(t);
    const { client } = await login(b, { will, password: 'wrong' });
    await client.closed();
    assert.deepEqual(b.messages, []);
  });

  test('a will is not delivered when the gateway itself stops', async (t) => {
    const b = await startTestBroker(t);
    const { client } = await login(b, { will });
    await b.broker.stop();
    assert.equal(client.isClosed, true);
    assert.deepEqual(b.messages, []);
  });

  for (const [title, end] of [
    ['a lost connection', (_b: TestBroker, client: RawClient) => client.stream.destroy()],
    ['silence', (b: TestBroker) => b.clock.advance(90_000)],
    ['a take-over', (b: TestBroker) => login(b, { clientId: 'meter' })],
  ] as const)
    test(`[MQTT-3.1.2-8] a will is delivered once after ${title}, before the session is closed`, async (t) => {
      const order: string[] = [];
      const b = await startTestBroker(t, {
        hook: {
          onMessage: ({ topic, payload, qos, receivedAtMs }) =>
            void order.push(`${topic} ${payload.toString()} ${qos} ${receivedAtMs === b.clock.wallMs()}`),
          onSessionClosed: () => void order.push('closed'),
        },
      });
      const { client } = await login(b, { clientId: 'meter', will });
      await end(b, client);
      await client.closed();
      assert.deepEqual(order, ['from/a/will gone 1 true', 'closed']);
    });

  test('a will for a topic of another is ignored, and seen', async (t) => {
    const refusals: unknown[] = [];
    const b = await startTestBroker(t, { hook: { onRefused: (refusal) => void refusals.push(refusal) } });
    const { client, connack } = await login(
      b,
      { will: { topic: 'from/b/will', payload: 'gone' } },
      '10.0.0.7',
    );
    assert.equal(connack, '20020000');
    const expected = { what: 'will', claimed: 'a', topic: 'from/b/will', remoteAddress: '10.0.0.7' };
    assert.deepEqual(refusals, [expected]);
    client.stream.destroy();
    await client.closed();
    assert.deepEqual(b.messages, []);
  });

  test('a will counts against the rate of its sender', async (t) => {
    const b = await startTestBroker(t, { limits: { messageBurst: 2 } });
    for (let count = 0; count < 4; count++) {
      const { client } = await login(b, { will });
      client.stream.destroy();
      await client.closed();
    }
    assert.equal(b.messages.length, 2);
  });

  test('a will that is not taken is logged and affects nobody else', async (t) => {
    const b = await startTestBroker(t, { hook: { onMessage: () => Promise.reject(new Error('full')) } });
    const { client } = await login(b, { will });
    client.stream.destroy();
    await client.closed();
    await turns();
    assert.equal(b.lines.filter(({ message }) => message === 'will was not taken').length, 1);
  });
});
