import type { Evidence, TemplateFault } from '#library';
import { errorOfProblems, notFound, type Problem, requireUnderLimit } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { slugFromName } from '../../lib/text.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import { programEntry } from '../../platform/processes/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import { TaskFailure, TaskWorker } from '../../platform/workers/index.ts';
import type { Blueprint, Blueprints, CompiledManifest } from '../blueprints/index.ts';
import type { Devices } from '../devices/index.ts';
import {
  type LibraryDevice,
  type LibraryEntry,
  type LibraryUpdate,
  type Origin,
  originOf,
  type RecognisedDevice,
  type SearchQuestions,
} from './model.ts';
import { createLibraryStore, type LibraryStore } from './store.ts';
import type { CompiledDevice, LibraryAnswer, LibraryResults, LibraryTask } from './tasks.ts';

interface LibraryOptions {
  database: Database;
  clock: Clock;
  log: Log;
  blueprints: Blueprints;
  devices: Devices;
}

/** Templates of people have ids of their own, so that no later library takes them. */
const OWN = 'own-';

/** The library of devices: found, chosen, made into blueprints, and compared with what devices have. */
export class DeviceLibrary {
  readonly #options: LibraryOptions;
  readonly #store: LibraryStore;
  readonly #worker: TaskWorker<LibraryTask, LibraryAnswer>;
  /** Files of the program do not change while it runs. */
  #delivered: Promise<LibraryDevice[]> | undefined;

  constructor(options: LibraryOptions) {
    const { taskTimeoutMs: timeoutMs, heapBytes, waiting, idleMs } = LIMITS.library;
    this.#options = options;
    this.#store = createLibraryStore(options.database);
    this.#worker = new TaskWorker({
      entry: programEntry('capabilities/library/worker'),
      timeoutMs,
      countsProcessorTime: true,
      heapBytes,
      waiting,
      idleMs,
      clock: options.clock,
      log: options.log,
    });
  }

  /** All devices by maker and name, those of the owner's templates too. */
  async devices(): Promise<LibraryDevice[]> {
    this.#delivered ??= this.#ask({ kind: 'devices' });
    const delivered = await this.#delivered.catch((error: unknown) => {
      this.#delivered = undefined;
      throw error;
    });
    const own = this.#store.count() > 0 ? await this.#ask({ kind: 'devices', own: this.#store.all() }) : [];
    return [...delivered, ...own].sort(
      (a, b) => a.maker.localeCompare(b.maker, 'en') || a.name.localeCompare(b.name, 'en'),
    );
  }

  /** @throws GatewayError template_not_found (404), invalid_template for one of the owner that does not compile any more */
  async entry(id: string): Promise<LibraryEntry> {
    return found(id, await this.#ask({ kind: 'entry', ...this.#named(id) }));
  }

  /**
   * The blueprint of a template: the same template and parameters give the same blueprint again.
   * @throws template_not_found, invalid_body naming a parameter, invalid_template
   */
  async blueprint(
    id: string,
    parameters: Readonly<Record<string, unknown>>,
  ): Promise<{ blueprint: Blueprint; origin: Origin }> {
    const named = this.#named(id);
    const { digest, files, ...made } = found(id, await this.#ask({ kind: 'compile', ...named, parameters }));
    const blueprint = await this.#options.blueprints.uploadOnce(contentOf(files), digest);
    return { blueprint, origin: { template: id, digest, parameters: made.parameters } };
  }

  /** Stores a template of the owner; one of the same name is replaced. @throws invalid_template (422) with every mistake */
  async upload(text: string): Promise<LibraryEntry> {
    const { entry, files } = await this.#ask({ kind: 'judge', text });
    const { blueprints, database, log } = this.#options;
    const problems = await blueprints.problemsOf(contentOf(files));
    if (problems.length > 0)
      throw invalidTemplate(problems.map((message) => ({ line: lineOf(message, text), message })));
    const id = await this.#ownId(entry.name);
    database.transaction(() => {
      if (this.#store.text(id) === undefined)
        requireUnderLimit(
          'template_limit_reached',
          `The gateway keeps at most ${LIMITS.library.ownTemplates} uploaded templates; delete one first.`,
          this.#store.count(),
          LIMITS.library.ownTemplates,
        );
      this.#store.put(id, text);
    });
    log.info('device template uploaded', { template_id: id });
    return { ...entry, id };
  }

  /** The text of a template of the owner, as it was uploaded. @throws template_not_found, template_built_in */
  text(id: string): string {
    return found(id, this.#store.text(id));
  }

  /** Removes a template of the owner; blueprints that were made of it stay. @throws template_not_found */
  remove(id: string): void {
    const { database, log } = this.#options;
    if (!database.transaction(() => this.#store.remove(id))) throw unknownTemplate(id);
    log.info('device template removed', { template_id: id });
  }

  /** Devices for which the present template makes another blueprint than they have. */
  async updates(): Promise<LibraryUpdate[]> {
    const { devices } = this.#options;
    const present = new Map<string, Promise<CompiledDevice | undefined>>();
    const found: LibraryUpdate[] = [];
    for (const device of devices.all()) {
      const manifest = devices.manifest(device);
      const origin = originOf(manifest);
      if (origin === undefined) continue;
      const key = JSON.stringify([origin.template, origin.parameters]);
      const compiling = present.get(key) ?? this.#present(origin);
      present.set(key, compiling);
      const newer = await compiling;
      if (newer !== undefined && newer.digest !== origin.digest)
        found.push(updateOf(device.id, origin.template, manifest, newer));
    }
    return found;
  }

  /** The form of a template as JSON Schema. */
  templateSchema(): Promise<string> {
    return this.#ask({ kind: 'schema' });
  }

  /** Questions of a search on the network to devices. */
  searchQuestions(): Promise<SearchQuestions> {
    return this.#ask({ kind: 'questions', own: this.#store.all() });
  }

  /** The templates that fit a device's answers; none, one, or several that cannot be told apart. */
  recognise(evidence: Evidence): Promise<RecognisedDevice[]> {
    return this.#ask({ kind: 'recognise', evidence, own: this.#store.all() });
  }

  stop(): Promise<void> {
    return this.#worker.stop();
  }

  /** Undefined when the template is gone, or has become faulty, which its own page shows. */
  async #present({ template, parameters }: Origin): Promise<CompiledDevice | undefined> {
    try {
      return await this.#ask({ kind: 'compile', ...this.#named(template), parameters, isForgiving: true });
    } catch (error) {
      this.#options.log.warn('device template does not compile', { template_id: template, error });
      return undefined;
    }
  }

  /** That of the owner's template of this name, else a new one: other names may make the same word. */
  async #ownId(name: string): Promise<string> {
    const own = await this.#ask({ kind: 'devices', own: this.#store.all() });
    const names = new Map(own.map((device) => [device.id, device.name]));
    const isOfAnother = (slug: string): boolean => (names.get(OWN + slug) ?? name) !== name;
    const present = own.find((device) => device.name === name);
    return present?.id ?? OWN + slugFromName(name, 'device', isOfAnother);
  }

  #named(id: string): { id: string; text?: string } {
    const text = id.startsWith(OWN) ? this.#store.text(id) : undefined;
    return text === undefined ? { id } : { id, text };
  }

  async #ask<Kind extends LibraryTask['kind']>(
    task: Extract<LibraryTask, { kind: Kind }>,
  ): Promise<LibraryResults[Kind]> {
    const answer = await this.#worker.run(task).catch((error: unknown): LibraryAnswer => {
      const isTooMuch =
        error instanceof TaskFailure && (error.reason === 'timeout' || error.reason === 'out_of_memory');
      if (!isTooMuch) throw error;
      return { faults: [{ line: 1, message: `the file: reading it ${error.message}` }] };
    });
    if (answer.refused) throw refusedParameters(answer.refused);
    if (answer.faults) throw invalidTemplate(answer.faults);
    return answer.result as LibraryResults[Kind];
  }
}

const contentOf = (files: Readonly<Record<string, string>>): Map<string, Buffer> =>
  new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));

/** The line of a template that a problem of its blueprint comes from: `telemetry.flow.unit: …` is where `flow` stands. */
function lineOf(problem: string, text: string): number {
  const [, name] = /^\w+\.(\w+)/.exec(problem) ?? [];
  if (name === undefined) return 1;
  const lines = text.split('\n');
  const begins = lines.findIndex((line) => line.trim().startsWith(`${name}:`));
  return (begins >= 0 ? begins : lines.findIndex((line) => line.includes(` ${name}:`))) + 1 || 1;
}

function found<Value>(id: string, value: Value | undefined): Value {
  if (value === undefined) throw unknownTemplate(id);
  return value;
}

const unknownTemplate = (id: string): Error =>
  notFound('template_not_found', `There is no device template "${id}".`);

function refusedParameters(refused: readonly { name: string; message: string }[]): Error {
  return asError(
    'invalid_argument',
    refused.map(({ name, message }) => ({
      code: 'invalid_body',
      message: `Field "parameters.${name}" ${message}.`,
      details: { field: `parameters.${name}` },
    })),
  );
}

function invalidTemplate(faults: readonly TemplateFault[]): Error {
  return asError(
    'unprocessable',
    faults.slice(0, LIMITS.library.faults).map(({ line, message }) => ({
      code: 'invalid_template',
      message: `Line ${line}: ${message}.`,
      details: { line },
    })),
  );
}

function asError(kind: 'invalid_argument' | 'unprocessable', problems: readonly Problem[]): Error {
  return errorOfProblems(kind, problems) ?? new Error('refused without a problem');
}

function updateOf(
  deviceId: string,
  templateId: string,
  present: CompiledManifest,
  newer: CompiledDevice,
): LibraryUpdate {
  const next = newer.manifest as Partial<CompiledManifest>;
  const before = { ...present.properties, ...present.telemetry };
  const after = { ...next.properties, ...next.telemetry };
  // The compiled manifest has attributes of every device beside those of the template.
  const removed = Object.keys(before).filter(
    (name) => !Object.hasOwn(after, name) && name !== 'alerts' && name !== 'alert_details',
  );
  return {
    deviceId,
    templateId,
    templateName: newer.name,
    parameters: newer.parameters,
    valuesAdded: without(after, before),
    valuesRemoved: removed,
    valuesChanged: Object.entries(after)
      .filter(([name, attribute]) => {
        const known = Object.hasOwn(before, name) ? before[name] : undefined;
        return (
          known !== undefined &&
          (['display_name', 'type', 'unit'] as const).some((key) => known[key] !== attribute[key])
        );
      })
      .map(([name]) => name),
    commandsAdded: without(next.commands ?? {}, present.commands),
    commandsRemoved: without(present.commands, next.commands ?? {}),
  };
}

const without = (all: object, others: object): string[] =>
  Object.keys(all).filter((name) => !Object.hasOwn(others, name));
