/** Arguments of host functions: what they must be, and the error that says so as Lua does. */
import { LuaError, LuaJson, type LuaValue, numberOf, textOf, typeNameOf } from './values.ts';

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

/** What a table says, as `read` reads JSON. @throws LuaError */
export function tableArgument(
  value: LuaValue,
  position: number,
  name: string,
  read: (text: string) => unknown = JSON.parse,
): unknown {
  if (!(value instanceof LuaJson)) throw badArgument(value, position, name, 'table');
  return read(value.text);
}

/** What older scripts keep in their storage is text: Lua takes it where a number is wanted. */
export function numberInText(text: string): number | undefined {
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined;
}

function badArgument(value: LuaValue, position: number, name: string, wanted: string): LuaError {
  return new LuaError(
    `bad argument #${position} to '${name}' (${wanted} expected, got ${typeNameOf(value)})`,
  );
}
