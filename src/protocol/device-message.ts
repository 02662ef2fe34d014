/** The JSON object that every message of a device is (docs/interface/mqtt-devices.md#messages). Pure. */
import {
  JsonExcess,
  JsonFault,
  type JsonLimits,
  parseExactJson,
  parseJson,
  wellFormedJson,
} from '../lib/json.ts';
import { repairedJson } from '../lib/repaired-json.ts';

type DecodedMessage =
  | { body: Record<string, unknown>; leftOut: readonly string[]; problem?: undefined }
  | { body?: undefined; leftOut?: undefined; problem: string };

const NOTHING: readonly string[] = [];
/** Some clients end even an empty text with NUL or a new line. */
const BLANK = /^[\0\s]*$/;

/**
 * Decodes a payload. The object has no prototype, so that `constructor` is a name like any other. Integers
 * beyond 2^53 come as `bigint` when `exact`, else rounded. What small encoders get wrong is repaired; `leftOut` names the
 * values that have no meaning, such as `nan`. Every text is well-formed, so that what is shown is what is stored. An empty
 * payload is `{}` when `mayBeEmpty`.
 */
export function decodeMessage(
  payload: Buffer,
  limits: JsonLimits,
  options: { exact: boolean; mayBeEmpty: boolean },
): DecodedMessage {
  // Bytes that are no UTF-8 become U+FFFD: they cost the text they are in.
  const text = payload.toString('utf8');
  if (BLANK.test(text))
    return options.mayBeEmpty
      ? { body: Object.create(null) as Record<string, unknown>, leftOut: NOTHING }
      : problem('is empty');
  const parse = options.exact ? parseExactJson : parseJson;
  let value: unknown;
  let leftOut = NOTHING;
  try {
    ({ value, leftOut } = readRepaired(text, (json) => parse(wellFormedJson(json), limits)));
  } catch (error) {
    if (error instanceof JsonExcess) return problem(error.message);
    if (error instanceof SyntaxError) return problem(`is not JSON (${error.message})`);
    throw error;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return problem('is not a JSON object');
  return { body: Object.setPrototypeOf(value, null) as Record<string, unknown>, leftOut };
}

/** @throws JsonFault that of the text as it was sent; JsonExcess */
function readRepaired(
  text: string,
  parse: (json: string) => unknown,
): { value: unknown; leftOut: readonly string[] } {
  try {
    return { value: parse(text), leftOut: NOTHING };
  } catch (error) {
    const repaired = error instanceof JsonFault ? repairedJson(text) : undefined;
    if (!repaired) throw error;
    return { value: parse(repaired.text), leftOut: repaired.leftOut };
  }
}

function problem(text: string): DecodedMessage {
  return { problem: `A message ${text} and was dropped.` };
}
