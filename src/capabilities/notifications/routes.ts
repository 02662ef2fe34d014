import { type Call, listed, query, route, type Route, shape } from '../../platform/http/index.ts';
import { CHANNEL_ROLE } from './model.ts';
import * as wire from './schema.ts';
import type { Notifications } from './service.ts';

const CHANNELS = '/v3/notification_channels';
const CHANNEL = `${CHANNELS}/{notification_channel_id}` as const;
const NOT_FOUND = '404 notification_channel_not_found';

const idOf = (call: Call): string => call.param('notification_channel_id');

/** Notification channels: an extension of the interface. */
export function notificationRoutes(notifications: Notifications): Route[] {
  return [...readingRoutes(notifications), ...changingRoutes(notifications)];
}

function readingRoutes(notifications: Notifications): Route[] {
  return [
    route({
      operation: 'list_notification_channels',
      about: 'Channels of notifications about alerts.',
      answer: wire.notificationShapes.list,
      GET: [CHANNELS],
      role: CHANNEL_ROLE,
      query: query.pageQuery,
      handle: ({ query: page }) =>
        listed('notification_channels', notifications.list(), wire.channelToWire, page),
    }),
    route({
      operation: 'get_notification_channel',
      about: 'One channel.',
      answer: wire.notificationShapes.one,
      GET: [CHANNEL],
      role: CHANNEL_ROLE,
      errors: [NOT_FOUND],
      handle: (call) => ({ notification_channel: wire.channelToWire(notifications.require(idOf(call))) }),
    }),
    route({
      operation: 'list_notification_deliveries',
      about: 'Sent notifications, newest first, with the reason of failures.',
      answer: wire.notificationShapes.deliveries,
      GET: ['/v3/notification_deliveries'],
      role: CHANNEL_ROLE,
      query: wire.deliveryQuery,
      errors: [NOT_FOUND],
      handle: ({ query: { channel_id: channelId, limit, offset } }) => {
        const found = notifications.deliveries(channelId, limit, offset);
        return {
          notification_deliveries: found.deliveries.map(wire.deliveryToWire),
          total_count: found.totalCount,
        };
      },
    }),
    route({
      operation: 'get_notification_delivery',
      about: 'One delivery.',
      answer: wire.notificationShapes.delivery,
      GET: ['/v3/notification_deliveries/{delivery_id}'],
      role: CHANNEL_ROLE,
      errors: ['404 notification_delivery_not_found'],
      handle: (call) => ({
        notification_delivery: wire.deliveryToWire(notifications.requireDelivery(call.param('delivery_id'))),
      }),
    }),
  ];
}

function changingRoutes(notifications: Notifications): Route[] {
  return [
    route({
      operation: 'create_notification_channel',
      about:
        'Adds a channel that sends alerts by mail (SMTP), webhook or ntfy. Secrets are never shown again.',
      answer: wire.notificationShapes.one,
      POST: [CHANNELS],
      role: CHANNEL_ROLE,
      body: wire.newChannelBody,
      errors: ['400 invalid_body', '404 device_not_found', '422 notification_channel_limit_reached'],
      handle: (call) => {
        const channel = notifications.create(call.body);
        call.note({ notification_channel_id: channel.id, channel_name: channel.name });
        return { notification_channel: wire.channelToWire(channel) };
      },
    }),
    route({
      operation: 'update_notification_channel',
      about: 'Changes the given members. Another server or login needs the secret again.',
      answer: wire.notificationShapes.one,
      PATCH: [CHANNEL],
      role: CHANNEL_ROLE,
      body: wire.updateBody,
      errors: ['400 invalid_body', '404 device_not_found', NOT_FOUND],
      handle: (call) => {
        const channel = notifications.update(idOf(call), call.body);
        call.note({ channel_name: channel.name });
        return { notification_channel: wire.channelToWire(channel) };
      },
    }),
    route({
      operation: 'delete_notification_channel',
      about: 'Deletes the channel, its secrets and its log.',
      answer: shape.nothing(),
      DELETE: [CHANNEL],
      role: CHANNEL_ROLE,
      errors: [NOT_FOUND],
      handle: async (call) => {
        call.note({ channel_name: notifications.require(idOf(call)).name });
        await notifications.remove(idOf(call));
      },
    }),
    route({
      operation: 'test_notification_channel',
      about: 'Sends a test message and answers the outcome.',
      answer: wire.notificationShapes.delivery,
      POST: [`${CHANNEL}/test`],
      role: CHANNEL_ROLE,
      errors: [NOT_FOUND, '409 in_rehearsal', '429 too_many_requests'],
      handle: async (call) => ({
        notification_delivery: wire.deliveryToWire(await notifications.test(idOf(call))),
      }),
    }),
  ];
}
