import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { alreadyExists, inRehearsal, requireFound, requireUnderLimit } from '../../lib/errors.ts';
import { defined } from '../../lib/members.ts';
import { SerialQueue } from '../../lib/serial-queue.ts';
import { correctMoments, type StampCorrection, type Timer } from '../../platform/clock/index.ts';
import type { SecretSealer } from '../../platform/files/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { GroupCommit } from '../../platform/sqlite/index.ts';
import { neededAfter } from '../telemetry/index.ts';
import {
  changedSecrets,
  changedSettings,
  followSlug,
  type NewTarget,
  placed,
  requireFitting,
  requireSameServer,
  secretsIn,
  type TargetChange,
} from './changes.ts';
import { type CommandChannel, openCommandChannel } from './commands/command-channel.ts';
import {
  carriesTelemetry,
  type DeviceLabels,
  type ListedTarget,
  NO_TOTALS,
  NOTHING_DONE,
  type Place,
  recordContentsOf,
  TargetFailure,
  type TargetRecord,
  type TargetStatus,
} from './model.ts';
import type { RetainedTopics } from './mqtt/mqtt-sink.ts';
import type { TargetParts } from './parts.ts';
import { Records, type RecordSources } from './records/records.ts';
import { Sender } from './sender.ts';
import { openSink } from './sinks.ts';
import { type ChangeStore, createChangeStore, createTargetStore, type Cursor } from './store.ts';
import { NOTED_CONTENTS } from './tables.ts';

interface TargetsOptions extends TargetParts {
  sealer: SecretSealer;
  sources: RecordSources;
  /** Group commit of state.db. */
  commits: GroupCommit;
  /** A restored copy keeps its targets and sends nothing. Default: it is none. */
  isRehearsal?: boolean;
  /** Default: random. */
  newId?: () => string;
}

/** The targets of the gateway: people make and change them, and each has a sender that runs all the time. */
export class Targets {
  readonly #options: TargetsOptions;
  readonly #store;
  readonly #records = new Map<string, TargetRecord>();
  readonly #cursors = new Map<string, Cursor>();
  readonly #senders = new Map<string, Sender>();
  readonly #channels = new Map<string, CommandChannel>();
  readonly #retained = new Map<string, RetainedTopics>();
  readonly #changes: ChangeStore;
  readonly #carried: Records;
  #carriesRecords = false;
  #unsubscribe: (() => void)[] = [];
  #saving: Timer | undefined;
  /** Changes of one target at a time, in their order. */
  readonly #queue = new SerialQueue();

  constructor(options: TargetsOptions) {
    this.#options = options;
    this.#store = createTargetStore(options.database, options.sealer);
    this.#changes = createChangeStore(options.database);
    this.#carried = new Records({ ...options, store: this.#changes, kept: options.limits.recordsKept });
    registerTargetMetrics(options.metrics, () => this.list());
  }

  /** Every target continues where it stopped. */
  start(): void {
    const cursors = this.#store.cursors();
    for (const record of this.#store.all()) {
      this.#records.set(record.id, record);
      this.#cursors.set(
        record.id,
        cursors.get(record.id) ?? { position: { sequence: 0 }, records: {}, totals: NO_TOTALS },
      );
    }
    this.#follow();
    for (const record of this.#records.values()) this.#open(record);
    const { clock, limits, devices } = this.#options;
    this.#unsubscribe = [
      devices.events.on('connectivity_changed', 'targets', ({ device, status, atMs }) =>
        this.#carried.noteConnectivity(device, status, atMs),
      ),
      devices.events.on('device_updated', 'targets', ({ device, previous }) => {
        if (device.slug !== previous.slug) this.#followSlug(previous.slug, device.slug);
      }),
    ];
    this.#saving = clock.setRepeating(limits.cursorIntervalMs, () => this.#saveCursors());
  }

  /** Resolves once no delivery is under way and the cursors are saved. */
  async stop(): Promise<void> {
    this.#saving?.cancel();
    for (const end of this.#unsubscribe) end();
    await Promise.all([
      ...[...this.#senders.values()].map((sender) => sender.stop()),
      ...[...this.#channels].map(([id, channel]) => channel.stop(this.#records.get(id))),
    ]);
    this.#saveCursors();
    this.#senders.clear();
    this.#channels.clear();
  }

  /** All by name. */
  list(): ListedTarget[] {
    return [...this.#records.values()]
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((record) => this.#listed(record));
  }

  /** @throws GatewayError target_not_found (404) */
  get(id: string): ListedTarget {
    return this.#listed(this.#require(id));
  }

  /**
   * @throws GatewayError invalid_body (400), device_not_found (404), already_exists (409), target_limit_reached (422),
   * unavailable (503)
   */
  create(given: NewTarget): Promise<ListedTarget> {
    return this.#queue.run(async () => {
      const { clock, database, dataDir, newId = randomUUID } = this.#options;
      const { targetsMax: limit } = this.#options.limits;
      requireUnderLimit('target_limit_reached', `There are ${limit} targets.`, this.#records.size, limit);
      this.#requireFree(given.name);
      this.#requireDevices(given);
      const nowMs = clock.wallMs();
      const record: TargetRecord = {
        id: newId(),
        name: given.name,
        kind: given.settings.kind,
        isEnabled: given.isEnabled ?? true,
        settings: placed(given.settings, dataDir),
        secrets: changedSecrets({}, given.secrets),
        selection: given.selection,
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
      };
      requireFitting(record);
      const position = await this.#firstPosition(given.withHistory);
      const cursor = { position, records: {}, totals: NO_TOTALS };
      database.transaction(() => {
        this.#store.insert(record);
        this.#store.putCursor(record.id, cursor);
      });
      this.#records.set(record.id, record);
      this.#cursors.set(record.id, cursor);
      this.#follow();
      this.#open(record);
      return this.#listed(record);
    });
  }

  /** @throws GatewayError target_not_found or device_not_found (404), already_exists (409) */
  update(id: string, change: TargetChange): Promise<ListedTarget> {
    return this.#queue.run(async () => {
      const before = this.#require(id);
      if (change.name !== undefined && change.name !== before.name) this.#requireFree(change.name);
      this.#requireDevices(change);
      const record: TargetRecord = {
        ...before,
        name: change.name ?? before.name,
        isEnabled: change.isEnabled ?? before.isEnabled,
        settings: changedSettings(before.settings, change.settings, this.#options.dataDir),
        secrets: changedSecrets(before.secrets, change.secrets),
        selection: { ...before.selection, ...defined(change.selection ?? {}) },
        updatedAtMs: this.#options.clock.wallMs(),
      };
      requireFitting(record);
      requireSameServer(before, record, change.secrets);
      await this.#whileClosed(before, record, async () => {
        const cursor = this.#cursors.get(id);
        // Telemetry from before it was selected is not sent.
        if (cursor && carriesTelemetry(record) && !carriesTelemetry(before))
          cursor.position = await this.#firstPosition(false);
        this.#store.update(record);
      });
      this.#records.set(id, record);
      this.#follow();
      this.#open(record);
      return this.#listed(record);
    });
  }

  /** @throws GatewayError target_not_found (404) */
  remove(id: string): Promise<void> {
    return this.#queue.run(async () => {
      await this.#whileClosed(this.#require(id), undefined, async () => this.#store.remove(id));
      this.#records.delete(id);
      this.#cursors.delete(id);
      this.#retained.delete(id);
      this.#follow();
    });
  }

  /** Moments in memory that a wrong clock gave. */
  restamp(correction: StampCorrection): void {
    for (const [id, record] of this.#records) this.#records.set(id, correctMoments(record, correction));
  }

  /** Every secret, for redaction of texts. */
  secrets(): string[] {
    return [...this.#records.values()].flatMap(secretsIn);
  }

  /** Sends a test sample. The reason of a failure in a sentence; undefined: it was accepted. @throws target_not_found (404), in_rehearsal (409) */
  async test(id: string, signal: AbortSignal): Promise<string | undefined> {
    const record = this.#require(id);
    if (this.#options.isRehearsal) throw inRehearsal();
    const sink = openSink(record, this.#options);
    try {
      await sink.test(signal);
      return undefined;
    } catch (error) {
      if (error instanceof TargetFailure) return error.message;
      throw error;
    } finally {
      sink.close();
    }
  }

  async #firstPosition(withHistory: boolean): Promise<Cursor['position']> {
    if (withHistory) return { sequence: 0 };
    const { telemetry } = this.#options;
    return (await telemetry.changes({ after: undefined, sinceS: 0, samplesMax: 0 })).position;
  }

  #listed(record: TargetRecord): ListedTarget {
    const { totals } = this.#cursors.get(record.id) ?? { totals: NO_TOTALS };
    const status = this.#senders.get(record.id)?.status() ?? { ...NOTHING_DONE, ...totals };
    return { record, status: { ...status, commands: this.#channels.get(record.id)?.status() } };
  }

  #require(id: string): TargetRecord {
    return requireFound('target_not_found', `There is no target "${id}".`, this.#records.get(id));
  }

  #followSlug(before: string, now: string): void {
    const renamed = [...this.#records.values()].filter((record) => followSlug(record, before, now));
    if (renamed.length === 0) return;
    this.#options.database.transaction(() => {
      for (const record of renamed) this.#store.update(record);
    });
  }

  /** A target of devices that are not there would send nothing and look current. */
  #requireDevices({ selection, settings }: TargetChange): void {
    const commanded = settings?.kind === 'MQTT' ? settings.commands?.devices : undefined;
    for (const name of [...(selection?.devices ?? []), ...(commanded ?? [])])
      this.#options.devices.require(name);
  }

  #requireFree(name: string): void {
    if ([...this.#records.values()].some((record) => record.name === name))
      throw alreadyExists(`Another target is called "${name}".`, 'name', name);
  }

  #open(record: TargetRecord): void {
    const cursor = this.#cursors.get(record.id);
    if (!cursor) return;
    this.#openRecords(record, cursor);
    if (!record.isEnabled || this.#options.isRehearsal) return;
    const { telemetry, clock, log, limits, site } = this.#options;
    const retained = this.#retained.getOrInsertComputed(record.id, () => new Map());
    const sender = new Sender({
      record,
      cursor,
      sink: openSink(record, this.#options, retained),
      telemetry,
      records: this.#carried,
      site,
      labelsOf: (deviceId) => this.#labelsOf(deviceId),
      saveCursor: (cursor) => this.#saveCursor(record.id, cursor),
      clock,
      log,
      limits,
    });
    this.#senders.set(record.id, sender);
    sender.start();
    const channel = openCommandChannel(record, this.#options);
    if (channel) this.#channels.set(record.id, channel);
    channel?.start();
  }

  /** Undefined when the device was deleted. */
  #labelsOf(deviceId: string): { slug: string; labels: DeviceLabels } | undefined {
    const { devices, site } = this.#options;
    const device = devices.get(deviceId);
    if (!device) return undefined;
    const { slug } = device;
    const { display_name: blueprint, implements: profiles } = devices.manifest(device);
    return { slug, labels: { site: site().name, device: slug, blueprint, profile: profiles[0] } };
  }

  /** Stores where newly selected contents begin, so that an unreachable target begins there after a restart, too. */
  #openRecords(record: TargetRecord, cursor: Cursor): void {
    const opened = this.#carried.opened(cursor.records, recordContentsOf(record));
    if (isDeepStrictEqual(opened, cursor.records)) return;
    cursor.records = opened;
    this.#options.database.transaction(() => this.#store.putCursor(record.id, cursor));
  }

  /** Opens the target again as it was when the change cannot be stored. @param next the changed target; undefined: it is deleted */
  async #whileClosed(
    before: TargetRecord,
    next: TargetRecord | undefined,
    work: () => Promise<void>,
  ): Promise<void> {
    await this.#close(before.id, next);
    try {
      await work();
    } catch (error) {
      this.#open(before);
      throw error;
    }
  }

  /** @param next the changed target; absent: it is deleted */
  async #close(id: string, next?: TargetRecord): Promise<void> {
    await this.#channels.get(id)?.stop(next);
    this.#channels.delete(id);
    const sender = this.#senders.get(id);
    if (!sender) return;
    await sender.stop();
    this.#saveCursors();
    this.#senders.delete(id);
  }

  /** Resolves once it is on the disk. */
  async #saveCursor(id: string, cursor: Cursor): Promise<void> {
    const { database } = this.#options;
    const isMoved = !isDeepStrictEqual(cursor, this.#cursors.get(id));
    if (isMoved) database.transaction(() => this.#store.putCursor(id, cursor));
    await database.durable();
    if (!isMoved) return;
    this.#cursors.set(id, structuredClone(cursor));
    this.#keepChanges();
  }

  /** Saves the cursors that moved in one transaction, because few writes spare the flash. */
  #saveCursors(): void {
    const moved = [...this.#senders]
      .map(([id, { resumption }]) => [id, structuredClone(resumption)] as const)
      .filter(([id, cursor]) => !isDeepStrictEqual(cursor, this.#cursors.get(id)));
    if (moved.length === 0 && !this.#carriesRecords) return;
    const { database, log } = this.#options;
    try {
      database.transaction(() => {
        for (const [id, cursor] of moved) this.#store.putCursor(id, cursor);
        this.#removePassed();
      });
    } catch (error) {
      log.warnLimited('target-cursors', 60_000, 'cursors of targets could not be saved', { error });
      return;
    }
    for (const [id, cursor] of moved) this.#cursors.set(id, cursor);
    if (moved.length > 0) this.#keepChanges();
  }

  /** Has changes of all selected contents noted from now on, for all targets together. */
  #follow(): void {
    const wanted = new Set([...this.#records.values()].flatMap(recordContentsOf));
    this.#carriesRecords = wanted.size > 0;
    this.#options.database.transaction(() => {
      this.#changes.setWanted(wanted);
      this.#removePassed();
    });
    this.#keepChanges();
  }

  /** Positions from which a target may continue after a power cut or a lost connection. */
  #placesOf(id: string): Place[] {
    const saved = this.#cursors.get(id);
    return saved ? [saved, this.#senders.get(id)?.resumption ?? saved] : [];
  }

  /** Lets the history forget changes that every target has passed. */
  #keepChanges(): void {
    const reached = [...this.#records.values()]
      .filter(carriesTelemetry)
      .flatMap(({ id }) => this.#placesOf(id))
      .map(({ position }) => neededAfter(position));
    this.#options.telemetry.keepChanges(reached.length > 0 ? Math.min(...reached) : undefined);
  }

  /** The same for records. A target that never comes back must not fill the disk: beyond the limit it loses the oldest. */
  #removePassed(): void {
    const places = [...this.#records.keys()].flatMap((id) => this.#placesOf(id));
    for (const content of NOTED_CONTENTS) {
      const newest = this.#changes.newest(content);
      const passed = Math.min(newest, ...places.map(({ records }) => records[content] ?? newest));
      this.#changes.removeUpTo(content, Math.max(passed, newest - this.#options.limits.recordsKept));
    }
  }
}

// Metrics of the targets. Targets are few, so that their names can be labels.

type Counted = {
  [Name in keyof TargetStatus]-?: TargetStatus[Name] extends number ? Name : never;
}[keyof TargetStatus];

const NUMBERS: readonly [name: string, help: string, member: Counted][] = [
  ['target_lag_seconds', 'Age of the oldest sample that was not sent.', 'lagS'],
  ['target_lag_samples', 'Samples that were not sent yet.', 'lagSamples'],
  ['target_samples_sent', 'Samples that the target has acknowledged.', 'samples'],
  ['target_bytes_sent', 'Bytes that went to the target.', 'bytes'],
  ['target_samples_lost', 'Samples that the history gave up before they were sent.', 'lostSamples'],
  ['target_samples_refused', 'Samples that the target does not take.', 'refusedSamples'],
  ['target_lag_records', 'Records besides telemetry that were not sent yet.', 'lagRecords'],
  ['target_records_sent', 'Records besides telemetry that the target has acknowledged.', 'records'],
  ['target_records_lost', 'Records that were gone before they were sent.', 'lostRecords'],
];

function registerTargetMetrics(metrics: Metrics, list: () => readonly ListedTarget[]): void {
  const gauge = (name: string, help: string, of: (status: TargetStatus) => number | undefined): void => {
    metrics.gauge(name, help, ['target'], (set) => {
      set.reset();
      for (const { record, status } of list()) {
        const value = of(status);
        if (value !== undefined) set.set({ target: record.name }, value);
      }
    });
  };
  gauge('target_up', '1 while the target takes telemetry.', ({ state }) =>
    Number(state === 'CURRENT' || state === 'CATCHING_UP'),
  );
  for (const [name, help, member] of NUMBERS) gauge(name, help, (status) => status[member]);
  gauge(
    'target_commands_up',
    '1 while commands may come from the target, 0 without a connection; none where they may not.',
    ({ commands }) => (commands ? Number(commands.isConnected) : undefined),
  );
}
