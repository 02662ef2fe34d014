/** The packets of a logged-in client other than PUBLISH: checks, parsing and answers. */
import { isUtf8 } from 'node:buffer';

/** Control packet types of MQTT 3.1.1, table 2.1. 0 and 15 are reserved. */
export const PACKET = {
  connect: 1,
  connack: 2,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  subscribe: 8,
  suback: 9,
  unsubscribe: 10,
  unsuback: 11,
  pingreq: 12,
  pingresp: 13,
  disconnect: 14,
} as const;

/** A breach of MQTT 3.1.1 by a client; ends the connection ([MQTT-4.8.0-1]). */
export interface Violation {
  /** Number of the normative statement, or section of the standard where it has none. */
  readonly statement: string;
  readonly problem: string;
}

export function violation(statement: string, problem: string): Violation {
  return { statement, problem };
}

export function isViolation(result: object): result is Violation {
  return 'statement' in result;
}

/** Allowed by the standard, but refused here before any of the packet is buffered. */
export const PACKET_TOO_LARGE = violation('limit', 'packet is larger than the limit');

/** Whatever its type, a packet has the flags of table 2.2. */
export const WRONG_FLAGS = violation(
  'MQTT-2.2.2-2',
  'flags of the fixed header are not those of the packet type',
);

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

// UTF-8 encoded strings of control packets: two bytes of length, then the text (section 1.5.3).

const ILL_FORMED = violation('MQTT-1.5.3-1', 'text is not well-formed UTF-8');
const HAS_NUL = violation('MQTT-1.5.3-2', 'text has the character U+0000');
/** Section 1.5.3 lets a receiver close the connection for U+0001 to U+001F and U+007F to U+009F. */
const HAS_CONTROL = violation('MQTT 1.5.3', 'text has a control character');

/** Why these bytes are no text that a packet may carry; `undefined` when they are. */
export function textProblem(bytes: Buffer, start: number, end: number): Violation | undefined {
  let isAscii = true;
  for (let index = start; index < end; index++) {
    const byte = bytes[index] as number;
    if (byte < 0x20 || byte === 0x7f) return byte === 0 ? HAS_NUL : HAS_CONTROL;
    if (byte >= 0x80) isAscii = false;
  }
  return isAscii ? undefined : nonAsciiProblem(bytes, start, end);
}

/** Surrogates and overlong forms are ill-formed; U+0080 to U+009F are the bytes C2 80 to C2 9F. */
export function nonAsciiProblem(bytes: Buffer, start: number, end: number): Violation | undefined {
  if (!isUtf8(bytes.subarray(start, end))) return ILL_FORMED;
  for (let index = start; index < end - 1; index++)
    if (bytes[index] === 0xc2 && (bytes[index + 1] as number) <= 0x9f) return HAS_CONTROL;
  return undefined;
}

/** Walks through the fields of a packet body; every read answers `undefined` past its end. */
export class FieldReader {
  readonly #buffer: Buffer;
  readonly #end: number;
  #offset: number;

  constructor(buffer: Buffer, start: number, end: number) {
    this.#buffer = buffer;
    this.#offset = start;
    this.#end = end;
  }

  get remainingBytes(): number {
    return this.#end - this.#offset;
  }

  byte(): number | undefined {
    return this.#offset < this.#end ? this.#buffer[this.#offset++] : undefined;
  }

  uint16(): number | undefined {
    if (this.remainingBytes < 2) return undefined;
    this.#offset += 2;
    return this.#buffer.readUInt16BE(this.#offset - 2);
  }

  /** Length-prefixed bytes, as a view. */
  binary(): Buffer | undefined {
    const lengthBytes = this.uint16();
    if (lengthBytes === undefined || this.remainingBytes < lengthBytes) return undefined;
    this.#offset += lengthBytes;
    return this.#buffer.subarray(this.#offset - lengthBytes, this.#offset);
  }

  /** Length-prefixed text, or what is wrong with it. A byte order mark is kept ([MQTT-1.5.3-3]). */
  text(): string | Violation | undefined {
    const bytes = this.binary();
    if (bytes === undefined) return undefined;
    return textProblem(bytes, 0, bytes.length) ?? bytes.toString('utf8');
  }
}

// Topic names and topic filters (MQTT 3.1.1 chapter 4.7).

const SLASH = 0x2f;

export const EMPTY_TOPIC = violation('MQTT-4.7.3-1', 'topic is empty');
export const WILDCARD_IN_NAME = violation('MQTT-3.3.2-2', 'topic of a publication has a wildcard');
const BAD_HASH = violation('MQTT-4.7.1-2', '# is not the last level of the filter or not alone in it');
const BAD_PLUS = violation('MQTT-4.7.1-3', '+ does not occupy a whole level of the filter');

/** Why a text is no topic name for a publication or a will. */
export function topicNameProblem(topic: string): Violation | undefined {
  if (topic.length === 0) return EMPTY_TOPIC;
  return topic.includes('+') || topic.includes('#') ? WILDCARD_IN_NAME : undefined;
}

/** Why a text is no topic filter. */
export function topicFilterProblem(filter: string): Violation | undefined {
  if (filter.length === 0) return EMPTY_TOPIC;
  const levels = filter.split('/');
  for (const [index, level] of levels.entries()) {
    if (level.includes('#') && (level !== '#' || index !== levels.length - 1)) return BAD_HASH;
    if (level.includes('+') && level !== '+') return BAD_PLUS;
  }
  return undefined;
}

export function levelCount(topic: string): number {
  let levels = 1;
  for (let index = 0; index < topic.length; index++) if (topic.charCodeAt(index) === SLASH) levels++;
  return levels;
}
