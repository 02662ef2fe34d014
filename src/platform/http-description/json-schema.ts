/** valibot schemas as JSON Schema (draft 2020-12), as they stand on the wire: always their input side. */
import { toJsonSchema } from '@valibot/to-json-schema';
import { mapped } from '../../lib/members.ts';
import type { GenericSchema } from 'valibot';
import type { shape } from '../http/index.ts';

/** A schema of draft 2020-12. */
export type JsonSchema = Record<string, unknown>;

export type JsonSchemas = ReturnType<typeof createJsonSchemas>;

/** Checks that JSON Schema has no word for; the schema's `wire` or text describes them. */
const UNTOLD_ACTIONS = ['check', 'raw_check', 'trim', 'to_lower_case', 'to_upper_case'];

/**
 * A converter for all schemas of one document. Those with a title become shared definitions, if they are among the given
 * schemas or inside of them.
 * @param reference path of a definition in the document, by its name
 */
export function createJsonSchemas(schemas: readonly GenericSchema[], reference: (name: string) => string) {
  const named: Record<string, GenericSchema> = {};
  for (const schema of schemas) collectNamed(schema, named);
  const known = new Map<GenericSchema, JsonSchema>();

  /** JSON Schema of a valibot schema; named ones inside come as references. @throws Error for what JSON Schema cannot express */
  const of = (schema: GenericSchema): JsonSchema =>
    known.getOrInsertComputed(schema, () => clean(convert(schema)));

  /** With only the definitions that are inside: the package converts all that it is given every time. */
  function convert(schema: GenericSchema, ownName?: string): JsonSchema {
    const definitions: Record<string, GenericSchema> = {};
    collectNamed(schema, definitions);
    for (const name of Object.keys(definitions))
      if (name === ownName || !(name in named)) delete definitions[name];
    const converted: JsonSchema = {
      ...toJsonSchema(schema, {
        target: 'draft-2020-12',
        typeMode: 'input',
        errorMode: 'throw',
        ignoreActions: UNTOLD_ACTIONS,
        definitions,
        overrideRef: ({ referenceId }) => reference(referenceId),
        overrideSchema: ({ valibotSchema: { type }, jsonSchema }) => {
          // A custom check is described by the `wire` that follows it.
          if (type === 'custom') return {};
          // Client generators have no type for `const: true`.
          if (type === 'literal' && typeof jsonSchema.const === 'boolean') return { type: 'boolean' };
          return type === 'loose_object' ? { ...jsonSchema, additionalProperties: true } : undefined;
        },
        overrideAction: ({ valibotAction }) => {
          const shape = wireOf(valibotAction);
          return shape === undefined ? undefined : isSchema(shape) ? convert(shape) : { ...shape };
        },
      }),
    };
    delete converted['$schema'];
    delete converted['$defs'];
    return converted;
  }

  return {
    of,
    /** The named schemas, by name. */
    named: mapped(named, (schema, name) => {
      const { title: _title, ...own } = clean(convert(schema, name));
      return own;
    }),
  };
}

function isSchema(value: unknown): value is GenericSchema {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'schema';
}

function wireOf(action: unknown): shape.WireSchema | GenericSchema | undefined {
  const { type, metadata } = action as { type: string; metadata?: { wire?: shape.WireSchema } };
  return type === 'metadata' ? metadata?.wire : undefined;
}

/** Members of the kinds of schemas that hold others. */
interface Holding {
  pipe?: readonly unknown[];
  entries?: Record<string, unknown>;
  item?: unknown;
  wrapped?: unknown;
  value?: unknown;
  rest?: unknown;
  options?: readonly unknown[];
  metadata?: { title?: string; wire?: unknown };
}

function collectNamed(node: unknown, found: Record<string, GenericSchema>): void {
  if (typeof node !== 'object' || node === null || !('kind' in node)) return;
  const { pipe = [], entries = {}, item, wrapped, value, rest, options = [], metadata } = node as Holding;
  if (isSchema(node)) {
    const title = pipe.map((part) => (part as Holding).metadata?.title).find((text) => text !== undefined);
    if (title !== undefined) {
      if (found[title] === node) return;
      if (found[title]) throw new Error(`two schemas are called ${title}`);
      found[title] = node;
    }
  }
  const inside = [...Object.values(entries), item, wrapped, value, rest, metadata?.wire, ...options, ...pipe];
  for (const part of inside) if (part !== node) collectNamed(part, found);
}

/**
 * Without empty lists of required members, which say nothing, and without `{}` or `[]` as the default of what may be null:
 * client generators cannot write these.
 */
function clean(schema: JsonSchema): JsonSchema {
  return JSON.parse(
    JSON.stringify(schema, function (this: JsonSchema, key, value: unknown) {
      const isEmpty = Array.isArray(value) ? value.length === 0 : isEmptyObject(value);
      if (!isEmpty) return value;
      if (key === 'required' && Array.isArray(value)) return undefined;
      return key === 'default' && 'anyOf' in this ? undefined : value;
    }),
  ) as JsonSchema;
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
