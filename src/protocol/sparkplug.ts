/**
 * Payloads of Sparkplug B: protocol buffers of the few members that a node of values needs. Pure.
 * Source: Eclipse Sparkplug 3.0.0, chapter 6, and its sparkplug_b.proto.
 */
import { Buffer } from 'node:buffer';
import type { EpochMs } from '../lib/time.ts';

/** Data types of metrics and their properties. */
export const DATATYPES = { INT64: 4, DOUBLE: 10, BOOLEAN: 11, STRING: 12 } as const;
export type Datatype = (typeof DATATYPES)[keyof typeof DATATYPES];

export interface SparkplugMetric {
  name: string;
  timestampMs: EpochMs;
  datatype: Datatype;
  /** null: it has none now. INT64 takes whole numbers of either type. */
  value: number | bigint | boolean | string | null;
  /** Stored meanwhile: it is not the value of now. */
  isHistorical?: boolean;
  unit?: string | undefined;
}

interface SparkplugPayload {
  timestampMs: EpochMs;
  metrics: readonly SparkplugMetric[];
  /** Absent in a death of a node. */
  seq?: number;
}

export const REBIRTH = 'Node Control/Rebirth';

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

const PAYLOAD = { timestamp: 1, metrics: 2, seq: 3 };
const METRIC = {
  name: 1,
  timestamp: 3,
  datatype: 4,
  isHistorical: 5,
  isNull: 7,
  properties: 9,
  long: 11,
  double: 13,
  boolean: 14,
  string: 15,
};
const PROPERTIES = { keys: 1, values: 2 };
const PROPERTY = { type: 1, string: 8 };

class Writer {
  #bytes = Buffer.allocUnsafe(256);
  #length = 0;

  take(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length));
  }

  integer(field: number, value: number | bigint | boolean): this {
    this.#varint(field * 8 + VARINT);
    this.#varint(typeof value === 'boolean' ? Number(value) : value);
    return this;
  }

  double(field: number, value: number): this {
    this.#varint(field * 8 + FIXED64);
    this.#length = this.#bufferFor(8).writeDoubleLE(value, this.#length);
    return this;
  }

  bytes(field: number, value: Buffer | string): this {
    const bytes = Buffer.from(value);
    this.#varint(field * 8 + BYTES);
    this.#varint(bytes.length);
    bytes.copy(this.#bufferFor(bytes.length), this.#length);
    this.#length += bytes.length;
    return this;
  }

  #varint(value: number | bigint): void {
    // Ten groups of seven bits hold 64 bits; negative numbers have all of them.
    const bytes = this.#bufferFor(10);
    if (typeof value === 'bigint' || value < 0) {
      let rest = BigInt.asUintN(64, BigInt(value));
      for (; rest > 0x7fn; rest >>= 7n) bytes[this.#length++] = Number(rest & 0x7fn) | 0x80;
      bytes[this.#length++] = Number(rest);
      return;
    }
    let rest = value;
    for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes[this.#length++] = (rest % 0x80) | 0x80;
    bytes[this.#length++] = rest;
  }

  #bufferFor(count: number): Buffer {
    if (this.#length + count <= this.#bytes.length) return this.#bytes;
    const larger = Buffer.allocUnsafe(2 * this.#bytes.length + count);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
    return larger;
  }
}

export function encodeSparkplug({ timestampMs, metrics, seq }: SparkplugPayload): Buffer {
  const writer = new Writer().integer(PAYLOAD.timestamp, timestampMs);
  for (const metric of metrics) writer.bytes(PAYLOAD.metrics, encodeMetric(metric));
  if (seq !== undefined) writer.integer(PAYLOAD.seq, seq);
  return writer.take();
}

function encodeMetric({ name, timestampMs, datatype, value, isHistorical, unit }: SparkplugMetric): Buffer {
  const writer = new Writer()
    .bytes(METRIC.name, name)
    .integer(METRIC.timestamp, timestampMs)
    .integer(METRIC.datatype, datatype);
  if (isHistorical) writer.integer(METRIC.isHistorical, true);
  if (unit !== undefined) writer.bytes(METRIC.properties, encodeUnit(unit));
  if (value === null) return writer.integer(METRIC.isNull, true).take();
  if (typeof value === 'string') return writer.bytes(METRIC.string, value).take();
  if (typeof value === 'boolean') return writer.integer(METRIC.boolean, value).take();
  if (datatype === DATATYPES.INT64) return writer.integer(METRIC.long, value).take();
  return writer.double(METRIC.double, Number(value)).take();
}

const encodeUnit = (unit: string): Buffer =>
  new Writer()
    .bytes(PROPERTIES.keys, 'engUnit')
    .bytes(
      PROPERTIES.values,
      new Writer().integer(PROPERTY.type, DATATYPES.STRING).bytes(PROPERTY.string, unit).take(),
    )
    .take();

/** True for a command to a node that asks it to say again what it has; false for whatever else it is. */
export function asksRebirth(payload: Buffer): boolean {
  try {
    for (const [field, metric] of fieldsOf(payload)) {
      if (field !== PAYLOAD.metrics || typeof metric === 'number') continue;
      const members = new Map(fieldsOf(metric));
      if (String(members.get(METRIC.name)) === REBIRTH && members.get(METRIC.boolean) === 1) return true;
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return false;
}

/** Numbers of fields with what they hold; a number of fixed length is none of interest. @throws RangeError */
function* fieldsOf(bytes: Buffer): Generator<[field: number, value: number | Buffer]> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = bytes.readUInt8(at++);
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    const wire = key % 8;
    const field = Math.floor(key / 8);
    if (wire === VARINT) {
      yield [field, varint()];
      continue;
    }
    const length = wire === BYTES ? varint() : wire === FIXED64 ? 8 : wire === FIXED32 ? 4 : Number.NaN;
    if (!(at + length <= bytes.length)) throw new RangeError('no payload of Sparkplug');
    yield [field, bytes.subarray(at, at + length)];
    at += length;
  }
}
