/**
 * Blueprints and device profiles over HTTP (docs/interface/http.md#blueprints-and-profiles): what clients send and
 * what they get.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test, type TestContext } from 'node:test';
import { blueprintRoutes, BUILT_IN_IDS } from '../../../src/capabilities/blueprints/index.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { Http, type Principal } from '../../../src/platform/http/index.ts';
import type { Role } from '../../../src/lib/role.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { recordingLog } from '../../support/workspace.ts';
import { manifestWith, startBlueprints, zipOf } from './support.ts';

function start(test: Pick<TestContext, 'after'>): Http {
  const { blueprints, clock } = startBlueprints(test);
  const principal = (role: Role): Principal => ({
    role,
    origin: { kind: 'token', id: role, name: role },
    rateKey: role,
  });
  return new Http({
    host: '127.0.0.1',
    port: 0,
    clock,
    log: recordingLog(clock).log,
    metrics: createMetrics(),
    newId: randomUUID,
    authenticate: (token) => principal(token as Role),
    resolvers: {},
    routes: blueprintRoutes(blueprints),
    streams: [],
  });
}

interface Ask {
  method?: string;
  role?: Role | null;
  contentType?: string | undefined;
  body?: string | FormData | Buffer<ArrayBuffer>;
}

async function ask(http: Http, path: string, options: Ask = {}): Promise<Response> {
  const { method = 'GET', role = 'OWNER', contentType, body } = options;
  const headers = new Headers();
  if (role !== null) headers.set('X-Service-Auth-Token', role);
  if (contentType !== undefined) headers.set('Content-Type', contentType);
  return http.fetch(
    new Request(`http://gateway.test${path}`, { method, headers, ...(body === undefined ? {} : { body }) }),
  );
}

async function codes(response: Response): Promise<[number, string[]]> {
  const { errors } = (await response.json()) as { errors: { code: string }[] };
  return [response.status, errors.map(({ code }) => code)];
}

const valid = async (): Promise<Buffer<ArrayBuffer>> =>
  Buffer.from(await zipOf({ 'manifest.yml': manifestWith('') }));
const invalid = async (): Promise<Buffer<ArrayBuffer>> =>
  Buffer.from(await zipOf({ 'manifest.yml': manifestWith('icon: 1\nfoo: 2\n') }));

function form(zip: Uint8Array): FormData {
  const data = new FormData();
  data.append('data', new Blob([Buffer.from(zip)]), 'blueprint.zip');
  return data;
}

describe('9.4 refuses', () => {
  test('uploads without a token or below OWNER, downloads without a token', async (t) => {
    const http = start(t);
    const body = await valid();
    for (const path of ['/v3/blueprints/upload', '/v3/blueprints/device_profiles/upload']) {
      assert.equal((await ask(http, path, { method: 'POST', role: null, body })).status, 401);
      assert.deepEqual(await codes(await ask(http, path, { method: 'POST', role: 'USER', body })), [
        403,
        ['insufficient_role'],
      ]);
    }
    assert.equal((await ask(http, '/v3/blueprints/device_profiles/download', { role: null })).status, 401);
  });

  test('what does not exist', async (t) => {
    const http = start(t);
    const id = randomUUID();
    for (const path of [`/${id}`, `/${id}/zip`, '/enapter/unknown/latest', '/other/gateway/latest'])
      assert.deepEqual(await codes(await ask(http, `/v3/blueprints${path}`)), [404, ['blueprint_not_found']]);
  });

  test('bodies that are no zip, and a view that there is not', async (t) => {
    const http = start(t);
    for (const path of ['validate', 'upload', 'device_profiles/upload'])
      for (const body of ['', 'no zip', form(Buffer.from('no zip'))])
        assert.deepEqual(await codes(await ask(http, `/v3/blueprints/${path}`, { method: 'POST', body })), [
          400,
          ['invalid_body'],
        ]);
    const { blueprint } = (await (await ask(http, '/v3/blueprints/enapter/gateway/latest')).json()) as {
      blueprint: { id: string };
    };
    assert.deepEqual(await codes(await ask(http, `/v3/blueprints/${blueprint.id}/zip?view=FULL`)), [
      400,
      ['invalid_query'],
    ]);
  });

  test('bodies over the limit', async (t) => {
    const http = start(t);
    const body = Buffer.alloc(LIMITS.http.zipBodyBytes + 70_000);
    assert.deepEqual(await codes(await ask(http, '/v3/blueprints/validate', { method: 'POST', body })), [
      413,
      ['payload_too_large'],
    ]);
  });

  test('an invalid blueprint with one entry for each text of validate', async (t) => {
    const http = start(t);
    const response = await ask(http, '/v3/blueprints/upload', { method: 'POST', body: await invalid() });
    assert.equal(response.status, 422);
    assert.deepEqual(await response.json(), {
      errors: [
        { code: 'invalid_blueprint', message: 'icon: must be a string' },
        { code: 'invalid_blueprint', message: 'foo: unknown field' },
      ],
    });
  });

  test('invalid profiles with one entry each', async (t) => {
    const http = start(t);
    const body = Buffer.from(await zipOf({ 'lib/a.yml': 'a: 1', 'lib/b.yml': '- 1' }));
    assert.deepEqual(
      await codes(await ask(http, '/v3/blueprints/upload_device_profiles', { method: 'POST', body })),
      [422, ['invalid_profiles', 'invalid_profiles', 'invalid_profiles', 'invalid_profiles']],
    );
  });
});

describe('9.4 answers', () => {
  test('validate: an empty object or all texts, both with 200, also without a token', async (t) => {
    const http = start(t);
    for (const [zip, answer] of [
      [await valid(), {}],
      [await invalid(), { validation_errors: ['icon: must be a string', 'foo: unknown field'] }],
      [Buffer.from(await zipOf({ 'a.txt': '' })), { validation_errors: ['missed file manifest.yml'] }],
    ] as const)
      for (const body of [zip, form(zip)]) {
        const response = await ask(http, '/v3/blueprints/validate', { method: 'POST', role: null, body });
        assert.equal(response.status, 200);
        assert.deepEqual(await response.json(), answer);
      }
  });

  test('upload: both shapes of the answer, whatever way the zip comes', async (t) => {
    const http = start(t);
    const zip = await valid();
    for (const { body, contentType } of [
      { body: form(zip), contentType: undefined },
      { body: zip, contentType: undefined },
      { body: zip, contentType: '' },
      { body: zip, contentType: 'application/zip' },
      { body: zip, contentType: 'application/x-www-form-urlencoded' },
    ]) {
      const response = await ask(http, '/v3/blueprints/upload', { method: 'POST', body, contentType });
      assert.equal(response.status, 200);
      const answer = (await response.json()) as { id: string; created_at: string; blueprint: unknown };
      assert.deepEqual(answer.blueprint, { id: answer.id, created_at: answer.created_at });
      assert.match(answer.created_at, /^2026-03-01T08:00:00\.\d{3}Z$/);
      const got = await (await ask(http, `/v3/blueprints/${answer.id}`, { role: 'READONLY' })).json();
      assert.deepEqual(got, { blueprint: answer.blueprint });
    }
  });

  test('list: all by id in pages, built-in ones with their name', async (t) => {
    const http = start(t);
    const upload = await ask(http, '/v3/blueprints/upload', { method: 'POST', body: await valid() });
    const { id } = (await upload.json()) as { id: string };
    type Page = { blueprints: Record<string, unknown>[]; total_count: number };
    const list = async (query: string): Promise<Page> =>
      (await (await ask(http, `/v3/blueprints?${query}`, { role: 'READONLY' })).json()) as Page;
    const { blueprints, total_count: count } = await list('');
    const ids = blueprints.map((blueprint) => String(blueprint['id']));
    assert.deepEqual([count, ids], [ids.length, ids.toSorted()]);
    const uploaded = blueprints.find((blueprint) => blueprint['id'] === id);
    assert.equal(uploaded?.['source'], 'UPLOADED');
    assert.equal(uploaded['has_script'], false);
    assert.equal('name' in uploaded, false);
    const inverter = blueprints.find(({ name }) => name === 'battery-inverter');
    assert.deepEqual([inverter?.['source'], inverter?.['display_name']], ['BUILT_IN', 'Battery Inverter']);
    const second = await list('limit=1&offset=1');
    assert.deepEqual([second.blueprints.map((found) => found['id']), second.total_count], [[ids[1]], count]);
    const none = await ask(http, '/v3/blueprints', { role: null });
    assert.equal(none.status, 401);
  });

  test('list: equal names are told apart by their version, and each says how many devices have it', async (t) => {
    const http = start(t);
    const upload = async (): Promise<string> => {
      const answer = await ask(http, '/v3/blueprints/upload', { method: 'POST', body: await valid() });
      return ((await answer.json()) as { id: string }).id;
    };
    const ids = [await upload(), await upload()];
    const answer = await ask(http, '/v3/blueprints', { role: 'READONLY' });
    const { blueprints } = (await answer.json()) as { blueprints: Record<string, unknown>[] };
    const factsOf = (id: string | undefined) => {
      const found = blueprints.find((blueprint) => blueprint['id'] === id);
      return [found?.['origin'], found?.['version'], found?.['device_count']];
    };
    assert.deepEqual(ids.map(factsOf), [
      ['UPLOADED', 1, 0],
      ['UPLOADED', 2, 0],
    ]);
    const builtIn = blueprints.find(({ name }) => name === 'empty');
    assert.deepEqual(factsOf(String(builtIn?.['id'])), ['BUILT_IN', 1, 0]);
  });

  test('remove: an uploaded blueprint without devices, and no other', async (t) => {
    const http = start(t);
    const upload = await ask(http, '/v3/blueprints/upload', { method: 'POST', body: await valid() });
    const { id } = (await upload.json()) as { id: string };
    const remove = async (wanted: string, role: 'OWNER' | 'USER' = 'OWNER'): Promise<string> => {
      const answer = await ask(http, `/v3/blueprints/${wanted}`, { method: 'DELETE', role });
      if (answer.status === 200) return '200';
      const { errors } = (await answer.json()) as { errors: { code: string }[] };
      return `${answer.status} ${errors[0]?.code}`;
    };
    assert.equal(await remove(BUILT_IN_IDS.empty), '422 blueprint_built_in');
    assert.equal(await remove(id, 'USER'), '403 insufficient_role');
    assert.equal(await remove(id), '200');
    assert.equal(await remove(id), '404 blueprint_not_found');
    assert.equal((await ask(http, `/v3/blueprints/${id}`, { role: 'READONLY' })).status, 404);
  });

  test('zip: COMPILED unless asked for ORIGINAL, which is byte for byte the upload', async (t) => {
    const http = start(t);
    const zip = await valid();
    const upload = await ask(http, '/v3/blueprints/upload', { method: 'POST', body: form(zip) });
    const { id } = (await upload.json()) as { id: string };
    const original = await ask(http, `/v3/blueprints/${id}/zip?view=original`, { role: 'READONLY' });
    assert.equal(original.headers.get('content-type'), 'application/zip');
    assert.equal(
      original.headers.get('content-disposition'),
      `attachment; filename="blueprint-${id}-original.zip"`,
    );
    assert.deepEqual(Buffer.from(await original.arrayBuffer()), zip);
    const compiled = await ask(http, `/v3/blueprints/${id}/zip`);
    assert.notDeepEqual(Buffer.from(await compiled.arrayBuffer()), zip);
  });

  test('profiles: the same zip on both paths, taken back as an upload', async (t) => {
    const http = start(t);
    const download = await ask(http, '/v3/blueprints/device_profiles/download');
    const zip = Buffer.from(await download.arrayBuffer());
    const other = await ask(http, '/v3/blueprints/download_device_profiles');
    assert.ok(zip.equals(Buffer.from(await other.arrayBuffer())));
    for (const path of ['device_profiles/upload', 'upload_device_profiles']) {
      const upload = await ask(http, `/v3/blueprints/${path}?expand=files`, {
        method: 'POST',
        body: form(zip),
      });
      assert.equal(upload.status, 200);
      const { files } = (await upload.json()) as { files: { result: string }[] };
      assert.deepEqual(new Set(files.map(({ result }) => result)), new Set(['UNCHANGED']));
    }
  });
});
