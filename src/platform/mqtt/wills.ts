/** Wills: delivered like a message when a session ends without DISCONNECT ([MQTT-3.1.2-8]). */
import type { Will } from './connect-packet.ts';
import type { PublicationsContext } from './publications.ts';
import type { IdentityRecord } from './sessions.ts';
import type { MqttSession } from './types.ts';
import { levelCount } from './topic.ts';

/**
 * Hands a will to the message hook; one that the client may not publish is ignored, one over its rate is dropped.
 * Never throws.
 */
export function deliverWill(
  context: PublicationsContext,
  session: MqttSession,
  { bucket }: IdentityRecord,
  will: Will,
): void {
  const { hooks, limits, clock, log, metrics } = context;
  const { topic } = will;
  if (Buffer.byteLength(topic) > limits.topicBytes || levelCount(topic) > limits.topicLevels) return;
  if (!hooks.mayPublish(session.identity, topic)) return;
  if (!bucket.take(clock.monotonicMs())) return metrics.dropped.inc({ reason: 'rate' });
  const onFailure = (error: unknown): void => {
    metrics.dropped.inc({ reason: 'not_taken' });
    log.warn('will was not taken', { error, topic });
  };
  metrics.messagesIn.inc();
  try {
    const taken = hooks.onMessage({ session, ...will, duplicate: false, receivedAtMs: clock.wallMs() });
    taken?.catch(onFailure);
  } catch (error) {
    onFailure(error);
  }
}
