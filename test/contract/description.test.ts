/** The description of the interface and the running gateway say the same, both ways. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type ApiDescription, membersOf, readDescription } from '../../scripts/request-check/description.ts';
import { createValidators } from '../../scripts/request-check/verdict.ts';
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
    document = await served.ok('READONLY', 'GET', '/v3/openapi.json');
    description = readDescription(document);
  });

  test('has every operation on every path that is served, and no other', () => {
    const { routes } = served.gateway.operations();
    const expected = routes.flatMap(({ operation, method, paths }) =>
      paths.map((path) => `${method} ${path} ${operation}`),
    );
    const described = description.operations.map(
      ({ operation, method, path }) => `${method} ${path} ${operation}`,
    );
    assert.deepEqual(described.toSorted(), expected.toSorted());
  });

  test('says of every operation what it does and what it answers', () => {
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

  test('has a sentence for every parameter', () => {
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

  test('names the role that an operation needs', async () => {
    for (const { method, path, role } of description.operations) {
      const answer = await served.call(null, method, filled(path));
      if (role === null) continue;
      assert.equal(refusal(answer), '401 invalid_header', `${method} ${path}`);
    }
  });

  test('leaves out no method that a path answers', async () => {
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

  test('has every stream with its paths', () => {
    const { streams } = served.gateway.operations();
    const described = document['x-streams'] as { operation: string; paths: { path: string }[] }[];
    assert.deepEqual(
      new Map(described.map(({ operation, paths }) => [operation, paths.map(({ path }) => path)])),
      new Map(streams.map(({ operation, paths }) => [operation, [...paths]])),
    );
  });

  test('asks for a token at every stream', async () => {
    const described = document['x-streams'] as { paths: { path: string }[] }[];
    for (const { path } of described.flatMap(({ paths }) => paths))
      await assert.rejects(served.watch(null, filled(path)), (error: Refusal) => error.status === 401, path);
  });

  test('marks older paths only', () => {
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

  test('carries examples that fit their schemas', () => {
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

  test('is not sent again to a caller that has it', async () => {
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

  test('comes compressed to a caller that takes it so', async () => {
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

  test('is refused to a caller without a token that asks too often', async () => {
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

describe('the reference page', () => {
  test('shows every operation, runs its own script only, and may load and send nothing', async (t) => {
    const served = await startTestGateway(t);
    const page = await served.call('READONLY', 'GET', '/docs');
    const text = String(page.body);
    for (const { operation } of served.gateway.operations().routes)
      assert.ok(text.includes(`id="${operation}"`), operation);
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
    const policy = page.headers.get('content-security-policy') ?? '';
    for (const element of ['style', 'script']) {
      const [[, content = ''] = [], ...others] = text.matchAll(
        new RegExp(`<${element}>([^]*?)</${element}>`, 'g'),
      );
      assert.deepEqual(others, []);
      const hash = createHash('sha256').update(content).digest('base64');
      assert.ok(policy.includes(`${element}-src 'sha256-${hash}'`), policy);
    }
    assert.ok(policy.includes("default-src 'none'"), policy);
    // An address in an example is only text.
    assert.doesNotMatch(
      text,
      /<script [^>]|<link|<img|https?:\/\/(?!metrics\.example)|\sstyle=|<[^>]*\son\w+=/,
    );
  });
});

describe('the description of the side of the devices', () => {
  test('has every topic that devices speak on, and their payloads are taken', async (t) => {
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

  test('carries examples that fit their schemas', async (t) => {
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
