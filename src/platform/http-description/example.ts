/** One value that fits a JSON Schema of ours: the examples it carries, else what its words allow at least. */
import type { JsonSchema } from './json-schema.ts';
import { mapped } from '../../lib/members.ts';

const DEFINITION = /^#\/components\/schemas\//;

/** @param named the definitions that references mean, by name */
export function exampleOf(schema: JsonSchema, named: Readonly<Record<string, JsonSchema>>): unknown {
  const { $ref: reference, examples, anyOf, const: only, enum: allowed, default: usual } = schema;
  if (Array.isArray(examples)) return examples[0];
  if (typeof reference === 'string') return exampleOf(named[reference.replace(DEFINITION, '')] ?? {}, named);
  if (only !== undefined) return only;
  if (usual !== undefined && usual !== null) return usual;
  if (Array.isArray(allowed)) return allowed[0];
  if (Array.isArray(anyOf)) return exampleOf((anyOf as JsonSchema[])[0] ?? {}, named);
  return exampleOfType(schema, named);
}

function exampleOfType(schema: JsonSchema, named: Readonly<Record<string, JsonSchema>>): unknown {
  switch (schema['type']) {
    case 'object':
      return mapped((schema['properties'] ?? {}) as Record<string, JsonSchema>, (member) =>
        exampleOf(member, named),
      );
    case 'array':
      return schema['items'] === undefined ? [] : [exampleOf(schema['items'] as JsonSchema, named)];
    case 'integer':
    case 'number':
      return schema['minimum'] ?? 1;
    case 'boolean':
      return false;
    case 'string':
      return schema['format'] === 'uuid' ? '3f0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a11' : 'text';
    case 'null':
      return null;
    default:
      return {};
  }
}
