/** Whether an answer is one that the description promises. */
import { Validator } from '@cfworker/json-schema';
import { type ApiDescription, membersOf, type Schema } from './description.ts';
import type { GeneratedRequest } from './requests.ts';

export interface ReceivedAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** Says what is wrong with an answer; undefined: nothing. */
export type Judge = (request: GeneratedRequest, answer: ReceivedAnswer) => string | undefined;

const JSON_TYPE = 'application/json';

/** Validators of schemas in a document of OpenAPI or AsyncAPI; no member may be there that is not described. */
export function createValidators(document: Schema): (schema: Schema) => Validator {
  const validators = new Map<Schema, Validator>();
  const schemas = closed(membersOf(document['components'])['schemas']);
  return (schema) => {
    const known = validators.get(schema);
    if (known) return known;
    const made = new Validator({ ...membersOf(closed(schema)), components: { schemas } }, '2020-12', false);
    validators.set(schema, made);
    return made;
  };
}

export function createJudge(description: ApiDescription): Judge {
  const validatorOf = createValidators(description.document);

  return ({ operation, kind }, { status, headers, text }) => {
    const promised = operation.answers.get(status);
    if (!promised) return `status ${status} is not described: ${text.slice(0, 300)}`;
    if (status === 500) return `internal error: ${text.slice(0, 300)}`;
    if (kind === 'faulty' && status < 400) return `a request with a fault was taken: ${text.slice(0, 300)}`;
    if (kind === 'fitting' && status === 400) return `a fitting request was refused: ${text.slice(0, 300)}`;
    if (headers['x-request-id'] === undefined) return 'the answer has no X-Request-Id';
    const type = String(headers['content-type'] ?? '').split(';')[0] ?? '';
    if (!promised.has(type)) return `content type "${type}" is not described for ${status}`;
    const schema = promised.get(type);
    return type === JSON_TYPE && schema ? faultOf(text, validatorOf(schema)) : undefined;
  };
}

function faultOf(text: string, validator: Validator): string | undefined {
  const { valid, errors } = validator.validate(JSON.parse(text));
  if (valid) return undefined;
  const deepest = errors.at(-1);
  return `the answer breaks its schema at ${deepest?.instanceLocation}: ${deepest?.error}: ${text.slice(0, 300)}`;
}

/**
 * The description leaves objects open, so that members can be added later; today's answers have exactly the
 * described ones.
 */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const copy = Object.fromEntries(
    Object.entries(schema)
      // The validator takes an `id` in an example for that of a schema.
      .filter(([name]) => name !== 'examples')
      .map(([name, value]) => [name, closed(value)]),
  );
  const isClosable = copy['type'] === 'object' && 'properties' in copy && !('additionalProperties' in copy);
  return isClosable ? { ...copy, additionalProperties: false } : copy;
}
