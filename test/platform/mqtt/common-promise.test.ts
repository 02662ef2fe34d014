/** Messages that wait for one sync of the disk have one promise. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { login, metric, startTestBroker, turns } from '../../support/mqtt.ts';
import { publishBytes } from '../../support/mqtt-bytes.ts';

const message = (packetId: number, qos: 1 | 2 = 1): Buffer =>
  publishBytes('from/a/x', 'y', { qos, packetId });

describe('messages with one promise', () => {
  test('messages with one promise are acknowledged together, in their order, and those of the next one after it', async (t) => {
    const commits = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    let open = 0;
    const b = await startTestBroker(t, { hook: { onMessage: () => commits[open as 0 | 1].promise } });
    const { client } = await login(b);
    client.send(message(1), message(2, 2), message(3));
    await turns();
    open = 1;
    client.send(message(4));
    await turns();
    assert.equal(client.received.length, 0);
    commits[0].resolve();
    assert.equal(await client.takeHex(12), '400200015002000240020003');
    await turns();
    assert.equal(client.received.length, 0);
    commits[1].resolve();
    assert.equal(await client.takeHex(4), '40020004');
  });

  test('messages with one promise are acknowledged, too, when they come after it was kept', async (t) => {
    const kept = Promise.resolve();
    const b = await startTestBroker(t, { hook: { onMessage: () => kept } });
    const { client } = await login(b);
    for (let packetId = 1; packetId <= 3; packetId++) {
      client.send(message(packetId));
      assert.equal(await client.takeHex(4), `4002000${packetId}`);
    }
  });

  test('messages with one promise are none of them acknowledged when it is broken', async (t) => {
    const commit = Promise.withResolvers<void>();
    const b = await startTestBroker(t, { hook: { onMessage: () => commit.promise } });
    const { client } = await login(b);
    client.send(message(1), message(2));
    await turns();
    commit.reject(new Error('disk is gone'));
    await client.closed();
    assert.equal(client.received.length, 0);
    assert.equal(await metric(b, 'mqtt_messages_dropped_total{reason="not_taken"}'), '2');
  });
});

describe('many connections', () => {
  test('many connections share the limit of messages in flight, and a single one has it all', async (t) => {
    const commits = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    let open = 0;
    const taken: string[] = [];
    const b = await startTestBroker(t, {
      limits: { inFlightBytesInAll: 8_000 },
      hook: {
        onMessage: ({ session }) => {
          taken.push(session.clientId);
          return commits[open as 0 | 1].promise;
        },
      },
    });
    const names = ['a', 'b', 'c', 'd'];
    const clients = await Promise.all(names.map(async (clientId) => (await login(b, { clientId })).client));
    const large = (packetId: number): Buffer =>
      publishBytes('from/a/x', 'y'.repeat(1_000), { qos: 1, packetId });
    for (const client of clients)
      for (let packetId = 1; packetId <= 6; packetId++) client.send(large(packetId));
    await turns(100);
    assert.deepEqual(
      taken.toSorted(),
      names.flatMap((name) => [name, name]),
    );
    for (const client of clients.slice(1)) client.stream.destroy();
    await turns(100);
    open = 1;
    commits[0].resolve();
    assert.equal(await clients[0]?.takeHex(8), '4002000140020002');
    await turns(100);
    assert.equal(taken.filter((name) => name === 'a').length, 6);
    commits[1].resolve();
    assert.equal(await clients[0]?.takeHex(16), '40020003400200044002000540020006');
  });
});
