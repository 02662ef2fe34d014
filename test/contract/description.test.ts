/** The description of the interface and the running gateway say the same, both ways. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  type ApiDescription,
  membersOf,
  readDescription,
} from '../../scripts/checks/requests/description.ts';
import { createValidators } from '../../scripts/checks/requests/verdict.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { DEVICE_PAYLOADS } from '../../src/protocol/device-payloads.ts';
import { DEVICE_SUBJECTS } from '../../src/protocol/device-topic.ts';
import type { Refusal } from '../support/serve.ts';
import { refusal, startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const;

/** A path with every parameter filled by something that does not exist. */
function filled(path: string): string {
  return path.replace(/\{\w+\}/g, '00000000-0000-4000-8000-000000000000');
}

/** A fixed path may also fit a described one with a parameter in its place. */
function isTakenByAnother(description: ApiDescription, method: string, path: string): boolean {
  return description.operations.some(
    (operation) =>
      operation.method === method &&
      new RegExp(`^${operation.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(filled(path)),
  );
}

describe('the description of the interface', () => {
  let served: TestGateway;
  let description: ApiDescription;
  let document: Record<string, unknown>;

  const ends: (() => unknown)[] = [];

  after(async () => {
    for (const end of ends) await end();
  });
  before(async () => {
    served = await startTestGateway({ after: (end) => void ends.push(end as () => unknown) });
    document = await served.ok('READONLY', 'GET', '/v3/openapi.json?aliases=true');
    description = readDescription(document);
  });

  test('the description of the interface has every operation on every served path, and no other', () => {
    const { routes } = served.gateway.operations();
    const expected = routes.flatMap(({ operation, method, paths }) =>
      paths.map((path) => `${method} ${path} ${operation}`),
    );
    const described = description.operations.map(
      ({ operation, method, path }) => `${method} ${path} ${operation}`,
    );
    assert.deepEqual(described.toSorted(), expected.toSorted());
  });

  test('the description of the interface has each operation once, under its name, unless aliases are asked for', async () => {
    const { routes } = served.gateway.operations();
    const { paths } = await served.ok('READONLY', 'GET', '/v3/openapi.json');
    const described = Object.entries(membersOf(paths)).flatMap(([path, item]) =>
      Object.entries(membersOf(item)).map(
        ([method, operation]) =>
          `${method.toUpperCase()} ${path} ${String(membersOf(operation)['operationId'])}`,
      ),
    );
    const expected = routes
      .filter(({ answer }) => answer !== null)
      .map(({ method, paths: [path], operation }) => `${method} ${path} ${operation}`);
    assert.deepEqual(described.toSorted(), expected.toSorted());
  });

  test('the description of the interface gives each path of an operation an id that does not depend on their order', () => {
    const ids = Object.values(membersOf(document['paths'])).flatMap((item) =>
      Object.values(membersOf(item)).map((operation) => String(membersOf(operation)['operationId'])),
    );
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(ids.includes('get_site') && ids.includes('get_site_at_site'), ids.join(' '));
    assert.deepEqual(
      ids.filter((id) => /_\d+$/.test(id)),
      [],
    );
  });

  test('the description of the interface has a schema for every body and answer, binary for files and text for texts', () => {
    const contents: [string, string, Record<string, unknown>][] = [];
    const components = membersOf(document['components']);
    for (const kind of ['requestBodies', 'responses'])
      for (const [name, described] of Object.entries(membersOf(components[kind])))
        for (const [mediaType, media] of Object.entries(membersOf(membersOf(described)['content'])))
          contents.push([name, mediaType, membersOf(membersOf(media)['schema'])]);
    for (const [name, mediaType, schema] of contents) {
      if (/zip$|octet-stream$|ca-cert$/.test(mediaType))
        assert.deepEqual(schema, { type: 'string', format: 'binary' }, name);
      else if (/^text|ndjson$|pem-file$/.test(mediaType)) assert.deepEqual(schema, { type: 'string' }, name);
      else assert.ok(Object.keys(schema).length > 0, `${name} ${mediaType}`);
    }
    const upload = membersOf(
      membersOf(membersOf(components['requestBodies'])['upload_blueprint'])['content'],
    );
    assert.deepEqual(Object.entries(upload)[0], [
      'multipart/form-data',
      {
        schema: {
          type: 'object',
          properties: { data: { type: 'string', format: 'binary' } },
          required: ['data'],
        },
      },
    ]);
  });

  test('the description of the interface has only types that client generators know', () => {
    const found: string[] = [];
    const visit = (value: unknown, place: string): void => {
      const { const: only, default: usual, anyOf } = membersOf(value);
      if (typeof only === 'boolean') found.push(`${place} is always ${only}`);
      if (anyOf !== undefined && typeof usual === 'object' && usual !== null)
        found.push(`${place} has a default`);
      for (const [name, member] of Object.entries(membersOf(value)))
        if (!/^examples?$/.test(name)) visit(member, `${place}/${name}`);
    };
    visit(document, '');
    assert.deepEqual(found, []);
  });

  test('the description of the interface tells of every operation what it does and what it answers', () => {
    const { routes, streams } = served.gateway.operations();
    assert.deepEqual(
      routes.filter(({ about, answer }) => about === undefined || answer === undefined),
      [],
    );
    assert.deepEqual(
      streams.filter(({ about, message }) => about === undefined || message === undefined),
      [],
    );
  });

  test('the description of the interface has a sentence for every parameter', () => {
    const parameters = Object.entries(membersOf(membersOf(document['components'])['parameters']));
    const silent = parameters.filter(
      ([, parameter]) => !/[\w)`]\.$/.test(String(membersOf(parameter)['description'])),
    );
    assert.deepEqual(
      silent.map(([name]) => name),
      [],
    );
    assert.ok(parameters.length > 79, String(parameters.length));
  });

  test('the description of the interface names the role that an operation needs', async () => {
    for (const { method, path, role } of description.operations) {
      const answer = await served.call(null, method, filled(path));
      if (role === null) continue;
      assert.equal(refusal(answer), '401 invalid_header', `${method} ${path}`);
    }
  });

  test('the description of the interface leaves out no method that a path answers', async () => {
    const described = Map.groupBy(description.operations, ({ path }) => path);
    for (const [path, operations] of described)
      for (const method of METHODS) {
        const isDescribed = operations.some((operation) => operation.method === method);
        if (!isDescribed && isTakenByAnother(description, method, path)) continue;
        const answer = await served.call(null, method, filled(path));
        const { status } = answer;
        assert.notEqual(refusal(answer), '404 route_not_found', `${method} ${path}`);
        // A stream that is asked for without an upgrade has no operation.
        if (!isDescribed) assert.ok(status === 405 || status === 400, `${method} ${path}: ${status}`);
        else assert.notEqual(status, 405, `${method} ${path}`);
      }
  });

  test('the description of the interface has every stream with its paths', () => {
    const { streams } = served.gateway.operations();
    const described = document['x-streams'] as { operation: string; paths: { path: string }[] }[];
    assert.deepEqual(
      new Map(described.map(({ operation, paths }) => [operation, paths.map(({ path }) => path)])),
      new Map(streams.map(({ operation, paths }) => [operation, [...paths]])),
    );
  });

  test('the description of the interface asks for a token at every stream', async () => {
    const described = document['x-streams'] as { paths: { path: string }[] }[];
    for (const { path } of described.flatMap(({ paths }) => paths))
      await assert.rejects(served.watch(null, filled(path)), (error: Refusal) => error.status === 401, path);
  });

  test('the description of the interface marks older paths only', () => {
    const paths = Object.entries(membersOf(document['paths']));
    const older = paths.flatMap(([path, item]) =>
      Object.values(membersOf(item)).some((operation) => membersOf(operation)['deprecated'] === true)
        ? [path]
        : [],
    );
    assert.ok(older.includes('/v3/devices/{device_id}/command_executions'), older.join(' '));
    assert.ok(
      older.every((path) => /execut|profiles|ws$|users\/me/.test(path)),
      older.join(' '),
    );
  });

  test('the description of the interface carries examples that fit their schemas', () => {
    const components = membersOf(document['components']);
    const validatorOf = createValidators(document);
    let count = 0;
    const visit = (value: unknown, place: string): void => {
      const { schema, example } = membersOf(value);
      if (schema !== undefined && example !== undefined) {
        const { valid, errors } = validatorOf(membersOf(schema)).validate(example);
        assert.ok(valid, `${place}: ${JSON.stringify(errors.at(-1))} ${JSON.stringify(example)}`);
        count++;
      }
      for (const [name, member] of Object.entries(membersOf(value))) visit(member, `${place}/${name}`);
    };
    visit(components['responses'], 'responses');
    visit(components['requestBodies'], 'requestBodies');
    visit(document['x-streams'], 'x-streams');
    assert.ok(count > 50, String(count));
  });

  test('the description of the interface is not sent again to a caller that has it', async () => {
    const first = await served.call('READONLY', 'GET', '/v3/openapi.json');
    const tag = first.headers.get('etag') ?? '';
    assert.match(tag, /^W\/"[\w-]+"$/);
    assert.equal(first.headers.get('cache-control'), 'no-cache');
    const again = await served.call('READONLY', 'GET', '/v3/openapi.json', undefined, {
      'If-None-Match': `"other", ${tag}`,
    });
    assert.deepEqual([again.status, again.body], [304, '']);
    const changed = await served.call('READONLY', 'GET', '/v3/openapi.json', undefined, {
      'If-None-Match': '"other"',
    });
    assert.equal(changed.status, 200);
  });

  test('the description of the interface comes compressed to a caller that takes it so', async () => {
    const plain = await served.request('READONLY', 'GET', '/v3/openapi.json', undefined, {
      'Accept-Encoding': 'identity',
    });
    assert.equal(plain.headers.get('content-encoding'), null);
    const packed = await served.request('READONLY', 'GET', '/v3/openapi.json', undefined, {
      'Accept-Encoding': 'gzip',
    });
    assert.equal(packed.headers.get('content-encoding'), 'gzip');
    assert.equal(await packed.text(), await plain.text());
  });

  test('the description of the interface is refused to a caller without a token that asks too often', async () => {
    const claim_code = readFileSync(join(served.dataDir, 'claim-code'), 'utf8');
    await served.ok(null, 'POST', '/v3/auth/claim', { claim_code, password: 'correct horse' });
    const limit = LIMITS.http.anonymousDescriptionPerMinute;
    let status = 200;
    // The rate wins back some while they are asked.
    for (let count = 0; count <= 2 * limit && status !== 429; count++)
      ({ status } = await served.call(null, 'GET', '/v3/asyncapi.json'));
    assert.equal(status, 429);
    assert.equal((await served.call('READONLY', 'GET', '/v3/asyncapi.json')).status, 200);
  });
});

describe('the description of messages', () => {
  test('the description of messages has every stream with the shape of its messages', async (t) => {
    const served = await startTestGateway(t);
    const document = await served.ok('READONLY', 'GET', '/v3/asyncapi.json');
    const channels = membersOf(document['channels']);
    const messages = membersOf(membersOf(document['components'])['messages']);
    const { streams } = served.gateway.operations();
    assert.ok(streams.length > 4);
    for (const { operation, paths, query } of streams) {
      const channel = membersOf(channels[operation]);
      assert.equal(channel['address'], paths[0], operation);
      assert.equal(channel['bindings'] !== undefined, query !== undefined, operation);
      assert.ok(membersOf(messages[operation])['payload'], operation);
      assert.deepEqual(channel['servers'], [{ $ref: '#/servers/web' }, { $ref: '#/servers/encrypted_web' }]);
    }
  });

  test('the description of messages has no broken reference', async (t) => {
    const served = await startTestGateway(t);
    for (const path of ['/v3/asyncapi.json', '/v3/openapi.json', '/v3/openapi.json?aliases=true']) {
      const document = await served.ok('READONLY', 'GET', path);
      const visit = (value: unknown): void => {
        const { $ref: reference } = membersOf(value);
        if (typeof reference === 'string') {
          const target = reference
            .slice(2)
            .split('/')
            .reduce<unknown>((found, name) => membersOf(found)[name], document);
          assert.ok(target !== undefined, `${path}: ${reference}`);
        }
        for (const member of Object.values(membersOf(value))) visit(member);
      };
      visit(document);
    }
  });

  test('the description of messages has every topic of devices, and their payloads are accepted', async (t) => {
    const served = await startTestGateway(t);
    const document = await served.ok('READONLY', 'GET', '/v3/asyncapi.json');
    assert.equal(document['asyncapi'], '3.0.0');
    const channels = Object.values(membersOf(document['channels'])).map((channel) =>
      String(membersOf(channel)['address']),
    );
    for (const subject of DEVICE_SUBJECTS.keys())
      assert.ok(channels.includes(`v1/from/{hardware_id}/{channel_id}/${subject}`), subject);
    const device = await served.provision();
    const { client } = await device.connect();
    assert.ok(
      channels.some(
        (address) =>
          address
            .replace(/\{hardware_id\}/, device.config.hardwareId)
            .replace(/\{channel_id\}/, device.config.channelId) === device.requestTopic,
      ),
    );
    for (const [subject, kind] of DEVICE_SUBJECTS)
      for (const example of DEVICE_PAYLOADS[kind].examples)
        await device.publish(device.from(subject), JSON.stringify(example));
    assert.ok(client.connected);
    const { logs } = await served.ok('USER', 'GET', `/v3/devices/${device.id}/logs?severity=error`);
    assert.deepEqual(logs, []);
  });

  test('the description of messages carries examples that fit their schemas', async (t) => {
    const served = await startTestGateway(t);
    const document = await served.ok('READONLY', 'GET', '/v3/asyncapi.json');
    const validatorOf = createValidators(document);
    const messages = Object.values(membersOf(membersOf(document['components'])['messages']));
    for (const message of messages.map(membersOf))
      for (const { payload } of (message['examples'] ?? []) as { payload: unknown }[]) {
        const { valid, errors } = validatorOf(membersOf(message['payload'])).validate(payload);
        assert.ok(valid, JSON.stringify([errors.at(-1), payload]));
      }
  });
});
