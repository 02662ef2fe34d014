/** A JSON Schema in words for a person: which members there are, and of what type. */
import type { JsonSchema } from '../../src/platform/http-description/index.ts';

interface Field {
  /** With the names of the members around it: `site.location.name`; `[]` for items of a list. */
  name: string;
  type: string;
  isRequired: boolean;
  about: string;
}

const DEPTH_MAX = 4;
const DEFINITION = /^#\/components\/schemas\//;

export function membersOf(value: unknown): JsonSchema {
  return typeof value === 'object' && value !== null ? (value as JsonSchema) : {};
}

/**
 * Members down to those that have a shape of their own under a name.
 * @param definitions what references mean, by name
 */
export function fieldsOf(schema: JsonSchema, definitions: JsonSchema, around = '', depth = 0): Field[] {
  const { properties, required = [] } = inner(schema, definitions) as {
    properties?: JsonSchema;
    required?: string[];
  };
  if (!properties || depth > DEPTH_MAX) return [];
  return Object.entries(properties).flatMap(([name, value]) => {
    const member = membersOf(value);
    const isList = inner(member, definitions)['type'] === 'array';
    const path = `${around}${name}${isList ? '[]' : ''}`;
    const field: Field = {
      name: path,
      type: typeOf(member),
      isRequired: required.includes(name),
      about: typeof member['description'] === 'string' ? member['description'] : '',
    };
    const inside = isList ? membersOf(inner(member, definitions)['items']) : member;
    return isNamed(inside) ? [field] : [field, ...fieldsOf(inside, definitions, `${path}.`, depth + 1)];
  });
}

function isNamed({ $ref: reference, anyOf }: JsonSchema): boolean {
  return typeof reference === 'string' || (Array.isArray(anyOf) && (anyOf as JsonSchema[]).some(isNamed));
}

/** What a reference means; of alternatives the first that is more than null. */
function inner(schema: JsonSchema, definitions: JsonSchema): JsonSchema {
  const { $ref: reference, anyOf } = schema;
  if (typeof reference === 'string')
    return inner(membersOf(definitions[reference.replace(DEFINITION, '')]), definitions);
  if (Array.isArray(anyOf)) {
    const [first] = (anyOf as JsonSchema[]).filter(({ type }) => type !== 'null');
    return first ? inner(first, definitions) : schema;
  }
  return schema;
}

/** `integer, 0 to 50, default 50`. */
export function typeOf(schema: JsonSchema): string {
  const { $ref: reference, anyOf, oneOf, enum: words, const: only, type, items, format } = schema;
  const { additionalProperties: values } = schema;
  if (typeof reference === 'string') return reference.replace(DEFINITION, '');
  const alternatives = (anyOf ?? oneOf) as JsonSchema[] | undefined;
  const parts: string[] = [];
  if (alternatives) parts.push([...new Set(alternatives.map(typeOf))].join(' or '));
  else if (Array.isArray(words)) parts.push(words.join(' | '));
  else if (only !== undefined) parts.push(JSON.stringify(only));
  else if (type === 'array') parts.push(`list of ${typeOf(membersOf(items))}`);
  else if (type === 'object' && Object.keys(membersOf(values)).length > 0)
    parts.push(`map of ${typeOf(membersOf(values))}`);
  else if (typeof type === 'string') parts.push(typeof format === 'string' ? `${type} (${format})` : type);
  else parts.push('any');
  return [...parts, ...boundsOf(schema)].join(', ');
}

function boundsOf(schema: JsonSchema): string[] {
  const { minimum, maximum, minLength, maxLength, default: usual } = schema as Record<string, number>;
  const bounds: string[] = [];
  if (minimum !== undefined && maximum !== undefined) bounds.push(`${minimum} to ${maximum}`);
  else if (minimum !== undefined) bounds.push(`from ${minimum}`);
  else if (maximum !== undefined) bounds.push(`up to ${maximum}`);
  if (maxLength !== undefined) bounds.push(`${minLength ?? 0} to ${maxLength} characters`);
  if (usual !== undefined) bounds.push(`default ${JSON.stringify(usual)}`);
  return bounds;
}
