/** The JSON object that every message of a device is (docs/interface/mqtt-devices.md#messages). Pure. */
import { isUtf8 } from 'node:buffer';
import { JsonExcess, type JsonLimits, readJson } from '../lib/json-reader.ts';

type DecodedMessage =
  | { body: Record<string, unknown>; problem?: undefined }
  | { body?: undefined; problem: string };

/**
 * Decodes a payload. The object has no prototype, so that `constructor` is a name like any other. Integers
 * beyond 2^53 come as `bigint` when `exact`, else rounded. NaN and Infinity, which Python's encoder writes, come as
 * the numbers they mean, so that whoever takes the value refuses it and not the message. Every text is
 * well-formed, so that what is shown is what is stored. An empty payload is `{}` when `mayBeEmpty`.
 */
export function decodeMessage(
  payload: Buffer,
  limits: JsonLimits,
  options: { exact: boolean; mayBeEmpty: boolean },
): DecodedMessage {
  if (payload.length === 0)
    return options.mayBeEmpty
      ? { body: Object.create(null) as Record<string, unknown> }
      : problem('is empty');
  if (!isUtf8(payload)) return problem('is not UTF-8');
  let value: unknown;
  try {
    const reading = { limits, exact: options.exact, nonFinite: true, wellFormed: true };
    value = readJson(payload.toString('utf8'), reading);
  } catch (error) {
    if (error instanceof JsonExcess) return problem(error.message);
    if (error instanceof SyntaxError) return problem(`is not JSON: ${error.message}`);
    throw error;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return problem('is not a JSON object');
  return { body: Object.setPrototypeOf(value, null) as Record<string, unknown> };
}

function problem(text: string): DecodedMessage {
  return { problem: `A message ${text} and was dropped.` };
}
