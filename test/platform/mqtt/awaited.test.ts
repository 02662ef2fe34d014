/** A client that sends on only after each acknowledgement is recognised, so that it is not kept waiting. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { login, startTestBroker, turns } from '../../support/mqtt.ts';
import { publishBytes } from '../../support/mqtt-bytes.ts';

/** Clients whose messages are taken when the test says so. */
async function startClients(
  t: Pick<TestContext, 'after'>,
  limits: { rareSenders: number; awaitedInRowMax?: number } = { rareSenders: 0 },
) {
  const pending: (() => void)[] = [];
  const state = { asked: 0 };
  const b = await startTestBroker(t, {
    limits,
    hook: {
      onMessage: () => new Promise<void>((resolve) => void pending.push(resolve)),
      onAwaited: () => void state.asked++,
    },
  });
  const { client } = await login(b);
  const exchange = async (messages: number, pauseMs: number, takenAfterMs = 0): Promise<number> => {
    for (let packetId = 1; packetId <= messages; packetId++)
      client.send(publishBytes('from/a/x', 'x', { qos: 1, packetId }));
    await turns();
    await b.clock.advance(takenAfterMs);
    for (const take of pending.splice(0)) take();
    await client.take(4 * messages);
    await b.clock.advance(pauseMs);
    return state.asked;
  };
  return { b, state, exchange };
}

describe('a client', () => {
  test('a client counts as waiting when it sends the next message only after the acknowledgement', async (t) => {
    const { exchange } = await startClients(t);
    const asked: number[] = [];
    for (let count = 0; count < 4; count++) asked.push(await exchange(1, 50));
    assert.deepEqual(asked, [0, 0, 1, 2]);
  });

  test('a client does not count as waiting when it sends every second, however late it is acknowledged', async (t) => {
    const { state, exchange } = await startClients(t);
    for (let second = 0; second < 5; second++) {
      await exchange(1, 80, 920);
      assert.equal(state.asked, 0);
    }
    // A client that waits for the same acknowledgement sends on a little earlier.
    for (let count = 0; count < 4; count++) await exchange(1, 20, 920);
    assert.equal(state.asked, 2);
  });

  test('a client that waited by chance counts as waiting ever more rarely', async (t) => {
    const { b, state, exchange } = await startClients(t, { rareSenders: 0, awaitedInRowMax: 8 });
    /** Messages that come with the acknowledgement of the one before, until one is expedited. */
    const chances = async (): Promise<number> => {
      const before = state.asked;
      for (let count = 0; ; count++) {
        if ((await exchange(1, 0)) > before) return count;
        await b.clock.advance(50);
      }
    };
    const counts: number[] = [];
    for (let time = 0; time < 5; time++) {
      counts.push(await chances());
      await b.clock.advance(900);
    }
    assert.deepEqual(counts, [2, 4, 8, 8, 8]);
  });

  test('a client counts as waiting again when it goes on at once', async (t) => {
    const { exchange } = await startClients(t);
    const asked: number[] = [];
    // By chance, then twice as many messages, then a pause, then as at first.
    for (const pauseMs of [50, 50, 900, 50, 50, 50, 50, 50, 900, 50, 50, 50])
      asked.push(await exchange(1, pauseMs));
    assert.deepEqual(asked, [0, 0, 1, 1, 1, 1, 1, 2, 3, 3, 3, 4]);
  });

  test('a client does not count as waiting when it sends rarely', async (t) => {
    const { exchange } = await startClients(t);
    for (let count = 0; count < 5; count++) assert.equal(await exchange(1, 101), 0);
  });

  test('a client that sends rarely gets a quick commit beside others that never pause', async (t) => {
    const { b, state, exchange } = await startClients(t, { rareSenders: 3 });
    const { client: rare } = await login(b, { username: 'b' });
    await exchange(2, 100);
    assert.equal(state.asked, 1, 'the first of each');
    for (let second = 1; second <= 5; second++) {
      rare.send(publishBytes('from/b/x', 'x', { qos: 1 }));
      for (let step = 0; step < 10; step++) await exchange(2, 100);
      assert.equal(state.asked, 1 + second);
      await rare.take(4);
    }
  });

  test('a client shares its commit with others when many send rarely', async (t) => {
    const { b, state } = await startClients(t, { rareSenders: 2 });
    const names = ['b', 'c', 'd'];
    const clients = await Promise.all(names.map((username) => login(b, { username })));
    for (let second = 0; second < 5; second++)
      for (const [index, { client }] of clients.entries()) {
        client.send(publishBytes(`from/${names[index]}/x`, 'x', { qos: 1 }));
        await turns();
        await b.clock.advance(333);
      }
    assert.equal(state.asked, 2, 'those who came first');
  });

  test('a client shares its commit with others that send at the same moment', async (t) => {
    const { b, state } = await startClients(t, { rareSenders: 2 });
    const names = ['b', 'c', 'd'];
    const clients = await Promise.all(names.map((username) => login(b, { username })));
    for (let second = 0; second < 5; second++) {
      for (const [index, { client }] of clients.entries())
        client.send(publishBytes(`from/${names[index]}/x`, 'x', { qos: 1 }));
      await turns();
      await b.clock.advance(1_001);
    }
    assert.equal(state.asked, 2, 'those who came first');
  });

  test('a client does not count as waiting when it sends on before its acknowledgement', async (t) => {
    const { exchange } = await startClients(t);
    for (let count = 0; count < 5; count++) assert.equal(await exchange(2, 0), 0);
  });
});
