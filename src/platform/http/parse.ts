/**
 * From raw query and body to checked values. Every fault is listed, one problem per fault, so that a person
 * corrects a request in one go. Bodies are JSON whatever `Content-Type` says (docs/interface/http.md#requests).
 */
import { type BaseIssue, type GenericSchema, getDotPath, type InferOutput, safeParse } from 'valibot';
import {
  errorOfProblems,
  type GatewayError,
  gatewayError,
  invalidBody,
  type Problem,
} from '../../lib/errors.ts';
import { JsonExcess, JsonFault, parseJson, unstorableNumberOf } from '../../lib/json.ts';
import { LIMITS } from '../../lib/limits.ts';

export function parseQuery<Schema extends GenericSchema>(
  schema: Schema,
  search: string,
): InferOutput<Schema> {
  const values: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  if (search !== '')
    for (const [name, value] of new URLSearchParams(search)) (values[name] ??= []).push(value);
  return judge(schema, values, 'query');
}

/**
 * A JSON text as a schema has it. @param readAgain reads it once it is known to be JSON that does not nest too deep
 * @throws GatewayError invalid_body (400) with every fault
 */
export function parseBody<Schema extends GenericSchema>(
  schema: Schema,
  text: string,
  depthMax: number,
  readAgain?: (text: string) => unknown,
): InferOutput<Schema> {
  const isEmpty = text.trim() === '';
  const value = isEmpty ? {} : parseText(text, depthMax);
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw invalidBody('', 'The body must be a JSON object.');
  refuseUnstorableNumber(text);
  const judged = judge(schema, value, 'body');
  // Only then: what it reads a number as could pass for an object.
  return readAgain && !isEmpty ? judge(schema, readAgain(text), 'body') : judged;
}

/** A number that would be changed silently, because neither a 64-bit integer nor a float holds it. */
function refuseUnstorableNumber(text: string): void {
  const unstorable = unstorableNumberOf(text);
  if (!unstorable) return;
  const { path, isInteger } = unstorable;
  const allowed = isInteger
    ? 'an integer from -9223372036854775808 to 9223372036854775807'
    : 'a number from -1.7976931348623157e308 to 1.7976931348623157e308';
  throw invalidBody(path, `Field "${path}" must be ${allowed}.`);
}

function parseText(text: string, depthMax: number): unknown {
  try {
    return parseJson(text, { keyLength: Infinity, depth: depthMax, values: Infinity });
  } catch (error) {
    if (error instanceof JsonExcess)
      throw invalidBody('', `The body nests deeper than ${depthMax} arrays and objects.`);
    if (!(error instanceof JsonFault)) throw error;
    const before = text.slice(0, error.offset);
    const line = before.split('\n').length;
    const column = error.offset - before.lastIndexOf('\n');
    const where =
      error.offset === text.length ? `ends too early, at line ${line}` : `is not JSON at line ${line}`;
    const details = { field: '', line, column };
    const message = `The body ${where}, column ${column}.`;
    throw gatewayError('invalid_argument', 'invalid_body', message, details, error);
  }
}

function judge<Schema extends GenericSchema>(
  schema: Schema,
  value: unknown,
  where: 'query' | 'body',
): InferOutput<Schema> {
  const result = safeParse(schema, value);
  if (result.success) return result.output;
  const problems = result.issues.slice(0, LIMITS.http.problems).map((issue): Problem => {
    const name = getDotPath(issue) ?? '';
    const text = issueText(issue);
    return where === 'query'
      ? { code: 'invalid_query', message: `Query parameter "${name}" ${text}.`, details: { parameter: name } }
      : { code: 'invalid_body', message: `${subjectOf(name)} ${text}.`, details: { field: name } };
  });
  throw errorOfProblems('invalid_argument', problems) ?? new Error('a failed check lists its problems');
}

function subjectOf(field: string): string {
  return field === '' ? 'The body' : `Field "${field}"`;
}

/** Reads a body up to `maximumBytes`. @throws GatewayError payload_too_large (413), unsupported_media_type (415), invalid_body (400) */
export async function readText(request: Request, maximumBytes: number): Promise<string> {
  const bytes = await readBytes(request, maximumBytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw invalidBody('', 'The body is not UTF-8.', error);
  }
}

async function readBytes(request: Request, maximumBytes: number): Promise<ArrayBuffer | Uint8Array> {
  refuseForeignEncoding(request.headers);
  // A body of a known length needs no counting and no stream.
  if (Number(request.headers.get('content-length') ?? Number.NaN) <= maximumBytes)
    return await request.arrayBuffer().catch(refuseBrokenBody);
  const chunks: Uint8Array[] = [];
  for await (const chunk of boundedBody(request, maximumBytes)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/**
 * The body as a stream that fails once it grows over `maximumBytes`, or ends before its end.
 * Cancelling it leaves the rest to the server: cancelling the body itself would end the connection.
 * @throws GatewayError payload_too_large (413), at once when the declared length is too large
 */
export function boundedBody(request: Request, maximumBytes: number): ReadableStream<Uint8Array> {
  refuseForeignEncoding(request.headers);
  const declared = Number(request.headers.get('content-length') ?? 0);
  if (declared > maximumBytes) throw tooLarge(maximumBytes);
  const reader = (request.body as ReadableStream<Uint8Array> | null)?.getReader();
  let total = 0;
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = (await reader?.read().catch(refuseBrokenBody)) ?? { done: true };
      if (done || !value) {
        controller.close();
        return;
      }
      total += value.byteLength;
      if (total > maximumBytes) throw tooLarge(maximumBytes);
      controller.enqueue(value);
    },
  });
}

/** The caller went away or sent something that is no body. */
function refuseBrokenBody(error: unknown): never {
  throw invalidBody('', 'The body ends before its end.', error);
}

function tooLarge(limit: number): GatewayError {
  return gatewayError('too_large', 'payload_too_large', `The body is larger than ${limit} bytes.`, { limit });
}

// The encodings of a body that the gateway reads: none but UTF-8, and nothing compressed (docs/interface/http.md#requests).

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;
const READABLE = new Set(['', 'utf-8', 'utf8', 'us-ascii', 'ascii']);

/** @throws GatewayError unsupported_media_type (415) */
function refuseForeignEncoding(headers: Headers): void {
  const coding = headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (coding !== '' && coding !== 'identity')
    throw unsupported(
      'Content-Encoding',
      'The body is compressed. Send it as it is, without Content-Encoding.',
    );
  const charset = CHARSET.exec(headers.get('content-type') ?? '')?.[1] ?? '';
  if (!READABLE.has(charset.toLowerCase()))
    throw unsupported('Content-Type', `The body has the charset ${charset.slice(0, 40)}. Send it as UTF-8.`);
}

function unsupported(header: string, message: string): Error {
  return gatewayError('unsupported_media_type', 'unsupported_media_type', message, { header });
}

// Faults of a value, in the words of the interface and not in those of the validating library.

/** Types as the library calls them, and in words; what follows a choice of one of several. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
  Array: 'a list',
  Object: 'an object',
  integer: 'a whole number',
  null: 'null',
};
const FORMS: Readonly<Record<string, string>> = {
  uuid: 'a UUID',
  iso_timestamp: 'an RFC 3339 timestamp such as 2026-03-01T08:00:00Z',
  integer: 'a whole number',
  finite: 'a finite number',
  decimal: 'a number',
  url: 'an address',
};
const SHOWN_LENGTH = 80;

/** Goes on behind the name of a member. */
export function issueText({ type, input, expected, received, message }: BaseIssue<unknown>): string {
  if (input === undefined && received === 'undefined') return 'is required';
  if (!/^Invalid [\w ]+: (?:Expected|Received) /.test(message)) return message;
  const form = FORMS[type];
  if (form !== undefined) return `must be ${form}${given(received)}`;
  const bound = /^([<>]=)(.+)$/.exec(expected ?? '');
  if (bound) {
    const most = bound[1] === '<=' ? 'at most' : 'at least';
    if (!type.includes('length')) return `must be ${most} ${bound[2]}${given(received)}`;
    return `must have ${most} ${bound[2]} ${Array.isArray(input) ? 'items' : 'characters'}`;
  }
  return `must be ${allowed(expected ?? '')}${given(received)}`;
}

/** `("A" | "B" | null)` → `one of: A, B`. */
function allowed(expected: string): string {
  const words = expected.replace(/^\((.*)\)$/, '$1').split(' | ');
  const choices = words.filter((word) => /^".*"$/.test(word)).map((word) => word.slice(1, -1));
  const types = words.filter((word) => !/^".*"$/.test(word) && word !== 'undefined');
  const known = types.filter((word) => word !== 'null' || types.length + choices.length === 1);
  const parts = [...new Set(known.map((word) => TYPES[word] ?? word))];
  if (choices.length > 0)
    parts.unshift(choices.length === 1 ? `"${choices[0]}"` : `one of: ${choices.join(', ')}`);
  return parts.join(' or ');
}

function given(received: string): string {
  return `, got ${(TYPES[received] ?? received).slice(0, SHOWN_LENGTH)}`;
}
