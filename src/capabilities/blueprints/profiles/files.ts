/**
 * A tree of profile files → profiles, with all problems (docs/interface/blueprints.md#profiles). Paths and
 * ids: `lib/energy/battery/soc.yml` is `lib.energy.battery.soc`.
 */
import { LIMITS } from '../../../lib/limits.ts';
import { enumItems } from '../source/enums.ts';
import { canonicalUnit } from '../source/units.ts';
import { readArchive, textOfUtf8 } from '../source/archive.ts';
import { listOf, mapOf, sectionOf, textOf } from '../source/tree.ts';
import { parseYaml, type YamlMap } from '../source/yaml.ts';
import { checkProfileShape } from '../validation/profile.ts';
import { Problems } from '../validation/problems.ts';
import { listed } from '../validation/shape.ts';
import { ProfileCatalogue, type Profile, type ProfileMember } from './catalogue.ts';

/** Path of a profile file → its text. */
export type ProfileFiles = ReadonlyMap<string, string>;

type ReadProfiles =
  | { files: ProfileFiles; ignored: string[]; problems?: undefined; isZip: true }
  | { files?: undefined; ignored?: undefined; problems: string[]; isZip: boolean };

/** First folders of the built-in tree: they carry meaning and are no wrapping (docs/interface/blueprints.md#profiles). */
const TREE_FOLDERS = new Set(['lib', 'energy', 'sensor']);
const PROFILE_FOLDER = /^[a-z0-9_]+$/;

/**
 * The one folder of a repository around the tree is wrapping: its name cannot stand in an id, or the known folders
 * are below it. Any other is a vendor's own, whose name belongs to the ids.
 */
function isWrapping(top: string, paths: readonly string[]): boolean {
  if (TREE_FOLDERS.has(top)) return false;
  return !PROFILE_FOLDER.test(top) || paths.some((path) => TREE_FOLDERS.has(path.split('/', 1)[0] ?? ''));
}

/** The profile files of a zip, and the paths of the other files. */
export async function readProfileArchive(zip: Uint8Array): Promise<ReadProfiles> {
  const archive = await readArchive(zip, {
    unpackedBytes: LIMITS.blueprints.profileTreeBytes,
    entries: LIMITS.blueprints.entries,
    fileBytes: LIMITS.blueprints.profileBytes,
    isWrapping,
  });
  if (archive.files === undefined) return { problems: [archive.problem], isZip: archive.isZip };
  const files = new Map<string, string>();
  const problems: string[] = [];
  const ignored: string[] = [];
  for (const [path, content] of archive.files) {
    // Beside the tree a repository has workflows and settings of its tools, in hidden folders and files.
    if (!path.endsWith('.yml') || path.split('/').some((name) => name.startsWith('.'))) {
      ignored.push(path);
      continue;
    }
    const text = content === null ? undefined : textOfUtf8(content);
    if (content === null) problems.push(`${path}: larger than ${LIMITS.blueprints.profileBytes / 1_024} KiB`);
    else if (text === undefined) problems.push(`${path}: not valid UTF-8, save the file as UTF-8`);
    else files.set(path, text);
  }
  if (files.size === 0 && problems.length === 0) problems.push('archive: no profile files');
  return problems.length > 0 ? { problems, isZip: true } : { files, ignored, isZip: true };
}

interface ParsedProfiles {
  profiles: Profile[];
  problems: string[];
}

const PATH = /^(?:[a-z0-9_]+\/)*[a-z0-9_]+\.yml$/;

export function profileIdOf(path: string): string {
  return path.replace(/\.yml$/, '').replaceAll('/', '.');
}

export function pathOfProfile(id: string): string {
  return `${id.replaceAll('.', '/')}.yml`;
}

/** Parses the files; `present` are the profiles that stay and may be implemented by the new ones. */
export function parseProfiles(files: ProfileFiles, present: ReadonlyMap<string, Profile>): ParsedProfiles {
  const problems = new Problems();
  const parsed = new Map<string, { path: string; profile: Profile; source: YamlMap }>();
  for (const [path, text] of files) {
    if (!PATH.test(path)) {
      problems.add(path, 'invalid file name, folders and names are snake_case');
      continue;
    }
    const { value, problems: faults } = parseYaml(text, path);
    problems.addAll(faults);
    if (faults.length > 0) continue;
    if (!(value instanceof Map)) problems.add(path, 'must be a mapping');
    else if (checkProfileShape(problems, path, value))
      parsed.set(profileIdOf(path), { path, profile: profileOf(profileIdOf(path), value), source: value });
  }
  const all = new Map([...present, ...[...parsed].map(([id, { profile }]) => [id, profile] as const)]);
  for (const { path, profile, source } of parsed.values())
    checkImplements(problems, path, profile, source, all);
  if (problems.isEmpty) checkMembers(problems, parsed, new ProfileCatalogue(all.values()));
  return { profiles: [...parsed.values()].map(({ profile }) => profile), problems: problems.list() };
}

function profileOf(id: string, source: YamlMap): Profile {
  return {
    id,
    draft: source.get('draft') === true,
    implements: listOf(source.get('implements')),
    members: [
      ...attributeMembers('properties', source),
      ...attributeMembers('telemetry', source),
      ...[...sectionOf(source.get('commands'))].map(([key, value]) => ({
        section: 'commands' as const,
        name: String(key),
        arguments: Object.fromEntries(
          [...sectionOf(mapOf(value).get('arguments'))].map(([name, argument]) => [
            String(name),
            {
              type: textOf(mapOf(argument).get('type')) ?? '',
              required: mapOf(argument).get('required') === true,
            },
          ]),
        ),
      })),
    ],
  };
}

function attributeMembers(section: 'properties' | 'telemetry', source: YamlMap): ProfileMember[] {
  return [...sectionOf(source.get(section))].map(([key, value]) => {
    const entry = mapOf(value);
    const type = textOf(entry.get('type')) ?? '';
    const unit = textOf(entry.get('unit'));
    const values = enumItems(entry.get('enum') ?? null, type).map((item) => item.value);
    return {
      section,
      name: String(key),
      type,
      ...(unit === undefined ? {} : { unit: canonicalUnit(unit) }),
      ...(values.length === 0 ? {} : { enum: values }),
    };
  });
}

function checkImplements(
  problems: Problems,
  path: string,
  profile: Profile,
  source: YamlMap,
  all: ReadonlyMap<string, Profile>,
): void {
  for (const [here, id] of listed('implements', source.get('implements'))) {
    const implemented = all.get(id);
    if (implemented === undefined) problems.addText(`${path}: ${here}: unknown profile "${id}"`);
    else if (implemented.draft && !profile.draft)
      problems.addText(`${path}: ${here}: non-draft profile implements draft "${id}"`);
  }
  const cycle = cycleThrough(profile.id, all);
  if (cycle !== undefined) problems.addText(`${path}: implements: cycle ${cycle.join(' -> ')}`);
}

/** A shortest way from the profile back to itself. */
function cycleThrough(start: string, all: ReadonlyMap<string, Profile>): string[] | undefined {
  const cameFrom = new Map<string, string>();
  const pending = [start];
  for (const id of pending) {
    for (const next of all.get(id)?.implements ?? []) {
      if (next === start) {
        const way = [start];
        for (let at: string | undefined = id; at !== undefined && at !== start; at = cameFrom.get(at))
          way.unshift(at);
        return [start, ...way];
      }
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, id);
      pending.push(next);
    }
  }
  return undefined;
}

/** Two members of one name within one closure must be the same (docs/interface/blueprints.md#profiles). */
function checkMembers(
  problems: Problems,
  parsed: ReadonlyMap<string, { path: string }>,
  catalogue: ProfileCatalogue,
): void {
  for (const [id, { path }] of parsed) {
    const first = new Map<string, { declaredBy: string; form: string }>();
    for (const { declaredBy, ...member } of catalogue.members(id)) {
      const key = `${member.section}.${member.name}`;
      const form = JSON.stringify({ ...member, enum: member.enum?.toSorted() });
      const other = first.get(key);
      if (other === undefined) first.set(key, { declaredBy, form });
      else if (other.form !== form)
        problems.addText(`${path}: ${key}: differs between ${other.declaredBy} and ${declaredBy}`);
    }
  }
}
