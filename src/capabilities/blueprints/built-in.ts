/** Blueprints and profiles that come with the gateway, from their sources under `built-in/`. */
import { createHash } from 'node:crypto';
import { packagePath, readTree } from '../../platform/files/index.ts';
import { compileFiles } from './compile-archive.ts';
import type { CompiledManifest } from './manifest.ts';
import { BUILT_IN_BLUEPRINTS, type BuiltInBlueprint } from './model.ts';
import { ProfileCatalogue, type Profile } from './profiles/catalogue.ts';
import { parseProfiles, type ProfileFiles } from './profiles/files.ts';

const BUILT_IN_DIR = ['src', 'capabilities', 'blueprints', 'built-in'] as const;

interface LoadedBlueprint extends BuiltInBlueprint {
  manifest: CompiledManifest;
}

/** Files of a built-in blueprint, as an upload of it would hold them. */
export function builtInFiles(name: string): Map<string, Buffer> {
  return readTree(packagePath(...BUILT_IN_DIR, 'blueprints', name));
}

/**
 * Compiles all with the compiler of uploads and the built-in profiles only, so that an upload cannot break them.
 * A fault in one is our own and stops the start.
 */
export function loadBuiltInBlueprints(): LoadedBlueprint[] {
  const profiles = catalogueOf(new Map());
  return BUILT_IN_BLUEPRINTS.map((blueprint) => {
    const { manifest, problems } = compileFiles(builtInFiles(blueprint.name), profiles);
    if (manifest === undefined)
      throw new Error(`the built-in blueprint ${blueprint.name} is invalid: ${problems.join('; ')}`);
    return { ...blueprint, manifest };
  });
}

/** Changes whenever a built-in file or the program that compiles it does. */
export function builtInFingerprint(version: string): string {
  const hash = createHash('sha256').update(version);
  for (const [path, content] of readTree(packagePath(...BUILT_IN_DIR))) hash.update(path).update(content);
  return hash.digest('hex');
}

interface BuiltInProfiles {
  /** The texts as they are downloaded. */
  files: ProfileFiles;
  profiles: ReadonlyMap<string, Profile>;
  /** Profiles whose content was another one before the incompatible change of 2026. */
  earlier: ReadonlyMap<string, Profile>;
}

let builtInProfiles: BuiltInProfiles | undefined;

/** Reads the profile trees once per process. */
export function loadBuiltInProfiles(): BuiltInProfiles {
  if (builtInProfiles !== undefined) return builtInProfiles;
  const files = textsBelow('profiles');
  const profiles = profilesOf(files, new Map());
  builtInProfiles = { files, profiles, earlier: profilesOf(textsBelow('profiles-2025-08'), profiles) };
  return builtInProfiles;
}

/**
 * Built-in profiles with uploaded ones added or in their place. What an upload replaced, and what the built-in ones
 * were before their incompatible change, stay as earlier revisions: blueprints that conform to those were published.
 */
export function catalogueOf(uploaded: ReadonlyMap<string, Profile>): ProfileCatalogue {
  const { profiles, earlier } = loadBuiltInProfiles();
  const delivered = new Map([...uploaded, ...profiles]);
  const before = new ProfileCatalogue(new Map([...delivered, ...earlier]).values());
  const isChanged = [...uploaded.keys()].some((id) => profiles.has(id));
  if (!isChanged) return new ProfileCatalogue(delivered.values(), before);
  const present = new Map([...profiles, ...uploaded]);
  return new ProfileCatalogue(present.values(), new ProfileCatalogue(delivered.values(), before));
}

function textsBelow(folder: string): ProfileFiles {
  const tree = readTree(packagePath(...BUILT_IN_DIR, folder));
  return new Map([...tree].map(([path, content]) => [path, content.toString('utf8')]));
}

function profilesOf(
  files: ProfileFiles,
  present: ReadonlyMap<string, Profile>,
): ReadonlyMap<string, Profile> {
  const { profiles, problems } = parseProfiles(files, present);
  if (problems.length > 0) throw new Error(`built-in profiles are invalid: ${problems.join('; ')}`);
  return new Map(profiles.map((profile) => [profile.id, profile]));
}
