/**
 * The first half of `npm start`: bundles before a start, if anything that goes into a bundle changed since the last time: by content, since times of
 * files say nothing after a checkout. Imports little, because it runs at every `npm start`.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseWords, runScript } from './support/arguments.ts';

const HELP = `Usage: scripts/gwnode scripts/build-when-changed.ts

Bundles the gateway into dist/ if anything that goes into a bundle has changed
since the last time, by content. Otherwise it changes nothing. npm start runs
it before the gateway.

  --help  this text`;

const ROOT = join(import.meta.dirname, '..');
const OUT = join(ROOT, 'dist');
const MARK = join(OUT, 'sources.sha256');
/** What bundles, console, manual and reference are made of. */
const SOURCES = ['package-lock.json', 'package.json', 'src', 'scripts', 'docs', 'CHANGELOG.md', 'README.md'];

function filesBelow(path: string): string[] {
  const entries = readdirSync(join(ROOT, path), { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

function digestOfSources(): string {
  const hash = createHash('sha256');
  for (const source of SOURCES) {
    const path = join(ROOT, source);
    const files = source.includes('.') ? [path] : filesBelow(source).sort();
    for (const file of files) hash.update(`${file.slice(ROOT.length)}\0`).update(readFileSync(file));
  }
  return hash.digest('hex');
}

await runScript(async () => {
  const { help } = parseWords({ help: { type: 'boolean', default: false } });
  if (help) {
    console.log(HELP);
    return 0;
  }
  const digest = digestOfSources();
  if (!existsSync(MARK) || readFileSync(MARK, 'utf8') !== digest) {
    const { bundle } = await import('./build.ts');
    await bundle(OUT);
    writeFileSync(MARK, digest);
  }
  return 0;
});
