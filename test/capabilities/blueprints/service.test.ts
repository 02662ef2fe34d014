import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BUILT_IN_IDS } from '../../../src/capabilities/blueprints/index.ts';
import { readArchive } from '../../../src/capabilities/blueprints/source/archive.ts';
import { GatewayError, type Problem } from '../../../src/lib/errors.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { manifestWith, startBlueprints, zipOf, type BlueprintSetup } from './support.ts';

const NOT_THERE = '6d1f0e52-3a57-4c1b-9f0e-000000000000';
const DAY_MS = 86_400_000;

const withScript = (): Promise<Buffer> =>
  zipOf({
    'manifest.yml':
      'blueprint_spec: device/3.0\ndisplay_name: Scripted\nruntime: {type: lua, options: {dir: src}}\n' +
      'telemetry: {j: {display_name: J, type: json, json_schema: j.json}}\n',
    'j.json': '{"type": "array"}',
    'src/main.lua': 'local m = require("m")\nreturn m',
    'src/m.lua': 'return "m"',
    'README.md': 'unused',
  });

async function codesOf(promise: Promise<unknown>): Promise<[string, string][]> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof GatewayError);
  return error.problems.map(({ code, message }) => [code, message]);
}

async function filesIn(zip: Uint8Array): Promise<Record<string, string>> {
  const { files } = await readArchive(zip);
  return Object.fromEntries([...(files ?? [])].map(([path, content]) => [path, String(content)]));
}

/** A device row with the blueprint, as the registry of devices writes it. */
function addDevice({ database }: BlueprintSetup, id: string, blueprintId: string): void {
  database
    .prepare(
      `INSERT INTO device (id, slug, name, type, blueprint_id, communication_type, created_at_ms, updated_at_ms)
       VALUES (?, ?, 'Device', 'LUA', ?, 'UCM_LUA', 0, 0)`,
    )
    .run(id, id, blueprintId);
}

describe('upload', () => {
  test('an upload that is no zip is refused, and nothing is stored', async (t) => {
    const { blueprints } = startBlueprints(t);
    const expected = [['invalid_body', 'file is not a zip archive']];
    assert.deepEqual(await codesOf(blueprints.upload(Buffer.from('no zip'))), expected);
    assert.deepEqual(await codesOf(blueprints.validate(Buffer.from('no zip'))), expected);
  });

  test('an invalid upload is refused with the texts of validate, one entry each', async (t) => {
    const { blueprints, database } = startBlueprints(t);
    const zip = await zipOf({ 'manifest.yml': manifestWith('icon: 1\nfoo: 2\n') });
    const texts = ['icon: must be a string', 'foo: unknown field'];
    assert.deepEqual(await blueprints.validate(zip), texts);
    assert.deepEqual(
      await codesOf(blueprints.upload(zip)),
      texts.map((text) => ['invalid_blueprint', text]),
    );
    const rows = database.prepare("SELECT count(*) AS n FROM blueprint WHERE source = 'uploaded'").get();
    assert.deepEqual(rows, { n: 0 });
  });

  test('an upload is possible while checks alone have used up their share of the thread', async (t) => {
    const { validateWorkMsPerMinute } = LIMITS.blueprints;
    const { blueprints, clock } = startBlueprints(t, 'STRICT', validateWorkMsPerMinute * 1.1);
    const zip = await zipOf({ 'manifest.yml': manifestWith('') });
    assert.deepEqual(await blueprints.validate(zip, 'anonymous'), []);
    await assert.rejects(blueprints.validate(zip, 'anonymous'), {
      code: 'too_many_requests',
      retryAfterS: 7,
    });
    assert.deepEqual(await blueprints.validate(zip, 'a token'), []);
    assert.ok(await blueprints.upload(zip));
    await clock.advance(7_000);
    assert.deepEqual(await blueprints.validate(zip, 'anonymous'), []);
  });

  test('an upload without a manifest is refused by naming it', async (t) => {
    const { blueprints } = startBlueprints(t);
    assert.deepEqual(await blueprints.validate(await zipOf({ 'other.yml': '' })), [
      'missed file manifest.yml',
    ]);
  });

  test('the same content is stored under a new id each time, and kept over a restart', async (t) => {
    const { blueprints, restart } = startBlueprints(t);
    const zip = await withScript();
    assert.deepEqual(await blueprints.validate(zip), []);
    const { warnings, ...first } = await blueprints.upload(zip);
    assert.deepEqual(warnings, []);
    const second = await blueprints.upload(zip);
    assert.notEqual(first.id, second.id);
    const again = restart();
    assert.deepEqual(again.require(first.id), first);
    assert.deepEqual(again.manifest(first.id), blueprints.manifest(second.id));
  });
});

describe('the lenient check', () => {
  const published = (): Promise<Buffer> =>
    zipOf({
      'manifest.yml':
        'blueprint_spec: device/3.0\ndisplay_name: Published\nimplements: [sensor.helium, lib.energy.battery.soc]\n' +
        'runtime: {type: lua, options: {file: main.lua, luarocks: [net-url]}}\n',
      'main.lua': 'local url = require("net.url")\nreturn url',
    });
  const texts = [
    'runtime.options.luarocks[0]: package "net-url" is not available',
    'implements[0]: unknown profile "sensor.helium"',
    'implements[1]: profile "lib.energy.battery.soc" requires telemetry "battery_soc"',
    'main.lua: module "net.url" not found',
  ];

  test('the lenient check is not the usual one', async (t) => {
    const { blueprints } = startBlueprints(t);
    assert.deepEqual(await blueprints.validate(await published()), texts);
  });

  test('the lenient check is named by a refusal that it would not make, and by no other', async (t) => {
    const { blueprints } = startBlueprints(t);
    const problemsOf = async (zip: Buffer): Promise<readonly Problem[]> => {
      const error: unknown = await blueprints.upload(zip).catch((reason: unknown) => reason);
      assert.ok(error instanceof GatewayError);
      return error.problems;
    };
    const details = { option: 'blueprint_checks', value: 'LENIENT' };
    assert.deepEqual(
      await problemsOf(await published()),
      texts.map((message) => ({ code: 'invalid_blueprint', message, details })),
      'the texts of validate, and nothing beside them',
    );
    const bad = await zipOf({ 'manifest.yml': manifestWith('implements: x.y\nfoo: 1\n') });
    assert.ok((await problemsOf(bad)).every((problem) => problem.details === undefined));
  });

  test('the lenient check is not needed for modules that are perhaps never asked for: they are warnings', async (t) => {
    const { blueprints, lines } = startBlueprints(t);
    const zip = await zipOf({
      'manifest.yml':
        'blueprint_spec: device/3.0\ndisplay_name: P\nruntime: {type: lua, options: {file: main.lua}}\n',
      'main.lua':
        'if _VERSION == "Lua 5.1" then require("compat") end\nlocal bit = require("bit32")\nreturn bit',
    });
    const warnings = ['main.lua: module "compat" not found', 'main.lua: module "bit32" not found'];
    assert.deepEqual(await blueprints.validate(zip), []);
    assert.deepEqual((await blueprints.upload(zip)).warnings, warnings);
    assert.deepEqual(lines.at(-1)?.['warnings'], warnings);
  });

  test('the lenient check lets unknown profiles, packages and modules pass and names them in the log', async (t) => {
    const { blueprints, lines } = startBlueprints(t, 'LENIENT');
    assert.deepEqual(await blueprints.validate(await published()), []);
    const { id } = await blueprints.upload(await published());
    assert.deepEqual(blueprints.manifest(id).implements, ['sensor.helium', 'lib.energy.battery.soc']);
    assert.match(String(Buffer.from(blueprints.script(id) ?? [])), /net\.url/);
    const line = lines.find(({ message }) => message === 'blueprint uploaded');
    assert.deepEqual(line?.['warnings'], texts);
  });

  test('the lenient check lets references pass that an unknown profile may imply', async (t) => {
    const manifest = manifestWith(
      'implements: sensor.helium\ntelemetry:\n' +
        '  soc: {display_name: S, type: float, unit: "%", implements: lib.energy.battery.soc.battery_soc}\n',
    );
    const zip = await zipOf({ 'manifest.yml': manifest });
    const strict = startBlueprints(t);
    assert.deepEqual(await strict.blueprints.validate(zip), [
      'implements: unknown profile "sensor.helium"',
      'telemetry.soc.implements: profile "lib.energy.battery.soc" is not listed in implements',
    ]);
    assert.deepEqual(await startBlueprints(t, 'LENIENT').blueprints.validate(zip), []);
  });

  test('the lenient check still refuses everything else', async (t) => {
    const { blueprints } = startBlueprints(t, 'LENIENT');
    assert.deepEqual(
      await blueprints.validate(await zipOf({ 'manifest.yml': manifestWith('implements: x.y\nfoo: 1\n') })),
      ['foo: unknown field'],
    );
  });
});

describe('the zip of a blueprint', () => {
  test('the zip of a blueprint is refused for an unknown id', async (t) => {
    const { blueprints } = startBlueprints(t);
    assert.deepEqual(await codesOf(blueprints.zip(NOT_THERE, 'COMPILED')), [
      ['blueprint_not_found', `There is no blueprint "${NOT_THERE}".`],
    ]);
  });

  test('the ORIGINAL zip is the uploaded bytes', async (t) => {
    const { blueprints } = startBlueprints(t);
    const zip = await withScript();
    const { id } = await blueprints.upload(zip);
    assert.deepEqual(Buffer.from(await blueprints.zip(id, 'ORIGINAL')), zip);
  });

  test('the COMPILED zip holds the manifest and one Lua file, and is the same every time', async (t) => {
    const { blueprints } = startBlueprints(t);
    const [a, b] = [await blueprints.upload(await withScript()), await blueprints.upload(await withScript())];
    const zip = await blueprints.zip(a.id, 'COMPILED');
    assert.deepEqual(await blueprints.zip(b.id, 'COMPILED'), zip);
    const files = await filesIn(zip);
    assert.deepEqual(Object.keys(files), ['main.lua', 'manifest.yml']);
    assert.match(files['manifest.yml'] ?? '', /^blueprint_spec: device_compiled\/3\.0\n/);
    assert.match(files['manifest.yml'] ?? '', /json_schema:\n {6}type: array\n/);
    assert.equal(files['main.lua'], Buffer.from(blueprints.script(a.id) ?? []).toString());
  });

  test('the zip of a blueprint comes in both views for a built-in blueprint', async (t) => {
    const { blueprints } = startBlueprints(t);
    for (const id of Object.values(BUILT_IN_IDS)) {
      const original = await filesIn(await blueprints.zip(id, 'ORIGINAL'));
      assert.match(original['manifest.yml'] ?? '', /^blueprint_spec: device\/3\.0\n/);
      const compiled = await filesIn(await blueprints.zip(id, 'COMPILED'));
      assert.match(compiled['manifest.yml'] ?? '', /^blueprint_spec: device_compiled\/3\.0\n/);
      assert.equal(blueprints.script(id), undefined);
    }
  });

  test('the COMPILED zip is refused as an upload', async (t) => {
    const { blueprints } = startBlueprints(t);
    assert.deepEqual(await blueprints.validate(await blueprints.zip(BUILT_IN_IDS.gateway, 'COMPILED')), [
      'blueprint_spec: unsupported value "device_compiled/3.0", expected one of: device/1.0, device/3.0',
    ]);
  });
});

describe('unused blueprints', () => {
  const upload = async ({ blueprints }: BlueprintSetup): Promise<string> =>
    (await blueprints.upload(await zipOf({ 'manifest.yml': manifestWith('') }))).id;

  test('unused blueprints stay while a device has them, and built-in ones always', async (t) => {
    const setup = startBlueprints(t);
    const id = await upload(setup);
    addDevice(setup, 'a', id);
    setup.blueprints.start();
    await setup.clock.advance(100 * DAY_MS);
    assert.equal(setup.blueprints.removeUnused(), 0);
    assert.ok(setup.blueprints.require(id));
    assert.ok(setup.blueprints.require(BUILT_IN_IDS.empty));
  });

  test('unused blueprints go thirty days after the last device gave them up, not before', async (t) => {
    const setup = startBlueprints(t);
    const id = await upload(setup);
    setup.blueprints.start();
    await setup.clock.advance((LIMITS.blueprints.unusedDays - 1) * DAY_MS);
    addDevice(setup, 'a', id);
    await setup.clock.advance(2 * DAY_MS);
    setup.database.prepare('DELETE FROM device').run();
    await setup.clock.advance((LIMITS.blueprints.unusedDays - 1) * DAY_MS);
    assert.ok(setup.blueprints.require(id));
    await setup.clock.advance(2 * DAY_MS);
    assert.throws(() => setup.blueprints.require(id), { code: 'blueprint_not_found' });
    assert.throws(() => setup.blueprints.manifest(id), GatewayError);
    await setup.blueprints.stop();
    assert.equal(setup.clock.waiting, 0);
  });

  test('unused blueprints stay when the clock jumps years ahead', async (t) => {
    const setup = startBlueprints(t);
    const id = await upload(setup);
    setup.blueprints.start();
    setup.clock.step(10 * 365 * DAY_MS);
    await setup.clock.advance(2 * DAY_MS);
    assert.ok(setup.blueprints.require(id));
    await setup.blueprints.stop();
  });

  test('unused blueprints stay for another day when state.db takes nothing, and nothing ends of it', async (t) => {
    const { blueprints, clock, database, lines } = startBlueprints(t);
    blueprints.start();
    database.close();
    await clock.advance(DAY_MS);
    assert.equal(
      lines.at(-1)?.message,
      'unused blueprints could not be removed, will be tried again in a day',
    );
    await blueprints.stop();
  });

  test('unused blueprints beyond the newest hundred go at the next upload', async (t) => {
    const setup = startBlueprints(t);
    const ids: string[] = [];
    for (let index = 0; index <= LIMITS.blueprints.unused; index++) {
      ids.push(await upload(setup));
    }
    assert.throws(() => setup.blueprints.require(ids[0] ?? ''), { code: 'blueprint_not_found' });
    assert.ok(setup.blueprints.require(ids[1] ?? ''));
  });
});
