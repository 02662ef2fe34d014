/**
 * Messages of multicast DNS. The package `dns-packet` reads and writes them; this file adds the bit that RFC 6762 (section
 * 18.12) puts into the class of a question, and refuses what multicast DNS ignores. Pure.
 */
import type { Buffer } from 'node:buffer';
import {
  type Answer,
  AUTHORITATIVE_ANSWER,
  decode,
  encode,
  encodingLength,
  type OptAnswer,
  type RecordType,
} from 'dns-packet';

/** `flush`: its name belongs to one host, and other records of the name are replaced. `ttl` in seconds. */
export type DnsRecord = Exclude<Answer, OptAnswer>;
export type QuestionType = RecordType | 'ANY';

export interface Question {
  name: string;
  type: QuestionType;
  /** An answer to the sender alone is enough. */
  isUnicast: boolean;
}

export interface Message {
  id: number;
  isResponse: boolean;
  questions: readonly Question[];
  answers: readonly DnsRecord[];
  authorities: readonly DnsRecord[];
  additionals: readonly DnsRecord[];
}

const HEADER_BYTES = 12;
/** Operation and result code: messages with others are ignored (RFC 6762 sections 18.3 and 18.11). */
const OPERATION_OR_RESULT = 0x780f;
const UNICAST_CLASS = 0x8001;

/** The bytes of a message. */
export function encodeMessage(message: Partial<Message>): Buffer {
  const { id = 0, isResponse = false } = message;
  // The types of the package do not know that a question may be for any type.
  const questions = (message.questions ?? []).map(({ name, type }) => ({ name, type: type as RecordType }));
  const bytes = encode({
    id,
    type: isResponse ? 'response' : 'query',
    flags: isResponse ? AUTHORITATIVE_ANSWER : 0,
    questions,
    answers: [...(message.answers ?? [])],
    authorities: [...(message.authorities ?? [])],
    additionals: [...(message.additionals ?? [])],
  });
  for (const [index, { isUnicast }] of (message.questions ?? []).entries())
    if (isUnicast)
      bytes.writeUInt16BE(UNICAST_CLASS, encodingLength({ questions: questions.slice(0, index + 1) }) - 2);
  return bytes;
}

/** Undefined for bytes that are no message, or one that multicast DNS ignores. */
export function decodeMessage(bytes: Buffer): Message | undefined {
  if (bytes.length < HEADER_BYTES || (bytes.readUInt16BE(2) & OPERATION_OR_RESULT) !== 0) return undefined;
  try {
    const { id = 0, type, questions = [], answers, authorities, additionals } = decode(bytes);
    // The package reads past the end of a record that is cut off.
    if (decode.bytes > bytes.length) return undefined;
    return {
      id,
      isResponse: type === 'response',
      questions: questions.map((question) => ({
        name: question.name,
        type: question.type,
        isUnicast: (question.class as string) === `UNKNOWN_${UNICAST_CLASS}`,
      })),
      answers: internetRecords(answers),
      authorities: internetRecords(authorities),
      additionals: internetRecords(additionals),
    };
  } catch {
    return undefined;
  }
}

function internetRecords(records: readonly Answer[] = []): DnsRecord[] {
  return records.filter((record): record is DnsRecord => record.type !== 'OPT' && record.class === 'IN');
}

/** The data of a record as bytes, by which RFC 6762 compares records. */
export function dataOf({ type, data }: DnsRecord): Buffer {
  const record = { name: '.', type, data } as Answer;
  return encode({ answers: [record] }).subarray(HEADER_BYTES + '\0'.length + 10);
}

/** Names differ in nothing but the case of letters. */
export function isSameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

export function isSameRecord(a: DnsRecord, b: DnsRecord): boolean {
  return a.type === b.type && isSameName(a.name, b.name) && dataOf(a).equals(dataOf(b));
}
