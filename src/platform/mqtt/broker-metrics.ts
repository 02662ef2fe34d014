/** What the broker counts. Labels have few, known values. */
import type { Metrics } from '../metrics/index.ts';

export type BrokerMetrics = ReturnType<typeof createBrokerMetrics>;

/** `outbound`: what waits for the client that reads most slowly, and when it is cut off. */
export function createBrokerMetrics(
  metrics: Metrics,
  sessionCount: () => number,
  outbound: { limit: number; depth: () => number },
) {
  metrics.measured('mqtt_sessions', 'MQTT sessions now connected', () => sessionCount());
  const messages = metrics.counter('mqtt_messages_total', 'MQTT messages by direction', ['direction']);
  const bytes = metrics.counter('mqtt_bytes_total', 'MQTT bytes by direction', ['direction']);
  return {
    outbound: metrics.queue('mqtt_outbound_bytes', outbound),
    connects: metrics.counter('mqtt_connects_total', 'MQTT connection attempts by result', ['result']),
    closes: metrics.counter('mqtt_closes_total', 'MQTT sessions and connections closed by reason', [
      'reason',
    ]),
    dropped: metrics.counter('mqtt_messages_dropped_total', 'MQTT messages not handed on by reason', [
      'reason',
    ]),
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
