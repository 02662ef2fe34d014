/** The gateway's own API description, as a program reads it: operations with everything resolved. */

export type Schema = Readonly<Record<string, unknown>>;

export interface Parameter {
  name: string;
  in: 'path' | 'query';
  required: boolean;
  style?: string;
  schema: Schema;
}

export interface Operation {
  /** Name of the operation, the same for all its paths. */
  operation: string;
  method: string;
  path: string;
  /** Least role; null: none is needed. */
  role: string | null;
  parameters: readonly Parameter[];
  /** Media types of the body, each with its schema; empty: no body is described. */
  bodies: readonly { mediaType: string; schema: Schema | undefined }[];
  /** Status → media type → schema. */
  answers: ReadonlyMap<number, ReadonlyMap<string, Schema | undefined>>;
}

export interface ApiDescription {
  readonly operations: readonly Operation[];
  /** What references in schemas mean, by their text. */
  readonly definitions: ReadonlyMap<string, Schema>;
  /** The document itself. */
  readonly document: Schema;
}

type Optional<Whole, Name extends keyof Whole> = Omit<Whole, Name> & Partial<Pick<Whole, Name>>;

const METHODS = ['get', 'post', 'patch', 'delete'] as const;

/** Operations that would look for devices on the networks of this machine: a check stays on it. */
const OF_THE_NETWORK = new Set(['search_devices']);

/** Those that a check may call. */
export function callable(operations: readonly Operation[]): Operation[] {
  return operations.filter(({ operation }) => !OF_THE_NETWORK.has(operation));
}

/** @throws Error when a reference leads nowhere */
export function readDescription(document: Schema): ApiDescription {
  const operations: Operation[] = [];
  for (const [path, item] of Object.entries(membersOf(document['paths'])))
    for (const method of METHODS) {
      const described = membersOf(item)[method];
      if (described !== undefined)
        operations.push(operationOf(document, path, method.toUpperCase(), membersOf(described)));
    }
  const schemas = membersOf(membersOf(document['components'])['schemas']);
  const definitions = Object.entries(schemas).map(
    ([name, schema]) => [`#/components/schemas/${name}`, membersOf(schema)] as const,
  );
  return { operations, definitions: new Map(definitions), document };
}

function operationOf(document: Schema, path: string, method: string, described: Schema): Operation {
  const resolved = (value: unknown): Schema => resolve(document, value);
  const body = described['requestBody'];
  const content = body === undefined ? {} : membersOf(resolved(body)['content']);
  return {
    operation: String(described['x-alias-of'] ?? described['operationId']),
    method,
    path,
    role: described['x-required-role'] as string | null,
    parameters: (described['parameters'] as unknown[]).map((parameter) => {
      const { required = false, ...others } = resolved(parameter) as unknown as Optional<
        Parameter,
        'required'
      >;
      return { ...others, required };
    }),
    bodies: Object.entries(content).map(([mediaType, media]) => ({
      mediaType,
      schema: membersOf(media)['schema'] as Schema | undefined,
    })),
    answers: new Map(
      Object.entries(membersOf(described['responses'])).map(([status, response]) => [
        Number(status),
        new Map(
          Object.entries(membersOf(resolved(response)['content'])).map(([mediaType, media]) => [
            mediaType,
            membersOf(media)['schema'] as Schema | undefined,
          ]),
        ),
      ]),
    ),
  };
}

function resolve(document: Schema, value: unknown): Schema {
  const { $ref: reference } = membersOf(value);
  if (typeof reference !== 'string') return membersOf(value);
  let found: unknown = document;
  for (const part of reference.replace(/^#\//, '').split('/')) found = membersOf(found)[part];
  if (found === undefined) throw new Error(`${reference} leads nowhere`);
  return membersOf(found);
}

export function membersOf(value: unknown): Schema {
  return typeof value === 'object' && value !== null ? (value as Schema) : {};
}
