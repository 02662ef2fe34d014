/**
 * The hook looks between the instructions of a script, never inside of the C library, where a pattern can be tried in
 * more ways than there is time for. So the loops of those C functions whose work has no bound count their steps down,
 * and call the host each time when the count is below zero: it may pause the script after that, or raise an error,
 * which all of these functions do themselves in those places.
 */

export const METER = {
  /** Steps between two calls of the host; some 0.1 ms. */
  steps: 65_536,
  /** Where the table of functions has it: behind what the file has, and two others of the host (adapter.ts). */
  entry: 200,
} as const;
/** Index of the global variable that counts, behind those of the file. */
const FUEL = 4;
/** Index among the file's types: (i32, i32) → nothing. */
const METER_TYPE = 4;

interface Metered {
  parameters: number;
  /** Size of its code, which identifies it. */
  sizeBytes: number;
  /** Steps of one turn of a loop. 0: loops are not counted. */
  steps: number;
  /** Where its `lua_State` is: the first parameter, or in what that points to; undefined: not at hand, it only counts. */
  state?: 'parameter' | 'match';
  /** It looks when it is called, too. */
  atEntry?: boolean;
  /** True when copied bytes count, too. */
  copies?: boolean;
  /** In the middle of an instruction of Lua: it may only be paused after that. */
  mayRaise?: boolean;
}

/** By their numbers in the file; a loop that calls Lua's own functions for each element counts for more. */
const METERED: ReadonlyMap<number, Metered> = new Map<number, Metered>([
  // match of lstrlib.c with everything it calls: recursive, so that its beginning is a loop.
  [497, { parameters: 3, sizeBytes: 2_611, steps: 1, state: 'match', atEntry: true, mayRaise: true }],
  // str_find_aux, gmatch_aux, str_gsub, str_rep.
  [492, { parameters: 2, sizeBytes: 1_277, steps: 1, state: 'parameter', mayRaise: true }],
  [495, { parameters: 1, sizeBytes: 831, steps: 1, state: 'parameter', mayRaise: true }],
  [496, { parameters: 1, sizeBytes: 1_297, steps: 1, state: 'parameter', mayRaise: true }],
  [502, { parameters: 1, sizeBytes: 292, steps: 4, state: 'parameter', mayRaise: true }],
  // tconcat, tinsert, tremove, tmove, auxsort of ltablib.c.
  [536, { parameters: 1, sizeBytes: 294, steps: 20, state: 'parameter', mayRaise: true }],
  [538, { parameters: 1, sizeBytes: 155, steps: 20, state: 'parameter', mayRaise: true }],
  [541, { parameters: 1, sizeBytes: 145, steps: 20, state: 'parameter', mayRaise: true }],
  [542, { parameters: 1, sizeBytes: 406, steps: 20, state: 'parameter', mayRaise: true }],
  [544, { parameters: 4, sizeBytes: 687, steps: 10, state: 'parameter', mayRaise: true }],
  // luaV_concat.
  [573, { parameters: 2, sizeBytes: 742, steps: 1, state: 'parameter', atEntry: true, copies: true }],
  // memchr, memcmp, strcmp.
  [615, { parameters: 3, sizeBytes: 225, steps: 1 }],
  [616, { parameters: 3, sizeBytes: 129, steps: 1 }],
  [626, { parameters: 2, sizeBytes: 77, steps: 1 }],
]);

/** Bytes that are copied while others are compared one by one. */
const COPIED_PER_STEP_BITS = 4;
/** Size of `MatchState` in lstrlib.c, 32 bit. */
const MATCH_STATE = 12;

const OP = {
  loop: 0x03,
  if: 0x04,
  end: 0x0b,
  callIndirect: 0x11,
  localGet: 0x20,
  localSet: 0x21,
  localTee: 0x22,
  globalGet: 0x23,
  globalSet: 0x24,
  load: 0x28,
  constant: 0x41,
  lessSigned: 0x48,
  subtract: 0x6b,
  shiftRight: 0x76,
  more: 0xfc,
} as const;
const MEMORY_COPY = 10;
const MEMORY_FILL = 11;
const NOTHING = 0x40;
const I32 = 0x7f;

/** The section of global variables with the one that counts; it begins at 0. */
export function globalsWithFuel(content: Buffer): Buffer {
  const reader = new Reader(content);
  if (reader.number() !== FUEL) throw unknownFile();
  const fuel = [I32, 1, OP.constant, 0, OP.end];
  return Buffer.concat([numberBytes(FUEL + 1), content.subarray(reader.at), Buffer.from(fuel)]);
}

/** The entry of the section of exports that makes it known to the host, as `fuel`. */
export function fuelExport(): Buffer {
  return Buffer.concat([sized(Buffer.from('fuel')), Buffer.from([3, FUEL])]);
}

/** The section of code, its first function having this number: functions without bound count and look. */
export function meteredCode(content: Buffer, firstNumber: number): Buffer {
  const reader = new Reader(content);
  const count = reader.number();
  const parts: Buffer[] = [numberBytes(count)];
  for (let index = 0; index < count; index++) {
    const body = reader.bytes(reader.number());
    const metered = METERED.get(firstNumber + index);
    parts.push(sized(metered ? meteredBody(body, metered) : body));
  }
  return Buffer.concat(parts);
}

function meteredBody(body: Buffer, metered: Metered): Buffer {
  if (body.length !== metered.sizeBytes) throw unknownFile();
  const reader = new Reader(body);
  const groups = reader.number();
  const localsStart = reader.at;
  let locals = metered.parameters;
  for (let group = 0; group < groups; group++) {
    locals += reader.number();
    reader.byte();
  }
  const state = locals;
  const copied = locals + 1;
  const parts = [numberBytes(groups + 1), reader.since(localsStart), Buffer.from([2, I32])];
  parts.push(stateInto(state, metered), metered.atEntry === true ? look(state, metered) : Buffer.alloc(0));
  let written = reader.at;
  while (!reader.isAtEnd) {
    const at = reader.at;
    const opcode = reader.byte();
    const operand = passOperands(reader, opcode);
    if (opcode === OP.loop) {
      parts.push(reader.since(written), look(state, metered));
      written = reader.at;
    } else if (opcode === OP.more && operand === MEMORY_COPY && metered.copies === true) {
      parts.push(body.subarray(written, at), copying(copied));
      written = at;
    }
  }
  return Buffer.concat([...parts, reader.since(written)]);
}

/** Parameters are variables that the function may change: what it was called with is kept. */
function stateInto(local: number, { state }: Metered): Buffer {
  if (state === undefined) return Buffer.alloc(0);
  const load = state === 'match' ? [OP.load, 2, MATCH_STATE] : [];
  return Buffer.from([OP.localGet, 0, ...load, OP.localSet, ...numberBytes(local)]);
}

/** Counts, and calls the host when the count is below zero. */
function look(local: number, { steps, state, mayRaise }: Metered): Buffer {
  const count = [OP.globalGet, FUEL, OP.constant, ...signedBytes(steps), OP.subtract, OP.globalSet, FUEL];
  if (state === undefined) return Buffer.from(count);
  const isOut = [OP.globalGet, FUEL, OP.constant, 0, OP.lessSigned];
  const values = [OP.localGet, ...numberBytes(local), OP.constant, mayRaise === true ? 1 : 0];
  const call = [OP.constant, ...signedBytes(METER.entry), OP.callIndirect, METER_TYPE, 0];
  return Buffer.from([...count, ...isOut, OP.if, NOTHING, ...values, ...call, OP.end]);
}

/** In front of a copy, whose length is on top. */
function copying(local: number): Buffer {
  const length = numberBytes(local);
  const steps = [OP.localGet, ...length, OP.constant, COPIED_PER_STEP_BITS, OP.shiftRight];
  return Buffer.from([OP.localTee, ...length, OP.globalGet, FUEL, ...steps, OP.subtract, OP.globalSet, FUEL]);
}

/** Reads past the operands of one instruction (section 5.4); returns the sub-opcode of an instruction that has one. */
function passOperands(reader: Reader, opcode: number): number {
  if ((opcode >= 0x02 && opcode <= 0x04) || opcode === 0x0c || opcode === 0x0d || opcode === 0x10)
    return reader.number();
  if (opcode === 0x0e) {
    // As many places to go to, and one for all other cases.
    for (let left = reader.number() + 1; left > 0; left--) reader.number();
    return 0;
  }
  if (opcode === OP.callIndirect || (opcode >= 0x28 && opcode <= 0x3e)) {
    reader.number();
    return reader.number();
  }
  if ((opcode >= 0x20 && opcode <= 0x24) || (opcode >= 0x3f && opcode <= 0x42)) return reader.number();
  if (opcode === 0x43 || opcode === 0x44) {
    reader.bytes(opcode === 0x43 ? 4 : 8);
    return 0;
  }
  if (opcode === OP.more) {
    const kind = reader.number();
    if (kind === MEMORY_COPY) reader.bytes(2);
    else if (kind === MEMORY_FILL) reader.bytes(1);
    else if (kind > MEMORY_FILL) throw unknownFile();
    return kind;
  }
  return 0;
}

// The binary format of WebAssembly, as far as fitting a file takes it (core specification, chapter 5).

/** Unsigned LEB128 (5.2.2). */
export function numberBytes(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** Signed LEB128 of a number that is not negative: the highest bit of the last byte is the sign. */
function signedBytes(value: number): Buffer {
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

  /** Bytes between an earlier place and here. */
  since(start: number): Buffer {
    return this.#file.subarray(start, this.at);
  }
}
