/**
 * From raw query and body to checked values. Every fault is listed, one problem per fault, so that a person
 * corrects a request in one go. Bodies are JSON whatever `Content-Type` says (docs/interface/http.md#requests).
 */
import { type GenericSchema, getDotPath, type InferOutput, safeParse } from 'valibot';
import {
  errorOfProblems,
  type GatewayError,
  gatewayError,
  invalidBody,
  type Problem,
} from '../../lib/errors.ts';
import { JsonExcess, JsonFault, parseJson, unstorableNumberOf } from '../../lib/json.ts';
import { LIMITS } from '../../lib/limits.ts';
import { refuseForeignEncoding } from './body-encoding.ts';
import { issueText } from './issue-text.ts';

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
  // Of a length that is known nothing needs to be counted, and it comes without a stream.
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
