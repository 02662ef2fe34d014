/**
 * The gateway as a script in a dry run sees it: telemetry is what was recorded up to the virtual instant, commands
 * are noted and count as done, storage is a scratch copy, everything else is as it is now.
 */
import { exactJson } from '../../../lib/json.ts';
import type { Limits } from '../../../lib/limits.ts';
import { cutToBytes } from '../../../lib/text.ts';
import type { EpochMs, MonotonicMs } from '../../../lib/time.ts';
import { TokenBucket } from '../../../lib/token-bucket.ts';
import type {
  DryRunEntry,
  DryRunReport,
  RecordedResults,
  RecordedSample,
} from '../../../protocol/dry-run.ts';
import {
  DRY_RUN_FACTS,
  type RecordedRequest,
  type RuleAnswer,
  type RuleMethods,
  type RuleRequest,
  type RuleStore,
} from '../../../protocol/rule-sandbox.ts';
import { tooManyNotifications } from '../../../protocol/notification.ts';
import type { JsonValue } from '../../../protocol/telemetry.ts';
import type { OutputParameters } from '../../../protocol/output.ts';
import type { Change } from '../thread-messages.ts';
import { DryOutputs } from './outputs.ts';

interface RecordedSiteOptions {
  clock: { wallMs(): EpochMs; monotonicMs(): MonotonicMs };
  /** Last instant of the period. */
  toMs: EpochMs;
  limits: Limits['rules'];
  ask: (request: RecordedRequest) => Promise<RuleAnswer>;
  notes: Notes;
}

/** Thrown and caught within this file only: the request is answered with this error. */
class Refused extends Error {}

const DONE: RuleAnswer = { ok: true, result: null };

export class RecordedSite {
  readonly #options: RecordedSiteOptions;
  readonly #recordings = new Map<string, Recording>();
  readonly #facts = new Map<string, Promise<RuleAnswer>>();
  readonly #watches = new Map<number, Recording>();
  readonly #storage;
  readonly #notifications;
  readonly #outputs = new DryOutputs((deviceId, command) =>
    this.#options.notes.add({ kind: 'command', deviceId, ...command }),
  );

  constructor(options: RecordedSiteOptions) {
    const { clock, limits } = options;
    const { notificationsPerHour: burst } = limits;
    this.#options = options;
    this.#notifications = new TokenBucket(burst / 3_600, burst, clock.monotonicMs());
    this.#storage = createScratchStorage({
      ...options,
      original: async (store, key) =>
        (await this.#ask({ method: 'storage_read', parameters: { store, key } })) as string | null,
    });
  }

  async answer(request: RuleRequest): Promise<RuleAnswer> {
    try {
      return await this.#answer(request);
    } catch (error) {
      if (error instanceof Refused) return { ok: false, error: error.message };
      throw error;
    }
  }

  /** Instant of the next sample that the script waits for; infinite when there is none. */
  async nextChangeMs(): Promise<EpochMs> {
    const nowMs = this.#options.clock.wallMs();
    let nextMs: EpochMs = Number.POSITIVE_INFINITY;
    for (const recording of new Set(this.#watches.values()))
      nextMs = Math.min(nextMs, (await recording.after(nowMs))?.[0] ?? nextMs);
    return nextMs;
  }

  /** The samples of the present instant that the script waits for. */
  async changes(): Promise<Change[]> {
    const nowMs = this.#options.clock.wallMs();
    const changes: Change[] = [];
    for (const [watchId, recording] of this.#watches) {
      const [timestampMs, value] = (await recording.at(nowMs)) ?? [0, null];
      if (timestampMs === nowMs) changes.push({ watchId, value, timestampMs });
    }
    return changes;
  }

  /** The script ended: it waits for nothing any more. */
  endRun(): void {
    this.#watches.clear();
  }

  async #answer(request: RuleRequest): Promise<RuleAnswer> {
    const { method, parameters } = request;
    switch (method) {
      case 'device_online':
        // Connectivity is not recorded: a device that exists counts as reachable.
        await this.#ask({ method: 'device_profiles', parameters });
        return { ok: true, result: true };
      case 'latest':
        return { ok: true, result: await this.#latest(parameters) };
      case 'aggregate':
        return this.#options.ask({
          method: 'aggregate_at',
          parameters: { ...parameters, endMs: this.#options.clock.wallMs() },
        });
      case 'execute':
        return this.#execute(parameters);
      case 'output_request':
        return this.#request(parameters);
      case 'output_release':
        this.#outputs.release(parameters.deviceId, parameters.output, parameters.name);
        return DONE;
      case 'notify':
        return this.#notify(parameters);
      case 'storage_read':
        return { ok: true, result: await this.#storage.read(parameters.store, parameters.key) };
      case 'storage_write': {
        const error = await this.#storage.write(parameters.store, parameters.key, parameters.value);
        return error === undefined ? DONE : { ok: false, error };
      }
      case 'storage_remove':
        await this.#storage.remove(parameters.store, parameters.key);
        return DONE;
      case 'watch':
        return this.#watch(parameters);
      case 'unwatch':
        this.#watches.delete(parameters.watchId);
        return DONE;
      default:
        return this.#fact({ method, parameters } as RecordedRequest);
    }
  }

  /** Asks only once for what does not change in a dry run. */
  #fact(request: RecordedRequest): Promise<RuleAnswer> {
    const key = `${request.method} ${exactJson(request.parameters)}`;
    let answer = this.#facts.get(key);
    if (!answer) {
      if (this.#facts.size >= this.#options.limits.dryRun.facts) this.#facts.clear();
      this.#facts.set(key, (answer = this.#options.ask(request)));
    }
    return answer;
  }

  /** @throws Refused */
  async #ask(request: RecordedRequest): Promise<JsonValue> {
    const isFact = (DRY_RUN_FACTS as readonly string[]).includes(request.method);
    const answer = await (isFact ? this.#fact(request) : this.#options.ask(request));
    if (!answer.ok) throw new Refused(answer.error);
    return answer.result;
  }

  async #latest({ deviceId, name, relevanceMs }: RuleMethods['latest']): Promise<JsonValue> {
    const nowMs = this.#options.clock.wallMs();
    const sample = await this.#recording(deviceId, name).at(nowMs);
    if (!sample || sample[0] < nowMs - relevanceMs) throw new Refused(`no recent value of "${name}"`);
    return { value: sample[1], timestampMs: sample[0] };
  }

  #recording(deviceId: string, name: string): Recording {
    const { limits, toMs } = this.#options;
    const key = `${deviceId} ${name}`;
    return this.#recordings.getOrInsertComputed(key, () => {
      if (this.#recordings.size >= limits.dryRun.attributes)
        throw new Refused(`a dry run reads at most ${limits.dryRun.attributes} attributes`);
      return new Recording(async (afterMs) => {
        const parameters = { deviceId, name, afterMs, toMs };
        // The gateway's own shape; the channel between carries any JSON.
        return (await this.#ask({ method: 'samples', parameters })) as unknown as RecordedResults['samples'];
      });
    });
  }

  async #execute(parameters: RuleMethods['execute']): Promise<RuleAnswer> {
    const { deviceId, name, arguments: given } = parameters;
    const answer = await this.#options.ask({
      method: 'check_command',
      parameters: { deviceId, name, arguments: given },
    });
    this.#options.notes.add({
      kind: 'command',
      deviceId,
      name,
      arguments: given,
      ...(!answer.ok && { error: answer.error }),
    });
    return answer.ok ? { ok: true, result: {} } : answer;
  }

  async #request(parameters: OutputParameters): Promise<RuleAnswer> {
    const { deviceId, name, arguments: given } = parameters;
    const answer = await this.#options.ask({ method: 'check_output', parameters });
    if (answer.ok) {
      const checked = answer.result as unknown as RecordedResults['check_output'];
      return { ok: true, result: this.#outputs.request(deviceId, checked) };
    }
    const refused = { deviceId, name, arguments: given ?? {}, error: answer.error };
    this.#options.notes.add({ kind: 'command', ...refused });
    return answer;
  }

  /** Takes as many notifications as in the hours of the period, and sends none. */
  #notify(parameters: RuleMethods['notify']): RuleAnswer {
    const { clock, limits, notes } = this.#options;
    if (this.#notifications.take(clock.monotonicMs())) {
      notes.add({ kind: 'notification', ...parameters });
      return DONE;
    }
    const error = tooManyNotifications(limits.notificationsPerHour);
    notes.add({ kind: 'notification', ...parameters, error });
    return { ok: false, error };
  }

  async #watch(parameters: RuleMethods['watch']): Promise<RuleAnswer> {
    const { deviceId, watchId } = parameters;
    if (parameters.kind === 'connectivity') {
      await this.#ask({ method: 'device_profiles', parameters: { deviceId } });
      return DONE;
    }
    const recording = this.#recording(deviceId, parameters.name);
    // Read once, so that an attribute that does not exist is refused now.
    await recording.at(this.#options.clock.wallMs());
    this.#watches.set(watchId, recording);
    return DONE;
  }
}

// Storage of a rule in a dry run: begins with the present content, takes every change, and is thrown away.

function createScratchStorage(options: {
  limits: Pick<Limits['rules'], 'storageBytes' | 'dryRun'>;
  /** Reads the real storage. */
  original: (store: RuleStore, key: string) => Promise<string | null>;
  notes: Notes;
}) {
  const { limits, original, notes } = options;
  /** Changed values; null: removed. */
  const changed = new Map<RuleStore, Map<string, string | null>>();

  /** JSON text, or null. */
  async function read(store: RuleStore, key: string): Promise<string | null> {
    const own = changed.get(store)?.get(key);
    return own === undefined ? original(store, key) : own;
  }

  function set(store: RuleStore, key: string, value: string | null): void {
    changed.getOrInsertComputed(store, () => new Map()).set(key, value);
  }

  function bytesBeside(store: RuleStore, key: string): number {
    let bytes = 0;
    for (const [name, value] of changed.get(store) ?? [])
      if (name !== key) bytes += Buffer.byteLength(name) + Buffer.byteLength(value ?? '');
    return bytes;
  }

  return {
    read,
    /** An error as the gateway would give it, or undefined. */
    write: async (store: RuleStore, key: string, value: string) => {
      if ((await read(store, key)) === value) return undefined;
      const sizeBytes = Buffer.byteLength(key) + Buffer.byteLength(value);
      if (bytesBeside(store, key) + sizeBytes > limits.storageBytes)
        return `the store holds at most ${limits.storageBytes} bytes`;
      set(store, key, value);
      notes.add({ kind: 'storage', store, key, value: cutToBytes(value, limits.dryRun.textBytes) });
      return undefined;
    },
    remove: async (store: RuleStore, key: string) => {
      if ((await read(store, key)) === null) return;
      set(store, key, null);
      notes.add({ kind: 'storage', store, key });
    },
  };
}

// Samples of one attribute as they were recorded, read forwards and in chunks.

type Chunk = RecordedResults['samples'];

export class Recording {
  readonly #load: (afterMs: EpochMs) => Promise<Chunk>;
  #chunk: Chunk | undefined;
  /** Index in the chunk of the first sample later than the last instant. */
  #position = 0;
  #loading: Promise<void> | undefined;

  /** `load` gives the samples later than an instant, and the last one before. */
  constructor(load: (afterMs: EpochMs) => Promise<Chunk>) {
    this.#load = load;
  }

  /** The newest sample not later than the instant. Instants must not go back. */
  async at(nowMs: EpochMs): Promise<RecordedSample | undefined> {
    const { samples, before } = await this.#reach(nowMs);
    return this.#position > 0 ? samples[this.#position - 1] : (before ?? undefined);
  }

  /** The first sample that is later. */
  async after(nowMs: EpochMs): Promise<RecordedSample | undefined> {
    const { samples } = await this.#reach(nowMs);
    return samples[this.#position];
  }

  async #reach(nowMs: EpochMs): Promise<Chunk> {
    // Far ahead, the chunk around the instant is loaded instead of all those between.
    for (;;) {
      const chunk = this.#chunk;
      if (chunk && (chunk.isComplete || (chunk.samples.at(-1)?.[0] ?? 0) > nowMs)) {
        while ((chunk.samples[this.#position]?.[0] ?? Number.POSITIVE_INFINITY) <= nowMs) this.#position++;
        return chunk;
      }
      this.#loading ??= this.#fill(nowMs);
      await this.#loading;
    }
  }

  async #fill(nowMs: EpochMs): Promise<void> {
    try {
      this.#chunk = await this.#load(nowMs);
      this.#position = 0;
    } finally {
      this.#loading = undefined;
    }
  }
}

// The entries of a dry run: what the script did, bounded in number and size.

/** An entry before it is stamped; an intersection with a union is kept apart member by member. */
type WithoutTime<Entry> = Entry extends unknown ? Omit<Entry, 'atMs'> : never;

export type Notes = ReturnType<typeof createNotes>;

export function createNotes(options: {
  clock: { wallMs(): EpochMs };
  limits: Limits['rules']['dryRun'];
  tell: (entry: DryRunEntry) => void;
}) {
  const { clock, limits, tell } = options;
  /** Entries of each kind, including those that there was no room for. */
  const counts: DryRunReport['counts'] = {};
  let bytes = 0;
  return {
    counts,
    add: (entry: WithoutTime<DryRunEntry>) => {
      const count = (counts[entry.kind] ?? 0) + 1;
      counts[entry.kind] = count;
      if (count > limits.entriesOfKind || bytes >= limits.entriesBytes) return;
      const stamped: DryRunEntry = { atMs: clock.wallMs(), ...entry };
      bytes += Buffer.byteLength(JSON.stringify(stamped, exactAsText));
      if (bytes <= limits.entriesBytes) tell(stamped);
    },
  };
}

/** Integers beyond 2^53 have no JSON of their own; here only their length counts. */
function exactAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
