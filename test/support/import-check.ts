/** Judges imports against a table of folders. Pure: it gets files, returns sentences about what is wrong. */
import { posix } from 'node:path';
import { type Import, lineAt, ownTarget, type SourceFile } from './source-files.ts';

export interface Row {
  /** Below `src/`: a folder, or a file at the top. */
  place: string;
  /** Places, or `platform` for each folder of it; `lib` is always allowed. */
  mayImport: readonly string[];
  /** Modules of Node beyond the pure ones: `all`, or a list. */
  node?: 'all' | readonly string[];
  /** Only `import type`, except from lib. */
  typesOnly?: boolean;
  /** Folders inside it, lowest first: a file imports from its own and those before; beside them, from all. */
  folders?: readonly string[];
}

export interface ImportTable {
  rows: readonly Row[];
  /** Modules of Node that do no input or output. */
  pureNode: readonly string[];
  /** Package → places that may import it (`platform` not expanded), or `all`. */
  packages: Readonly<Record<string, readonly string[] | 'all'>>;
  /** Rows whose folder is still to come. */
  notYetBuilt: readonly string[];
}

const GROUPS = ['capabilities', 'platform', 'scripting'];
/** Places with a name of their own under `imports` of package.json. */
const HOUSES = ['library', 'telemetry-store', 'scripting/lua', 'scripting/host', 'scripting/http'];

/** The row a file belongs to: `capabilities/devices`, `lib`, `main.ts`. */
export function placeOf(path: string): string {
  const [first = '', second = '', ...rest] = path.replace(/^src\//, '').split('/');
  return GROUPS.includes(first) && rest.length > 0 ? `${first}/${second}` : first;
}

/** Every breach of the table, as sentences that name file, line and what is allowed. */
export function importFaults(files: readonly SourceFile[], table: ImportTable): string[] {
  const faults: string[] = [];
  for (const file of files) {
    const row = table.rows.find((candidate) => candidate.place === placeOf(file.path));
    if (row === undefined) {
      faults.push(`${file.path}: ${placeOf(file.path)} has no row in the import table`);
      continue;
    }
    for (const item of file.imports) {
      const fault = judge(file, row, item, table);
      if (fault !== undefined)
        faults.push(`${file.path}:${lineAt(file.text, item.index)} imports ${nameOf(file, item)}: ${fault}`);
    }
  }
  return faults;
}

function nameOf(file: SourceFile, item: Import): string {
  return ownTarget(file.path, item.specifier) ?? item.specifier;
}

function judge(file: SourceFile, row: Row, item: Import, table: ImportTable): string | undefined {
  if (item.specifier.startsWith('node:')) return judgeNode(row, item.specifier, table);
  const target = ownTarget(file.path, item.specifier);
  if (target === undefined) return judgePackage(row, item.specifier, table);
  if (!target.startsWith('src/')) return 'it is not below src/';
  const place = placeOf(target);
  if (place === row.place) return judgeFolder(file, row, target);
  if (row.typesOnly === true && !item.typeOnly && place !== 'lib')
    return `${row.place} may import types only`;
  if (place !== 'lib' && !allows(row.mayImport, place, target))
    return `${row.place} may import ${['lib', ...row.mayImport].join(', ')}`;
  if (hasDoor(place) && row.typesOnly !== true && target !== `src/${place}/index.ts`)
    return `from outside, ${place} is entered through its index.ts`;
  if (HOUSES.includes(place) && item.specifier !== `#${place}`)
    return `from outside, ${place} is imported as #${place}`;
  return undefined;
}

function judgeFolder(file: SourceFile, { place, folders }: Row, target: string): string | undefined {
  if (folders === undefined) return undefined;
  const levelOf = (path: string): number => {
    const [folder = '', ...rest] = path.replace(`src/${place}/`, '').split('/');
    return rest.length === 0 ? folders.length : folders.indexOf(folder);
  };
  const level = levelOf(file.path);
  if (levelOf(target) <= level) return undefined;
  return `${place}/${folders[level]} may import ${[...folders.slice(0, level), 'what is beside it'].join(', ')}`;
}

/** An entry is a place, `platform`, or a file whose path has a star for any folder. */
function allows(mayImport: readonly string[], place: string, target: string): boolean {
  return mayImport.some((entry) => {
    if (entry === 'platform') return place.startsWith('platform/');
    if (!entry.includes('*')) return entry === place;
    const [head = '', tail = ''] = entry.split('*');
    return target.startsWith(`src/${head}`) && target.endsWith(tail);
  });
}

function hasDoor(place: string): boolean {
  return HOUSES.includes(place) || GROUPS.some((group) => place.startsWith(`${group}/`));
}

function judgeNode(row: Row, specifier: string, table: ImportTable): string | undefined {
  if (row.node === 'all' || table.pureNode.includes(specifier) || row.node?.includes(specifier))
    return undefined;
  return `${row.place} may use ${[...table.pureNode, ...(row.node ?? [])].join(', ')} of Node's modules`;
}

function judgePackage(row: Row, specifier: string, table: ImportTable): string | undefined {
  const name = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
  const places = Object.hasOwn(table.packages, name) ? table.packages[name] : undefined;
  if (places === undefined) return `package ${name} has no row in the import table`;
  if (places === 'all' || places.includes(row.place)) return undefined;
  return `package ${name} belongs to ${places.join(', ')}`;
}

/** Folders inside a place that its list leaves out, or that it lists although they are not there. */
export function folderFaults({ rows }: ImportTable, paths: readonly string[]): string[] {
  return rows.flatMap(({ place, folders }) => {
    if (folders === undefined) return [];
    const below = paths.filter((path) => path.startsWith(`src/${place}/`)).map((path) => path.split('/'));
    const depth = place.split('/').length + 1;
    const present = new Set(below.filter((path) => path.length > depth + 1).map((path) => path[depth]));
    return [
      ...[...present]
        .filter((name) => !folders.includes(name ?? ''))
        .map((name) => `${place}/${name} is not in the list of its row`),
      ...folders.filter((name) => !present.has(name)).map((name) => `${place}/${name} does not exist`),
    ];
  });
}

/** Rows without a folder, folders that are there although listed as missing. */
export function tableFaults(table: ImportTable, places: ReadonlySet<string>): string[] {
  const faults: string[] = [];
  for (const row of table.rows) {
    const expected = table.notYetBuilt.includes(row.place);
    if (!places.has(row.place) && !expected)
      faults.push(`the import table names ${row.place}, which does not exist`);
    if (places.has(row.place) && expected)
      faults.push(`${row.place} exists: take it out of the list notYetBuilt`);
    for (const entry of row.mayImport)
      if (entry !== 'platform' && !entry.includes('*') && !table.rows.some(({ place }) => place === entry))
        faults.push(`the row of ${row.place} names ${entry}, which has no row`);
  }
  for (const place of table.notYetBuilt)
    if (!table.rows.some((row) => row.place === place))
      faults.push(`notYetBuilt names ${place}, which has no row`);
  return faults;
}

/** Every ring of files that import each other, types included, as `a → b → a`. */
export function importRings(files: readonly SourceFile[]): string[] {
  const targets = new Map(
    files.map((file) => [
      file.path,
      file.imports.flatMap(({ specifier }) => ownTarget(file.path, specifier) ?? []),
    ]),
  );
  return rings(targets);
}

/**
 * Rings of folders below one place: parts that need each other are one part. What stands above a folder wires it, and
 * may know it and be known.
 */
export function folderRings(files: readonly SourceFile[]): string[] {
  const graph = new Map<string, Set<string>>();
  for (const file of files) {
    const folder = posix.dirname(file.path);
    const others = graph.get(folder) ?? new Set<string>();
    graph.set(folder, others);
    for (const { specifier } of file.imports) {
      const target = ownTarget(file.path, specifier);
      if (target === undefined) continue;
      const other = posix.dirname(target);
      const isApart = !`${other}/`.startsWith(`${folder}/`) && !`${folder}/`.startsWith(`${other}/`);
      if (isApart && placeOf(target) === placeOf(file.path)) others.add(other);
    }
  }
  return rings(new Map([...graph].map(([folder, others]) => [folder, [...others]])));
}

/** Rings of a graph, each found once, starting at its first name. */
export function rings(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const found = new Set<string>();
  const visit = (name: string, trail: readonly string[]): void => {
    const start = trail.indexOf(name);
    if (start !== -1) {
      const ring = trail.slice(start);
      const first = ring.indexOf([...ring].sort()[0] ?? '');
      const ordered = [...ring.slice(first), ...ring.slice(0, first)];
      found.add([...ordered, ordered[0]].join(' → '));
      return;
    }
    if (done.has(name)) return;
    for (const next of graph.get(name) ?? []) visit(next, [...trail, name]);
    done.add(name);
  };
  for (const name of graph.keys()) visit(name, []);
  return [...found].sort();
}
