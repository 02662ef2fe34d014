import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { login, RawClient, startTestBroker, turns } from '../../support/mqtt.ts';
import { connectBytes, publishBytes, subscribeBytes } from '../../support/mqtt-bytes.ts';

const message = (packetId: number): Buffer => publishBytes('from/a/x', `${packetId}`, { qos: 1, packetId });

describe('the stop of the broker', () => {
  test('the stop of the broker acknowledges nothing that is still pending at its limit', async (t) => {
    const b = await startTestBroker(t, {
      limits: { stopTimeoutMs: 3_000 },
      hook: { onMessage: () => new Promise(() => undefined) },
    });
    const { client } = await login(b);
    client.send(message(1));
    await turns();
    const stopped = b.broker.stop();
    await b.clock.advance(2_999);
    assert.equal(client.isClosed, false);
    await b.clock.advance(1);
    await stopped;
    await client.closed();
    assert.equal(client.received.length, 0);
  });

  test('the stop of the broker takes nothing more, waits for what is pending and acknowledges it', async (t) => {
    const resolves: (() => void)[] = [];
    const b = await startTestBroker(t, {
      hook: { onMessage: () => new Promise((resolve) => void resolves.push(resolve)) },
    });
    const { client } = await login(b);
    client.send(message(1), message(2));
    await turns();
    const stopped = b.broker.stop();
    client.send(message(3));
    await turns();
    assert.equal(resolves.length, 2);
    for (const resolve of resolves) resolve();
    await stopped;
    await client.closed();
    assert.equal(client.received.toString('hex'), '4002000140020002');
    assert.deepEqual(b.closed, b.opened);
  });

  test('the stop of the broker comes after pending deliveries', async (t) => {
    const b = await startTestBroker(t);
    const { client } = await login(b);
    client.send(subscribeBytes(1, ['to/a/x', 0]));
    await client.take(5);
    await b.broker.publish('to/a/x', Buffer.alloc(200_000));
    await b.broker.stop();
    await client.closed();
    assert.equal(client.received.length, 200_012);
  });

  test('the stop of the broker ends connections that have not logged in, and takes no new ones', async (t) => {
    const b = await startTestBroker(t, {
      hook: { authenticate: () => new Promise(() => undefined) },
    });
    const [silent, waiting] = [b.raw(), b.raw()];
    waiting.send(connectBytes());
    await turns();
    await b.broker.stop();
    await Promise.all([silent.closed(), waiting.closed()]);
    await b.raw().closed();
    assert.equal(b.clock.waiting, 0);
  });

  test('the stop of the broker closes the listener', async (t) => {
    const b = await startTestBroker(t);
    const { port } = await b.broker.start();
    const client = new RawClient(connect(port, '127.0.0.1'));
    client.send(connectBytes());
    assert.equal(await client.takeHex(4), '20020000');
    await b.broker.stop();
    await client.closed();
    const late = new RawClient(connect(port, '127.0.0.1'));
    await late.closed();
    assert.deepEqual(b.closed, b.opened);
  });

  test('the stop of the broker does not wait for a client that never closes its side', async (t) => {
    const b = await startTestBroker(t, { limits: { closeTimeoutMs: 1_000 } });
    const { port } = await b.broker.start();
    const stubborn = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    stubborn.on('error', () => undefined);
    stubborn.write(connectBytes());
    await new Promise((resolve) => stubborn.once('data', resolve));
    const stopped = b.broker.stop();
    await turns();
    await b.clock.advance(1_000);
    await stopped;
    stubborn.destroy();
  });

  test('the stop of the broker may be asked for twice and before any start', async (t) => {
    const b = await startTestBroker(t);
    await Promise.all([b.broker.stop(), b.broker.stop()]);
  });
});

describe('the start of the broker', () => {
  test('the start of the broker fails when the port is taken', async (t) => {
    const first = await startTestBroker(t);
    const { port } = await first.broker.start();
    const second = await startTestBroker(t, { port });
    await assert.rejects(second.broker.start(), { code: 'EADDRINUSE' });
  });
});
