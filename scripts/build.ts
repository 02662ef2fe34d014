/**
 * `npm run build`: bundles each program into a file below `dist/`, at the same path as its source, and the console with
 * the manual and the API reference.
 */
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { sourceVersion } from './build-deb/version.ts';
import { buildReference } from './reference/page.ts';
import { parseWords, runScript } from './support/arguments.ts';
import { keepPackages, packagesIn } from './support/bundled-packages.ts';
import { bundleConsole } from './support/console-bundle.ts';
import { buildManual } from './support/manual.ts';

const ROOT = join(import.meta.dirname, '..');

/**
 * Every program and worker thread: path of its entry below `src/` without ending, as `programEntry` takes it.
 * A test compares this table with the sources.
 */
export const PROGRAMS: readonly string[] = [
  'main',
  'admin',
  'capabilities/blueprints/worker',
  'capabilities/library/worker',
  'telemetry-store/engine/thread',
  'platform/backup/open-thread',
  'platform/backup/seal-thread',
  'platform/sqlite/upkeep-thread',
  'field-module/main',
  'field-module/script-thread',
  'scripting/rule-sandbox/dry-run-thread',
  'scripting/rule-sandbox/main',
  'scripting/rule-sandbox/rule-thread',
];

/** Long programs, of which a start shall read what it needs; what they load later stands in files of its own. */
const DIVIDED: readonly string[] = ['main', 'admin'];

/** Packages with native or WebAssembly files of their own; they are found in `node_modules` at run time. */
const EXTERNAL = ['better-sqlite3', 'wasmoon'];

/**
 * Node's `http` without what it shows of `fetch`: `import` and `require` copy every name that a module of the runtime
 * shows, and with that load all of `fetch`, 10 MB and 20 ms in each program.
 */
const HTTP_WITHOUT_FETCH: Plugin = {
  name: 'http without fetch',
  setup: (bundling) => {
    bundling.onResolve({ filter: /^(?:node:)?http$/ }, () => ({ path: 'http', namespace: 'runtime' }));
    bundling.onLoad({ filter: /^http$/, namespace: 'runtime' }, () => ({
      contents: "module.exports = process.getBuiltinModule('node:http');",
    }));
  },
};

const HELP = `Usage: npm run build [-- --out <folder>]

Bundles the programs (${PROGRAMS.join(', ')}) with their packages, and
the web console with the manual and the API reference (dist/console). Start the result with
scripts/gwnode dist/main.js from the installed package: migrations, built-in
blueprints and native packages are read from beside it.

  --out <folder>  where to write (default dist)
  --quiet         print nothing on success
  --help          this text`;

interface BundledFile {
  sizeBytes: number;
  /** The entry of a program, and no part that it loads later. */
  isProgram: boolean;
  /** Packages of others with code in it, as folders below the project. */
  packages: string[];
}

/** Where bundles are for the names in them: the same bytes come out wherever they are written. */
const OUT = 'dist';

/**
 * Bundles programs: where each goes below the folder, without ending → its entry below the project. Resolves with the files
 * that were written, by where they went. Own files of which nothing is used are left out, except those that `sideEffects` of
 * package.json names: an index.ts names files of whole folders, and each of those brings along what it imports. No plugin
 * says so, for a file that one resolves counts as none of a package of the newer module form: its default imports of
 * packages of the older form would be others than at run time.
 */
export async function bundlePrograms(
  folder: string,
  entries: Readonly<Record<string, string>>,
  { isDivided = false } = {},
): Promise<Map<string, BundledFile>> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: { ...entries },
    outdir: OUT,
    write: false,
    chunkNames: 'later/[name]-[hash]',
    splitting: isDivided,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node26',
    external: EXTERNAL,
    plugins: [HTTP_WITHOUT_FETCH],
    sourcemap: true,
    metafile: true,
    legalComments: 'linked',
    // A text without other characters than ASCII takes half the memory, and comments keep theirs unescaped.
    charset: 'ascii',
    minifyWhitespace: true,
    logLevel: 'warning',
    logOverride: { 'ignored-bare-import': 'error' },
    // Packages of the older module form ask for `require` even in a bundle of the newer form.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
  });
  for (const { path, contents } of outputFiles) {
    const to = join(folder, relative(join(ROOT, OUT), path));
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, contents);
  }
  return new Map(
    Object.entries(metafile.outputs).map(([path, output]) => [
      relative(OUT, path),
      {
        sizeBytes: output.bytes,
        isProgram: Object.values(entries).includes(output.entryPoint ?? ''),
        packages: packagesIn(output),
      },
    ]),
  );
}

/** Bundles all programs and the console; resolves with path and size of each program, and the size of the console. Maps for readable stacks lie beside. */
export async function bundle(
  folder: string,
  version = sourceVersion(ROOT),
): Promise<{ path: string; sizeBytes: number }[]> {
  // A gateway that runs from there finds its worker threads' files at any moment but one.
  const fresh = `${folder}.new`;
  rmSync(fresh, { recursive: true, force: true });
  const entriesOf = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, `src/${name}.ts`]));
  const results = await Promise.all([
    bundlePrograms(fresh, entriesOf(PROGRAMS.filter((name) => !DIVIDED.includes(name)))),
    // Each by itself: what two of them have in common would be a further file that each has to read.
    ...DIVIDED.map((name) => bundlePrograms(fresh, entriesOf([name]), { isDivided: true })),
  ]);
  const consoleFiles = await bundleConsole(join(fresh, 'console'));
  const files = results.flatMap((written) => [...written]);
  keepPackages(
    fresh,
    new Map([
      ...files.map(([path, { packages }]) => [path, packages] as const),
      ...consoleFiles.map(({ name, packages }) => [`console/${name}`, packages] as const),
    ]),
  );
  buildManual(join(fresh, 'console', 'docs', 'manual'));
  await buildReference(join(fresh, 'console', 'docs'), version);
  rmSync(folder, { recursive: true, force: true });
  renameSync(fresh, folder);
  const programs = files
    .filter(([, { isProgram }]) => isProgram)
    .map(([path, { sizeBytes }]) => ({ path, sizeBytes }));
  const first = consoleFiles.filter(({ isFirst }) => isFirst);
  return [
    ...programs,
    {
      path: 'console, compressed, at first view',
      sizeBytes: first.reduce((sum, file) => sum + file.gzipBytes, 0),
    },
  ].map(({ path, sizeBytes }) => ({ path: join(relative(ROOT, folder), path), sizeBytes }));
}

if (import.meta.main)
  await runScript(async () => {
    const values = parseWords({
      out: { type: 'string', default: 'dist' },
      quiet: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    });
    if (values.help) console.log(HELP);
    else
      for (const { path, sizeBytes } of await bundle(resolve(ROOT, values.out)))
        if (!values.quiet) console.log(`${path}  ${Math.ceil(sizeBytes / 1_024)} KiB`);
    return 0;
  });
