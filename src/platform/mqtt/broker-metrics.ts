/** How an attempt to connect ends. */
const CONNECT_RESULTS = [
  'accepted',
  'address_rate',
  'connections',
  'address_connections',
  'handshake',
  'certificate',
  'unacceptable_protocol',
  'identifier_rejected',
  'unavailable',
  'bad_credentials',
  'not_authorized',
  'identity_sessions',
  'sessions',
];
/** Why a session or connection is closed. */
const CLOSE_REASONS = [
  'connect_timeout',
  'disconnected',
  'gave_way',
  'given_up',
  'identity_sessions',
  'internal',
  'keepalive',
  'lost',
  'not_taken',
  'packet_too_large',
  'payload_too_large',
  'refused',
  'revoked',
  'slow_consumer',
  'stopped',
  'taken_over',
  'unacknowledged_deliveries',
  'unreleased_messages',
  'violation',
];

/** Metrics of the broker. Labels have few, known values. */
import type { Metrics } from '../metrics/index.ts';

export type BrokerMetrics = ReturnType<typeof createBrokerMetrics>;

/** `outbound`: what waits for the client that reads most slowly, and when it is cut off. */
export function createBrokerMetrics(
  metrics: Metrics,
  sessionCount: () => number,
  outbound: { limit: number; depth: () => number },
) {
  metrics.measured('mqtt_sessions', 'MQTT sessions now connected', () => sessionCount());
  const direction = ['in', 'out'];
  const messages = metrics.counter('mqtt_messages_total', 'MQTT messages by direction', { direction });
  const bytes = metrics.counter('mqtt_bytes_total', 'MQTT bytes by direction', { direction });
  return {
    outbound: metrics.queue('mqtt_outbound_bytes', outbound),
    connects: metrics.counter('mqtt_connects_total', 'MQTT connection attempts by result', {
      result: CONNECT_RESULTS,
    }),
    closes: metrics.counter('mqtt_closes_total', 'MQTT sessions and connections closed by reason', {
      reason: CLOSE_REASONS,
    }),
    dropped: metrics.counter('mqtt_messages_dropped_total', 'MQTT messages not handed on by reason', {
      reason: ['not_permitted', 'rate', 'not_taken'],
    }),
    throttled: metrics.counter(
      'mqtt_throttled_total',
      'Times a connection was not read for a while because its messages came too fast',
    ),
    messagesIn: messages.labels('in'),
    messagesOut: messages.labels('out'),
    bytesIn: bytes.labels('in'),
    bytesOut: bytes.labels('out'),
  };
}
