/** The JSON object that every message of a device is. Source: mqtt-device-protocol.md sections 6 and 12. Pure. */
import { isUtf8 } from 'node:buffer';
import { parseExactJson } from './telemetry.ts';

export interface MessageLimits {
  /** UTF-16 units of one key. */
  keyLength: number;
  /** Levels of objects and arrays, the outer object included. */
  depth: number;
}

export type DecodedMessage =
  | { body: Record<string, unknown>; problem?: undefined }
  | { body?: undefined; problem: string };

/**
 * Decodes a payload. The object has no prototype, so that `constructor` is a name like any other. Integers
 * beyond 2^53 come as `bigint` when `exact`, else rounded. An empty payload is `{}` when `mayBeEmpty`.
 */
export function decodeMessage(
  payload: Buffer,
  limits: MessageLimits,
  options: { exact: boolean; mayBeEmpty: boolean },
): DecodedMessage {
  if (payload.length === 0)
    return options.mayBeEmpty
      ? { body: Object.create(null) as Record<string, unknown> }
      : problem('is empty');
  if (!isUtf8(payload)) return problem('is not UTF-8');
  let value: unknown;
  try {
    const text = payload.toString('utf8');
    value = options.exact ? parseExactJson(text) : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return problem(`is not JSON: ${error.message}`);
    // Nesting beyond what the parser's stack takes.
    if (error instanceof RangeError) return problem('is nested too deep');
    throw error;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return problem('is not a JSON object');
  const excess = excessOf(value, limits, 1);
  if (excess !== undefined) return problem(excess);
  return { body: Object.setPrototypeOf(value, null) as Record<string, unknown> };
}

function problem(text: string): DecodedMessage {
  return { problem: `A message ${text} and was dropped.` };
}

function excessOf(value: object, limits: MessageLimits, depth: number): string | undefined {
  if (depth > limits.depth) return `has more than ${limits.depth} levels`;
  const isList = Array.isArray(value);
  for (const key in value) {
    if (!isList && key.length > limits.keyLength)
      return `has a key of more than ${limits.keyLength} characters`;
    const item = (value as Record<string, unknown>)[key];
    if (typeof item !== 'object' || item === null) continue;
    const excess = excessOf(item, limits, depth + 1);
    if (excess !== undefined) return excess;
  }
  return undefined;
}
