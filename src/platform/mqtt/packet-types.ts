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

/** What a client did that MQTT 3.1.1 forbids; ends the connection ([MQTT-4.8.0-1]). */
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

/** Not forbidden by the standard but by us, before any of it is buffered. */
export const PACKET_TOO_LARGE = violation('limit', 'packet is larger than the limit');

/** Whatever its type, a packet has the flags of table 2.2. */
export const WRONG_FLAGS = violation(
  'MQTT-2.2.2-2',
  'flags of the fixed header are not those of the packet type',
);
