/**
 * The refusals of an operation: what its route names, and what the pipeline can answer to every request with
 * such a role, query, body and path (docs/interface/http.md#errors).
 */
import type { JsonSchema } from './json-schema.ts';
import type { Route } from '../http/index.ts';

/** The parts of a route that decide about refusals; streams have some of them. */
type Refusing = Pick<Route, 'role' | 'query' | 'body' | 'method' | 'beforeClaim' | 'unresolved' | 'errors'>;

export type Refusals = ReturnType<typeof createRefusals>;

const MEANING: Record<string, string> = {
  400: 'The request itself is wrong.',
  401: 'There is no access token.',
  403: 'The access token is not valid, or its role is too low.',
  404: 'What the request names does not exist.',
  406: 'The header Accept does not admit the only form of the answer.',
  409: 'It exists already.',
  413: 'The body is too large.',
  415: 'The body is compressed, or not in UTF-8.',
  422: 'Well-formed, but not possible here.',
  429: 'Too many requests; the header Retry-After says how many seconds to wait.',
  500: 'The gateway failed.',
  503: 'The gateway is starting or stopping, or a part of it cannot answer now.',
};

const ERRORS: JsonSchema = {
  type: 'object',
  properties: {
    errors: { type: 'array', minItems: 1, items: { $ref: '#/components/schemas/Error' } },
  },
  required: ['errors'],
};

const ERROR: JsonSchema = {
  type: 'object',
  properties: {
    code: { type: 'string', description: 'For programs; listed per operation.' },
    message: { type: 'string', description: 'One sentence for a person.' },
    details: { type: 'object', additionalProperties: true },
  },
  required: ['code', 'message'],
};

const RETRY_AFTER = {
  'Retry-After': { description: 'Whole seconds.', schema: { type: 'integer', minimum: 0 } },
};

/** @param unknownCode code of the 404 for a path parameter that the platform resolves, by its name */
export function createRefusals(unknownCode: (parameter: string) => string | undefined) {
  const responses: Record<string, JsonSchema> = {};

  function responseOf(status: string, codes: readonly string[]): JsonSchema {
    const key = `${status}.${codes.join('.').replaceAll('/', '-')}`;
    responses[key] ??= {
      description: `${MEANING[status] ?? ''} Codes: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
      ...((status === '429' || status === '503') && { headers: RETRY_AFTER }),
      content: {
        'application/json': {
          schema: {
            $ref: '#/components/schemas/Errors',
            properties: { errors: { items: { properties: { code: { enum: codes } } } } },
          },
          example: { errors: [{ code: codes[0], message: MEANING[status] ?? '' }] },
        },
      },
    };
    return { $ref: `#/components/responses/${key}` };
  }

  return {
    responses,
    schemas: { Errors: ERRORS, Error: ERROR },
    /** Status → reference to the shared response. */
    of: (target: Refusing, path: string) => {
      const codesOf = new Map<string, Set<string>>();
      for (const refusal of [...generalRefusals(target, path, unknownCode), ...(target.errors ?? [])]) {
        const [status = '', code = ''] = refusal.split(' ');
        codesOf.set(status, (codesOf.get(status) ?? new Set()).add(code));
      }
      const sorted = [...codesOf].toSorted(([a], [b]) => Number(a) - Number(b));
      return Object.fromEntries(
        sorted.map(([status, codes]) => [status, responseOf(status, [...codes].toSorted())]),
      );
    },
  };
}

function* generalRefusals(
  { role, query, body, beforeClaim, unresolved = [] }: Refusing,
  path: string,
  unknownCode: (parameter: string) => string | undefined,
): Generator<string> {
  yield '400 invalid_header';
  if (query) yield '400 invalid_query';
  if (body) yield '400 invalid_body';
  // Before the box is claimed, operations that need no token ask for one too.
  if (beforeClaim !== true) yield '401 invalid_header';
  yield '403 access_denied';
  if (role !== null && role !== 'READONLY') yield '403 insufficient_role';
  for (const [, name = ''] of path.matchAll(/\{(\w+)\}/g)) {
    const code = unresolved.includes(name) ? undefined : unknownCode(name);
    if (code !== undefined) yield `404 ${code}`;
  }
  if (body) yield* ['413 payload_too_large', '415 unsupported_media_type'];
  yield '429 too_many_requests';
  yield '500 internal_error';
  yield '503 unavailable';
}
