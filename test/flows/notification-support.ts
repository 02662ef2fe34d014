/** A gateway of the file, words for its notification channels, and what they send. */
import type { TestContext } from 'node:test';
import { type PostServer, startPostServer } from '../support/receivers.ts';
import { settle, TestClock } from '../support/test-clock.ts';
import { type TestGateway, useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const CHANNELS = '/v3/notification_channels';
/** Secret of each webhook. */
export const SIGNING_SECRET = 'a key of twenty letters';

interface Sent {
  id: string;
  type: string;
  title: string;
  raised_count: number;
  cleared_count: number;
  omitted_count: number;
  alerts: { change: string; name: string; device_name: string }[];
}

export const sent = (server: PostServer): Sent[] => server.posts.map(({ body }) => JSON.parse(body) as Sent);

export function useNotifications(more: Parameters<typeof useTestGateway>[0] = {}) {
  const clock = new TestClock();
  const gatewayOf = useTestGateway({ ...more, clock });

  async function addChannel(t: TestContext, body: object): Promise<string> {
    const { ok } = gatewayOf();
    const { notification_channel: channel } = await ok('OWNER', 'POST', CHANNELS, body);
    const { id } = channel as { id: string };
    t.after(() => ok('OWNER', 'DELETE', `${CHANNELS}/${id}`));
    return id;
  }

  async function addWebhook(t: TestContext, more: object = {}): Promise<{ id: string; server: PostServer }> {
    const server = await startPostServer(t);
    const webhook = { url: server.url, signing_secret: SIGNING_SECRET };
    return { id: await addChannel(t, { name: 'Hook', kind: 'WEBHOOK', webhook, ...more }), server };
  }

  async function addDevice(gateway: TestGateway) {
    const device = await gateway.provision('Battery');
    await device.connect();
    return device;
  }

  /** Time goes on while sockets have their turns. */
  async function pass(durationMs: number): Promise<void> {
    await clock.advance(durationMs);
    for (let turn = 0; turn < 20; turn++) await settle();
  }

  async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
    await until(async () => {
      await clock.advance(5);
      return condition();
    });
  }

  async function deliveriesOf(
    id: string,
  ): Promise<{ status: string; attempts: number; error: string | null }[]> {
    const { notification_deliveries: deliveries } = await gatewayOf().ok(
      'OWNER',
      'GET',
      `/v3/notification_deliveries?channel_id=${id}`,
    );
    return deliveries as { status: string; attempts: number; error: string | null }[];
  }

  return { addChannel, addDevice, addWebhook, deliveriesOf, eventually, gatewayOf, pass };
}
