/** How many connections may be open and how fast they may come (docs/interface/mqtt-devices.md#limits). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CONNACK_ACCEPTED, connectBytes } from '../../support/mqtt-bytes.ts';
import { login, metric, startTestBroker, turns } from '../../support/mqtt.ts';

const ONE = '10.0.0.1';
const OTHER = '10.0.0.2';

describe('a connection beyond the limit', () => {
  test('a connection beyond the limit is closed before a byte is read while all others of its address have logged in', async (t) => {
    const b = await startTestBroker(t, { limits: { connectionsPerAddress: 2 } });
    const [first] = [await login(b, {}, ONE), await login(b, {}, ONE)];
    await b.raw(ONE).closed();
    assert.equal(await metric(b, 'mqtt_connects_total{result="address_connections"}'), '1');
    assert.equal((await login(b, {}, OTHER)).connack, CONNACK_ACCEPTED);
    first.client.stream.destroy();
    await turns();
    assert.equal((await login(b, {}, ONE)).connack, CONNACK_ACCEPTED);
  });

  test('a connection beyond the limit is closed before a byte is read while all others have logged in', async (t) => {
    const b = await startTestBroker(t, { limits: { connections: 2 } });
    for (const address of [ONE, OTHER]) await login(b, {}, address);
    await b.raw('10.0.0.3').closed();
    assert.equal(await metric(b, 'mqtt_connects_total{result="connections"}'), '1');
    assert.equal(b.broker.sessionCount(), 2);
  });

  test('a connection beyond the limit takes the place of the oldest of its address that has not logged in', async (t) => {
    const b = await startTestBroker(t, { limits: { connectionsPerAddress: 3 } });
    const elsewhere = b.raw(OTHER);
    await login(b, {}, ONE);
    const [oldest, younger] = [b.raw(ONE), b.raw(ONE)];
    assert.equal((await login(b, {}, ONE)).connack, CONNACK_ACCEPTED);
    await oldest.closed();
    assert.deepEqual([younger.isClosed, elsewhere.isClosed], [false, false]);
    assert.equal(await metric(b, 'mqtt_closes_total{reason="gave_way"}'), '1');
    younger.send(connectBytes());
    assert.equal(await younger.takeHex(4), CONNACK_ACCEPTED);
  });

  test('a connection beyond the limit takes the place of the oldest that has not logged in, from anywhere', async (t) => {
    const b = await startTestBroker(t, { limits: { connections: 3 } });
    await login(b, {}, ONE);
    const [oldest, younger] = [b.raw('10.0.0.3'), b.raw(OTHER)];
    assert.equal((await login(b, {}, ONE)).connack, CONNACK_ACCEPTED);
    await oldest.closed();
    assert.equal(younger.isClosed, false);
  });

  test('connections that never log in, even thousands, keep no device out', async (t) => {
    const b = await startTestBroker(t, { limits: { connections: 50, connectionsPerAddress: 20 } });
    for (let index = 0; index < 3_000; index++) {
      b.raw(`10.6.${index % 3}.1`);
      if (index % 100 === 0) {
        const { client, connack } = await login(b, {}, ONE);
        assert.equal(connack, CONNACK_ACCEPTED);
        client.stream.destroy();
      }
    }
    assert.equal(b.lines.filter(({ level }) => level === 'error').length, 0);
  });
});

describe('connections that come too fast', () => {
  test('connections that come too fast from one address are refused until its rate recovers; others come in', async (t) => {
    const b = await startTestBroker(t, { limits: { connectsPerSecond: 2, connectBurst: 3 } });
    for (let index = 0; index < 3; index++) assert.equal((await login(b, {}, ONE)).connack, CONNACK_ACCEPTED);
    await b.raw(ONE).closed();
    assert.equal(await metric(b, 'mqtt_connects_total{result="address_rate"}'), '1');
    assert.equal(b.lines.filter(({ message }) => /too many/.test(message)).length, 1);
    assert.equal((await login(b, {}, OTHER)).connack, CONNACK_ACCEPTED);
    await b.clock.advance(500);
    assert.equal((await login(b, {}, ONE)).connack, CONNACK_ACCEPTED);
    await b.raw(ONE).closed();
  });
});
