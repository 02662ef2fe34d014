/** Bundles the web console: hashed names for everything but the page itself, and a compressed form of each file. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const ROOT = join(import.meta.dirname, '..', '..');
const SOURCE = join(ROOT, 'src', 'console');
/** What the page names: placeholder in it → source. */
const NAMED = { script: 'app.tsx', style: 'styles.css', icon: 'icon.svg' } as const;

export interface BuiltFile {
  name: string;
  sizeBytes: number;
  gzipBytes: number;
  /** Loaded with the page, not on demand. */
  isFirst: boolean;
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
    target: ['chrome119', 'firefox120', 'safari17.4'],
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    publicPath: '/',
    loader: { '.svg': 'file' },
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfig: join(SOURCE, 'tsconfig.json'),
    minify: true,
    metafile: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  const outputs = Object.entries(metafile.outputs).map(([path, output]) => ({
    name: relative(folder, join(ROOT, path)),
    ...output,
  }));
  let page = readFileSync(join(SOURCE, 'index.html'), 'utf8');
  const first = new Set(['index.html']);
  for (const [role, source] of Object.entries(NAMED)) {
    const path = `src/console/${source}`;
    const found = outputs.find(
      ({ inputs, entryPoint }) => entryPoint === path || (entryPoint === undefined && path in inputs),
    );
    if (!found) throw new Error(`the bundle has no ${source}`);
    page = page.replaceAll(`%${role}%`, `/${found.name}`);
    first.add(found.name);
    for (const { path, kind } of found.imports)
      if (kind === 'import-statement') first.add(relative(folder, join(ROOT, path)));
  }
  writeFileSync(join(folder, 'index.html'), page);
  return compressed(folder, first);
}

function compressed(folder: string, first: ReadonlySet<string>): BuiltFile[] {
  return readdirSync(folder).map((name) => {
    const content = readFileSync(join(folder, name));
    const gzip = gzipSync(content, { level: 9 });
    writeFileSync(join(folder, `${name}.gz`), gzip);
    return { name, sizeBytes: content.length, gzipBytes: gzip.length, isFirst: first.has(name) };
  });
}
