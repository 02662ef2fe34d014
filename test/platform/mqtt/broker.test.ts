import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectAsync } from 'mqtt';
import { startTestBroker } from '../../support/mqtt.ts';

test('takes QoS 0, 1 and 2 from the real client over TCP and delivers what the gateway publishes', async (t) => {
  const b = await startTestBroker(t);
  const { port } = await b.broker.start();
  const client = await connectAsync(`mqtt://127.0.0.1:${port}`, {
    username: 'a',
    password: 'secret',
    reconnectPeriod: 0,
  });
  await client.publishAsync('from/a/x', 'zero', { qos: 0 });
  await client.publishAsync('from/a/x', 'one', { qos: 1 });
  await client.publishAsync('from/a/x', 'two', { qos: 2 });
  assert.deepEqual(
    b.messages.map((m) => [m.topic, m.payload.toString(), m.qos]),
    [
      ['from/a/x', 'zero', 0],
      ['from/a/x', 'one', 1],
      ['from/a/x', 'two', 2],
    ],
  );
  await client.subscribeAsync(['to/a/#', 'to/a/y'], { qos: 1 });
  assert.equal(b.broker.subscribers('to/a/y'), 1);
  const got = new Promise((resolve) =>
    client.once('message', (topic, payload, packet) => resolve([topic, payload.toString(), packet.qos])),
  );
  assert.equal(await b.broker.publish('to/a/y', 'hello'), 1);
  assert.deepEqual(await got, ['to/a/y', 'hello', 1]);
  await client.endAsync();
});

test('takes messages over an in-memory pair', async (t) => {
  const b = await startTestBroker(t);
  const client = await b.client('a');
  await client.publishAsync('from/a/x', 'one', { qos: 1 });
  await client.publishAsync('from/a/x', 'two', { qos: 2 });
  assert.equal(b.messages.length, 2);
  assert.equal(b.broker.sessionCount('a'), 1);
});
