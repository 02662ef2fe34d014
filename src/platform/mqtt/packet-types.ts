/** Control packet types of MQTT 3.1.1, table 2.1. 0 and 15 are reserved. */
export const CONNECT = 1;
export const CONNACK = 2;
export const PUBLISH = 3;
export const PUBACK = 4;
export const PUBREC = 5;
export const PUBREL = 6;
export const PUBCOMP = 7;
export const SUBSCRIBE = 8;
export const SUBACK = 9;
export const UNSUBSCRIBE = 10;
export const UNSUBACK = 11;
export const PINGREQ = 12;
export const PINGRESP = 13;
export const DISCONNECT = 14;

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
