/** Bundles the web console: hashed names for everything but the page itself, and a compressed form of each file. */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type Metafile, type Plugin } from 'esbuild';
import { writeArchive } from '../../src/capabilities/blueprints/source/archive.ts';
import { readTree } from '../../src/platform/files/index.ts';
import { packagesIn } from './bundled-packages.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SOURCE = join(ROOT, 'src', 'console');
/** Of the application on a home screen. */
const ICONS = ['icon-192.png', 'icon-512.png'];
/** The first view waits for those of another language, so that they must not wait for it. */
const WORDS = join(SOURCE, 'words');
/** Those of the other language: the shell is opened in it too while the gateway is away. */
const GERMAN = 'src/console/words/de.ts';
const SAMPLES = join(ROOT, 'docs', 'samples', 'rules');
/** The blueprint that the console uploads for whoever has no hardware. */
const SIMULATED = 'simulated-house';
/** What the page names: placeholder in it → source. */
const NAMED = { script: 'app.tsx', style: 'styles.css', icon: 'icon.svg' } as const;

/** The oldest browsers that show the console. `browser-check.ts`, `@supports` in the styles and docs/first-steps.md say the same. */
export const OLDEST_BROWSERS = ['chrome111', 'firefox115', 'safari16.4'];

type Output = Metafile['outputs'][string];

export interface BuiltFile {
  name: string;
  sizeBytes: number;
  gzipBytes: number;
  /** Loaded with the page, not on demand. */
  isFirst: boolean;
  /** Packages of others with code in it, as folders below the project. */
  packages: readonly string[];
}

/** Writes the console into the folder, which is emptied before. */
export async function bundleConsole(folder: string): Promise<BuiltFile[]> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [NAMED.script, NAMED.style].map((name) => join('src/console', name)),
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: OLDEST_BROWSERS,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    publicPath: '/',
    loader: { '.svg': 'file' },
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfig: join(SOURCE, 'tsconfig.json'),
    plugins: [inOnePiece],
    minify: true,
    metafile: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  const outputs = Object.entries(metafile.outputs).map(([path, output]) => ({
    name: relative(folder, join(ROOT, path)),
    path,
    ...output,
  }));
  let page = readFileSync(join(SOURCE, 'index.html'), 'utf8');
  const first = new Set(['index.html']);
  /** What is loaded with it is loaded at first, too. */
  const addWithImports = (name: string): void => {
    if (first.has(name)) return;
    first.add(name);
    for (const { path, kind } of outputs.find((output) => output.name === name)?.imports ?? [])
      if (kind === 'import-statement') addWithImports(relative(folder, join(ROOT, path)));
  };
  for (const [role, source] of Object.entries(NAMED)) {
    const path = `src/console/${source}`;
    const found = outputs.find(
      ({ inputs, entryPoint }) => entryPoint === path || (entryPoint === undefined && path in inputs),
    );
    if (!found) throw new Error(`the bundle has no ${source}`);
    const name = relative(folder, join(ROOT, contentOf(found)));
    page = page.replaceAll(`%${role}%`, `/${name}`);
    addWithImports(name);
  }
  writeFileSync(join(folder, 'index.html'), page);
  const icon = outputs.find(({ inputs }) => `src/console/${NAMED.icon}` in inputs)?.name ?? '';
  const manifest = readFileSync(join(SOURCE, 'manifest.json'), 'utf8');
  writeFileSync(join(folder, 'manifest.json'), manifest.replaceAll('%icon%', `/${icon}`));
  for (const name of ICONS) copyFileSync(join(SOURCE, name), join(folder, name));
  const german = outputs.filter(({ inputs }) => GERMAN in inputs).map(({ name }) => name);
  await bundleWorker(folder, new Set([...first, ...german]));
  writeFileSync(join(folder, 'rule-samples.json'), JSON.stringify(samples()));
  const simulated = readTree(join(ROOT, 'docs', 'samples', 'blueprints', SIMULATED));
  writeFileSync(join(folder, `${SIMULATED}.zip`), await writeArchive(simulated));
  return compressed(folder).map((file) => ({
    ...file,
    isFirst: first.has(file.name),
    packages: outputs.filter(({ name }) => name === file.name).flatMap(packagesIn),
  }));
}

/**
 * What is needed at first comes as one file: parts that are loaded later say that they need all of it, so that nothing of
 * it is apart because some of them share it. It is there by then.
 */
const inOnePiece: Plugin = {
  name: 'in one piece',
  setup: (building) => {
    const later = new Set<string>();
    building.onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
      if (kind === 'dynamic-import' && !resolveDir.startsWith(WORDS)) later.add(join(resolveDir, path));
      return undefined;
    });
    building.onLoad({ filter: /\.tsx?$/ }, ({ path }) => {
      if (!later.has(path)) return undefined;
      const needed = relative(dirname(path), join(SOURCE, NAMED.script));
      const all = needed.startsWith('.') ? needed : `./${needed}`;
      const contents = `${readFileSync(path, 'utf8')}\nimport ${JSON.stringify(all)};`;
      return { contents, loader: path.endsWith('x') ? 'tsx' : 'ts' };
    });
  },
};

/** The file with what is in an output; what all parts need is in another one, and the output only names it. */
function contentOf({ path, inputs, imports: [only, ...others] }: Output & { path: string }): string {
  const isNameOnly = Object.values(inputs).every(({ bytesInOutput }) => bytesInOutput === 0);
  return isNameOnly && only && others.length === 0 ? only.path : path;
}

/** The worker that keeps the shell; its name is the same for ever, because browsers ask for it by that. */
async function bundleWorker(folder: string, kept: ReadonlySet<string>): Promise<void> {
  const shell = [...kept].map((name) => (name === 'index.html' ? '/' : `/${name}`));
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['src/console/service-worker.ts'],
    outdir: folder,
    bundle: true,
    format: 'iife',
    platform: 'browser',
    target: OLDEST_BROWSERS,
    minify: true,
    tsconfig: join(SOURCE, 'tsconfig.json'),
    define: {
      SHELL: JSON.stringify(shell),
      SHELL_VERSION: JSON.stringify(createHash('sha256').update(shell.join()).digest('hex').slice(0, 12)),
    },
    logLevel: 'warning',
  });
}

/** Templates of rules: text by name. */
function samples(): Record<string, string> {
  const names = readdirSync(SAMPLES).filter((name) => name.endsWith('.lua'));
  return Object.fromEntries(
    names.map((name) => [name.replace(/\.lua$/, ''), readFileSync(join(SAMPLES, name), 'utf8')]),
  );
}

function compressed(folder: string): Pick<BuiltFile, 'name' | 'sizeBytes' | 'gzipBytes'>[] {
  return readdirSync(folder).map((name) => {
    const content = readFileSync(join(folder, name));
    const gzip = gzipSync(content, { level: 9 });
    writeFileSync(join(folder, `${name}.gz`), gzip);
    return { name, sizeBytes: content.length, gzipBytes: gzip.length };
  });
}
