/** The device profiles of this gateway: built-in and uploaded ones. */
import { conflict, errorOfProblems, invalidBody, requireFound, unprocessable } from '../../../lib/errors.ts';
import type { EpochMs } from '../../../lib/time.ts';
import type { Clock } from '../../../platform/clock/index.ts';
import type { Log } from '../../../platform/log/index.ts';
import type { Database } from '../../../platform/sqlite/index.ts';
import { loadBuiltInProfiles } from '../built-in.ts';
import { writeArchive } from '../source/archive.ts';
import type { BlueprintStore } from '../store.ts';
import type { Profile } from './catalogue.ts';
import { parseProfiles, pathOfProfile, profileIdOf, readProfileArchive } from './files.ts';

/** CHANGED: a built-in profile that an upload replaced. */
type ProfileSource = 'BUILT_IN' | 'UPLOADED' | 'CHANGED';

export interface ListedProfile extends Profile {
  path: string;
  source: ProfileSource;
  uploadedAtMs: EpochMs | undefined;
}

/** Result for a file of an upload; IGNORED: no profile file, and not stored. */
type UploadedFileResult = 'ADDED' | 'CHANGED' | 'RESTORED' | 'UNCHANGED' | 'IGNORED';

export interface UploadedFile {
  /** In the tree of profiles; of an ignored file, in the archive. */
  path: string;
  profileId: string | undefined;
  result: UploadedFileResult;
}

interface ProfileLibraryOptions {
  database: Database;
  store: Pick<BlueprintStore, 'profiles' | 'putProfile' | 'removeProfile'>;
  clock: Pick<Clock, 'wallMs'>;
  log: Log;
}

export class ProfileLibrary {
  readonly #options: ProfileLibraryOptions;
  #uploaded: ReadonlyMap<string, Profile>;

  constructor(options: ProfileLibraryOptions) {
    this.#options = options;
    this.#uploaded = this.#parseStored();
  }

  /** Profiles that uploads added or changed, by id. */
  get uploaded(): ReadonlyMap<string, Profile> {
    return this.#uploaded;
  }

  /** All profiles by id. */
  list(): ListedProfile[] {
    const { profiles } = loadBuiltInProfiles();
    const stored = this.#options.store.profiles();
    const all = new Map([...profiles, ...this.#uploaded]);
    return [...all.values()]
      .map((profile) => {
        const path = pathOfProfile(profile.id);
        const uploadedAtMs = this.#uploaded.has(profile.id) ? stored.get(path)?.uploadedAtMs : undefined;
        return { ...profile, path, source: this.#sourceOf(profile.id), uploadedAtMs };
      })
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** All as a tree of files. */
  async zip(): Promise<Uint8Array> {
    const stored = [...this.#options.store.profiles()].map(([path, { content }]) => [path, content] as const);
    const texts = new Map([...loadBuiltInProfiles().files, ...stored]);
    return writeArchive(new Map([...texts].map(([path, text]) => [path, Buffer.from(text)])));
  }

  /**
   * Adds profiles and replaces those of the same path, all or none; returns the result for each file. A file with
   * the text of the built-in profile is not stored, and undoes an earlier change.
   * @throws invalid_body, invalid_profiles (one per problem)
   */
  async upload(zip: Uint8Array): Promise<UploadedFile[]> {
    const { database, store, clock, log } = this.#options;
    const { files, ignored, problems: unreadable, isZip } = await readProfileArchive(zip);
    if (!isZip) throw invalidBody('data', unreadable.join('; '));
    if (files === undefined) throw refusal(unreadable);
    const builtIn = loadBuiltInProfiles();
    const { profiles: parsed, problems } = parseProfiles(
      files,
      new Map([...builtIn.profiles, ...this.#uploaded]),
    );
    if (problems.length > 0) throw refusal(problems);
    const stored = store.profiles();
    const next = new Map(this.#uploaded);
    const results = parsed.map((profile): UploadedFile => {
      const path = pathOfProfile(profile.id);
      const given = files.get(path);
      const isBuiltIn = builtIn.files.get(path) === given;
      const result = resultOf(given, stored.get(path)?.content, builtIn.files.get(path));
      if (isBuiltIn) next.delete(profile.id);
      else next.set(profile.id, profile);
      return { path, profileId: profile.id, result };
    });
    database.transaction(() => {
      for (const { path, result } of results) {
        if (result === 'RESTORED') store.removeProfile(path);
        else if (result !== 'UNCHANGED') store.putProfile(path, files.get(path) ?? '', clock.wallMs());
      }
    });
    this.#uploaded = next;
    log.info('device profiles uploaded', {
      profiles: results.length,
      changed: results.filter(({ result }) => result !== 'UNCHANGED').length,
      ignored: ignored.length,
    });
    return [
      ...results,
      ...ignored.map((path): UploadedFile => ({ path, profileId: undefined, result: 'IGNORED' })),
    ];
  }

  /** @throws GatewayError profile_not_found (404) */
  require(id: string): ListedProfile {
    const found = this.list().find((profile) => profile.id === id);
    return requireFound('profile_not_found', `There is no device profile "${id.slice(0, 64)}".`, found);
  }

  /**
   * Removes an uploaded profile; a changed one becomes the built-in one again. Accepted blueprints stay
   * as they are. @throws profile_not_found (404), profile_built_in (422), profile_in_use (409)
   */
  remove(id: string): void {
    const { database, store, log } = this.#options;
    const { source } = this.require(id);
    if (source === 'BUILT_IN')
      throw unprocessable(
        'profile_built_in',
        `The device profile "${id}" comes with the gateway and is not changed; there is nothing to remove.`,
      );
    const users = [...this.#uploaded.values()].filter((profile) => profile.implements.includes(id));
    if (source === 'UPLOADED' && users.length > 0)
      throw conflict(
        'profile_in_use',
        `The device profile "${id}" is implemented by ${users.map((user) => user.id).join(', ')}: remove that first.`,
      );
    database.transaction(() => store.removeProfile(pathOfProfile(id)));
    this.#uploaded = new Map([...this.#uploaded].filter(([other]) => other !== id));
    log.info('device profile removed', { profile_id: id });
  }

  #sourceOf(id: string): ProfileSource {
    if (!this.#uploaded.has(id)) return 'BUILT_IN';
    return loadBuiltInProfiles().profiles.has(id) ? 'CHANGED' : 'UPLOADED';
  }

  #parseStored(): ReadonlyMap<string, Profile> {
    const stored = this.#options.store.profiles();
    // Most boxes have none, and reading those that come with the gateway is a good part of a start.
    if (stored.size === 0) return new Map();
    const builtIn = loadBuiltInProfiles();
    const texts = new Map([...stored].map(([path, { content }]) => [path, content]));
    // A file whose text is that of the built-in profile changes nothing.
    for (const [path, text] of texts) if (builtIn.files.get(path) === text) texts.delete(path);
    const { profiles: parsed, problems } = parseProfiles(texts, builtIn.profiles);
    // They were valid when they were stored; a newer program may be stricter and must still start.
    if (problems.length > 0)
      this.#options.log.warn('uploaded device profiles are not valid any more', { problems });
    const uploaded = new Set([...texts.keys()].map(profileIdOf));
    return new Map(parsed.filter(({ id }) => uploaded.has(id)).map((profile) => [profile.id, profile]));
  }
}

function resultOf(
  given: string | undefined,
  stored: string | undefined,
  builtIn: string | undefined,
): UploadedFileResult {
  if (given === (stored ?? builtIn)) return 'UNCHANGED';
  if (given === builtIn) return 'RESTORED';
  return stored === undefined && builtIn === undefined ? 'ADDED' : 'CHANGED';
}

function refusal(messages: readonly string[]): Error {
  const problems = messages.map((message) => ({ code: 'invalid_profiles', message }));
  return errorOfProblems('unprocessable', problems) ?? new Error('refused without a problem');
}
