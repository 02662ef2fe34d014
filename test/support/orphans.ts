/** Finds source files that nothing needs. */
import { ownTarget, type SourceFile } from './source-files.ts';

const ENTRY =
  /^src\/(?:main|admin)\.ts$|^src\/(?:field-module|scripting\/rule-sandbox)\/main\.ts$|^src\/console\//;
const MAY_WAIT = /\/index\.ts$|^src\/lib\//;
const ENTRY_CALL = /\bprogramEntry\(\s*['"]([^'"]+)['"]/g;

/**
 * Files that no source imports and that are no program of their own (an argument of `programEntry`). While
 * the parts are not wired together by `gateway.ts`, a helper and the face of a folder may wait unused.
 */
export function orphans(sources: readonly SourceFile[], wired: boolean): string[] {
  const used = new Set<string>();
  for (const file of sources) {
    for (const { specifier } of file.imports) used.add(ownTarget(file.path, specifier) ?? specifier);
    for (const name of entryNames(file)) used.add(`src/${name}.ts`);
  }
  return sources
    .map(({ path }) => path)
    .filter((path) => !used.has(path) && !ENTRY.test(path) && (wired || !MAY_WAIT.test(path)))
    .map((path) => `${path}: used by nobody, remove it`);
}

/** The programs and worker threads a file starts: arguments of `programEntry`. */
export function entryNames(file: SourceFile): string[] {
  return [...file.text.matchAll(ENTRY_CALL)].map((match) => match[1] ?? '');
}
