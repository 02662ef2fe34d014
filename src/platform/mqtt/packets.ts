/** The packets of a logged-in client other than PUBLISH: checks, parsing and answers. */
import { PACKET, PACKET_TOO_LARGE, violation, type Violation, WRONG_FLAGS } from './packet-types.ts';
import { FieldReader } from './strings.ts';
import { topicFilterProblem } from './topic.ts';

const RESERVED_TYPE = violation('MQTT 2.2.1', 'control packet type is reserved');
const FROM_SERVER = violation('MQTT 2.2.1', 'only a server sends this control packet');
const QOS_3 = violation('MQTT-3.3.1-4', 'QoS 3');
const DUP_QOS_0 = violation('MQTT-3.3.1-2', 'DUP at QoS 0');
const SIZE = violation('MQTT-4.8.0-1', 'packet of fixed size has another size');
const SECOND_CONNECT = violation('MQTT-3.1.0-2', 'second CONNECT on one connection');
const NO_PACKET_ID = violation('MQTT-2.3.1-1', 'packet identifier is missing or 0');
const NO_FILTER = violation('MQTT-3.8.3-3', 'SUBSCRIBE without a topic filter');
const NO_UNSUBSCRIBE_FILTER = violation('MQTT-3.10.3-2', 'UNSUBSCRIBE without a topic filter');
const SUBSCRIBE_OPTIONS = violation('MQTT-3-8.3-4', 'reserved bits of a SUBSCRIBE option are set, or QoS 3');
const TRUNCATED = violation('MQTT-4.8.0-1', 'packet ends within a field');

/** Flags in the fixed header of everything but PUBLISH (table 2.2), and the size where it is fixed. */
const SHAPES: Readonly<Record<number, { flags: number; sizeBytes?: number }>> = {
  [PACKET.connect]: { flags: 0 },
  [PACKET.puback]: { flags: 0, sizeBytes: 2 },
  [PACKET.pubrec]: { flags: 0, sizeBytes: 2 },
  // [MQTT-3.6.1-1]
  [PACKET.pubrel]: { flags: 2, sizeBytes: 2 },
  [PACKET.pubcomp]: { flags: 0, sizeBytes: 2 },
  // [MQTT-3.8.1-1]
  [PACKET.subscribe]: { flags: 2 },
  // [MQTT-3.10.1-1]
  [PACKET.unsubscribe]: { flags: 2 },
  [PACKET.pingreq]: { flags: 0, sizeBytes: 0 },
  // [MQTT-3.14.1-1]
  [PACKET.disconnect]: { flags: 0, sizeBytes: 0 },
};

const FROM_SERVER_ONLY: ReadonlySet<number> = new Set([
  PACKET.connack,
  PACKET.suback,
  PACKET.unsuback,
  PACKET.pingresp,
]);

/** Judges the fixed header of a packet of a logged-in client. */
export function headerProblem(
  firstByte: number,
  remainingLengthBytes: number,
  limits: { packetBytes: number; requestPacketBytes: number },
): Violation | undefined {
  const type = firstByte >> 4;
  const bytesMax = type === PACKET.publish ? limits.packetBytes : limits.requestPacketBytes;
  if (remainingLengthBytes > bytesMax) return PACKET_TOO_LARGE;
  if (type === PACKET.publish) {
    const qos = firstByte & 0x06;
    if (qos === 0x06) return QOS_3;
    return qos === 0 && firstByte & 0x08 ? DUP_QOS_0 : undefined;
  }
  const shape = SHAPES[type];
  if (shape === undefined) return FROM_SERVER_ONLY.has(type) ? FROM_SERVER : RESERVED_TYPE;
  if ((firstByte & 0x0f) !== shape.flags) return WRONG_FLAGS;
  if (type === PACKET.connect) return SECOND_CONNECT;
  return shape.sizeBytes !== undefined && shape.sizeBytes !== remainingLengthBytes ? SIZE : undefined;
}

/** The packet identifier of PUBACK, PUBREC, PUBREL or PUBCOMP. */
export function parsePacketId(buffer: Buffer, start: number): number | Violation {
  return buffer.readUInt16BE(start) || NO_PACKET_ID;
}

export interface Subscribe {
  readonly packetId: number;
  readonly requests: readonly { filter: string; qos: 0 | 1 | 2 }[];
}

export function parseSubscribe(buffer: Buffer, start: number, end: number): Subscribe | Violation {
  const fields = new FieldReader(buffer, start, end);
  const packetId = fields.uint16();
  if (!packetId) return NO_PACKET_ID;
  const requests: { filter: string; qos: 0 | 1 | 2 }[] = [];
  while (fields.remainingBytes > 0) {
    const filter = readFilter(fields);
    if (typeof filter !== 'string') return filter;
    const options = fields.byte();
    if (options === undefined) return TRUNCATED;
    if (options > 2) return SUBSCRIBE_OPTIONS;
    requests.push({ filter, qos: options as 0 | 1 | 2 });
  }
  return requests.length > 0 ? { packetId, requests } : NO_FILTER;
}

interface Unsubscribe {
  readonly packetId: number;
  readonly filters: readonly string[];
}

export function parseUnsubscribe(buffer: Buffer, start: number, end: number): Unsubscribe | Violation {
  const fields = new FieldReader(buffer, start, end);
  const packetId = fields.uint16();
  if (!packetId) return NO_PACKET_ID;
  const filters: string[] = [];
  while (fields.remainingBytes > 0) {
    const filter = readFilter(fields);
    if (typeof filter !== 'string') return filter;
    filters.push(filter);
  }
  return filters.length > 0 ? { packetId, filters } : NO_UNSUBSCRIBE_FILTER;
}

function readFilter(fields: FieldReader): string | Violation {
  const filter = fields.text();
  if (filter === undefined) return TRUNCATED;
  return typeof filter === 'string' ? (topicFilterProblem(filter) ?? filter) : filter;
}

/** Return code of a filter that is not granted ([MQTT-3.9.3-2]). */
const FAILURE = 0x80;

/** One granted QoS or refusal per requested filter, in their order ([MQTT-3.8.4-5]). */
export function suback(packetId: number, granted: readonly (0 | 1 | 2 | 'refused')[]): Buffer {
  const returnCodes = granted.map((qos) => (qos === 'refused' ? FAILURE : qos));
  const sizeBytes = 2 + returnCodes.length;
  return Buffer.from([
    PACKET.suback << 4,
    ...encodeLength(sizeBytes),
    packetId >> 8,
    packetId & 0xff,
    ...returnCodes,
  ]);
}

export const PINGRESP_BYTES = Buffer.from([PACKET.pingresp << 4, 0]);

function encodeLength(lengthBytes: number): number[] {
  const encoded: number[] = [];
  let rest = lengthBytes;
  do {
    const digit = rest & 0x7f;
    rest >>= 7;
    encoded.push(rest > 0 ? digit | 0x80 : digit);
  } while (rest > 0);
  return encoded;
}
