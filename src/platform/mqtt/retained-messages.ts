/**
 * The newest retained message of each topic, in memory: a new subscription gets those that match ([MQTT-3.3.1-6]). After a
 * restart devices connect anew and publish them again.
 */
import { topicMatches } from '../../lib/topic-matches.ts';
import type { MqttLimits } from './types.ts';

interface RetainedMessage {
  topic: string;
  payload: Buffer;
}

export class RetainedMessages {
  readonly #limits: Pick<MqttLimits, 'retainedMessages' | 'retainedBytes'>;
  /** The oldest first. */
  readonly #payloads = new Map<string, Buffer>();
  #sizeBytes = 0;

  constructor(limits: Pick<MqttLimits, 'retainedMessages' | 'retainedBytes'>) {
    this.#limits = limits;
  }

  /** Replaces that of the topic; an empty payload removes it ([MQTT-3.3.1-10]). Beyond the limits the oldest give way. */
  set(topic: string, payload: Buffer): void {
    this.#delete(topic);
    if (payload.length === 0) return;
    // The given one may be a view of a larger buffer.
    this.#payloads.set(topic, Buffer.from(payload));
    this.#sizeBytes += payload.length;
    const { retainedMessages, retainedBytes } = this.#limits;
    for (const oldest of this.#payloads.keys()) {
      if (this.#payloads.size <= retainedMessages && this.#sizeBytes <= retainedBytes) return;
      this.#delete(oldest);
    }
  }

  matching(filters: readonly string[]): RetainedMessage[] {
    return [...this.#payloads]
      .filter(([topic]) => filters.some((filter) => topicMatches(filter, topic)))
      .map(([topic, payload]) => ({ topic, payload }));
  }

  /** Removes those of the topics. */
  forget(isForgotten: (topic: string) => boolean): void {
    for (const topic of this.#payloads.keys()) if (isForgotten(topic)) this.#delete(topic);
  }

  #delete(topic: string): void {
    this.#sizeBytes -= this.#payloads.get(topic)?.length ?? 0;
    this.#payloads.delete(topic);
  }
}
