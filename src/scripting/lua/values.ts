/**
 * Values that are handed over between a script and its host.
 *
 *   Lua        to the host            from the host
 *   nil        undefined              undefined
 *   boolean    boolean                boolean
 *   integer    bigint, exact          bigint
 *   float      number                 number, also when integral: 2 comes in as 2.0
 *   string     Buffer, exact bytes    Uint8Array exact, or string as UTF-8
 *   table      LuaJson                LuaJson, LuaData
 *
 * Functions, coroutines and userdata do not cross. Strings are bytes on the way out, so that nothing is decoded
 * by accident: whoever wants text asks for it with `textOf`.
 */
import { exactJson } from '../../lib/json.ts';

/** A table, or any value, as JSON text by the rules of docs/interface/lua-devices.md#values. */
export class LuaJson {
  readonly text: string;
  /** Absent: it must be JSON; otherwise it is repaired, and takes the names of values that were left out. */
  readonly onLeftOut: ((names: readonly string[]) => void) | undefined = undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** The text with one character per byte of its UTF-8, as the reader takes it. */
  get byteText(): string {
    return Buffer.from(this.text).toString('latin1');
  }

  /** Text of bytes from a script; their faults show when they are pushed. */
  static ofBytes(bytes: Buffer, onLeftOut: (names: readonly string[]) => void): LuaJson {
    return new LuaJsonBytes(bytes, onLeftOut);
  }
}

class LuaJsonBytes extends LuaJson {
  readonly #bytes: Buffer;
  override readonly onLeftOut: (names: readonly string[]) => void;

  constructor(bytes: Buffer, onLeftOut: (names: readonly string[]) => void) {
    super('');
    this.#bytes = bytes;
    this.onLeftOut = onLeftOut;
  }

  override get byteText(): string {
    return this.#bytes.toString('latin1');
  }
}

/** A JSON value on its way to a script without being text in between. `bigint`: an integer beyond 2^53. */
export class LuaData {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/** A value as it comes from a script: integers as bigint, texts as bytes, tables as JSON. */
export type LuaValue = undefined | boolean | bigint | number | Buffer | LuaJson;
export type LuaResult = undefined | boolean | bigint | number | string | Uint8Array | LuaJson | LuaData;

/** An error that the script sees, at the line that called the host. */
export class LuaError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'LuaError';
  }
}

/** UTF-8 text of a Lua string, bytes that are none as U+FFFD; of a number as Lua writes it; else undefined. */
export function textOf(value: LuaValue): string | undefined {
  if (Buffer.isBuffer(value)) return value.toString('utf8');
  if (typeof value === 'bigint') return value.toString();
  return typeof value === 'number' ? formatFloat(value) : undefined;
}

/** A number of either kind; undefined for anything else. */
export function numberOf(value: LuaValue): number | undefined {
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'number' ? value : undefined;
}

/** As Lua's `tostring` writes a float: `%.14g`, with `.0` when it looks like an integer. */
export function formatFloat(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  const rounded = roundHalfToEven(value);
  const [mantissa = '', exponent = '0'] = rounded.split('e');
  if (value !== 0 && (Number(exponent) >= DIGITS || Number(exponent) < -4))
    return `${mantissa.replace(/(?<!0)\.?0+$/, '')}e${exponent.replace(/^([+-])(\d)$/, '$10$2')}`;
  const exact = Number(rounded);
  const text = Object.is(value, -0) ? '-0' : String(exact);
  return Number.isInteger(exact) ? `${text}.0` : text;
}

/** Digits of Lua's LUAI_NUMFFORMAT. */
const DIGITS = 14;

/** An exact half after the last digit: `toExponential` takes the larger number, C's `printf` the even one. */
const EVEN_AND_HALF = new RegExp(`^(-?\\d\\.\\d{${DIGITS - 2}}[02468])50*(e.*)$`);

function roundHalfToEven(value: number): string {
  const isNearHalf = value.toExponential(DIGITS).includes('5e');
  const half = isNearHalf ? EVEN_AND_HALF.exec(value.toExponential(100)) : null;
  return half === null ? value.toExponential(DIGITS - 1) : `${half[1]}${half[2]}`;
}

/** JSON text of any value that crossed. @throws LuaError for a number that is not finite */
export function jsonOf(value: LuaValue): string {
  if (value === undefined) return 'null';
  if (value instanceof LuaJson) return value.text;
  if (Buffer.isBuffer(value)) return JSON.stringify(value.toString('utf8'));
  if (typeof value !== 'number') return String(value);
  if (!Number.isFinite(value)) throw new LuaError('a number that is not finite cannot be written as JSON');
  return exactJson(value);
}

/** Lua's word for the type, for messages. */
function typeNameOf(value: LuaValue): string {
  if (value === undefined) return 'nil';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'bigint' || typeof value === 'number') return 'number';
  return Buffer.isBuffer(value) ? 'string' : 'table';
}

// Arguments of host functions: what they must be, and the error that says so as Lua does.

/** A number, or the text of one. @throws LuaError */
export function numberArgument(value: LuaValue, position: number, name: string): number {
  const number =
    numberOf(value) ?? (Buffer.isBuffer(value) ? numberInText(value.toString('latin1')) : undefined);
  if (number === undefined) throw badArgument(value, position, name, 'number');
  return number;
}

/** The same, or `missing` where nothing is given. @throws LuaError */
export function numberArgumentOr<Missing>(
  value: LuaValue,
  position: number,
  name: string,
  missing: Missing,
): number | Missing {
  return value === undefined ? missing : numberArgument(value, position, name);
}

/** Text of a string or number. @throws LuaError */
export function textArgument(value: LuaValue, position: number, name: string): string {
  const text = textOf(value);
  if (text === undefined) throw badArgument(value, position, name, 'string');
  return text;
}

/** Exact bytes of a string or number. @throws LuaError */
export function bytesArgument(value: LuaValue, position: number, name: string): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.from(textArgument(value, position, name));
}

/** The content of a table, in the form of `read` for JSON. @throws LuaError */
export function tableArgument(
  value: LuaValue,
  position: number,
  name: string,
  read: (text: string) => unknown = JSON.parse,
): unknown {
  if (!(value instanceof LuaJson)) throw badArgument(value, position, name, 'table');
  return read(value.text);
}

/** A number in a text: older scripts keep texts in their storage, and Lua takes them where a number is wanted. */
export function numberInText(text: string): number | undefined {
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined;
}

function badArgument(value: LuaValue, position: number, name: string, wanted: string): LuaError {
  return new LuaError(
    `bad argument #${position} to '${name}' (${wanted} expected, got ${typeNameOf(value)})`,
  );
}
