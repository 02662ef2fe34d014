/**
 * Messages at QoS 1 of one session that are not acknowledged yet. When the connection ends before, a client that kept
 * its session sends them again under the same identifiers, marked as duplicates ([MQTT-4.4.0-1]): such a
 * duplicate is acknowledged with the first and not taken twice. A message is forgotten once its acknowledgement was
 * written: nobody knows whether the client got it, and the client may give the identifier to another message.
 */

/** The connection that asked last. */
export interface Answering {
  /** Sends PUBACK. False: the connection has ended. */
  answer(packetId: number): boolean;
  /** The message was not taken: the client has to send it again. */
  refuse(): void;
}

/** One of them. */
export interface AwaitedMessage {
  readonly topic: string;
  payload: Buffer;
  isStored: boolean;
  answering: Answering;
}

export class AwaitedMessages {
  /** In the order of their arrival. */
  readonly #messages = new Map<number, AwaitedMessage>();
  #bytes = 0;

  /** Takes note of one that is handed over; beyond the bounds the oldest are forgotten. */
  add(packetId: number, message: AwaitedMessage, most: { messages: number; bytes: number }): void {
    this.#forget(packetId);
    this.#messages.set(packetId, message);
    this.#bytes += message.payload.length;
    for (const oldest of this.#messages.keys()) {
      if (this.#messages.size <= most.messages && this.#bytes <= most.bytes) return;
      this.#forget(oldest);
    }
  }

  /** Whether a duplicate is of one that is here; it is answered when that may be. */
  isRepeated(packetId: number, topic: string, payload: Buffer, answering: Answering): boolean {
    const known = this.#messages.get(packetId);
    if (known === undefined || known.topic !== topic || !known.payload.equals(payload)) return false;
    known.answering = answering;
    if (known.isStored) this.stored(packetId, known);
    return true;
  }

  stored(packetId: number, message: AwaitedMessage): void {
    message.isStored = true;
    const isAnswered = message.answering.answer(packetId);
    // Another one may have its identifier by now.
    if (this.#messages.get(packetId) !== message) return;
    if (isAnswered) this.#forget(packetId);
    // Without all that it arrived with: nobody knows how long it stays.
    else message.payload = Buffer.from(message.payload);
  }

  refused(packetId: number, message: AwaitedMessage): void {
    if (this.#messages.get(packetId) === message) this.#forget(packetId);
    message.answering.refuse();
  }

  #forget(packetId: number): void {
    this.#bytes -= this.#messages.get(packetId)?.payload.length ?? 0;
    this.#messages.delete(packetId);
  }
}
