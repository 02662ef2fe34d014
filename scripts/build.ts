/**
 * `npm run build`: bundles each program into one file below `dist/`, at the same path as its source, and the console with
 * the manual.
 */
import { renameSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { build } from 'esbuild';
import { parseWords, runScript } from './support/arguments.ts';
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
  'capabilities/telemetry/engine/thread',
  'platform/backup/open-thread',
  'platform/backup/seal-thread',
  'platform/sqlite/upkeep-thread',
  'programs/communication-module/main',
  'programs/communication-module/script-thread',
  'programs/rule-sandbox/dry-run-thread',
  'programs/rule-sandbox/main',
  'programs/rule-sandbox/rule-thread',
];

/** Packages with native or WebAssembly files of their own; they are found in `node_modules` at run time. */
const EXTERNAL = ['better-sqlite3', 'wasmoon'];

const HELP = `Usage: npm run build [-- --out <folder>]

Bundles the programs (${PROGRAMS.join(', ')}) with their packages, and
the web console with the manual (dist/console). Start the result with
scripts/gwnode dist/main.js from the installed package: migrations, built-in
blueprints and native packages are read from beside it.

  --out <folder>  where to write (default dist)
  --quiet         say nothing when all went well
  --help          this text`;

/** Bundles programs, each into one file: where it goes below the folder, without ending → its entry below the project. */
export function bundlePrograms(folder: string, entries: Readonly<Record<string, string>>) {
  return build({
    absWorkingDir: ROOT,
    entryPoints: { ...entries },
    outdir: folder,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node26',
    external: EXTERNAL,
    sourcemap: true,
    metafile: true,
    legalComments: 'linked',
    // A text without other characters than ASCII takes half the memory, and comments keep theirs unescaped.
    charset: 'ascii',
    minifyWhitespace: true,
    logLevel: 'warning',
    // Packages of the older module form ask for `require` even in a bundle of the newer form.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
  });
}

/** Bundles all programs and the console; resolves with path and size of each program, and the size of the console. Maps for readable stacks lie beside. */
export async function bundle(folder: string): Promise<{ path: string; sizeBytes: number }[]> {
  // A gateway that runs from there finds its worker threads' files at any moment but one.
  const fresh = `${folder}.new`;
  rmSync(fresh, { recursive: true, force: true });
  const entries = Object.fromEntries(PROGRAMS.map((name) => [name, `src/${name}.ts`]));
  const result = await bundlePrograms(fresh, entries);
  const consoleFiles = await bundleConsole(join(fresh, 'console'));
  buildManual(join(fresh, 'console', 'docs', 'manual'));
  rmSync(folder, { recursive: true, force: true });
  renameSync(fresh, folder);
  const programs = Object.entries(result.metafile.outputs)
    .filter(([path]) => path.endsWith('.js'))
    .map(([path, { bytes }]) => ({ path: relative(fresh, join(ROOT, path)), sizeBytes: bytes }));
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
