/** A program that plays a device finds the one of its last run again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createGatewayClient,
  provisionDevice,
  takeUpDevice,
} from '../../../scripts/support/gateway-client.ts';
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { startTestGateway } from '../../support/test-gateway.ts';

test('a second run continues with the device of the first, with new credentials, and makes no other', async (t) => {
  const gateway = await startTestGateway(t);
  const clock = createSystemClock();
  t.after(() => clock.close());
  const tokens = [gateway.token('OWNER')];
  const client = createGatewayClient({ baseUrl: gateway.origin, tokens, clock });
  assert.equal(await takeUpDevice(client, 'Inverter'), undefined);
  const first = await provisionDevice(client, 'Inverter');
  const second = (await takeUpDevice(client, 'Inverter')) ?? assert.fail();
  assert.deepEqual([second.id, second.slug], [first.id, first.slug]);
  assert.notDeepEqual(second.config.credentials, first.config.credentials);
  // A device of another type may have the same name.
  const { devices } = await gateway.ok('OWNER', 'GET', '/v3/devices?type.in=GATEWAY');
  const [{ name }] = devices as [{ name: string }];
  assert.equal(await takeUpDevice(client, name), undefined);
  const { total_count: count } = await gateway.ok('OWNER', 'GET', '/v3/devices?type.in=STANDALONE');
  assert.equal(count, 1);
});
