/**
 * Messages of multicast DNS as bytes. Source: RFC 1035 section 4, RFC 6762 section 18, RFC 2782 (SRV), RFC 4034
 * section 4.1 (NSEC). Names are texts with dots; labels of ours have none inside. Pure; whatever comes from the
 * network is read within bounds or not at all.
 */
import { Buffer } from 'node:buffer';
import type { DurationS } from '../../lib/time.ts';

export const TYPE = { A: 1, PTR: 12, TXT: 16, SRV: 33, NSEC: 47, ANY: 255 } as const;
const CLASS_IN = 1;
/** In a question: an answer to the asker alone is enough. In a record: its name belongs to one host. */
const TOP_BIT = 0x8000;

export interface Question {
  name: string;
  type: number;
  isUnicast: boolean;
}

export interface DnsRecord {
  name: string;
  type: number;
  ttlS: DurationS;
  /** Its name belongs to one host, and what others keep of it is replaced. */
  isUnique: boolean;
  /** Names inside are whole, never pointers. */
  data: Buffer;
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
const RESPONSE_FLAGS = 0x8400;
/** More than any honest message has. */
const ENTRIES_MAX = 256;
const NAME_BYTES_MAX = 255;
const LABEL_BYTES_MAX = 63;
const NAME_STEPS_MAX = 128;

/** @throws RangeError for a name that has no wire form; ours have */
export function encodeName(name: string): Buffer {
  const labels = name.split('.').map((label) => {
    const bytes = Buffer.from(label);
    if (bytes.length === 0 || bytes.length > LABEL_BYTES_MAX) throw new RangeError(`no name: ${name}`);
    return Buffer.concat([Buffer.of(bytes.length), bytes]);
  });
  const encoded = Buffer.concat([...labels, Buffer.of(0)]);
  if (encoded.length > NAME_BYTES_MAX) throw new RangeError(`no name: ${name}`);
  return encoded;
}

export function encodeMessage(message: Partial<Message>): Buffer {
  const {
    id = 0,
    isResponse = false,
    questions = [],
    answers = [],
    authorities = [],
    additionals = [],
  } = message;
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(isResponse ? RESPONSE_FLAGS : 0, 2);
  for (const [index, { length }] of [questions, answers, authorities, additionals].entries())
    header.writeUInt16BE(length, 4 + index * 2);
  return Buffer.concat([
    header,
    ...questions.map(encodeQuestion),
    ...[...answers, ...authorities, ...additionals].map(encodeRecord),
  ]);
}

function encodeQuestion({ name, type, isUnicast }: Question): Buffer {
  const tail = Buffer.alloc(4);
  tail.writeUInt16BE(type, 0);
  tail.writeUInt16BE(CLASS_IN | (isUnicast ? TOP_BIT : 0), 2);
  return Buffer.concat([encodeName(name), tail]);
}

function encodeRecord({ name, type, ttlS, isUnique, data }: DnsRecord): Buffer {
  const head = Buffer.alloc(10);
  head.writeUInt16BE(type, 0);
  head.writeUInt16BE(CLASS_IN | (isUnique ? TOP_BIT : 0), 2);
  head.writeUInt32BE(ttlS, 4);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([encodeName(name), head, data]);
}

/** Undefined: this is no message, or one with an operation or a result code of another kind (RFC 6762 18.3, 18.11). */
export function decodeMessage(bytes: Buffer): Message | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  const flags = bytes.readUInt16BE(2);
  if ((flags & 0x780f) !== 0) return undefined;
  const counts = [4, 6, 8, 10].map((at) => bytes.readUInt16BE(at));
  if (counts.reduce((sum, count) => sum + count, 0) > ENTRIES_MAX) return undefined;
  const reader = new Reader(bytes);
  try {
    const [questions = 0, answers = 0, authorities = 0, additionals = 0] = counts;
    return {
      id: bytes.readUInt16BE(0),
      isResponse: (flags & TOP_BIT) !== 0,
      questions: Array.from({ length: questions }, () => reader.question()),
      answers: reader.records(answers),
      authorities: reader.records(authorities),
      additionals: reader.records(additionals),
    };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Goes through a message from its head; whatever lies beyond its end is a RangeError. */
class Reader {
  readonly #bytes: Buffer;
  #at = HEADER_BYTES;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  question(): Question {
    const name = this.#name();
    const type = this.#number16();
    return { name, type, isUnicast: (this.#number16() & TOP_BIT) !== 0 };
  }

  records(count: number): DnsRecord[] {
    return Array.from({ length: count }, () => this.#record()).filter((record) => record !== undefined);
  }

  /** Undefined: one of another class. */
  #record(): DnsRecord | undefined {
    const name = this.#name();
    const type = this.#number16();
    const classBits = this.#number16();
    const ttlS = this.#number16() * 0x1_0000 + this.#number16();
    const sizeBytes = this.#number16();
    const end = this.#at + sizeBytes;
    if (end > this.#bytes.length) throw new RangeError('a record is cut off');
    const data = this.#data(type, end);
    this.#at = end;
    if ((classBits & ~TOP_BIT) !== CLASS_IN) return undefined;
    return { name, type, ttlS, isUnique: (classBits & TOP_BIT) !== 0, data };
  }

  #data(type: number, end: number): Buffer {
    if (type === TYPE.PTR) return encodeName(this.#name());
    if (type === TYPE.SRV) {
      const head = Buffer.from(this.#bytes.subarray(this.#at, this.#at + 6));
      this.#at += 6;
      return Buffer.concat([head, encodeName(this.#name())]);
    }
    return Buffer.from(this.#bytes.subarray(this.#at, end));
  }

  #number16(): number {
    const number = this.#bytes.readUInt16BE(this.#at);
    this.#at += 2;
    return number;
  }

  /** The end of a name may be a pointer to an earlier one. */
  #name(): string {
    const labels: string[] = [];
    let at = this.#at;
    let end: number | undefined;
    for (let steps = 0; steps < NAME_STEPS_MAX; steps += 1) {
      const length = this.#bytes.readUInt8(at);
      if (length === 0) {
        this.#at = end ?? at + 1;
        return labels.join('.');
      }
      if (length >= 0xc0) {
        end ??= at + 2;
        at = this.#bytes.readUInt16BE(at) & 0x3fff;
      } else {
        if (length > LABEL_BYTES_MAX || at + 1 + length > this.#bytes.length)
          throw new RangeError('no label');
        labels.push(this.#bytes.toString('utf8', at + 1, at + 1 + length));
        at += 1 + length;
      }
    }
    throw new RangeError('a name without an end');
  }
}

/** Names differ in nothing but the case of letters. */
export function isSameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

export function isSameRecord(a: DnsRecord, b: DnsRecord): boolean {
  return a.type === b.type && isSameName(a.name, b.name) && a.data.equals(b.data);
}
