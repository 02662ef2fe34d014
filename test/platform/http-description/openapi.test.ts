import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as v from 'valibot';
import {
  type ApiDescriptionOptions,
  createJsonSchemas,
  describeApi,
} from '../../../src/platform/http-description/index.ts';
import { query, route, type Route, shape } from '../../../src/platform/http/index.ts';

const thing = shape.named('Thing', v.object({ id: shape.id(), size: v.optional(shape.count()) }));

function listRoute(changes: Partial<Route> = {}): Route {
  return {
    ...route({
      operation: 'list_things',
      GET: ['/v3/things', '/v3/boxes/{box_id}/things'],
      role: 'OWNER',
      about: 'All things.',
      query: v.object({ limit: query.limit(5, 10), kind: query.choices(['A', 'B']) }),
      answer: shape.listOf('things', thing),
      errors: ['422 too_many_things'],
      handle: () => ({ things: [], total_count: 0 }),
    }),
    ...changes,
  };
}

function describeRoutes(routes: Route[], changes: Partial<ApiDescriptionOptions> = {}) {
  return describeApi({
    title: 'Things',
    version: '1',
    about: 'About.',
    groups: [{ name: 'Things', about: 'What there is.', routes }],
    pathParameters: { box_id: { about: 'A box.', schema: { type: 'string' }, unknown: 'box_not_found' } },
    isOlder: (path) => path.includes('boxes'),
    withAliases: true,
    ...changes,
  }) as {
    paths: Record<string, Record<string, Record<string, unknown>>>;
    components: Record<string, Record<string, Record<string, unknown>>>;
  };
}

describe('the API description is refused', () => {
  test('the API description is refused when two operations have one name', () => {
    assert.throws(() => describeRoutes([listRoute(), listRoute({ paths: ['/v3/other'] })]), /list_things/);
  });
  test('the API description is refused when two operations have one path and method', () => {
    assert.throws(
      () => describeRoutes([listRoute(), listRoute({ operation: 'other' })]),
      /GET \/v3\/things is served twice/,
    );
  });
  test('the API description is refused when a path parameter is not described', () => {
    assert.throws(() => describeRoutes([listRoute()], { pathParameters: {} }), /box_id/);
  });
  test('the API description is refused when two schemas have one name', () => {
    const other = shape.named('Thing', v.object({}));
    assert.throws(
      () => describeRoutes([listRoute({ answer: v.object({ thing, other }) })]),
      /two schemas are called Thing/,
    );
  });
  test('the API description is refused when a schema cannot be told', () => {
    assert.throws(() => describeRoutes([listRoute({ answer: v.object({ at: v.date() }) })]), /date/);
  });
});

describe('the API description', () => {
  test('the API description has an operation once per path, aliases by its name and older paths marked', () => {
    const { paths } = describeRoutes([listRoute()]);
    const main = paths['/v3/things']?.['get'] ?? {};
    const alias = paths['/v3/boxes/{box_id}/things']?.['get'] ?? {};
    assert.equal(main['operationId'], 'list_things');
    assert.equal(main['x-required-role'], 'OWNER');
    assert.deepEqual([main['deprecated'], alias['deprecated']], [undefined, true]);
    assert.equal(alias['x-alias-of'], 'list_things');
    assert.equal(alias['operationId'], 'list_things_at_boxes_box_id_things');
    assert.deepEqual(alias['parameters'], [
      { $ref: '#/components/parameters/box_id' },
      { $ref: '#/components/parameters/list_things.limit' },
      { $ref: '#/components/parameters/list_things.kind' },
    ]);
  });

  test('the API description has refusals of the route, of the pipeline and of the path', () => {
    const { paths } = describeRoutes([listRoute()]);
    const codes = (path: string): string[] => Object.keys(paths[path]?.['get']?.['responses'] ?? {});
    assert.deepEqual(codes('/v3/things'), ['200', '400', '401', '403', '422', '429', '500', '503']);
    assert.deepEqual(codes('/v3/boxes/{box_id}/things'), [
      '200',
      '400',
      '401',
      '403',
      '404',
      '422',
      '429',
      '500',
      '503',
    ]);
  });

  test('the API description asks for no token where none is needed', () => {
    const { paths } = describeRoutes([listRoute({ role: null, beforeClaim: true })]);
    const operation = paths['/v3/things']?.['get'] ?? {};
    assert.deepEqual((operation['security'] as unknown[])[0], {});
    assert.ok(!('401' in (operation['responses'] as object)));
  });

  test('the API description has the type, bounds and default of a query parameter', () => {
    const { components } = describeRoutes([listRoute()]);
    assert.deepEqual(components['parameters']?.['list_things.limit'], {
      name: 'limit',
      in: 'query',
      description: 'At most so many items; above 10 is the same as 10. 0: none, only their number.',
      schema: { type: 'integer', minimum: 0, default: 5 },
    });
    assert.deepEqual(components['parameters']?.['list_things.kind'], {
      name: 'kind',
      in: 'query',
      style: 'form',
      explode: false,
      schema: { type: 'array', items: { type: 'string', enum: ['A', 'B'] } },
    });
  });

  test('the API description shares named schemas and makes an example of each answer', () => {
    const { components } = describeRoutes([listRoute()]);
    assert.deepEqual(Object.keys(components['schemas'] ?? {}), ['Thing', 'Errors', 'Error']);
    assert.deepEqual(components['responses']?.['list_things']?.['content'], {
      'application/json': {
        schema: {
          type: 'object',
          properties: {
            things: { type: 'array', items: { $ref: '#/components/schemas/Thing' } },
            total_count: { type: 'integer', minimum: 0 },
          },
          required: ['things', 'total_count'],
        },
        example: { things: [{ id: '3f0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a11', size: 0 }], total_count: 0 },
      },
    });
  });

  test('the API description has no good answer for an operation that always refuses', () => {
    const { paths } = describeRoutes([listRoute({ answer: null })]);
    assert.ok(!Object.keys(paths['/v3/things']?.['get']?.['responses'] ?? {}).includes('200'));
  });
});

describe('a schema on the wire', () => {
  const schemas = createJsonSchemas([], String);
  const of = (schema: v.GenericSchema) => schemas.of(schema);

  test('a schema on the wire is its input, not what it is parsed into', () => {
    const schema = v.object({ at: query.instant(), wait: query.durationMs(30_000, 60_000) });
    const { properties } = of(schema) as { properties: Record<string, Record<string, unknown>> };
    assert.equal(properties['at']?.['format'], 'date-time');
    assert.deepEqual([properties['wait']?.['type'], properties['wait']?.['default']], ['string', '30s']);
  });

  test('a schema on the wire is what it says of itself, as JSON Schema or as another schema', () => {
    const texts = v.pipe(
      v.string(),
      shape.wire(v.nullish(v.picklist(['a']))),
      v.transform((text) => text.length),
    );
    assert.deepEqual(of(texts), { anyOf: [{ enum: ['a'], type: 'string' }, { type: 'null' }] });
  });

  test('a schema on the wire is closed to lists where an object is wanted', () => {
    const schema = shape.noList(v.object({ a: v.optional(v.string()) }));
    assert.deepEqual(of(schema), { type: 'object', properties: { a: { type: 'string' } } });
    assert.equal(v.safeParse(schema, []).success, false);
    assert.equal(v.safeParse(schema, { a: 'x' }).success, true);
  });
});
