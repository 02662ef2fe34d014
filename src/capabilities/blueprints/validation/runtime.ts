/** How the device is driven: `runtime` of 3.0, `communication_module` of 1.0 (docs/interface/blueprints.md#runtime). */
import { resolvePath } from '../source/schemas.ts';
import { mapOf, textOf } from '../source/tree.ts';
import type { YamlMap, YamlValue } from '../source/yaml.ts';
import type { ManifestContext } from './context.ts';
import * as form from './shape.ts';

const AMALGAMATION_MODES = ['isolate', 'nodebug'];
/** Rocks whose modules every runtime brings. */
const BUNDLED_ROCKS = new Set(['lua', 'enapter-ucm', 'enapter-sma', 'json', 'inspect']);
/** Name, then constraints such as `~> 1.2-1, < 2` or `scm-1`; words of a version are those of a rockspec. */
const VERSION = String.raw`(?:v?\d|scm|dev|cvs)[\w.-]*`;
const CONSTRAINT = String.raw`(?:==|~=|<=|>=|~>|<|>|=)?\s*${VERSION}`;
const DEPENDENCY = new RegExp(
  String.raw`^([A-Za-z0-9][\w.-]*)(?:\s*${CONSTRAINT}(?:\s*,\s*${CONSTRAINT})*)?$`,
);

const amalgamationMode: form.Check<ManifestContext> = (context, path, value) => {
  if (!Array.isArray(value)) form.choice(AMALGAMATION_MODES)(context, path, value);
  else
    for (const [index, item] of value.entries())
      form.choice(AMALGAMATION_MODES)(context, `${path}[${index}]`, item);
};

const rocks: form.Check<ManifestContext> = (context, path, value) => {
  // The older spec took a single one as text.
  (context.isOld ? form.textOrTexts : form.texts)(context, path, value);
  for (const [here, dependency] of form.listed(path, value)) {
    const name = DEPENDENCY.exec(dependency.trim())?.[1];
    if (name === undefined) context.problems.add(here, `invalid dependency "${dependency}"`);
    else if (!BUNDLED_ROCKS.has(name) && !isInArchive(context, name))
      context.lenient.add(here, `package "${name}" is not available`);
  }
};

/** A rock whose module files the author has put into the archive: `net-url` as `net/url.lua`, `net-url.lua` … */
function isInArchive(context: ManifestContext, rock: string): boolean {
  const stems = new Set(
    [rock, rock.replace(/^lua-/, '')].flatMap((name) => [
      name,
      name.replaceAll('-', '/'),
      name.replaceAll('-', '_'),
    ]),
  );
  return [...context.files.keys()].some((path) =>
    [...stems].some((stem) => {
      const bare = path.replace(/(?:\/init)?\.lua$/, '');
      return path.endsWith('.lua') && (bare === stem || bare.endsWith(`/${stem}`));
    }),
  );
}

const OPTIONS: form.Fields<ManifestContext> = {
  file: form.text,
  dir: form.text,
  rockspec: form.text,
  luarocks: rocks,
  allow_dev_luarocks: form.flag,
  amalg_mode: amalgamationMode,
};

const RUNTIME: form.Fields<ManifestContext> = {
  type: { required: form.choice(['lua', 'embedded']) },
  requirements: form.texts,
  options: (context, path, value) => {
    const type = mapOf(context.manifest.get('runtime')).get('type');
    if (type === 'embedded') {
      if (!(value instanceof Map) || value.size > 0)
        context.problems.add(path, 'not allowed for runtime type embedded');
    } else if (form.checkObject(context, path, value, OPTIONS)) checkScript(context, path, value);
  },
};

export function checkRuntime(context: ManifestContext, value: YamlValue): void {
  if (!form.checkObject(context, 'runtime', value, RUNTIME)) return;
  if (value.get('type') === 'lua' && !value.has('options'))
    context.problems.add('runtime.options', 'required for runtime type lua');
}

/** `file`, `dir` and `rockspec` of a script: which may stand together, and that they exist. */
function checkScript(context: ManifestContext, path: string, options: YamlMap): void {
  const dependencies = context.isOld ? 'dependencies' : 'luarocks';
  if (!options.has('file') && !options.has('dir'))
    context.problems.add(path, 'either file or dir is required');
  if (options.has('file') && options.has('dir'))
    context.problems.add(path, 'file and dir are mutually exclusive');
  if (options.has('rockspec') && options.has(dependencies))
    context.problems.add(path, `${dependencies} and rockspec are mutually exclusive`);
  checkFile(context, `${path}.file`, textOf(options.get('file')));
  const dir = textOf(options.get('dir'));
  checkFile(
    context,
    `${path}.dir`,
    dir === undefined ? undefined : `${dir.replace(/(?<!\/)\/+$/, '') || '.'}/main.lua`,
  );
  checkFile(context, `${path}.rockspec`, textOf(options.get('rockspec')));
}

function checkFile(context: ManifestContext, path: string, file: string | undefined): void {
  if (file === undefined) return;
  const resolved = resolvePath(file);
  if (resolved === undefined) context.problems.add(path, 'path leaves the blueprint');
  else if (!context.files.has(resolved))
    context.problems.add(path, `missed file ${file.replace(/^(?:\.\/)+/, '')}`);
}

const OLD_LUA: form.Fields<ManifestContext> = {
  file: form.text,
  dir: form.text,
  rockspec: form.text,
  dependencies: rocks,
  allow_dev_dependencies: form.flag,
  amalg_mode: amalgamationMode,
};

const OLD_MODULE: form.Fields<ManifestContext> = {
  product: { required: form.filledText },
  lua_file: (context, path, value) => {
    form.text(context, path, value);
    checkFile(context, path, textOf(value));
  },
  lua: (context, path, value) => {
    if (form.checkObject(context, path, value, OLD_LUA)) checkScript(context, path, value);
  },
};

/** `communication_module` or `communication_modules` of a 1.0 manifest; one of them must be there. */
export function checkCommunicationModules(context: ManifestContext): void {
  const single = context.manifest.get('communication_module') ?? undefined;
  const several = context.manifest.get('communication_modules') ?? undefined;
  if (single !== undefined) form.checkObject(context, 'communication_module', single, OLD_MODULE);
  if (several !== undefined)
    form.namedObjects(undefined, OLD_MODULE)(context, 'communication_modules', several);
  if (single === undefined && several === undefined) context.problems.add('communication_module', 'required');
}
