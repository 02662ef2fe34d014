/** The WebSocket streams in the terms of AsyncAPI 3, as parts of its document. */
import { mapped } from '../lib/members.ts';
import {
  createJsonSchemas,
  exampleOf,
  type JsonSchema,
  type PathParameter,
} from '../platform/http-description/index.ts';
import type { Stream } from '../platform/http/index.ts';

/** @throws Error when a message cannot be described */
export function describeStreams(
  streams: readonly Stream[],
  pathParameters: Readonly<Record<string, PathParameter>>,
) {
  const given = streams
    .flatMap(({ query, message }) => [query, message])
    .filter((each) => each !== undefined);
  const schemas = createJsonSchemas(given, (name) => `#/components/schemas/${name}`);
  const parametersOf = (path: string) =>
    Object.fromEntries(
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [
        name,
        { description: pathParameters[name]?.about ?? '' },
      ]),
    );
  return {
    servers: {
      web: webServer('ws', '8080'),
      encrypted_web: webServer('wss', '8443'),
    },
    channels: byOperation(streams, ({ operation, paths: [path], about, query }) => ({
      address: path,
      description: about,
      servers: [{ $ref: '#/servers/web' }, { $ref: '#/servers/encrypted_web' }],
      messages: { [operation]: { $ref: `#/components/messages/${operation}` } },
      parameters: parametersOf(path),
      ...(query && { bindings: { ws: { query: schemas.of(query), bindingVersion: '0.1.0' } } }),
    })),
    operations: byOperation(streams, ({ operation }) => ({
      action: 'send',
      channel: { $ref: `#/channels/${operation}` },
      messages: [{ $ref: `#/channels/${operation}/messages/${operation}` }],
    })),
    messages: byOperation(streams, ({ about, role, message }) => ({
      summary: about,
      contentType: 'application/json',
      'x-required-role': role,
      ...(message && {
        payload: schemas.of(message),
        examples: [{ payload: exampleOf(schemas.of(message), schemas.named) }],
      }),
    })),
    schemas: schemas.named,
    securitySchemes: {
      token: {
        type: 'httpApiKey',
        in: 'header',
        name: 'X-Service-Auth-Token',
        description:
          'An access token; a page, which cannot set headers, sends it as the query parameter token.',
      },
    },
  };
}

function byOperation(streams: readonly Stream[], describe: (stream: Stream) => JsonSchema) {
  return mapped(Object.fromEntries(streams.map((stream) => [stream.operation, stream])), describe);
}

function webServer(protocol: string, port: string): JsonSchema {
  return {
    host: '{host}:{port}',
    protocol,
    description: 'WebSocket streams: text frames, one JSON object each.',
    variables: { host: { default: 'localhost' }, port: { default: port } },
    security: [{ $ref: '#/components/securitySchemes/token' }],
  };
}
