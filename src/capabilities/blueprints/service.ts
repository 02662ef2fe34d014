import { randomUUID } from 'node:crypto';
import {
  conflict,
  errorOfProblems,
  invalidBody,
  type Problem,
  requireFound,
  tooManyRequests,
  unprocessable,
} from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { Rates } from '../../lib/token-bucket.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { TaskTerms } from '../../platform/workers/index.ts';
import { builtInFiles, builtInFingerprint, loadBuiltInBlueprints } from './built-in.ts';
import {
  type BlueprintChecks,
  type BlueprintCompiler,
  type CompiledBlueprint,
  createWorkerCompiler,
} from './compile-archive.ts';
import type { CompiledManifest } from './manifest.ts';
import {
  BUILT_IN_BLUEPRINTS,
  BUILT_IN_IDS,
  BUILT_IN_NAMESPACE,
  BUILT_IN_TAG,
  type Blueprint,
} from './model.ts';
import { ProfileLibrary } from './profiles/library.ts';
import { compiledFiles } from './compiler/compile.ts';
import { writeArchive } from './source/archive.ts';
import { createBlueprintStore, type BlueprintStore, type ListedBlueprint } from './store.ts';

interface BlueprintOptions {
  database: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  newId?: () => string;
  /** Version of the program: the built-in blueprints are compiled again when it changes. */
  version?: string;
  /** Default: STRICT. */
  checks?: BlueprintChecks;
  /** Default: a thread of its own. */
  compiler?: BlueprintCompiler;
}

interface UploadedBlueprint extends Blueprint {
  /** Possible faults. */
  warnings: string[];
}

type BlueprintView = 'COMPILED' | 'ORIGINAL';

/** The use cases of blueprints and device profiles. */
export class Blueprints {
  /** Ids of the built-in blueprints. */
  readonly builtIn = BUILT_IN_IDS;
  readonly #options: BlueprintOptions;
  readonly #store: BlueprintStore;
  readonly #manifests = new Map<string, CompiledManifest>();
  /** By fingerprint: what is asked for several times at once is made once. */
  readonly #beingMade = new Map<string, Promise<UploadedBlueprint>>();
  readonly profiles: ProfileLibrary;
  readonly #compiler: BlueprintCompiler;
  /** Milliseconds of the compiling thread per caller. */
  readonly #validations = new Rates({
    perSecond: LIMITS.blueprints.validateWorkMsPerMinute / 60,
    burst: LIMITS.blueprints.validateWorkMsPerMinute,
  });
  #cleaning: Timer | undefined;

  constructor(options: BlueprintOptions) {
    this.#options = options;
    this.#store = createBlueprintStore(options.database);
    this.#compiler = options.compiler ?? createWorkerCompiler(options);
    this.profiles = new ProfileLibrary({ ...options, store: this.#store });
  }

  /** @throws GatewayError blueprint_not_found (404) */
  require(id: string): Blueprint {
    return requireFound('blueprint_not_found', `There is no blueprint "${id}".`, this.#store.get(id));
  }

  /** @throws GatewayError blueprint_not_found (404) */
  requireByName(namespace: string, name: string, tag: string): Blueprint {
    const found =
      namespace === BUILT_IN_NAMESPACE && tag === BUILT_IN_TAG
        ? BUILT_IN_BLUEPRINTS.find((blueprint) => blueprint.name === name)
        : undefined;
    const message = `There is no blueprint "${namespace}/${name}:${tag}".`;
    return this.require(requireFound('blueprint_not_found', message, found).id);
  }

  /** The compiled manifest, shared and frozen: the same object as long as the blueprint exists. @throws blueprint_not_found */
  manifest(id: string): CompiledManifest {
    // Called for every message and several times for every device of a list: without a closure of its own.
    const known = this.#manifests.get(id);
    if (known !== undefined) return known;
    const manifest = this.#store.manifest(this.require(id).id);
    if (manifest === undefined) throw new Error(`the blueprint ${id} vanished while it was read`);
    this.#manifests.set(id, manifest);
    return manifest;
  }

  /** The compiled Lua file of a blueprint with a script; undefined for one without. @throws blueprint_not_found */
  script(id: string): Uint8Array | undefined {
    return this.#store.script(this.require(id).id) ?? undefined;
  }

  /** Writes the built-in blueprints, or replaces those that this version of the program changed. Call at start. */
  ensureBuiltIn(): void {
    const { database, clock, log, version = '' } = this.#options;
    const fingerprint = builtInFingerprint(version);
    // Compiling costs time and memory, which are scarce at a start on a small board.
    if (this.#store.countOfFingerprint(fingerprint) === BUILT_IN_BLUEPRINTS.length) return;
    const loaded = loadBuiltInBlueprints();
    const changed = database.transaction(() =>
      loaded.filter(({ id, manifest }) =>
        this.#store.put({
          id,
          source: 'built_in',
          fingerprint,
          createdAtMs: clock.wallMs(),
          original: null,
          manifest: JSON.stringify(manifest),
          script: null,
        }),
      ),
    );
    for (const { id, name } of changed) {
      this.#manifests.delete(id);
      log.info('built-in blueprint written', { blueprint_id: id, name });
    }
  }

  /** A page of blueprints by id, built-in ones too, and the number of all. */
  list(limit: number, offset: number): { blueprints: ListedBlueprint[]; totalCount: number } {
    return { blueprints: this.#store.list(limit, offset), totalCount: this.#store.count() };
  }

  /**
   * All problems of a zipped blueprint, none when it is valid. The work that `caller`, a key of a share, may cause is
   * bounded, and uploads go first. @throws GatewayError invalid_body (400) for bytes that are no zip,
   * too_many_requests (429) when the caller has used his share up
   */
  async validate(zip: Uint8Array, caller?: string): Promise<string[]> {
    if (caller === undefined) return (await this.#compile(zip)).problems ?? [];
    const { clock } = this.#options;
    const waitMs = this.#validations.waitMs(caller, clock.monotonicMs());
    if (waitMs > 0)
      throw tooManyRequests(
        'Judging your uploads took too long; wait for Retry-After.',
        Math.ceil(waitMs / 1_000),
      );
    const compiled = await this.#compile(zip, {
      givesWay: true,
      timeoutMs: LIMITS.blueprints.validateTimeoutMs,
      onWork: (durationMs) => this.#validations.spend(caller, clock.monotonicMs(), durationMs),
    });
    return compiled.problems ?? [];
  }

  /** The blueprint of files that have this fingerprint: the one that is there, or a new one. @throws as `upload` */
  async uploadOnce(files: ReadonlyMap<string, Uint8Array>, fingerprint: string): Promise<Blueprint> {
    const present = this.#store.byFingerprint(fingerprint) ?? this.#beingMade.get(fingerprint);
    if (present) return present;
    const made = writeArchive(files).then((zip) => this.upload(zip, fingerprint));
    this.#beingMade.set(fingerprint, made);
    return made.finally(() => this.#beingMade.delete(fingerprint));
  }

  /** All problems of a blueprint by its files. */
  async problemsOf(files: ReadonlyMap<string, Uint8Array>): Promise<string[]> {
    return (await this.#compile(await writeArchive(files))).problems ?? [];
  }

  /** Stores a valid blueprint under a new id. @throws invalid_body, invalid_blueprint (one per problem) */
  async upload(zip: Uint8Array, fingerprint: string | null = null): Promise<UploadedBlueprint> {
    const { database, clock, log, newId = randomUUID } = this.#options;
    const { manifest, script, problems, warnings, isTolerable } = await this.#compile(zip);
    if (manifest === undefined)
      throw refusal(
        problems.map((message) => ({
          code: 'invalid_blueprint',
          message,
          ...(isTolerable && LENIENT_WOULD_DO),
        })),
      );
    const blueprint = { id: newId(), createdAtMs: clock.wallMs() };
    database.transaction(() =>
      this.#store.put({
        ...blueprint,
        source: 'uploaded',
        fingerprint,
        original: zip,
        manifest: JSON.stringify(manifest),
        script: script ?? null,
      }),
    );
    log.info('blueprint uploaded', {
      blueprint_id: blueprint.id,
      display_name: manifest.display_name,
      size_bytes: zip.length,
      ...(warnings.length > 0 ? { warnings } : {}),
    });
    this.removeUnused();
    return { ...blueprint, warnings };
  }

  /** Stores a blueprint without a script. @param manifest text of `manifest.yml` @throws invalid_blueprint */
  async uploadManifest(manifest: string): Promise<UploadedBlueprint> {
    return this.upload(await writeArchive(new Map([[MANIFEST_FILE, Buffer.from(manifest)]])));
  }

  /** COMPILED: a description of the device on its own; ORIGINAL: the uploaded bytes. @throws blueprint_not_found */
  async zip(id: string, view: BlueprintView): Promise<Uint8Array> {
    this.require(id);
    if (view === 'COMPILED')
      return writeArchive(compiledFiles(this.manifest(id), this.#store.script(id) ?? undefined));
    const original = this.#store.original(id);
    if (original) return original;
    const builtIn = BUILT_IN_BLUEPRINTS.find((blueprint) => blueprint.id === id);
    if (builtIn === undefined) throw new Error(`the blueprint ${id} has lost its original`);
    return writeArchive(builtInFiles(builtIn.name));
  }

  /** @throws blueprint_not_found (404), blueprint_built_in (422), blueprint_in_use (409) */
  remove(id: string): void {
    const { database, log } = this.#options;
    database.transaction(() => {
      const { source, deviceCount } = requireFound(
        'blueprint_not_found',
        `There is no blueprint "${id}".`,
        this.#store.use(id),
      );
      if (source === 'built_in')
        throw unprocessable('blueprint_built_in', `The blueprint "${id}" comes with the gateway and stays.`);
      if (deviceCount > 0)
        throw conflict(
          'blueprint_in_use',
          `Devices have the blueprint "${id}" (${deviceCount}): assign another one to them first.`,
        );
      this.#store.remove(id);
    });
    this.#manifests.delete(id);
    log.info('blueprint removed', { blueprint_id: id });
  }

  /** Deletes uploaded blueprints that nothing uses by the rule of `LIMITS.blueprints`; returns how many. */
  removeUnused(): number {
    const { database, log } = this.#options;
    const { unusedDays, unused } = LIMITS.blueprints;
    const removed = database.transaction(() => {
      this.#store.forgetUsed();
      const due = this.#store.unused().filter(({ days }, index) => index >= unused || days >= unusedDays);
      for (const { id } of due) this.#store.remove(id);
      return due;
    });
    for (const { id } of removed) {
      this.#manifests.delete(id);
      log.info('unused blueprint removed', { blueprint_id: id });
    }
    return removed.length;
  }

  /** Removes unused blueprints once a day from now on. */
  start(): void {
    this.#cleaning ??= this.#options.clock.setRepeating(LIMITS.blueprints.cleaningIntervalMs, () =>
      this.#clean(),
    );
  }

  #clean(): void {
    const { database, log } = this.#options;
    try {
      // Days of running are counted instead of comparing dates, which a wrong clock would make old.
      database.transaction(() => this.#store.countUnusedDay());
      this.removeUnused();
    } catch (error) {
      log.warn('unused blueprints could not be removed, will be tried again in a day', { error });
    }
  }

  /** Ends the compiling thread too. */
  async stop(): Promise<void> {
    this.#cleaning?.cancel();
    this.#cleaning = undefined;
    await this.#compiler.stop();
  }

  async #compile(zip: Uint8Array, terms?: TaskTerms): Promise<CompiledBlueprint> {
    const compiled = await this.#compiler.compile(
      {
        zip,
        profiles: this.profiles.uploaded,
        checks: this.#options.checks ?? 'STRICT',
      },
      terms,
    );
    if (!compiled.isZip) throw invalidBody('data', compiled.problems.join('; '));
    return compiled;
  }
}

/** Details of problems that the lenient check would accept, so that people find the option. */
const MANIFEST_FILE = 'manifest.yml';

const LENIENT_WOULD_DO = { details: { option: 'blueprint_checks', value: 'LENIENT' } };

function refusal(problems: readonly Problem[]): Error {
  return errorOfProblems('unprocessable', problems) ?? new Error('refused without a problem');
}
