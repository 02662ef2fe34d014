import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MqttIdentity } from '../../../src/platform/mqtt/index.ts';
import {
  login,
  metric,
  type RawClient,
  startTestBroker,
  type TestBroker,
  turns,
} from '../../support/mqtt.ts';
import {
  CONNACK_ACCEPTED,
  connectBytes,
  packet,
  PINGREQ,
  publishBytes,
  subscribeBytes,
  text,
} from '../../support/mqtt-bytes.ts';
import { streamPair } from '../../support/stream-pair.ts';

describe('a login', () => {
  test('a login with a wrong password gets CONNACK 4 and is closed', async (t) => {
    const b = await startTestBroker(t);
    const { client, connack } = await login(b, { password: 'wrong' });
    assert.equal(connack, '20020004');
    await client.closed();
    assert.deepEqual(b.opened, []);
    assert.equal(await metric(b, 'mqtt_connects_total{result="bad_credentials"}'), '1');
  });

  test('a login without user name gets CONNACK 5 and is closed', async (t) => {
    const b = await startTestBroker(t);
    const client = b.raw();
    client.send(packet(0x10, text('MQTT'), [4, 2, 0, 60], text('')));
    assert.equal(await client.takeHex(4), '20020005');
    await client.closed();
    assert.deepEqual(b.opened, []);
  });

  test('a login gets CONNACK 3 when it cannot be checked, and the failure is logged, not thrown', async (t) => {
    const b = await startTestBroker(t, {
      hook: { authenticate: () => Promise.reject(new Error('the store is gone')) },
    });
    const { connack } = await login(b, {});
    assert.equal(connack, '20020003');
    assert.equal(b.lines.filter(({ level }) => level === 'error').length, 1);
  });

  test('a login handles nothing behind CONNECT until it is accepted, and nothing at all when refused', async (t) => {
    let decide: (answer: MqttIdentity | 'bad_credentials') => void = () => undefined;
    const b = await startTestBroker(t, {
      hook: { authenticate: () => new Promise((resolve) => (decide = resolve)) },
    });
    const [accepted, refused] = [b.raw(), b.raw()];
    accepted.send(connectBytes(), publishBytes('from/a/x', 'early', { qos: 1 }), PINGREQ);
    await turns();
    assert.deepEqual(b.messages, []);
    decide({ key: 'a' });
    assert.equal(await accepted.takeHex(10), `${CONNACK_ACCEPTED}d00040020001`);
    assert.equal(b.messages.length, 1);
    refused.send(connectBytes(), publishBytes('from/a/x', 'early', { qos: 1 }));
    await turns();
    decide('bad_credentials');
    await refused.closed();
    assert.equal(refused.received.toString('hex'), '20020004');
    assert.equal(b.messages.length, 1);
  });

  test('a login is not opened when the client leaves while it is checked', async (t) => {
    let decide: (answer: MqttIdentity) => void = () => undefined;
    const b = await startTestBroker(t, {
      hook: { authenticate: () => new Promise((resolve) => (decide = resolve)) },
    });
    const client = b.raw();
    client.send(connectBytes());
    await turns();
    client.stream.destroy();
    await client.closed();
    decide({ key: 'a' });
    await turns();
    assert.equal(b.broker.sessionCount(), 0);
    assert.deepEqual([b.opened, b.closed], [[], []]);
  });

  test('a login is checked again when credentials were voided while it was checked', async (t) => {
    let asked = 0;
    let decide: () => void = () => undefined;
    const b = await startTestBroker(t, {
      hook: {
        authenticate: async () => {
          if (++asked > 1) return 'bad_credentials';
          await new Promise<void>((resolve) => (decide = resolve));
          return { key: 'a' };
        },
      },
    });
    const client = b.raw();
    client.send(connectBytes());
    await turns();
    b.broker.closeSessions('a');
    decide();
    assert.equal(await client.takeHex(4), '20020004');
  });

  test('a login must begin within the limit: a silent connection is closed', async (t) => {
    const b = await startTestBroker(t, { limits: { connectTimeoutMs: 10_000 } });
    const silent = b.raw();
    const slow = b.raw();
    slow.send(connectBytes().subarray(0, 9));
    await b.clock.advance(9_999);
    assert.equal(silent.isClosed || slow.isClosed, false);
    await b.clock.advance(1);
    await Promise.all([silent.closed(), slow.closed()]);
    assert.equal(await metric(b, 'mqtt_closes_total{reason="connect_timeout"}'), '2');
  });

  test('a login is answered late after too many failures from one address, and a right one from there is not', async (t) => {
    const b = await startTestBroker(t, { limits: { failedLoginsPerMinute: 3, failedLoginDelayMs: 5_000 } });
    for (let count = 0; count < 3; count++)
      assert.equal((await login(b, { password: 'wrong' }, '10.0.0.7')).connack, '20020004');
    const late = b.raw('10.0.0.7');
    late.send(connectBytes({ password: 'wrong' }));
    await turns();
    assert.equal(late.received.length, 0);
    assert.equal((await login(b, {}, '10.0.0.7')).connack, CONNACK_ACCEPTED);
    assert.equal((await login(b, { password: 'wrong' }, '10.0.0.8')).connack, '20020004');
    await b.clock.advance(4_999);
    assert.equal(late.received.length, 0);
    await b.clock.advance(1);
    assert.equal(await late.takeHex(4), '20020004');
  });
});

describe('the number of sessions', () => {
  test('the sessions of one identity are bounded: the longest silent one gives way to the next', async (t) => {
    const b = await startTestBroker(t);
    const clients: RawClient[] = [];
    for (let count = 0; count < 8; count++) {
      const { client, connack } = await login(b, {});
      assert.equal(connack, CONNACK_ACCEPTED);
      clients.push(client);
      await b.clock.advance(1_000);
    }
    clients[0]?.send(PINGREQ);
    await clients[0]?.take(2);
    assert.equal((await login(b, { username: 'b' })).connack, CONNACK_ACCEPTED);
    assert.equal((await login(b, {})).connack, CONNACK_ACCEPTED);
    await turns();
    assert.deepEqual(
      clients.map(({ isClosed }) => isClosed),
      [false, true, false, false, false, false, false, false],
    );
    assert.equal(b.broker.sessionCount('a'), 8);
    const [line] = b.lines.filter(({ reason }) => reason === 'identity_sessions');
    assert.equal(line?.identity, 'a');
  });

  test('the sessions of one identity leave room for a device that restarts again and again', async (t) => {
    const b = await startTestBroker(t);
    for (let start = 0; start < 30; start++)
      assert.equal((await login(b, {})).connack, CONNACK_ACCEPTED, `start ${start}`);
    assert.equal(b.broker.sessionCount('a'), 8);
  });

  test('the number of sessions is not exceeded by logins of one identity at the same moment', async (t) => {
    const b = await startTestBroker(t, { limits: { sessionsPerIdentity: 3 } });
    const answers = await Promise.all(Array.from({ length: 9 }, () => login(b, {})));
    assert.equal(answers.filter(({ connack }) => connack === CONNACK_ACCEPTED).length, 3);
    assert.equal(answers.filter(({ connack }) => connack === '20020003').length, 6);
    assert.equal(b.broker.sessionCount('a'), 3);
  });

  test('the number of sessions is limited for all together by CONNACK 3', async (t) => {
    const b = await startTestBroker(t, { limits: { sessions: 3 } });
    for (const username of ['a', 'b', 'c'])
      assert.equal((await login(b, { username })).connack, CONNACK_ACCEPTED);
    assert.equal((await login(b, { username: 'd' })).connack, '20020003');
    assert.equal(await metric(b, 'mqtt_sessions'), '3');
    assert.equal(await metric(b, 'mqtt_connects_total{result="sessions"}'), '1');
  });

  test('the number of sessions does not count a stream that was closed before it was handed over', async (t) => {
    const b = await startTestBroker(t, { limits: { connections: 1 } });
    const { server } = streamPair();
    server.destroy();
    b.broker.accept(server);
    assert.equal((await login(b)).connack, CONNACK_ACCEPTED);
  });
});

describe('a client id', () => {
  test('a client id does not take over the session of another identity', async (t) => {
    const b = await startTestBroker(t);
    const mine = await login(b, { clientId: 'meter' });
    const others = await login(b, { clientId: 'meter', username: 'b' });
    assert.deepEqual([mine.connack, others.connack], [CONNACK_ACCEPTED, CONNACK_ACCEPTED]);
    mine.client.send(PINGREQ);
    assert.equal(await mine.client.takeHex(2), 'd000');
    assert.deepEqual(b.closed, []);
    assert.deepEqual([b.broker.sessionCount('a'), b.broker.sessionCount('b')], [1, 1]);
  });

  test('[MQTT-3.1.4-2] a client id used again by its identity takes the session over, even at the limit', async (t) => {
    const b = await startTestBroker(t, { limits: { sessionsPerIdentity: 1 } });
    const first = await login(b, { clientId: 'meter' });
    const second = await login(b, { clientId: 'meter' });
    assert.equal(second.connack, CONNACK_ACCEPTED);
    await first.client.closed();
    assert.deepEqual(
      b.closed.map(({ id }) => id),
      [b.opened[0]?.id],
    );
    assert.equal(b.broker.sessionCount('a'), 1);
    second.client.send(publishBytes('from/a/x', 'y', { qos: 1 }));
    assert.equal(await second.client.takeHex(4), '40020001');
  });

  test('a client id taken over twenty times at once leaves one session and closes each of the others once', async (t) => {
    const b = await startTestBroker(t);
    const clients = Array.from({ length: 20 }, () => b.raw());
    for (const client of clients) client.send(connectBytes({ clientId: 'meter', clean: false }));
    await turns(40);
    assert.equal(b.broker.sessionCount('a'), 1);
    assert.equal(clients.filter(({ isClosed }) => !isClosed).length, 1);
    const openIds = b.opened.map(({ id }) => id);
    const closedIds = b.closed.map(({ id }) => id);
    assert.equal(new Set(closedIds).size, closedIds.length);
    assert.equal(openIds.length, closedIds.length + 1);
    assert.deepEqual(closedIds, openIds.slice(0, -1));
  });

  test('[MQTT-3.1.3-6] an empty client id is replaced by the broker, a new one each time', async (t) => {
    const b = await startTestBroker(t);
    await login(b, {});
    await login(b, {});
    assert.equal(b.broker.sessionCount('a'), 2);
    assert.equal(new Set(b.opened.map(({ clientId }) => clientId)).size, 2);
    assert.ok(b.opened.every(({ clientId }) => clientId.length > 0));
  });

  test('a client id may be __proto__ or constructor', async (t) => {
    const b = await startTestBroker(t);
    for (const clientId of ['__proto__', 'constructor', 'toString']) {
      const { client, connack } = await login(b, { clientId });
      assert.equal(connack, CONNACK_ACCEPTED);
      client.send(subscribeBytes(1, ['to/a/x', 1]));
      await client.take(5);
    }
    assert.equal(b.broker.subscribers('to/a/x'), 3);
  });
});

describe('keep-alive', () => {
  test('[MQTT-3.1.2-24] keep-alive ends a session that is silent for one and a half periods', async (t) => {
    const b = await startTestBroker(t);
    const { client } = await login(b, { keepAliveS: 10 });
    await b.clock.advance(14_999);
    assert.equal(client.isClosed, false);
    client.send(PINGREQ);
    await client.take(2);
    await b.clock.advance(14_999);
    assert.equal(client.isClosed, false);
    await b.clock.advance(1);
    await client.closed();
    assert.equal(b.closed.length, 1);
    assert.equal(await metric(b, 'mqtt_closes_total{reason="keepalive"}'), '1');
  });

  test('keep-alive waits after a standstill of the gateway until what has come meanwhile is read', async (t) => {
    const b = await startTestBroker(t);
    const [alive, gone] = [
      (await login(b, { keepAliveS: 10 })).client,
      (await login(b, { keepAliveS: 10, clientId: 'gone' })).client,
    ];
    b.clock.spend(40_000);
    await b.clock.advance(0);
    assert.deepEqual([alive.isClosed, gone.isClosed], [false, false]);
    alive.send(PINGREQ);
    await alive.take(2);
    await b.clock.advance(5_000);
    await gone.closed();
    assert.equal(alive.isClosed, false);
  });

  test('keep-alive counts whole packets, not single bytes', async (t) => {
    const b = await startTestBroker(t);
    const { client } = await login(b, { keepAliveS: 10 });
    client.send([0x30, 0x80]);
    for (let second = 0; second < 14; second++) {
      await b.clock.advance(1_000);
      if (second === 5) client.send([0x01]);
      else if (second > 5) client.send([0]);
    }
    await b.clock.advance(1_000);
    await client.closed();
  });

  test('keep-alive is treated as 300 s when it is 0', async (t) => {
    const b = await startTestBroker(t);
    const { client } = await login(b, { keepAliveS: 0 });
    await b.clock.advance(449_999);
    assert.equal(client.isClosed, false);
    await b.clock.advance(1);
    await client.closed();
  });

  test('keep-alive ignores silence while the broker does not read', async (t) => {
    let take: () => void = () => undefined;
    const b = await startTestBroker(t, {
      limits: { inFlightMessages: 1 },
      hook: { onMessage: () => new Promise((resolve) => (take = resolve)) },
    });
    const { client } = await login(b, { keepAliveS: 10 });
    client.send(publishBytes('from/a/x', 'y', { qos: 1 }));
    await turns();
    await b.clock.advance(60_000);
    assert.equal(client.isClosed, false);
    take();
    assert.equal(await client.takeHex(4), '40020001');
    await b.clock.advance(14_000);
    assert.equal(client.isClosed, false);
    await b.clock.advance(16_000);
    await client.closed();
  });
});

describe('the notice of sessions', () => {
  const ends: [title: string, end: (client: RawClient, b: TestBroker) => unknown][] = [
    ['DISCONNECT', (client) => client.send([0xe0, 0])],
    ['a lost connection', (client) => client.stream.destroy()],
    ['the end of the stream', (client) => client.stream.end()],
    ['a broken rule', (client) => client.send([0xf0, 0])],
    ['silence', (_client, b) => b.clock.advance(600_000)],
    ['voided credentials', (_client, b) => b.broker.closeSessions('a')],
    ['the stop of the broker', (_client, b) => b.broker.stop()],
    [
      'DISCONNECT and a lost connection at once',
      (client) => {
        client.send([0xe0, 0]);
        client.stream.destroy();
      },
    ],
  ];
  for (const [title, end] of ends)
    test(`the notice of sessions comes once for opening and once for closing: ${title}`, async (t) => {
      const b = await startTestBroker(t);
      const { client } = await login(b, {}, '10.0.0.5');
      assert.equal(b.opened.length, 1);
      assert.equal(b.opened[0]?.remoteAddress, '10.0.0.5');
      assert.deepEqual(b.closed, []);
      await end(client, b);
      await client.closed();
      await turns();
      assert.deepEqual(b.closed, b.opened);
      assert.equal(b.broker.sessionCount(), 0);
    });

  test('the notice of sessions may throw; the session goes on and the failure is logged', async (t) => {
    const fail = (): never => {
      throw new Error('listener');
    };
    const b = await startTestBroker(t, { hook: { onSessionOpened: fail, onSessionClosed: fail } });
    const { client, connack } = await login(b, {});
    assert.equal(connack, CONNACK_ACCEPTED);
    client.send([0xe0, 0]);
    await client.closed();
    assert.equal(b.broker.sessionCount(), 0);
    assert.deepEqual(
      b.lines.filter(({ level }) => level === 'error').map(({ hook }) => hook),
      ['onSessionOpened', 'onSessionClosed'],
    );
  });

  test('the notice of sessions may end the session it announces', async (t) => {
    const b: TestBroker = await startTestBroker(t, {
      hook: { onSessionOpened: (session) => b.broker.closeSessions(session.identity.key) },
    });
    const client = b.raw();
    client.send(connectBytes());
    await client.closed();
    assert.equal(client.received.length, 0);
    assert.equal(b.closed.length, 1);
    assert.equal(b.clock.waiting, 0);
  });
});
