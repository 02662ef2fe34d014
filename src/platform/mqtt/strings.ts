/** UTF-8 encoded strings of control packets: two bytes of length, then the text (section 1.5.3). */
import { isUtf8 } from 'node:buffer';
import { violation, type Violation } from './packet-types.ts';

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
