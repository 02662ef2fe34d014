/** CONNECT: what it says, or how it is turned away (MQTT 3.1.1 chapter 3.1). */
import type { DurationS } from '../../lib/time.ts';
import {
  FieldReader,
  levelCount,
  PACKET,
  PACKET_TOO_LARGE,
  topicNameProblem,
  violation,
  type Violation,
  WRONG_FLAGS,
} from './packets.ts';
import type { PublicationsContext } from './publications.ts';
import type { IdentityRecord } from './sessions.ts';
import type { MqttSession } from './types.ts';

export interface Connect {
  readonly clientId: string;
  readonly cleanSession: boolean;
  /** Seconds; 0 when the client asks for none. */
  readonly keepAliveS: DurationS;
  readonly will: Will | undefined;
  readonly username: string | undefined;
  readonly password: Buffer | undefined;
}

interface Will {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly isRetained: boolean;
}

/** Turned away with an answer; the connection closes after it. */
interface ConnectRefusal {
  readonly answer: Buffer;
  readonly result: 'unacceptable_protocol' | 'identifier_rejected';
}

const NOT_CONNECT = violation('MQTT-3.1.0-1', 'first packet is not CONNECT');
const TRUNCATED = violation('MQTT-3.1.4-1', 'CONNECT ends before its fields do');
const EXCESS = violation('MQTT-3.1.4-1', 'CONNECT has bytes behind its last field');
const BAD_NAME = violation('MQTT-3.1.2-1', 'protocol name is not MQTT');
const RESERVED_FLAG = violation('MQTT-3.1.2-3', 'reserved flag of CONNECT is set');
const WILL_FLAGS = violation('MQTT-3.1.2-11', 'will QoS or will retain without a will');
const WILL_QOS = violation('MQTT-3.1.2-14', 'will QoS is 3');
const PASSWORD_ALONE = violation('MQTT-3.1.2-22', 'password without user name');

/** Answer to a login: CONNACK with a return code of table 3.1. */
export function connack(returnCode: number, sessionPresent = false): Buffer {
  return Buffer.from([0x20, 2, sessionPresent ? 1 : 0, returnCode]);
}

/** MQTT 5 section 3.2 shape: reason 0x84 unsupported protocol version, no properties. */
const CONNACK_VERSION_5 = Buffer.from([0x20, 3, 0, 0x84, 0]);

/** Judges the fixed header of the first packet of a connection. */
export function connectHeaderProblem(
  firstByte: number,
  remainingLengthBytes: number,
  packetBytesMax: number,
): Violation | undefined {
  if (firstByte >> 4 !== PACKET.connect) return NOT_CONNECT;
  if ((firstByte & 0x0f) !== 0) return WRONG_FLAGS;
  return remainingLengthBytes > packetBytesMax ? PACKET_TOO_LARGE : undefined;
}

export function parseConnect(
  buffer: Buffer,
  start: number,
  end: number,
): Connect | ConnectRefusal | Violation {
  const fields = new FieldReader(buffer, start, end);
  const name = fields.text();
  const level = fields.byte();
  if (typeof name === 'object') return name;
  if (name === undefined || level === undefined) return TRUNCATED;
  if (name !== 'MQTT' && name !== 'MQIsdp') return BAD_NAME;
  // [MQTT-3.1.2-2]: another level is answered with return code 1.
  if (level !== (name === 'MQTT' ? 4 : 3)) {
    const answer = name === 'MQTT' && level === 5 ? CONNACK_VERSION_5 : connack(1);
    return { answer, result: 'unacceptable_protocol' };
  }
  const flags = fields.byte();
  const keepAliveS = fields.uint16();
  if (flags === undefined || keepAliveS === undefined) return TRUNCATED;
  return flagsProblem(flags) ?? parsePayload(fields, flags, keepAliveS);
}

function flagsProblem(flags: number): Violation | undefined {
  if (flags & 0x01) return RESERVED_FLAG;
  // [MQTT-3.1.2-13] and [MQTT-3.1.2-15] say the same for each of the two fields.
  if (!(flags & 0x04) && flags & 0x38) return WILL_FLAGS;
  if ((flags & 0x18) === 0x18) return WILL_QOS;
  if (flags & 0x40 && !(flags & 0x80)) return PASSWORD_ALONE;
  return undefined;
}

/** Fields follow in the order client id, will topic, will message, user name, password ([MQTT-3.1.3-1]). */
function parsePayload(
  fields: FieldReader,
  flags: number,
  keepAliveS: DurationS,
): Connect | ConnectRefusal | Violation {
  const clientId = fields.text();
  const willTopic = flags & 0x04 ? fields.text() : '';
  const willPayload = flags & 0x04 ? fields.binary() : EMPTY;
  const username = flags & 0x80 ? fields.text() : '';
  const password = flags & 0x40 ? fields.binary() : EMPTY;
  for (const text of [clientId, willTopic, username]) if (typeof text === 'object') return text;
  if (typeof clientId !== 'string' || typeof willTopic !== 'string' || typeof username !== 'string')
    return TRUNCATED;
  if (willPayload === undefined || password === undefined) return TRUNCATED;
  if (fields.remainingBytes > 0) return EXCESS;
  const cleanSession = (flags & 0x02) !== 0;
  if (flags & 0x04) {
    const problem = topicNameProblem(willTopic);
    if (problem) return problem;
  }
  // [MQTT-3.1.3-8]: no name to keep a session under.
  if (clientId === '' && !cleanSession) return { answer: connack(2), result: 'identifier_rejected' };
  return {
    clientId,
    cleanSession,
    keepAliveS,
    will: flags & 0x04 ? { topic: willTopic, payload: willPayload, ...willFlags(flags) } : undefined,
    username: flags & 0x80 ? username : undefined,
    password: flags & 0x40 ? password : undefined,
  };
}

const EMPTY = Buffer.alloc(0);

function willFlags(flags: number): Pick<Will, 'qos' | 'isRetained'> {
  return { qos: ((flags >> 3) & 3) as 0 | 1 | 2, isRetained: (flags & 0x20) !== 0 };
}

// Wills: delivered like a message when a session ends without DISCONNECT ([MQTT-3.1.2-8]).

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
