/**
 * The API description (OpenAPI 3.1), assembled from the routes and streams that serve requests. Pure: what is
 * not in a route cannot be in the description, and the other way round.
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { GenericSchema } from 'valibot';
import { mapped } from '../../lib/members.ts';
import {
  acceptsGzip,
  type Call,
  type MediaAnswer,
  type Route,
  type RouteGroup,
  SESSION_COOKIES,
  type Stream,
} from '../http/index.ts';
import { createJsonSchemas, type JsonSchema, type JsonSchemas } from './json-schema.ts';
import { createRefusals, type Refusals } from './openapi-refusals.ts';

/** A parameter of paths. */
export interface PathParameter {
  about: string;
  schema: JsonSchema;
  /** Code of the 404 when the platform resolves it. */
  unknown?: string;
}

/** Parts of the description. */
export interface ApiDescriptionOptions {
  title: string;
  version: string;
  about: string;
  groups: readonly RouteGroup[];
  /** All path parameters by name. */
  pathParameters: Readonly<Record<string, PathParameter>>;
  /** Whether a path is kept for older clients only. */
  isOlder: (path: string) => boolean;
  /** Also further paths of an operation, and operations that always refuse. Absent: each operation once. */
  withAliases?: boolean;
}

interface Parts {
  options: ApiDescriptionOptions;
  schemas: JsonSchemas;
  refusals: Refusals;
  parameters: Record<string, JsonSchema>;
  requestBodies: Record<string, JsonSchema>;
  responses: Record<string, JsonSchema>;
}

const SECURITY_SCHEMES = {
  service_token: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Service-Auth-Token',
    description: 'An access token. The first of the token headers that is not empty counts.',
  },
  vendor_token: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Enapter-Auth-Token',
    description: 'The same, under the name that existing clients send.',
  },
  bearer_token: { type: 'http', scheme: 'bearer', description: 'The same, as most tools send it.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: SESSION_COOKIES[0],
    description: `Set by a login, for the gateway's own pages; over plain HTTP its name is \`${SESSION_COOKIES[1]}\`.`,
  },
} as const;

/** Description of a good answer without one of its own. */
export const DONE = 'Done.';

const TOKEN_NEEDED = Object.keys(SECURITY_SCHEMES).map((name) => ({ [name]: [] }));
const OCTETS = 'application/octet-stream';
const FORM = 'multipart/form-data';
/** Client generators know a file by this format; OpenAPI 3.1 itself has no word for it in a form. */
const FILE = { type: 'string', format: 'binary' } as const;
const FORM_SCHEMA = { type: 'object', properties: { data: FILE }, required: ['data'] } as const;
/** Media types whose content is text. */
const TEXT = /^text\/|ndjson$|pem-file$/;

/** @throws Error when a route says something that cannot be described */
export function describeApi(options: ApiDescriptionOptions): JsonSchema {
  const routes = options.groups.flatMap((group) => group.routes);
  const streams = options.groups.flatMap((group) => group.streams ?? []);
  const parts: Parts = {
    options,
    schemas: createJsonSchemas(schemasOf(routes), (name) => `#/components/schemas/${name}`),
    refusals: createRefusals((name) => options.pathParameters[name]?.unknown),
    parameters: {},
    requestBodies: {},
    responses: {},
  };
  for (const [name, { about, schema }] of Object.entries(options.pathParameters))
    parts.parameters[name] = { name, in: 'path', required: true, description: about, schema };
  const paths = describePaths(parts);
  const described = streams.map((stream) => describeStream(parts, stream));
  return {
    openapi: '3.1.1',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: { title: options.title, version: options.version, description: options.about },
    servers: [{ url: '/' }, { url: '/api', description: 'The same operations, for paths below /v3.' }],
    security: TOKEN_NEEDED,
    tags: options.groups.map(({ name, about }) => ({ name, description: about })),
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      schemas: { ...parts.schemas.named, ...parts.refusals.schemas },
      parameters: parts.parameters,
      requestBodies: parts.requestBodies,
      responses: { ...parts.responses, ...parts.refusals.responses },
    },
    'x-streams': described,
  };
}

/** Shapes that only streams use are listed with them: client generators fail on models that no operation has. */
function schemasOf(routes: readonly Route[]): GenericSchema[] {
  const found: (GenericSchema | undefined)[] = routes.flatMap(({ query, body, answer }) => [
    query,
    body === 'stream' ? undefined : body,
    isMedia(answer) ? undefined : (answer ?? undefined),
  ]);
  return found.filter((schema) => schema !== undefined);
}

function isMedia(answer: Route['answer']): answer is MediaAnswer {
  return answer !== undefined && answer !== null && 'mediaType' in answer;
}

function describePaths(parts: Parts): Record<string, JsonSchema> {
  const paths: Record<string, JsonSchema> = {};
  const seen = new Set<string>();
  for (const { name: tag, routes } of parts.options.groups)
    for (const route of routes) {
      if (seen.has(route.operation)) throw new Error(`two operations are called ${route.operation}`);
      seen.add(route.operation);
      const { withAliases = false } = parts.options;
      if (route.answer === null && !withAliases) continue;
      const common = describeRoute(parts, route, tag);
      for (const [index, path] of route.paths.entries()) {
        if (index > 0 && !withAliases) break;
        const item = (paths[path] ??= {});
        const method = route.method.toLowerCase();
        if (method in item) throw new Error(`${route.method} ${path} is served twice`);
        item[method] = {
          operationId: index === 0 ? route.operation : aliasIdOf(route.operation, path),
          ...common,
          ...(index > 0 && { 'x-alias-of': route.operation }),
          ...(parts.options.isOlder(path) && { deprecated: true }),
          parameters: parametersOf(parts, path, route),
          responses: responsesOf(parts, path, route),
        };
      }
    }
  return paths;
}

/** From the path, so that it stays the same whatever other paths the operation gets. */
function aliasIdOf(operation: string, path: string): string {
  const words = path.replace(/^\/v3\//, '').match(/\w+/g) ?? [];
  return `${operation}_at_${words.join('_')}`;
}

/** The description shared by all paths of an operation. */
function describeRoute(parts: Parts, route: Route, tag: string): JsonSchema {
  const { operation, role, about, body, answer } = route;
  if (body) parts.requestBodies[operation] = requestBodyOf(parts, route, body);
  if (answer !== null) parts.responses[operation] = answerOf(parts, answer);
  return {
    tags: [tag],
    summary: sentenceOf(operation),
    ...(about !== undefined && { description: about }),
    'x-required-role': role,
    ...(role === null && { security: [{}, ...TOKEN_NEEDED] }),
    ...(body && { requestBody: { $ref: `#/components/requestBodies/${operation}` } }),
  };
}

/** `get_site` → `Get site`. */
function sentenceOf(operation: string): string {
  const words = operation.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Query parameters, each as a component `operation.name`. */
function defineParameters(parts: Parts, operation: string, query: GenericSchema): string[] {
  const { properties = {}, required = [] } = parts.schemas.of(query) as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, whole]) => {
    const { description, ...schema } = whole;
    const key = `${operation}.${name}`;
    parts.parameters[key] ??= {
      name,
      in: 'query',
      ...(required.includes(name) && { required: true }),
      ...(description !== undefined && { description }),
      // Lists by commas, objects as `name[key]=value`.
      ...(schema.type === 'array' && { style: 'form', explode: false }),
      ...(schema.type === 'object' && { style: 'deepObject', explode: true }),
      schema,
    };
    return key;
  });
}

function parametersOf(parts: Parts, path: string, { operation, query }: Route | Stream): JsonSchema[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    if (!(name in parts.parameters)) throw new Error(`path parameter ${name} of ${path} is not described`);
    return name;
  });
  return [...inPath, ...(query ? defineParameters(parts, operation, query) : [])].map((key) => ({
    $ref: `#/components/parameters/${key}`,
  }));
}

function requestBodyOf(
  parts: Parts,
  { operation, bodyMedia = [OCTETS] }: Route,
  body: GenericSchema | 'stream',
): JsonSchema {
  if (body === 'stream')
    return {
      description: bodyMedia.includes(FORM)
        ? 'The file itself, or a form with the file in its part `data`.'
        : 'The file itself.',
      required: true,
      content: Object.fromEntries(
        bodyMedia.map((mediaType) => [
          mediaType,
          { schema: mediaType === FORM ? FORM_SCHEMA : fileOf(mediaType) },
        ]),
      ),
    };
  const schema = parts.schemas.of(body);
  if (!isOfObjects(schema)) throw new Error(`the body of ${operation} is not described as an object`);
  return {
    description: 'JSON, whatever the content type says.',
    ...((Array.isArray(schema['required']) || 'anyOf' in schema) && { required: true }),
    content: { 'application/json': { schema, example: exampleOf(schema, parts.schemas.named) } },
  };
}

/** Whether it describes an object, or several forms that all do. */
function isOfObjects({ type, $ref: reference, anyOf = [] }: JsonSchema): boolean {
  const forms = anyOf as JsonSchema[];
  return type === 'object' || reference !== undefined || (forms.length > 0 && forms.every(isOfObjects));
}

function answerOf(parts: Parts, answer: GenericSchema | MediaAnswer | undefined): JsonSchema {
  if (answer === undefined) return { description: DONE };
  if (!isMedia(answer)) {
    const schema = parts.schemas.of(answer);
    const example = exampleOf(schema, parts.schemas.named);
    return { description: DONE, content: { 'application/json': { schema, example } } };
  }
  const { mediaType, about, example, headers = {} } = answer;
  return {
    description: about,
    headers: mapped(headers, (description) => ({ description, schema: { type: 'string' } })),
    content: { [mediaType]: { schema: fileOf(mediaType), ...(example !== undefined && { example }) } },
  };
}

function fileOf(mediaType: string): JsonSchema {
  if (mediaType.endsWith('json'))
    return mediaType.endsWith('/json') ? { type: 'object' } : { type: 'string' };
  return TEXT.test(mediaType) ? { type: 'string' } : FILE;
}

function responsesOf(parts: Parts, path: string, route: Route): Record<string, JsonSchema> {
  return {
    ...(route.answer !== null && { 200: { $ref: `#/components/responses/${route.operation}` } }),
    ...parts.refusals.of(route, path),
  };
}

/** OpenAPI cannot describe WebSockets; these have the members of its operations. */
function describeStream(parts: Parts, stream: Stream): JsonSchema {
  const { operation, paths, role, about, message } = stream;
  const schema = message && parts.schemas.of(message);
  return {
    operation,
    summary: sentenceOf(operation),
    ...(about !== undefined && { description: about }),
    paths: paths.map((path) => ({
      path,
      ...(parts.options.isOlder(path) && { deprecated: true }),
      parameters: parametersOf(parts, path, stream),
      responses: parts.refusals.of({ ...stream, method: 'GET' }, path),
    })),
    'x-required-role': role,
    ...(schema && { message: { schema, example: exampleOf(schema, parts.schemas.named) } }),
  };
}

// One value that fits a JSON Schema of ours: the examples it carries, else what its words allow at least.

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

// A text that stays the same while the program runs: built when it is first asked for, kept compressed only,
// and not sent again to a caller that has it (RFC 9110 section 13.1.2).

const compress = promisify(gzip);
const expand = promisify(gunzip);

interface Kept {
  compressed: Buffer;
  /** Weak, because one tag stands for both encodings. */
  tag: string;
}

/** Answers a call with the document. @param headers besides those of type, encoding and validation */
export function createDocument(
  mediaType: string,
  build: () => string | Promise<string>,
  headers: Readonly<Record<string, string>> = {},
): (call: Pick<Call, 'header'>) => Promise<Response> {
  let kept: Promise<Kept> | undefined;

  async function keep(): Promise<Kept> {
    const text = await build();
    const tag = `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
    return { compressed: await compress(text, { level: 9 }), tag };
  }

  return async (call) => {
    kept ??= keep().catch((error: unknown) => {
      kept = undefined;
      throw error;
    });
    const { compressed, tag } = await kept;
    const common = { ...headers, ETag: tag, 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding' };
    if (isKnown(call.header('if-none-match'), tag))
      return new Response(null, { status: 304, headers: common });
    const isCompressed = acceptsGzip(call.header('accept-encoding'));
    const body = isCompressed ? compressed : await expand(compressed);
    return new Response(new Uint8Array(body), {
      headers: {
        ...common,
        'Content-Type': mediaType,
        ...(isCompressed && { 'Content-Encoding': 'gzip' }),
      },
    });
  };
}

function isKnown(header: string | undefined, tag: string): boolean {
  const tags = (header ?? '').split(',').map((each) => each.trim());
  return tags.includes(tag) || tags.includes('*');
}
