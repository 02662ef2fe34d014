import assert from 'node:assert/strict';
import { test } from 'node:test';
import { People } from '../../../../scripts/checks/world/people.ts';
import {
  type GatewayClient,
  GatewayRefusal,
  type GatewayRequest,
} from '../../../../scripts/support/gateway-client.ts';
import { createRandom } from '../../../../scripts/support/random.ts';
import { TestClock } from '../../../support/test-clock.ts';

/** A gateway that refuses each DELETE of a token with the next of these statuses, and has the token all the time. */
function peopleRefused(...statuses: number[]): People {
  const json = ({ method, path }: GatewayRequest): Promise<Record<string, unknown>> => {
    if (method === 'POST') return Promise.resolve({ access_token: { id: 'x' }, token: 'text' });
    if (method === 'DELETE') return Promise.reject(new GatewayRefusal(statuses.shift() ?? 500, 'code', 'no'));
    const nothing = { users: [], rules: [], devices: [], site: {}, configuration: {}, total_count: 1 };
    const tokens = path.startsWith('/auth/tokens') ? [{ name: 'token-0', role: 'READONLY' }] : [];
    return Promise.resolve({ ...nothing, access_tokens: tokens });
  };
  const client: GatewayClient = { json, text: () => Promise.reject(new Error('not asked for')) };
  const random = {
    ...createRandom(1),
    chance: () => false,
    pick: <Item>(items: readonly Item[]) => items[0] as Item,
  };
  return new People({
    client,
    clock: new TestClock(),
    random,
    deviceId: 'd',
    statusWith: () => Promise.resolve(200),
  });
}

test('a removed token whose removal was refused may be valid again after a fault', async () => {
  const people = peopleRefused(503, 404);
  for (let count = 0; count < 3; count++) await people.act('token');
  assert.deepEqual(people.refusals, ['DELETE /auth/tokens/x: 503 code: no']);
  assert.deepEqual(await people.verify(), []);
});

test('a token that nobody removed and that is missing is a loss', async () => {
  const people = peopleRefused(404);
  for (let count = 0; count < 2; count++) await people.act('token');
  assert.deepEqual(people.refusals, ['DELETE /auth/tokens/x: 404 code: no']);
});
