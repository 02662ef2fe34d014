/** Messages that a kept session sends again, because its connection ended before their PUBACK or PUBREC. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { login, type RawClient, startTestBroker, turns } from '../../support/mqtt.ts';
import { publishBytes } from '../../support/mqtt-bytes.ts';

const KEPT = { clientId: 'meter', clean: false };
const DUP = 8;

interface Pending {
  resolve: () => void;
  reject: (error: Error) => void;
}

const message = (
  fields: { payload?: string; qos?: 1 | 2; packetId?: number; flags?: number } = {},
): Buffer => {
  const { payload = 'x', qos = 1, packetId = 7, flags = 0 } = fields;
  return publishBytes('from/a/x', payload, { qos, packetId, flags });
};

async function lose(client: RawClient): Promise<void> {
  client.stream.destroy();
  await client.closed();
  await turns();
}

/** A broker with one message of a kept session that has lost its connection since; `pending`: taken, not stored. */
async function interrupted(t: TestContext, session = KEPT, qos: 1 | 2 = 1) {
  const pending: Pending[] = [];
  const b = await startTestBroker(t, {
    hook: {
      onMessage: () => new Promise<void>((resolve, reject) => void pending.push({ resolve, reject })),
    },
  });
  const { client } = await login(b, session);
  client.send(message({ qos }));
  await turns();
  assert.equal(pending.length, 1);
  return { b, pending, client };
}

describe('a message that is sent again', () => {
  for (const isStoredBefore of [true, false])
    test(`a repeated message is taken once; stored ${isStoredBefore ? 'before' : 'after'} it came again`, async (t) => {
      const { b, pending, client } = await interrupted(t);
      await lose(client);
      if (isStoredBefore) pending[0]?.resolve();
      await turns();
      const second = await login(b, KEPT);
      second.client.send(message({ flags: DUP }));
      await turns();
      if (!isStoredBefore) {
        assert.equal(second.client.received.length, 0);
        pending[0]?.resolve();
      }
      assert.equal(await second.client.takeHex(4), '40020007');
      assert.equal(pending.length, 1);
      second.client.send(message({ flags: DUP }));
      await turns();
      assert.equal(pending.length, 2, 'once it is acknowledged, it may be another one');
    });

  for (const qos of [1, 2] as const)
    test(`a repeated message at QoS ${qos} is refused when it cannot be stored`, async (t) => {
      const { b, pending, client } = await interrupted(t, KEPT, qos);
      await lose(client);
      const second = await login(b, KEPT);
      second.client.send(message({ qos, flags: DUP }));
      await turns();
      pending[0]?.reject(new Error('disk is gone'));
      await second.client.closed();
      assert.equal(second.client.received.length, 0);
    });

  const others: [title: string, again: Parameters<typeof message>[0], session?: typeof KEPT][] = [
    ['it says something else', { payload: 'y', flags: DUP }],
    ['it is not marked', {}],
    ['it has another identifier', { packetId: 8, flags: DUP }],
    ['the session was not kept', { flags: DUP }, { clientId: 'meter', clean: true }],
  ];
  for (const [title, again, session] of others)
    test(`a repeated message counts as another one when ${title}`, async (t) => {
      const { b, pending, client } = await interrupted(t, session);
      await lose(client);
      const second = await login(b, session ?? KEPT);
      second.client.send(message(again));
      await turns();
      assert.equal(pending.length, 2);
      for (const { resolve } of pending) resolve();
      assert.match(await second.client.takeHex(4), /^4002000[78]$/);
      await turns();
      assert.equal(second.client.received.length, 0);
    });
});
