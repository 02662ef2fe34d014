/** What files export, who imports it, and what of it is said: for the checks of the house. */
import { ownTarget, type SourceFile } from './source-files.ts';

const DECLARED =
  /^export (?:abstract )?(?:async )?(?:interface|type|class|function\*?|const|let) ([\w$]+)(?: = ReturnType<typeof create)?/gm;
const CLAUSE = /\b(import|export)\b(?:\s+type)?([^;'"`]*?)\bfrom\s*$/;

/** A name that a file imports, or passes on as `shown`; `*` for all of them. */
interface Passage {
  to: string;
  from: string;
  name: string;
  shown: string | undefined;
}

function passagesOf(file: SourceFile): Passage[] {
  return file.imports.flatMap(({ index, specifier }): Passage[] => {
    const from = ownTarget(file.path, specifier);
    if (from === undefined) return [];
    const quote = file.code.slice(index).search(/['"]/);
    const clause = CLAUSE.exec(file.code.slice(index, index + quote));
    const names = /\{([^}]*)\}/.exec(clause?.[2] ?? '')?.[1];
    if (names === undefined) return [{ to: file.path, from, name: '*', shown: undefined }];
    return names
      .split(',')
      .map((part) => part.trim().replace(/^type\s+/, ''))
      .filter((part) => part !== '')
      .map((part) => {
        const [name = '', shown = name] = part.split(/\s+as\s+/);
        return { to: file.path, from, name, shown: clause?.[1] === 'export' ? shown : undefined };
      });
  });
}

/** Exports of sources that no file imports, as sentences. `kept`: names that only declarations need. */
export function deadExports(files: readonly SourceFile[], kept: readonly string[] = []): string[] {
  const passages = files.flatMap(passagesOf);
  const used = new Set(passages.map(({ from, name }) => `${from} ${name}`));
  const isUsed = (path: string, name: string): boolean =>
    used.has(`${path} ${name}`) || used.has(`${path} *`) || kept.includes(name);
  const own = files.flatMap(({ path, code }) =>
    [...code.matchAll(DECLARED)].map(([, name = '']) => ({ path, name })),
  );
  const shown = passages.flatMap(({ to, shown: name }) => (name === undefined ? [] : [{ path: to, name }]));
  return [...own, ...shown]
    .filter(({ path, name }) => path.startsWith('src/') && !isUsed(path, name))
    .map(({ path, name }) => `${path}: nobody imports ${name}, do not export it`);
}

/**
 * What an `index.ts` offers without a docstring right before it, as sentences. `ReturnType` of a create function is
 * documented by that function.
 */
export function undocumented(files: readonly SourceFile[]): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const missing = new Set<string>();
  const look = (path: string, name: string): void => {
    const file = byPath.get(path);
    const further = file && passagesOf(file).find(({ shown }) => shown === name);
    if (further) return look(further.from, further.name);
    const found = [...(file?.code.matchAll(DECLARED) ?? [])].find((match) => match[1] === name);
    if (!file || !found || found[0].includes('=')) return;
    if (!file.text.slice(0, found.index).endsWith('*/\n'))
      missing.add(`${path}: ${name} has no docstring, an index.ts offers it`);
  };
  for (const file of files)
    if (file.path.startsWith('src/') && file.path.endsWith('/index.ts'))
      for (const { from, name, shown } of passagesOf(file)) if (shown !== undefined) look(from, name);
  return [...missing];
}
