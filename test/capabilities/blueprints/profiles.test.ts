import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseProfiles } from '../../../src/capabilities/blueprints/profiles/files.ts';
import { loadBuiltInProfiles } from '../../../src/capabilities/blueprints/built-in.ts';
import { readArchive } from '../../../src/capabilities/blueprints/source/archive.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { Blueprints } from '../../../src/capabilities/blueprints/index.ts';
import type { UploadedFile } from '../../../src/capabilities/blueprints/profiles/library.ts';
import { PUBLISHED } from './published-manifests.ts';
import { manifestWith, startBlueprints, zipOf } from './support.ts';

const HEAD = 'blueprint_spec: profile/1.0\ndisplay_name: P\n';

function problemsOf(files: Record<string, string>): string[] {
  return parseProfiles(new Map(Object.entries(files)), loadBuiltInProfiles().profiles).problems;
}

describe('profiles are refused for', () => {
  const cases: [title: string, files: Record<string, string>, problems: string[]][] = [
    [
      'an unknown profile',
      { 'energy/battery.yml': `${HEAD}implements: [lib.device.nameplate, lib.energy.pv.power, lib.x]\n` },
      ['energy/battery.yml: implements[2]: unknown profile "lib.x"'],
    ],
    [
      'a ring',
      { 'lib/a.yml': `${HEAD}implements: lib.b\n`, 'lib/b.yml': `${HEAD}implements: [lib.a]\n` },
      [
        'lib/a.yml: implements: cycle lib.a -> lib.b -> lib.a',
        'lib/b.yml: implements: cycle lib.b -> lib.a -> lib.b',
      ],
    ],
    [
      'a ring of one',
      { 'lib/a.yml': `${HEAD}implements: lib.a\n` },
      ['lib/a.yml: implements: cycle lib.a -> lib.a'],
    ],
    [
      'a draft in one that is none',
      { 'lib/a.yml': `${HEAD}implements: [lib.b]\n`, 'lib/b.yml': `${HEAD}draft: true\n` },
      ['lib/a.yml: implements[0]: non-draft profile implements draft "lib.b"'],
    ],
    [
      'another spec',
      { 'lib/a.yml': 'blueprint_spec: device/3.0\ndisplay_name: P\n' },
      ['lib/a.yml: blueprint_spec: must be profile/1.0'],
    ],
    [
      'their form',
      { 'lib/a.yml': 'blueprint_spec: profile/1.0\ntelemetry: {x: {type: number, unit: watt, color: 1}}\n' },
      [
        'lib/a.yml: telemetry.x.type: unsupported value "number", expected one of: boolean, string, integer, float, array_of_strings, json, alerts',
        'lib/a.yml: telemetry.x.unit: unknown unit "watt"; use a UCUM code',
        'lib/a.yml: telemetry.x.color: unknown field',
        'lib/a.yml: telemetry.x.display_name: required',
        'lib/a.yml: display_name: required',
      ],
    ],
    [
      'YAML',
      { 'lib/a.yml': 'a: [' },
      [
        'lib/a.yml: line 1, column 5: Flow sequence in block collection must be sufficiently indented and end with a ]',
      ],
    ],
    ['no map', { 'lib/a.yml': '- 1' }, ['lib/a.yml: must be a mapping']],
    [
      'a file name',
      { 'lib/My-File.yml': HEAD },
      ['lib/My-File.yml: invalid file name, folders and names are snake_case'],
    ],
    [
      'two members of one name that differ',
      {
        'lib/a.yml': `${HEAD}implements: [lib.b, lib.c]\n`,
        'lib/b.yml': `${HEAD}telemetry: {x: {display_name: X, type: float, unit: V}}\n`,
        'lib/c.yml': `${HEAD}telemetry: {x: {display_name: X, type: float, unit: A}}\n`,
      },
      ['lib/a.yml: telemetry.x: differs between lib.b and lib.c'],
    ],
  ];
  for (const [title, files, problems] of cases)
    test(title, () => assert.deepEqual(problemsOf(files), problems));
});

test('profiles may share a member through two ways, and a file may stand beside a folder', () => {
  assert.deepEqual(
    problemsOf({
      'lib/a.yml': `${HEAD}implements: [lib.a.b, lib.a.c]\n`,
      'lib/a/b.yml': `${HEAD}implements: [lib.d]\n`,
      'lib/a/c.yml': `${HEAD}implements: [lib.d]\n`,
      'lib/d.yml': `${HEAD}telemetry: {x: {display_name: X, type: string, enum: [a, b]}}\n`,
    }),
    [],
  );
});

describe('the profiles of the gateway', () => {
  const codes = async (promise: Promise<unknown>): Promise<string[]> => {
    const error = await promise.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof GatewayError);
    return error.problems.map(({ code, message }) => `${code}: ${message}`);
  };
  const usesNew = manifestWith(
    'implements: [energy.flywheel]\ntelemetry: {spin: {display_name: S, type: float, unit: rpm}}\n',
  );
  const flywheel = {
    'energy/flywheel.yml': `${HEAD}telemetry: {spin: {display_name: S, type: float, unit: rpm}}\n`,
  };

  test('the profiles of the gateway do not take what is no zip, holds no profile or a wrong one, and then change nothing', async (t) => {
    const { blueprints } = startBlueprints(t);
    const before = await blueprints.profiles.zip();
    assert.deepEqual(await codes(blueprints.profiles.upload(Buffer.from('x'))), [
      'invalid_body: file is not a zip archive',
    ]);
    assert.deepEqual(await codes(blueprints.profiles.upload(await zipOf({ 'README.md': '' }))), [
      'invalid_profiles: archive: no profile files',
    ]);
    assert.deepEqual(
      await codes(
        blueprints.profiles.upload(await zipOf({ ...flywheel, 'lib/b.yml': HEAD.replace('profile', 'x') })),
      ),
      ['invalid_profiles: lib/b.yml: blueprint_spec: must be profile/1.0'],
    );
    const large = `${HEAD}description: ${'x'.repeat(LIMITS.blueprints.profileBytes)}\n`;
    assert.deepEqual(await codes(blueprints.profiles.upload(await zipOf({ 'lib/a.yml': large }))), [
      'invalid_profiles: lib/a.yml: larger than 64 KiB',
    ]);
    const many = Object.fromEntries(
      Array.from({ length: 70 }, (_, index) => [
        `lib/a${index}.yml`,
        Buffer.alloc(LIMITS.blueprints.profileBytes),
      ]),
    );
    assert.deepEqual(await codes(blueprints.profiles.upload(await zipOf(many))), [
      'invalid_profiles: archive: unpacked size exceeds 4 MiB',
    ]);
    assert.deepEqual(await blueprints.profiles.zip(), before);
  });

  test('the profiles of the gateway come as one tree of files, which can be uploaded again', async (t) => {
    const { blueprints } = startBlueprints(t);
    const zip = await blueprints.profiles.zip();
    const { files } = await readArchive(zip);
    assert.equal(files?.size, 90);
    assert.ok(files?.has('energy/battery_inverter/1_phase.yml'));
    await blueprints.profiles.upload(zip);
    assert.deepEqual(await blueprints.profiles.zip(), zip);
  });

  test('the profiles of the gateway are found in the zip of a whole repository, whose hidden folders and other files mean nothing', async (t) => {
    const { blueprints } = startBlueprints(t);
    await blueprints.profiles.upload(
      await zipOf({
        'profiles-main/.github/workflows/check.yml': 'on: push',
        'profiles-main/.yamllint.yml': '- no profile',
        'profiles-main/README.md': '',
        ...Object.fromEntries(
          Object.entries(flywheel).map(([path, text]) => [`profiles-main/${path}`, text]),
        ),
      }),
    );
    assert.deepEqual(await blueprints.validate(await zipOf({ 'manifest.yml': usesNew })), []);
  });

  test('the profiles of the gateway can be used by blueprints once uploaded, also after a restart', async (t) => {
    const { blueprints, restart } = startBlueprints(t);
    const zip = await zipOf({ 'manifest.yml': usesNew });
    assert.deepEqual(await blueprints.validate(zip), ['implements[0]: unknown profile "energy.flywheel"']);
    await blueprints.profiles.upload(await zipOf(flywheel));
    for (const service of [blueprints, restart()]) {
      const { id } = await service.upload(zip);
      assert.deepEqual(service.manifest(id).implements, ['energy.flywheel']);
      assert.deepEqual(service.manifest(id).telemetry['spin']?.implements, ['energy.flywheel.spin']);
    }
  });

  const results = (files: UploadedFile[]): Record<string, string> =>
    Object.fromEntries(
      files.map(({ path, profileId, result }) => [path, `${result} ${profileId ?? ''}`.trim()]),
    );
  const sources = (blueprints: Blueprints): Record<string, string> =>
    Object.fromEntries(
      blueprints.profiles
        .list()
        .filter(({ source }) => source !== 'BUILT_IN')
        .map(({ id, source }) => [id, source]),
    );

  test('the profiles of the gateway stay built in when the download is uploaded unchanged, and published blueprints stay good', async (t) => {
    const { blueprints, restart } = startBlueprints(t);
    const files = await blueprints.profiles.upload(await blueprints.profiles.zip());
    assert.deepEqual(new Set(files.map(({ result }) => result)), new Set(['UNCHANGED']));
    for (const service of [blueprints, restart()]) {
      assert.deepEqual(sources(service), {});
      for (const text of Object.values(PUBLISHED))
        assert.deepEqual(await service.validate(await zipOf({ 'manifest.yml': text })), []);
    }
  });

  test('the profiles of the gateway keep every revision that was delivered when all of them are uploaded changed', async (t) => {
    const { blueprints, restart } = startBlueprints(t);
    const { files: tree } = await readArchive(await blueprints.profiles.zip());
    const changed = Object.fromEntries(
      [...(tree ?? [])].map(([path, text]) => [path, `# of ours\n${text?.toString('utf8') ?? ''}`]),
    );
    const files = await blueprints.profiles.upload(await zipOf(changed));
    assert.deepEqual(new Set(files.map(({ result }) => result)), new Set(['CHANGED']));
    for (const service of [blueprints, restart()])
      for (const text of Object.values(PUBLISHED))
        assert.deepEqual(await service.validate(await zipOf({ 'manifest.yml': text })), []);
  });

  test('the profiles of the gateway are told apart, and what each file became is answered', async (t) => {
    const { blueprints, restart } = startBlueprints(t);
    const soc = 'lib/energy/battery/soc.yml';
    const mine = `${HEAD}telemetry: {soc: {display_name: S, type: float, unit: '%'}}\n`;
    const first = await zipOf({ ...flywheel, [soc]: mine, 'README.md': 'text' });
    assert.deepEqual(results(await blueprints.profiles.upload(first)), {
      'energy/flywheel.yml': 'ADDED energy.flywheel',
      [soc]: 'CHANGED lib.energy.battery.soc',
      'README.md': 'IGNORED',
    });
    const expected = { 'energy.flywheel': 'UPLOADED', 'lib.energy.battery.soc': 'CHANGED' };
    assert.deepEqual(sources(blueprints), expected);
    assert.deepEqual(sources(restart()), expected);
    const builtIn = loadBuiltInProfiles().files.get(soc) ?? '';
    assert.deepEqual(
      results(await blueprints.profiles.upload(await zipOf({ ...flywheel, [soc]: builtIn }))),
      {
        'energy/flywheel.yml': 'UNCHANGED energy.flywheel',
        [soc]: 'RESTORED lib.energy.battery.soc',
      },
    );
    assert.deepEqual(sources(restart()), { 'energy.flywheel': 'UPLOADED' });
  });

  test('the profiles of the gateway are removed one by one, those that come with the gateway never', async (t) => {
    const { blueprints, restart } = startBlueprints(t);
    const before = await blueprints.profiles.zip();
    const soc = 'lib/energy/battery/soc.yml';
    await blueprints.profiles.upload(
      await zipOf({
        ...flywheel,
        'energy/twin.yml': `${HEAD}implements: [energy.flywheel]\n`,
        [soc]: `${HEAD}telemetry: {soc: {display_name: S, type: float, unit: '%'}}\n`,
      }),
    );
    const refusal = (id: string): Promise<string[]> =>
      codes(Promise.resolve().then(() => blueprints.profiles.remove(id)));
    assert.deepEqual(await refusal('energy.none'), [
      'profile_not_found: There is no device profile "energy.none".',
    ]);
    assert.deepEqual(await refusal('energy.battery'), [
      'profile_built_in: The device profile "energy.battery" comes with the gateway and is not changed; there is nothing to remove.',
    ]);
    assert.deepEqual(await refusal('energy.flywheel'), [
      'profile_in_use: The device profile "energy.flywheel" is implemented by energy.twin: remove that first.',
    ]);
    for (const id of ['energy.twin', 'energy.flywheel', 'lib.energy.battery.soc'])
      blueprints.profiles.remove(id);
    for (const service of [blueprints, restart()]) {
      assert.deepEqual(sources(service), {});
      assert.deepEqual(await service.profiles.zip(), before);
    }
  });

  test("the profiles of the gateway keep the name of the vendor's folder, and the folder of a repository is none", async (t) => {
    const cases: [path: string, id: string][] = [
      ['acme/flywheel.yml', 'acme.flywheel'],
      ['acme/storage/flywheel.yml', 'acme.storage.flywheel'],
      ['lib/flywheel.yml', 'lib.flywheel'],
      ['profiles-main/acme/flywheel.yml', 'acme.flywheel'],
      ['profiles/energy/flywheel.yml', 'energy.flywheel'],
      ['flywheel.yml', 'flywheel'],
    ];
    for (const [path, id] of cases) {
      const { blueprints } = startBlueprints(t);
      await blueprints.profiles.upload(await zipOf({ [path]: flywheel['energy/flywheel.yml'] }));
      assert.deepEqual(sources(blueprints), { [id]: 'UPLOADED' }, path);
    }
  });

  test('the profiles of the gateway replace those of the same path, keep what they replaced good and leave the others', async (t) => {
    const { blueprints } = startBlueprints(t);
    await blueprints.profiles.upload(
      await zipOf({
        'lib/energy/battery/soc.yml': `${HEAD}telemetry: {soc: {display_name: S, type: float, unit: '%'}}\n`,
      }),
    );
    const lists = async (name: string): Promise<string[]> =>
      blueprints.validate(
        await zipOf({
          'manifest.yml': manifestWith(
            `implements: [lib.energy.battery.soc]\ntelemetry: {${name}: {display_name: S, type: float, unit: '%'}}\n`,
          ),
        }),
      );
    assert.deepEqual(await lists('charge'), [
      'implements[0]: profile "lib.energy.battery.soc" requires telemetry "soc"',
    ]);
    assert.deepEqual(await lists('soc'), []);
    assert.deepEqual(await lists('battery_soc'), []);
    assert.equal((await readArchive(await blueprints.profiles.zip())).files?.size, 90);
  });

  test('the same profiles uploaded twice lead to the same compiled blueprint, byte for byte', async (t) => {
    const { blueprints } = startBlueprints(t);
    const zip = await zipOf({ 'manifest.yml': usesNew });
    const compiled: Uint8Array[] = [];
    for (let round = 0; round < 2; round++) {
      await blueprints.profiles.upload(await zipOf(flywheel));
      await blueprints.profiles.upload(await blueprints.profiles.zip());
      compiled.push(await blueprints.zip((await blueprints.upload(zip)).id, 'COMPILED'));
    }
    assert.deepEqual(compiled[1], compiled[0]);
  });

  test('the profiles of the gateway are named in the log and left out when a newer program finds them invalid', async (t) => {
    const { database, lines, restart } = startBlueprints(t);
    database
      .prepare("INSERT INTO device_profile (path, content, uploaded_at_ms) VALUES ('lib/old.yml', 'x: 1', 0)")
      .run();
    const service = restart();
    assert.ok(lines.some((line) => line.message === 'uploaded device profiles are not valid any more'));
    assert.deepEqual(
      await service.validate(await zipOf({ 'manifest.yml': manifestWith('implements: lib.old\n') })),
      ['implements: unknown profile "lib.old"'],
    );
  });
});
