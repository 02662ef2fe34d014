/** The binary format of WebAssembly, as far as fitting a file takes it (core specification, chapter 5). */

/** Unsigned LEB128 (5.2.2). */
export function numberBytes(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** Signed LEB128 of a number that is not negative: the highest bit of the last byte is the sign. */
export function signedBytes(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x3f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** Content with its length in front. */
export function sized(content: Uint8Array): Buffer {
  return Buffer.concat([numberBytes(content.length), content]);
}

/** The file is another one than this binding was made for. */
export function unknownFile(): Error {
  return new Error('the WebAssembly file of wasmoon is not the one this binding was made for');
}

export class Reader {
  readonly #file: Buffer;
  at: number;

  constructor(file: Buffer, at = 0) {
    this.#file = file;
    this.at = at;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#file.length;
  }

  byte(): number {
    return this.#file.readUInt8(this.at++);
  }

  /** Unsigned LEB128. */
  number(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  bytes(count: number): Buffer {
    this.at += count;
    return this.#file.subarray(this.at - count, this.at);
  }

  /** What lies between a place that was passed and here. */
  since(start: number): Buffer {
    return this.#file.subarray(start, this.at);
  }
}
