/**
 * Blueprints and profiles over HTTP (docs/interface/http.md#blueprints-and-profiles), on the whole gateway. Denials
 * first.
 */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { BUILT_IN_IDS } from '../../src/capabilities/blueprints/index.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { refusal, useTestGateway } from '../support/test-gateway.ts';

const UPLOAD = '/v3/blueprints/upload';
const VALIDATE = '/v3/blueprints/validate';
const PROFILES = '/v3/blueprints/device_profiles/upload';
const UPLOADS = [UPLOAD, VALIDATE, PROFILES];
const GOOD = 'blueprint_spec: device/3.0\ndisplay_name: Meter\nruntime: {type: embedded}\n';
const BAD =
  'blueprint_spec: device/3.0\ndisplay_name: Meter\nruntime: {type: embedded}\n' +
  'telemetry:\n  v: {type: colour, display_name: V}\n  w: {type: float}\n';

let good: Buffer;
let bad: Buffer;

const gateway = useTestGateway();
before(async () => {
  good = await zipOf({ 'manifest.yml': GOOD });
  bad = await zipOf({ 'manifest.yml': BAD });
});

const post = (path: string, body: Uint8Array | string, headers: Record<string, string> = {}) =>
  gateway().call('OWNER', 'POST', path, body, headers);

async function form(name: string, content: Buffer): Promise<[Buffer, Record<string, string>]> {
  const data = new FormData();
  data.set('note', 'text');
  data.set(name, new Blob([Uint8Array.from(content)]), 'blueprint.zip');
  const request = new Request('http://form.test', { method: 'POST', body: data });
  const headers = { 'Content-Type': request.headers.get('content-type') ?? '' };
  return [Buffer.from(await request.arrayBuffer()), headers];
}

describe('an upload is refused', () => {
  for (const path of UPLOADS)
    test(`an upload is refused when it is no zip, as 400, whatever its type says: ${path}`, async () => {
      for (const type of ['application/zip', 'application/octet-stream', ''])
        for (const body of ['', 'PK', 'hello', '{"data":"x"}'])
          assert.equal(refusal(await post(path, body, { 'Content-Type': type })), '400 invalid_body');
      const [wrongPart, headers] = await form('file', good);
      assert.equal(refusal(await post(path, wrongPart, headers)), '400 invalid_body');
      const [noZip, more] = await form('data', Buffer.from('hello'));
      assert.equal(refusal(await post(path, noZip, more)), '400 invalid_body');
    });

  test('an upload one byte larger than 20 MiB is refused as 413 with the limit', async () => {
    const { status, body } = await post(VALIDATE, Buffer.alloc(LIMITS.http.zipBodyBytes + 1));
    assert.equal(status, 413);
    const [{ code, details }] = (body as { errors: [{ code: string; details: unknown }] }).errors;
    assert.deepEqual([code, details], ['payload_too_large', { limit: 20_971_520 }]);
    assert.equal(
      refusal(await post(VALIDATE, Buffer.alloc(LIMITS.http.zipBodyBytes))),
      '400 invalid_body',
      'the largest is read',
    );
  });

  test('an upload is refused when problems are found, as 422 with the texts of validate, one entry for each', async () => {
    const { validation_errors: texts } = (await post(VALIDATE, bad)).body as { validation_errors: string[] };
    assert.equal(texts.length, 2);
    for (const text of texts) assert.match(text, /^telemetry\.[vw]\.\w+: /);
    const { status, body } = await post(UPLOAD, bad);
    assert.equal(status, 422);
    assert.deepEqual(
      (body as { errors: unknown[] }).errors,
      texts.map((message) => ({ code: 'invalid_blueprint', message })),
    );
  });

  test('an upload is refused without a manifest, in the words that clients know', async () => {
    const empty = await zipOf({ 'readme.txt': 'x' });
    assert.deepEqual((await post(VALIDATE, empty)).body, { validation_errors: ['missed file manifest.yml'] });
    assert.equal(refusal(await post(UPLOAD, empty)), '422 invalid_blueprint');
  });

  test('an upload is refused when a profile has problems, with one entry for each, and nothing of it is kept', async () => {
    const mixed = await zipOf({
      'sensor/good.yml': 'blueprint_spec: profile/1.0\ndisplay_name: Good\n',
      'sensor/bad.yml': 'display_name: 5\n',
    });
    const { status, body } = await post(PROFILES, mixed);
    assert.equal(status, 422);
    for (const { code } of (body as { errors: { code: string }[] }).errors)
      assert.equal(code, 'invalid_profiles');
    const using = await zipOf({ 'manifest.yml': `${GOOD}implements: [sensor.good]\n` });
    assert.notDeepEqual((await post(VALIDATE, using)).body, {});
  });
});

describe('an upload', () => {
  test('an upload is taken as raw zip of any type and as part data of a form, each time under a new id', async () => {
    const ids = new Set<string>();
    const [body, headers] = await form('data', good);
    const inFolder = await zipOf({ 'meter/manifest.yml': GOOD });
    for (const [bytes, more] of [
      [good, {}],
      [good, { 'Content-Type': '' }],
      [good, { 'Content-Type': 'application/zip' }],
      [good, { 'Content-Type': 'application/octet-stream' }],
      [good, { 'Content-Type': 'application/x-www-form-urlencoded' }],
      [body, headers],
      [inFolder, {}],
    ] as const) {
      assert.deepEqual((await post(VALIDATE, bytes, more)).body, {});
      const uploaded = (await gateway().ok('OWNER', 'POST', UPLOAD, bytes, more)) as {
        id: string;
        created_at: string;
        blueprint: unknown;
      };
      const { id, created_at } = uploaded;
      assert.deepEqual(uploaded, { id, created_at, blueprint: { id, created_at } });
      assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z$/);
      const { blueprint } = await gateway().ok('READONLY', 'GET', `/v3/blueprints/${id}`);
      assert.deepEqual(blueprint, { id, created_at });
      ids.add(id);
    }
    assert.equal(ids.size, 7);
  });

  test('an upload comes back byte for byte as ORIGINAL, and as another zip compiled', async () => {
    const { id } = await gateway().ok('OWNER', 'POST', UPLOAD, good);
    const zip = async (query: string) => {
      const answer = await gateway().request(
        'READONLY',
        'GET',
        `/v3/blueprints/${String(id)}/zip${query}`,
        undefined,
        {
          'Accept-Encoding': 'gzip',
        },
      );
      assert.equal(answer.headers.get('content-type'), 'application/zip');
      const name = `blueprint-${String(id)}-${/original/i.test(query) ? 'original' : 'compiled'}.zip`;
      assert.equal(answer.headers.get('content-disposition'), `attachment; filename="${name}"`);
      // What profiles there are, and what a blueprint holds, is for who has a token.
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      return Buffer.from(await answer.arrayBuffer());
    };
    const compiled = await zip('');
    for (const view of ['?view=', '?view=COMPILED', '?view=compiled'])
      assert.deepEqual(await zip(view), compiled, view);
    for (const view of ['?view=ORIGINAL', '?view=original']) assert.deepEqual(await zip(view), good, view);
    assert.notDeepEqual(compiled, good);
    const other = `/v3/blueprints/${String(id)}/zip?view=SOURCE`;
    assert.equal(refusal(await gateway().call('READONLY', 'GET', other)), '400 invalid_query');
  });

  test('an upload of profiles makes them usable at once, keeps the others, and comes back on both paths', async () => {
    const profile = 'blueprint_spec: profile/1.0\ndisplay_name: Quiet\n';
    const zip = await zipOf({ 'sensor/quiet.yml': profile });
    assert.deepEqual((await post('/v3/blueprints/upload_device_profiles', zip)).body, {});
    assert.deepEqual((await post('/v3/blueprints/upload_device_profiles?expand=files', zip)).body, {
      files: [{ path: 'sensor/quiet.yml', profile_id: 'sensor.quiet', result: 'UNCHANGED' }],
    });
    const using = await zipOf({ 'manifest.yml': `${GOOD}implements: [sensor.quiet, energy.battery]\n` });
    const { validation_errors: problems } = (await post(VALIDATE, using)).body as {
      validation_errors?: string[];
    };
    assert.ok(!problems?.some((problem) => problem.includes('sensor.quiet')), (problems ?? []).join('\n'));
    const paths = ['/v3/blueprints/device_profiles/download', '/v3/blueprints/download_device_profiles'];
    const [first, second] = await Promise.all(
      paths.map(async (path) =>
        Buffer.from(await (await gateway().request('READONLY', 'GET', path)).arrayBuffer()),
      ),
    );
    assert.deepEqual(first, second);
    assert.ok(first?.includes('sensor/quiet.yml') && first.includes('energy/battery.yml'));
    const again = (await post(`${PROFILES}?expand=files`, first ?? '')).body as {
      files: { result: string }[];
    };
    assert.deepEqual(new Set(again.files.map(({ result }) => result)), new Set(['UNCHANGED']));
  });
});

describe('uploaded blueprints', () => {
  const upload = async (title: string): Promise<string> => {
    const zip = await zipOf({ 'manifest.yml': GOOD.replace('Meter', title) });
    return String((await gateway().ok('OWNER', 'POST', UPLOAD, zip))['id']);
  };
  const found = async (id: string): Promise<Record<string, unknown>> => {
    const { blueprints } = await gateway().ok('READONLY', 'GET', '/v3/blueprints?limit=1000');
    return (blueprints as Record<string, unknown>[]).find((blueprint) => blueprint['id'] === id) ?? {};
  };

  test('uploaded blueprints without a name are listed with their version and the number of their devices', async () => {
    const ids = [await upload('Pump'), await upload('Pump')];
    await gateway().provision('Pump', ids[1]);
    for (const [index, id] of ids.entries()) {
      const { source, origin, has_script, version, device_count, ...rest } = await found(id);
      assert.deepEqual([source, origin, has_script], ['UPLOADED', 'UPLOADED', false]);
      assert.deepEqual([version, device_count], [index + 1, index]);
      assert.equal('name' in rest, false);
    }
    const { source, origin, name, display_name } = await found(await gateway().sampleBlueprintId());
    assert.deepEqual([source, origin, name], ['BUILT_IN', 'BUILT_IN', 'battery-inverter']);
    assert.equal(display_name, 'Battery Inverter');
  });

  test('uploaded blueprints are removed while no device has them; built-in ones stay', async () => {
    const id = await upload('Valve');
    const remove = (wanted: string) => gateway().call('OWNER', 'DELETE', `/v3/blueprints/${wanted}`);
    assert.equal(refusal(await remove(BUILT_IN_IDS.empty)), '422 blueprint_built_in');
    assert.equal((await remove(id)).status, 200);
    assert.equal(refusal(await remove(id)), '404 blueprint_not_found');
    for (const suffix of ['', '/zip']) {
      const gone = await gateway().call('READONLY', 'GET', `/v3/blueprints/${id}${suffix}`);
      assert.equal(refusal(gone), '404 blueprint_not_found');
    }
  });
});

describe('device profiles', () => {
  const path = (id = ''): string => `/v3/blueprints/device_profiles${id}`;
  const found = async (id: string): Promise<Record<string, unknown> | undefined> => {
    const { profiles } = await gateway().ok('READONLY', 'GET', path());
    return (profiles as Record<string, unknown>[]).find((profile) => profile['id'] === id);
  };

  test('device profiles are listed with where they come from, and an uploaded one is removed by its id', async () => {
    const zip = await zipOf({ 'acme/loud.yml': 'blueprint_spec: profile/1.0\ndisplay_name: Loud\n' });
    await gateway().ok('OWNER', 'POST', PROFILES, zip);
    const { uploaded_at: uploadedAt, ...rest } = (await found('acme.loud')) ?? {};
    assert.equal(typeof uploadedAt, 'string');
    assert.deepEqual(rest, {
      id: 'acme.loud',
      path: 'acme/loud.yml',
      source: 'UPLOADED',
      draft: false,
      implements: [],
    });
    assert.equal((await found('energy.battery'))?.['source'], 'BUILT_IN');
    const remove = (id: string) => gateway().call('OWNER', 'DELETE', path(`/${id}`));
    assert.equal(refusal(await remove('energy.battery')), '422 profile_built_in');
    assert.deepEqual((await remove('acme.loud')).body, {});
    assert.equal(refusal(await remove('acme.loud')), '404 profile_not_found');
    assert.equal(await found('acme.loud'), undefined);
  });

  test('device profiles come in pages', async () => {
    const page = await gateway().ok('READONLY', 'GET', path('?limit=2&offset=1'));
    const all = await gateway().ok('READONLY', 'GET', path());
    assert.deepEqual(page['profiles'], (all['profiles'] as unknown[]).slice(1, 3));
    assert.equal(page['total_count'], all['total_count']);
  });
});

describe('a path that is spelled out', () => {
  for (const path of [UPLOAD, VALIDATE, '/v3/blueprints/upload_device_profiles', `/api${UPLOAD}/`])
    test(`a path that is spelled out is no id of a blueprint: GET ${path}`, async () => {
      const answer = await gateway().call('READONLY', 'GET', path);
      assert.equal(refusal(answer), '405 method_not_allowed');
      assert.equal(answer.headers.get('allow'), 'POST');
      assert.equal((await gateway().request('READONLY', 'HEAD', path)).status, 405);
    });

  test('other words in the path are unknown blueprints', async () => {
    for (const id of ['uploads', 'device_profile', 'does_not_exist'])
      assert.equal(
        refusal(await gateway().call('READONLY', 'GET', `/v3/blueprints/${id}`)),
        '404 blueprint_not_found',
      );
  });
});

describe('a blueprint by name', () => {
  test('a blueprint by name is found where the gateway has it, else 404', async () => {
    const path = (name: string, tag = 'latest', namespace = 'enapter'): string =>
      `/v3/blueprints/${namespace}/${name}/${tag}`;
    const { blueprint } = await gateway().ok('READONLY', 'GET', path('battery-inverter'));
    const { id } = blueprint as { id: string };
    assert.deepEqual((await gateway().ok('READONLY', 'GET', `/v3/blueprints/${id}`))['blueprint'], blueprint);
    for (const missing of [
      path('toaster'),
      path('battery-inverter', 'v9'),
      path('battery-inverter', 'latest', 'me'),
    ])
      assert.equal(refusal(await gateway().call('READONLY', 'GET', missing)), '404 blueprint_not_found');
  });
});
