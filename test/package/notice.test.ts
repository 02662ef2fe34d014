/** What others made and the packages hold: its licences and the bill of materials, counted against the bundles themselves. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { build } from 'esbuild';
import { stageGateway, stageModule } from '../../scripts/build-deb/contents.ts';
import { billOfMaterials, noticeOf, npmPart } from '../../scripts/build-deb/notice.ts';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

const noDpkg = spawnSync('dpkg-deb', ['--version']).status !== 0 && 'no dpkg-deb';
const BUNDLES = join(PROJECT_ROOT, 'dist');
/** Copied into a package as they are. */
const COPIED = { gateway: ['better-sqlite3', 'wasmoon'], module: ['wasmoon'] };
/** No packages of npm, or not below that name. */
const OTHERS = { gateway: ['libatomic1', 'lua', 'node', 'sqlite'], module: ['libatomic1', 'lua', 'node'] };

interface Bill {
  bomFormat: string;
  specVersion: string;
  metadata: { component: { name: string; version: string } };
  components: {
    type: string;
    name: string;
    version: string;
    purl: string;
    'bom-ref': string;
    licenses: [{ license?: { id?: string; name?: string }; expression?: string }];
    hashes?: { alg: string; content: string }[];
  }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/** Folders of packages below the project that paths lie in. */
const packagesAmong = (paths: readonly string[]): string[] => [
  ...new Set(paths.flatMap((path) => /node_modules\/.*/.exec(path)?.[0] ?? []).map(folderOf)),
];

function folderOf(path: string): string {
  const parts = path.split('/');
  const last = parts.lastIndexOf('node_modules');
  return parts.slice(0, last + (parts[last + 1]?.startsWith('@') ? 3 : 2)).join('/');
}

/** By the maps of the programs, which list the sources of each; the own maps of drizzle-orm leave out its folder. */
function packagesOfPrograms(isWanted: (path: string) => boolean): string[] {
  const maps = readdirSync(BUNDLES, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.js.map') && isWanted(path),
  );
  const sourcesOf = (path: string): string[] =>
    (JSON.parse(readFileSync(join(BUNDLES, path), 'utf8')) as { sources: string[] }).sources;
  const sources = maps.flatMap(sourcesOf);
  return packagesAmong(sources.map((path) => path.replace('node_modules/src/', 'node_modules/drizzle-orm/')));
}

/** By what the bundler says of the console when it is asked once more. */
async function packagesOfConsole(): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: PROJECT_ROOT,
    entryPoints: ['src/console/app.tsx', 'src/console/styles.css'],
    outdir: 'nowhere',
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    loader: { '.svg': 'file' },
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfig: join(PROJECT_ROOT, 'src/console/tsconfig.json'),
    minify: true,
    metafile: true,
  });
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  return packagesAmong(inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path));
}

describe('what others made', { skip: noDpkg }, () => {
  let folder: string;
  const read = (path: string): string => readFileSync(join(folder, path), 'utf8');
  const texts = (library: string): { notice: string; bill: Bill } => ({
    notice: read(`${library}/NOTICE`),
    bill: JSON.parse(read(`${library}/sbom.cdx.json`)) as Bill,
  });

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'notice-'));
    const common = { source: PROJECT_ROOT, bundles: BUNDLES, processor: 'amd64', version: '0.1.0' } as const;
    stageGateway({ ...common, root: join(folder, 'gateway') });
    stageModule({ ...common, root: join(folder, 'module') });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  function assertNamesAll(library: string, bundled: readonly string[], others: readonly string[]): void {
    const { notice, bill } = texts(library);
    const parts = [...new Set(bundled)].map((path) => npmPart(PROJECT_ROOT, path));
    const named = (one: { name: string; version: string }): string => `${one.name} ${one.version}`;
    const listed = bill.components.filter(({ name }) => !others.includes(name)).map(named);
    assert.deepEqual(listed.sort(), [...new Set(parts.map(named))].sort());
    assert.deepEqual(
      bill.components
        .map(({ name }) => name)
        .filter((name) => others.includes(name))
        .sort(),
      others,
    );
    for (const part of parts) assert.ok(notice.includes(part.text), `licence of ${part.name}`);
    for (const component of bill.components) {
      assert.ok(
        [' (', '\n'].some((end) => notice.includes(`\n${named(component)}${end}`)),
        component.name,
      );
      const [license] = component.licenses;
      assert.ok(license.license?.id ?? license.license?.name ?? license.expression, component.name);
    }
  }

  test('NOTICE and bill of materials of the gateway have every package of its programs and of the console', async () => {
    const programs = packagesOfPrograms(() => true);
    const ofConsole = await packagesOfConsole();
    assert.ok(programs.includes('node_modules/hono') && ofConsole.includes('node_modules/preact'));
    const copied = COPIED.gateway.map((name) => `node_modules/${name}`);
    assertNamesAll(
      'gateway/usr/lib/energy-gateway/package',
      [...programs, ...ofConsole, ...copied],
      OTHERS.gateway,
    );
  });

  test('NOTICE and bill of materials of the module have nothing of the console', () => {
    const programs = packagesOfPrograms((path) => /^field-module\/(?:main|script-thread)\./.test(path));
    const copied = COPIED.module.map((name) => `node_modules/${name}`);
    assertNamesAll('module/usr/lib/energy-gateway-module', [...programs, ...copied], OTHERS.module);
  });

  test('the bill of materials has the form of CycloneDX 1.6, each package once with the hash of what was fetched', () => {
    const { bill } = texts('gateway/usr/lib/energy-gateway/package');
    assert.deepEqual([bill.bomFormat, bill.specVersion], ['CycloneDX', '1.6']);
    assert.deepEqual(bill.metadata.component, {
      ...bill.metadata.component,
      name: 'energy-gateway',
      version: '0.1.0',
    });
    const refs = bill.components.map((component) => component['bom-ref']);
    assert.equal(new Set(refs).size, refs.length);
    assert.deepEqual(bill.dependencies, [{ ref: 'energy-gateway@0.1.0', dependsOn: refs }]);
    const hono = bill.components.find(({ name }) => name === 'hono');
    assert.equal(hono?.purl, `pkg:npm/hono@${hono?.version}`);
    assert.match(hono?.hashes?.[0]?.content ?? '', /^[0-9a-f]{128}$/);
  });

  test('the copyright file names what others made, and the list of bundles stays out', () => {
    assert.match(
      read('gateway/usr/share/doc/energy-gateway/copyright'),
      /NOTICE below \/usr\/lib\/energy-gateway/,
    );
    assert.equal(
      existsSync(join(folder, 'gateway/usr/lib/energy-gateway/package/dist/packages.json')),
      false,
    );
    assert.equal(existsSync(join(folder, 'module/usr/lib/energy-gateway-module/dist/packages.json')), false);
  });
});

describe('a package of npm', () => {
  /** A project with one package, of these files. */
  function project(
    t: Parameters<typeof temporaryFolder>[0],
    files: Readonly<Record<string, string>>,
  ): string {
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, 'node_modules/one'), { recursive: true });
    writeFileSync(join(folder, 'package-lock.json'), '{ "packages": {} }');
    for (const [name, text] of Object.entries(files))
      writeFileSync(join(folder, 'node_modules/one', name), text);
    return folder;
  }

  test('a package without the text of a licence fails the build, by name', (t) => {
    const folder = project(t, { 'package.json': '{ "name": "one", "version": "1.0.0", "license": "MIT" }' });
    assert.throws(() => npmPart(folder, 'node_modules/one'), /one comes without the text of its licence/);
  });

  test('a package brings its notices along with its licence', (t) => {
    const folder = project(t, {
      'package.json': '{ "name": "one", "version": "1.0.0", "license": "Apache-2.0" }',
      'LICENCE.md': 'the licence\n',
      'NOTICE.txt': 'the notice\n',
      'license-checker.js': 'no text of a licence',
    });
    assert.equal(npmPart(folder, 'node_modules/one').text, 'the licence\n\nthe notice');
  });

  test('a package shares a licence text with others of the same text, below the names of all', () => {
    const part = { version: '1', license: 'MIT', text: 'the text', purl: 'pkg:npm/x@1' };
    const notice = noticeOf('It', [
      { ...part, name: 'one' },
      { ...part, name: 'two', license: undefined },
    ]);
    assert.match(notice, /^one 1 \(MIT\)\ntwo 1\n\nthe text$/m);
    assert.equal(notice.split('the text').length, 2);
  });

  test('a package gives its licence as an identifier, an expression, or the place of the text', () => {
    const part = { name: 'one', version: '1', text: '', purl: 'pkg:npm/one@1' };
    const licensesOf = (license: string | undefined) =>
      (
        JSON.parse(
          billOfMaterials({ name: 'it', version: '1', license: 'MIT' }, [{ ...part, license }], 0),
        ) as Bill
      ).components[0]?.licenses;
    assert.deepEqual(licensesOf('0BSD'), [{ license: { id: '0BSD' } }]);
    assert.deepEqual(licensesOf('MIT OR CC0-1.0'), [{ expression: 'MIT OR CC0-1.0' }]);
    assert.deepEqual(licensesOf(undefined), [{ license: { name: 'text in NOTICE' } }]);
  });
});
