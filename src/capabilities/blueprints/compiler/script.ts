/**
 * The Lua files of a blueprint: which ones its script needs, whether they are valid, and all of them as one file
 * with a working `require`. Source: docs/interface/blueprints.md#runtime;
 * docs/interface/lua-devices.md#several-files.
 */
import { createSyntaxChecker, luaSource, type SyntaxChecker } from '#scripting/lua';
import { LIMITS } from '../../../lib/limits.ts';
import type { ArchiveFiles } from '../source/archive.ts';
import { findPreloads, findRequires } from '../source/lua-requires.ts';
import { folderOf, resolvePath } from '../source/schemas.ts';
import { mapOf, textOf } from '../source/tree.ts';
import type { YamlMap, YamlValue } from '../source/yaml.ts';

interface ScriptSource {
  /** Path of the file that runs first. */
  entry: string;
  /** Folder in which modules are looked for. */
  root: string;
  /** Every Lua file of the folder goes along, required or not. */
  isolate: boolean;
  /** Messages of the script show no file names. */
  withoutNames: boolean;
}

/** Modules that a runtime brings; a file of the blueprint of the same name comes first. */
export const RUNTIME_MODULES: ReadonlySet<string> = new Set([
  '_G',
  'ai4',
  'analogin',
  'analogout',
  'can',
  'configuration',
  'coroutine',
  'di7',
  'digitalin',
  'digitalout',
  'dio',
  'enapter',
  'enapter.sma.modbustcp',
  'enapter.ucm.config',
  'enapter.ucm.generics.can',
  'enapter.ucm.generics.di7',
  'enapter.ucm.generics.rl6',
  'enapter.ucm.qmodbus',
  'http',
  'inspect',
  'json',
  'led',
  'math',
  'modbus',
  'modbusrtu',
  'modbustcp',
  'os',
  'package',
  'relay',
  'rl',
  'rl6',
  'rs232',
  'rs485',
  'scheduler',
  'serial',
  'storage',
  'string',
  'system',
  'table',
  'ucm',
  'utf8',
]);

/** Modules of other Lua implementations: a script that tries one must also work without it, as on its own hardware. */
const OTHER_MACHINES: ReadonlySet<string> = new Set(['bit', 'bit32', 'ffi', 'jit']);

/** The script that a valid manifest names; undefined for a device without one. */
export function scriptOf(manifest: YamlMap): ScriptSource | undefined {
  if (manifest.get('blueprint_spec') === 'device/3.0') {
    const runtime = mapOf(manifest.get('runtime'));
    return runtime.get('type') === 'lua' ? sourceOf(mapOf(runtime.get('options'))) : undefined;
  }
  const modules = mapOf(manifest.get('communication_modules'));
  const module = mapOf(manifest.get('communication_module') ?? [...modules.values()][0]);
  const file = textOf(module.get('lua_file'));
  return sourceOf(file === undefined ? mapOf(module.get('lua')) : new Map([['file', file]]));
}

function sourceOf(options: YamlMap): ScriptSource | undefined {
  const file = textOf(options.get('file'));
  const dir = textOf(options.get('dir'));
  const entry = resolvePath(file ?? `${dir || '.'}/main.lua`);
  if (entry === undefined || (file === undefined && dir === undefined)) return undefined;
  const modes: YamlValue[] = [options.get('amalg_mode') ?? []].flat();
  return {
    entry,
    root: folderOf(entry),
    isolate: modes.includes('isolate'),
    withoutNames: modes.includes('nodebug'),
  };
}

interface CompiledScript {
  script?: Uint8Array;
  problems: string[];
  /** Modules that were required and not found. */
  missing: string[];
  /** The same for modules that the script perhaps never requires. */
  warnings: string[];
}

interface CollectedFile {
  path: string;
  /** Names under which the script requires the file. */
  modules: Set<string>;
  source: Uint8Array;
  isFaulty: boolean;
}

/** Collects, checks and joins the files. `script` is absent with problems, or with missing modules unless they may miss. */
export function compileScript(source: ScriptSource, files: ArchiveFiles, mayMiss: boolean): CompiledScript {
  const collector = new Collector(source, files);
  collector.collect();
  const { problems, missing, warnings } = collector;
  if (problems.length > 0 || (missing.length > 0 && !mayMiss)) return { problems, missing, warnings };
  return { script: joined(source, collector.files), problems, missing, warnings };
}

class Collector {
  readonly files = new Map<string, CollectedFile>();
  readonly problems: string[] = [];
  /** Names of modules that the files bring themselves. */
  readonly #given = new Set<string>();
  readonly #wanted: { path: string; module: string; isSure: boolean }[] = [];
  readonly #source: ScriptSource;
  readonly #archive: ArchiveFiles;
  readonly #checker: SyntaxChecker = createSyntaxChecker();

  constructor(source: ScriptSource, archive: ArchiveFiles) {
    this.#source = source;
    this.#archive = archive;
  }

  collect(): void {
    this.#add(this.#source.entry);
    if (!this.#source.isolate) return;
    const prefix = this.#source.root === '' ? '' : `${this.#source.root}/`;
    for (const path of [...this.#archive.keys()].sort()) {
      if (!path.startsWith(prefix) || !path.endsWith('.lua') || path === this.#source.entry) continue;
      this.#add(path)?.modules.add(moduleNameOf(path.slice(prefix.length)));
    }
  }

  /** Modules that are required and neither in a file nor part of the runtime. */
  get missing(): string[] {
    return this.#absent(true);
  }

  get warnings(): string[] {
    return this.#absent(false);
  }

  #absent(isSure: boolean): string[] {
    return this.#wanted
      .filter((wanted) => wanted.isSure === isSure)
      .filter(({ module }) => !this.#given.has(module) && !this.#given.has(bareName(module)))
      .map(({ path, module }) => `${path}: module "${module}" not found`);
  }

  /** The file and, breadth first, everything it requires. */
  #add(path: string): CollectedFile | undefined {
    const first = this.#read(path);
    const pending = first === undefined ? [] : [first];
    for (const file of pending) {
      if (file.isFaulty) continue;
      const text = Buffer.from(file.source).toString('latin1');
      for (const name of findPreloads(text)) this.#given.add(name);
      for (const { module, isOptional, isConditional } of findRequires(text)) {
        const found = this.#find(module);
        if (found !== undefined) {
          const isNew = !this.files.has(found);
          const required = this.#read(found);
          required?.modules.add(bareName(module)).add(module);
          if (isNew && required !== undefined) pending.push(required);
        } else if (!isOptional && !RUNTIME_MODULES.has(module))
          this.#wanted.push({
            path: file.path,
            module,
            isSure: !isConditional && !OTHER_MACHINES.has(module),
          });
      }
    }
    return first;
  }

  /** Path of the module's file. */
  #find(module: string): string | undefined {
    const bare = bareName(module);
    for (const stem of new Set([bare.replaceAll('.', '/'), bare]))
      for (const name of [`${stem}.lua`, `${stem}/init.lua`, stem]) {
        const path = resolvePath(name, this.#source.root);
        if (path !== undefined && path.endsWith('.lua') && this.#archive.has(path)) return path;
      }
    return undefined;
  }

  #read(path: string): CollectedFile | undefined {
    const known = this.files.get(path);
    if (known !== undefined) return known;
    const content = this.#archive.get(path);
    if (content === undefined) return undefined;
    if (content === null || content.length > LIMITS.blueprints.luaFileBytes) {
      this.problems.push(`${path}: larger than ${LIMITS.blueprints.luaFileBytes / 1_048_576} MiB`);
      return undefined;
    }
    const fault = this.#checker.check(content);
    if (fault !== undefined)
      this.problems.push(`${fault.line === undefined ? path : `${path}:${fault.line}`}: ${fault.message}`);
    const file = {
      path,
      modules: new Set<string>(),
      source: luaSource(content),
      isFaulty: fault !== undefined,
    };
    this.files.set(path, file);
    return file;
  }
}

/** A leading `./` of a module's name occurs in published scripts and means nothing. */
function bareName(module: string): string {
  return module.replace(/^(?:\.\/)+/, '');
}

/** `a/b.lua` is `a.b`, `a/init.lua` is `a`. */
function moduleNameOf(path: string): string {
  return path.replace(/(?:\/init)?\.lua$/, '').replaceAll('/', '.');
}

/**
 * Modules go to `package.preload` on the first line, each as a text that is compiled with its own chunk name, so
 * that messages name file and line; the entry script follows on the same line and keeps its line numbers.
 */
function joined(source: ScriptSource, files: ReadonlyMap<string, CollectedFile>): Uint8Array {
  const entry = files.get(source.entry)?.source ?? new Uint8Array();
  const preloads: string[] = [];
  for (const file of files.values()) {
    if (file.path === source.entry && file.modules.size === 0) continue;
    const local = source.root === '' ? file.path : file.path.slice(source.root.length + 1);
    const chunkName = source.withoutNames ? '=?' : `@./${local}`;
    // Names without `./` first: a machine that takes it off finds the module as well.
    const [first, ...others] = [...file.modules].sort((a, b) => compareNames(a, b));
    if (first === undefined) continue;
    const target = `package.preload[${quoted(first)}]`;
    preloads.push(`${target}=assert(load(${quotedBytes(file.source)},${quoted(chunkName)}))`);
    // One file under two names is one module.
    for (const name of others)
      preloads.push(`package.preload[${quoted(name)}]=function()return require(${quoted(first)})end`);
  }
  if (preloads.length === 0) return entry;
  return Buffer.concat([Buffer.from(`${preloads.join(';')};`, 'latin1'), entry]);
}

function compareNames(a: string, b: string): number {
  const [dottedA, dottedB] = [a.startsWith('./'), b.startsWith('./')];
  if (dottedA !== dottedB) return dottedA ? 1 : -1;
  return a < b ? -1 : 1;
}

function quoted(text: string): string {
  return quotedBytes(Buffer.from(text));
}

/** A Lua string of exactly these bytes, in printable ASCII and without a line break. */
function quotedBytes(bytes: Uint8Array): string {
  const text = Buffer.from(bytes)
    .toString('latin1')
    // oxlint-disable-next-line no-control-regex
    .replace(/[\\"\u0000-\u001f\u007f-\u00ff]/g, (character) => {
      if (character === '\n') return '\\n';
      if (character === '"' || character === '\\') return `\\${character}`;
      return `\\${String(character.charCodeAt(0)).padStart(3, '0')}`;
    });
  return `"${text}"`;
}
