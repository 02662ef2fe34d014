/** Retained messages: only what the gateway chose to keep, for who subscribes later. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startTestBroker, turns, type TestBroker } from '../../support/mqtt.ts';

/** Everything that a new client gets for its filters, as `topic payload`, with `!` when it is marked as retained. */
async function subscribe(b: TestBroker, ...filters: string[]): Promise<string[]> {
  const client = await b.client('a');
  const messages: string[] = [];
  client.on('message', (topic, payload, { retain, qos }) =>
    messages.push(`${topic} ${payload.toString()}${retain ? '!' : ''}${qos}`),
  );
  for (const filter of filters) await client.subscribeAsync(filter, { qos: 1 });
  await turns();
  return messages;
}

describe('a new subscription', () => {
  test('a new subscription gets nothing of what clients published with the flag unless the gateway keeps it', async (t) => {
    const b = await startTestBroker(t, { hook: { mayPublish: () => true } });
    const client = await b.client('b');
    await client.publishAsync('to/a/state', 'on', { qos: 1, retain: true });
    await client.publishAsync('to/a/state', 'off', { qos: 1 });
    assert.deepEqual(
      b.messages.map(({ isRetained }) => isRetained),
      [true, false],
    );
    assert.deepEqual(await subscribe(b, 'to/a/#'), []);
  });

  test('[MQTT-3.3.1-6] a new subscription gets the newest message of each matching topic, marked as retained', async (t) => {
    const b = await startTestBroker(t);
    b.broker.retained.set('to/a/x', Buffer.from('old'));
    b.broker.retained.set('to/a/x', Buffer.from('new'));
    b.broker.retained.set('to/a/y/z', Buffer.from('deep'));
    b.broker.retained.set('to/other', Buffer.from('foreign'));
    assert.deepEqual(await subscribe(b, 'to/a/+', 'to/a/y/#'), ['to/a/x new!0', 'to/a/y/z deep!0']);
  });

  test('[MQTT-3.3.1-9] a new subscription gets later messages without the mark', async (t) => {
    const b = await startTestBroker(t);
    const messages = await subscribe(b, 'to/a/x');
    b.broker.retained.set('to/a/x', Buffer.from('on'));
    await b.broker.publish('to/a/x', 'on');
    await turns();
    assert.deepEqual(messages, ['to/a/x on1']);
  });

  test('[MQTT-3.3.1-10] a new subscription gets nothing of a topic after an empty message, nor after it was removed', async (t) => {
    const b = await startTestBroker(t);
    for (const topic of ['to/a/x', 'to/a/y', 'to/a/z']) b.broker.retained.set(topic, Buffer.from('on'));
    b.broker.retained.set('to/a/x', Buffer.alloc(0));
    b.broker.retained.forget((topic) => topic === 'to/a/y');
    assert.deepEqual(await subscribe(b, 'to/a/#'), ['to/a/z on!0']);
  });

  test('a new subscription gets no more messages or bytes than the limits: the oldest give way', async (t) => {
    const b = await startTestBroker(t, { limits: { retainedMessages: 2, retainedBytes: 10 } });
    for (const name of ['v', 'w', 'x']) b.broker.retained.set(`to/a/${name}`, Buffer.from('1'));
    assert.deepEqual(await subscribe(b, 'to/a/#'), ['to/a/w 1!0', 'to/a/x 1!0']);
    b.broker.retained.set('to/a/y', Buffer.from('123456789X'));
    assert.deepEqual(await subscribe(b, 'to/a/#'), ['to/a/y 123456789X!0']);
  });
});

test('a will says whether it is to be retained', async (t) => {
  const b = await startTestBroker(t);
  for (const retain of [true, false]) {
    const will = { topic: 'from/b/state', payload: Buffer.from('gone'), qos: 1 as const, retain };
    const client = await b.client('b', { will });
    client.stream.destroy();
    await turns();
    assert.equal(b.messages.at(-1)?.isRetained, retain);
  }
});
