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
/** Icons of the application on a home screen. */
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
    entryPoints: Object.values(NAMED).map((name) => join('src/console', name)),
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
    loader: { '.svg': 'copy' },
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfig: join(SOURCE, 'tsconfig.json'),
    plugins: [inOnePiece],
    minify: true,
    metafile: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  const outputs = mergeSecond(
    Object.entries(metafile.outputs).map(([path, output]) => ({
      name: relative(folder, join(ROOT, path)),
      path,
      ...output,
    })),
  );
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
  const soon = [GERMAN, relative(ROOT, SECOND)];
  const kept = outputs.filter(({ inputs }) => soon.some((one) => one in inputs)).map(({ name }) => name);
  await bundleWorker(folder, new Set([...first, ...kept]));
  writeFileSync(join(folder, 'rule-samples.json'), JSON.stringify(samples()));
  const simulated = readTree(join(ROOT, 'docs', 'samples', 'blueprints', SIMULATED));
  writeFileSync(join(folder, `${SIMULATED}.zip`), await writeArchive(simulated));
  return compressed(folder).map((file) => ({
    ...file,
    isFirst: first.has(file.name),
    packages: outputs.filter(({ name }) => name === file.name).flatMap(packagesIn),
  }));
}

/** The page that mostly comes after a login, which needs less. */
const SECOND = join(SOURCE, 'devices/overview.tsx');

/**
 * What is needed at first comes as one file, and what the overview needs beyond it as a second: parts that are loaded later
 * say that they need all of both, so that nothing of them is apart because some parts share it. Mostly they are there by
 * then.
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
      const needed = [join(SOURCE, NAMED.script), ...(path === SECOND ? [] : [SECOND])]
        .map((one) => relative(dirname(path), one))
        .map((one) => (one.startsWith('.') ? one : `./${one}`));
      const imports = needed.map((one) => `import ${JSON.stringify(one)};`).join('\n');
      const contents = `${readFileSync(path, 'utf8')}\n${imports}`;
      return { contents, loader: path.endsWith('x') ? 'tsx' : 'ts' };
    });
  },
};

/**
 * The overview is in a file that other parts share, and its own file only names it: one request more before anything is
 * seen. The program is given the shared file instead, which offers the page too.
 */
function mergeSecond<File extends Output & { path: string; name: string }>(outputs: readonly File[]): File[] {
  const own = outputs.find(({ entryPoint }) => entryPoint === relative(ROOT, SECOND));
  if (!own) throw new Error('the bundle has no overview');
  const [, alias = '', shared = '', page = ''] =
    /import\{([^ ]+) as \w+\}from"\/([^"]+)".*export\{\w+ as (\w+)\}/s.exec(
      readFileSync(join(ROOT, own.path), 'utf8'),
    ) ?? [];
  const file = outputs.find(({ name }) => name === shared);
  if (!file) throw new Error('the overview is in a file of its own: nothing is to be merged any more');
  const path = join(ROOT, file.path);
  const text = readFileSync(path, 'utf8');
  const offered = text.slice(text.lastIndexOf('export{'));
  const local =
    offered
      .split(/[{},]/)
      .find((one) => one.endsWith(` as ${alias}`))
      ?.split(' ')[0] ?? alias;
  writeFileSync(path, `${text}export{${local} as ${page}};`);
  for (const { path: other } of outputs.filter(({ name }) => name.endsWith('.js'))) {
    const before = readFileSync(join(ROOT, other), 'utf8');
    if (before.includes(`/${own.name}`))
      writeFileSync(join(ROOT, other), before.replaceAll(`/${own.name}`, `/${shared}`));
  }
  rmSync(join(ROOT, own.path));
  return outputs.filter((one) => one !== own);
}

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
