import type { Packet } from 'mqtt';

/** Bounds of one connection from a broker. */
export interface InboundLimits {
  /** Largest packet, MQTT 5 section 3.1.2.11.4; a broker of 3.1.1 does not learn it. */
  packetMaxBytes: number;
  /** Packets that answer nothing which was sent; after more the connection ends. */
  unaskedMax: number;
}

/** Control packet types, MQTT 5 section 2.1.2. */
const PUBLISH = 3;
/** Bits of the first byte of PUBLISH that are 0 up to QoS 1, MQTT 5 section 3.3.1.2. */
const ABOVE_QOS_1 = 0x04;
/** Packets of a client that the broker answers with one packet. */
const ANSWERED: ReadonlySet<Packet['cmd']> = new Set([
  'subscribe',
  'unsubscribe',
  'pingreq',
  'pubrec',
  'pubrel',
  'auth',
]);
/** A length has at most four bytes, MQTT 5 section 1.5.5. */
const LENGTH_BYTES_MAX = 4;
const TYPE_SHIFT = 4;
const MORE_FOLLOWS = 0x80;
const LENGTH_BITS = 0x7f;

/**
 * Checks the packets of a broker before the library gathers them: a packet that is too large would fill the memory, and
 * a flood of unrequested packets would use up the processor.
 */
export class InboundGuard {
  readonly #limits: InboundLimits;
  /** Bytes of the current packet that are still to come. */
  #bodyLeft = 0;
  /** Length of a packet that has begun; undefined: the next byte begins one. */
  #length: { value: number; bytes: number } | undefined;
  /** Sent packets that the broker has not answered yet; CONNECT is the first. */
  #awaited = 1;
  #unasked = 0;
  /** Messages may come at any time. */
  #isSubscribed: boolean;

  /** @param isSubscribed the broker kept subscriptions of an earlier connection */
  constructor(limits: InboundLimits, isSubscribed: boolean) {
    this.#limits = limits;
    this.#isSubscribed = isSubscribed;
  }

  /** The client sends a packet. */
  sent(packet: Packet): void {
    if (packet.cmd === 'subscribe') this.#isSubscribed = true;
    const isAnswered = packet.cmd === 'publish' ? packet.qos > 0 : ANSWERED.has(packet.cmd);
    if (isAnswered) this.#awaited++;
  }

  /** Why the connection must end, as the end of a sentence about the broker; undefined: it stays open. */
  take(bytes: Uint8Array): string | undefined {
    let at = 0;
    while (at < bytes.length) {
      if (this.#bodyLeft > 0) {
        const step = Math.min(this.#bodyLeft, bytes.length - at);
        this.#bodyLeft -= step;
        at += step;
        continue;
      }
      const byte = bytes[at++] ?? 0;
      const fault = this.#length ? this.#takeLength(this.#length, byte) : this.#begin(byte);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  /** Subscriptions ask for QoS 1 at most: the library would keep each message of QoS 2 until the broker releases it. */
  #begin(byte: number): string | undefined {
    this.#length = { value: 0, bytes: 0 };
    const isMessage = byte >> TYPE_SHIFT === PUBLISH;
    if (isMessage && this.#isSubscribed && (byte & ABOVE_QOS_1) === 0) return undefined;
    if (!isMessage && this.#awaited > 0) {
      this.#awaited--;
      return undefined;
    }
    this.#unasked++;
    return this.#unasked > this.#limits.unaskedMax
      ? `sent ${this.#unasked} packets that were not asked for`
      : undefined;
  }

  #takeLength(length: { value: number; bytes: number }, byte: number): string | undefined {
    length.value += (byte & LENGTH_BITS) * 2 ** (7 * length.bytes++);
    const { packetMaxBytes } = this.#limits;
    if (length.value > packetMaxBytes)
      return `sent a packet of more than ${packetMaxBytes} bytes, which is the most that is taken`;
    if (byte < MORE_FOLLOWS) {
      this.#bodyLeft = length.value;
      this.#length = undefined;
    } else if (length.bytes === LENGTH_BYTES_MAX) return 'sent a packet whose length is not valid';
    return undefined;
  }
}
