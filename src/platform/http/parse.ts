/**
 * From raw query and body to checked values. Every fault is listed, one problem per fault, so that a person
 * corrects a request in one go. Bodies are JSON whatever `Content-Type` says (http-contract.md section 1).
 */
import { type GenericSchema, getDotPath, type InferOutput, safeParse } from 'valibot';
import {
  errorOfProblems,
  GatewayError,
  gatewayError,
  invalidBody,
  messageOf,
  type Problem,
} from '../../lib/errors.ts';

const PROBLEMS_MAX = 50;

export function parseQuery<Schema extends GenericSchema>(schema: Schema, url: URL): InferOutput<Schema> {
  const values: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  for (const [name, value] of url.searchParams) (values[name] ??= []).push(value);
  return judge(schema, values, 'query');
}

export function parseBody<Schema extends GenericSchema>(schema: Schema, text: string): InferOutput<Schema> {
  let value: unknown = {};
  if (text.trim() !== '') {
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw new GatewayError(
        'invalid_argument',
        [
          {
            code: 'invalid_body',
            message: `The body is not JSON: ${messageOf(error)}.`,
            details: { field: '' },
          },
        ],
        { cause: error },
      );
    }
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw invalidBody('', 'The body must be a JSON object.');
  return judge(schema, value, 'body');
}

function judge<Schema extends GenericSchema>(
  schema: Schema,
  value: unknown,
  where: 'query' | 'body',
): InferOutput<Schema> {
  const result = safeParse(schema, value);
  if (result.success) return result.output;
  const problems = result.issues.slice(0, PROBLEMS_MAX).map((issue): Problem => {
    const name = getDotPath(issue) ?? '';
    const isMissing = issue.input === undefined && issue.received === 'undefined';
    const text = isMissing ? 'is required' : sentence(issue.message);
    return where === 'query'
      ? { code: 'invalid_query', message: `Query parameter "${name}" ${text}.`, details: { parameter: name } }
      : { code: 'invalid_body', message: `Field "${name}" ${text}.`, details: { field: name } };
  });
  throw errorOfProblems('invalid_argument', problems) ?? new Error('a failed check lists its problems');
}

/** valibot's own "Invalid type: Expected string but received 5" as the rest of our sentence. */
function sentence(message: string): string {
  const match = /^Invalid (?:\w+): Expected (.+) but received (.+)$/.exec(message);
  return match ? `must be ${match[1]}, got ${match[2]}` : message;
}

/** Reads a body up to `maximumBytes`. @throws GatewayError payload_too_large (413), invalid_body (400) */
export async function readText(request: Request, maximumBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of boundedBody(request, maximumBytes)) chunks.push(chunk);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    throw gatewayError('invalid_argument', 'invalid_body', 'The body is not UTF-8.', { field: '' }, error);
  }
}

/** The body as a stream that fails once it grows over `maximumBytes`. */
export function boundedBody(request: Request, maximumBytes: number): ReadableStream<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? 0);
  if (declared > maximumBytes) throw tooLarge(maximumBytes);
  const body = request.body as ReadableStream<Uint8Array> | null;
  if (body === null) return new ReadableStream({ start: (controller) => controller.close() });
  let total = 0;
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        total += chunk.byteLength;
        if (total > maximumBytes) controller.error(tooLarge(maximumBytes));
        else controller.enqueue(chunk);
      },
    }),
  );
}

function tooLarge(limit: number): GatewayError {
  return gatewayError('too_large', 'payload_too_large', `The body is larger than ${limit} bytes.`, { limit });
}
