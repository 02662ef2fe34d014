/** From the files of an upload to a compiled blueprint, or to all of its problems. */
import { GatewayError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import { programEntry } from '../../platform/processes/index.ts';
import { TaskFailure, type TaskTerms, TaskWorker } from '../../platform/workers/index.ts';
import { compileManifest } from './compiler/compile.ts';
import { compileScript, scriptOf } from './compiler/script.ts';
import type { CompiledManifest } from './manifest.ts';
import type { Profile, ProfileCatalogue } from './profiles/catalogue.ts';
import { checkProfiles } from './profiles/conformance.ts';
import { type ArchiveFiles, readArchive, textOfUtf8 } from './source/archive.ts';
import { resolveSchema } from './source/schemas.ts';
import { parseYaml, type YamlMap } from './source/yaml.ts';
import { createContext } from './validation/context.ts';
import { checkManifest, checkSpec } from './validation/manifest.ts';
import { Problems } from './validation/problems.ts';

export type CompiledBlueprint =
  | {
      manifest: CompiledManifest;
      script: Uint8Array | undefined;
      /** Possible faults, and problems that the lenient check accepts. */
      warnings: string[];
      problems?: undefined;
      isTolerable?: undefined;
      isZip: true;
    }
  | {
      manifest?: undefined;
      script?: undefined;
      warnings?: undefined;
      /** Texts of docs/interface/blueprints.md#problems, never empty. */
      problems: string[];
      /** The lenient check would accept all of them. */
      isTolerable?: boolean;
      isZip: boolean;
    };

/**
 * STRICT refuses, LENIENT only names: unknown profiles, members that are missing or differ, Lua packages and
 * modules that are not there (docs/interface/blueprints.md#profiles). Published blueprints have some of these.
 */
export type BlueprintChecks = 'STRICT' | 'LENIENT';

const MANIFEST = 'manifest.yml';

/** Judges and compiles a zip. Never throws on content. */
export async function compileArchive(
  bytes: Uint8Array,
  profiles: ProfileCatalogue,
  checks: BlueprintChecks = 'STRICT',
): Promise<CompiledBlueprint> {
  const archive = await readArchive(bytes);
  if (archive.files === undefined) return { problems: [archive.problem], isZip: archive.isZip };
  return compileFiles(archive.files, profiles, checks);
}

/** The same for files that are unpacked already. */
export function compileFiles(
  files: ArchiveFiles,
  profiles: ProfileCatalogue,
  checks: BlueprintChecks = 'STRICT',
): CompiledBlueprint {
  const { manifest, problems: unreadable } = readManifest(files);
  if (manifest === undefined) return { problems: unreadable, isZip: true };
  const problems = new Problems();
  const warnings = new Problems();
  const isLenient = checks === 'LENIENT';
  const context = createContext(manifest, files, problems, isLenient ? warnings : problems);
  if (!checkSpec(manifest, context)) return { problems: problems.list(), isZip: true };
  checkManifest(context);
  if (!context.isOld) checkProfiles(context, profiles);
  const source = scriptOf(manifest);
  const compiledScript = source && compileScript(source, files, isLenient);
  problems.addAll(compiledScript?.problems ?? []);
  context.lenient.addAll(compiledScript?.missing ?? []);
  warnings.addAll(compiledScript?.warnings ?? []);
  if (!problems.isEmpty) {
    const isTolerable = !isLenient && compileFiles(files, profiles, 'LENIENT').manifest !== undefined;
    return { problems: problems.list(), isTolerable, isZip: true };
  }
  return {
    manifest: compileManifest(manifest, {
      profiles,
      schemaOf: (reference) => resolveSchema(files, reference).schema,
    }),
    script: compiledScript?.script,
    warnings: warnings.list(),
    isZip: true,
  };
}

/** The remedy for an archive without a manifest in its place, as far as its names show one. */
function cureOf(names: readonly string[]): string {
  const lastOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1);
  const elsewhere = names.find((name) => lastOf(name) === MANIFEST);
  if (elsewhere !== undefined)
    return `: ${elsewhere} is neither in the root nor in the only folder of the root`;
  const similar = names.find((name) => /^manifest\.(?:ya?ml|json)(?:\.txt)?$/i.test(lastOf(name)));
  if (similar !== undefined) return `: rename ${similar}`;
  const archive = names.find((name) => /\.zip$/i.test(name));
  return archive === undefined ? '' : `: upload ${archive}, which is inside, itself`;
}

function readManifest(files: ArchiveFiles): { manifest?: YamlMap; problems: string[] } {
  const content = files.get(MANIFEST);
  if (content === undefined) return { problems: [`missed file ${MANIFEST}${cureOf([...files.keys()])}`] };
  if (content === null || content.length > LIMITS.blueprints.manifestBytes)
    return { problems: [`${MANIFEST}: larger than ${LIMITS.blueprints.manifestBytes / 1_048_576} MiB`] };
  const text = textOfUtf8(content);
  if (text === undefined) return { problems: [`${MANIFEST}: not valid UTF-8, save the file as UTF-8`] };
  const { value, problems } = parseYaml(text, MANIFEST);
  if (problems.length > 0) return { problems };
  if (!(value instanceof Map)) return { problems: [`${MANIFEST}: must be a mapping`] };
  return { manifest: value, problems: [] };
}

// Compiles uploads in a thread of their own: a large blueprint takes a few hundred milliseconds on a small board, and
// two hostile megabytes of YAML seconds and a gigabyte.

export interface CompileTask {
  zip: Uint8Array;
  /** Uploaded profiles by id. */
  profiles: ReadonlyMap<string, Profile>;
  checks: BlueprintChecks;
}

export type BlueprintCompiler = ReturnType<typeof createWorkerCompiler>;

export function createWorkerCompiler(options: { clock: Clock; log: Log; metrics: Metrics }) {
  const { compileTimeoutMs, compileHeapBytes, compileWaiting, compileIdleMs } = LIMITS.blueprints;
  const worker = new TaskWorker<CompileTask, CompiledBlueprint>({
    entry: programEntry('capabilities/blueprints/worker'),
    timeoutMs: compileTimeoutMs,
    countsProcessorTime: true,
    heapBytes: compileHeapBytes,
    waiting: compileWaiting,
    idleMs: compileIdleMs,
    ...options,
  });
  const queue = options.metrics.queue('blueprint_compilations', {
    limit: 2 * compileWaiting,
    depth: () => worker.waiting,
  });
  return {
    async compile(task: CompileTask, terms?: TaskTerms) {
      try {
        return await worker.run(task, terms);
      } catch (error) {
        const isTooMuch =
          error instanceof TaskFailure && (error.reason === 'timeout' || error.reason === 'out_of_memory');
        if (error instanceof GatewayError) queue.dropped();
        if (!isTooMuch) throw error;
        return { problems: [`archive: judging it ${error.message}`], isZip: true };
      }
    },
    stop: () => worker.stop(),
  };
}
