import type { SecretSealer } from '../../platform/files/index.ts';
import { conflict, inRehearsal, invalidBody, unprocessable } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { slugFromName } from '../../lib/text.ts';
import { canonicalTimeZone, type EpochMs, formatTimestamp, type MonotonicMs } from '../../lib/time.ts';
import { inWords } from '../../lib/system-fault.ts';
import {
  BackupError,
  type BackupInfo,
  type BackupOpener,
  type BackupOptions,
  type BackupTarget,
  createBackupOpener,
  createTarget,
  deliverBackup,
  discardUpload,
  endRehearsal,
  isRehearsalDue,
  keepUpload,
  openBackup,
  type Rehearsal,
  removeOld,
  restoreUpload,
  sftpKey,
  TargetError,
  targetProblem,
} from '../../platform/backup/index.ts';
import { type Timer, within } from '../../platform/clock/index.ts';
import { isOnOtherDisk } from '../../platform/files/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Site } from '../site/index.ts';
import {
  type BackupOutcome,
  backupName,
  type BackupOwner,
  type BackupPlan,
  isDue,
  isOverdue,
  namesToRemove,
  partsOf,
  PLAN_DEFAULT,
} from './model.ts';
import { createBackupStore } from './store.ts';

interface BackupsOptions extends Omit<BackupOptions, 'historyPath' | 'signal' | 'limits'> {
  sealer: SecretSealer;
  site: Pick<Site, 'get'>;
  metrics: Metrics;
  /** Telemetry and logs: their path and size on the disk. */
  history: { path: string; usedBytes: () => number };
  /** When a person last took a backup, if it is still known. */
  lastTakenMs: () => EpochMs | undefined;
  /** Free bytes of the disk with the data. */
  freeBytes: () => number;
  /** Undefined: this gateway is no restored copy that sends nothing. */
  rehearsal: Rehearsal | undefined;
  /** Requests the restart that takes over a prepared restore, or ends a rehearsal. */
  requestRestart: (reason: string) => void;
  limits?: Limits['backup'];
}

/** A change of the plan; absent members stay. */
export type PlanChange = Partial<Omit<BackupPlan, 'isMount' | 'changedAtMs'>>;

export interface PlanStatus {
  plan: BackupPlan;
  outcome: BackupOutcome | undefined;
  /** When a person last took a backup. */
  takenAtMs: EpochMs | undefined;
  isRunning: boolean;
  isOverdue: boolean;
  /** Public key of the gateway for the other machine; undefined when it is not needed. */
  sftpKey: string | undefined;
}

/** Backups on demand and by plan, and restores. One at a time, because each needs the size of state.db again. */
export class Backups {
  readonly #options: BackupsOptions;
  readonly #limits: Limits['backup'];
  readonly #store;
  readonly #log: Log;
  readonly #runs: { inc: (labels: { result: string }) => void };
  readonly #opener: BackupOpener;
  readonly #stopping = new AbortController();
  #keyAsked: Promise<string> | undefined;
  #uploadedAtMonotonicMs: MonotonicMs | undefined;
  #failedAtMonotonicMs: MonotonicMs | undefined;
  #isBusy = false;
  /** Until nothing is left of the last backup that was opened as a stream. */
  #reading: Promise<void> = Promise.resolve();
  #isRunning = false;
  #timer: Timer | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: BackupsOptions) {
    this.#options = options;
    this.#limits = options.limits ?? LIMITS.backup;
    this.#store = createBackupStore(options.database, options.sealer);
    this.#opener = createBackupOpener({ ...options, limits: this.#limits });
    this.#log = options.log.child({ component: 'backups' });
    this.#runs = options.metrics.counter('backups_total', 'Backups by plan, by how they ended.', {
      result: ['good', 'failed'],
    });
    options.metrics.measured(
      'backup_last_good_timestamp_seconds',
      'When the last backup was made that was opened and checked, in Unix time; 0: none yet.',
      () => Math.floor((this.#store.outcome()?.goodAtMs ?? 0) / 1_000),
    );
  }

  /** Begins to check whether a backup is due. */
  start(): void {
    this.#timer = this.#options.clock.setRepeating(this.#limits.checkIntervalMs, () => void this.#look());
  }

  /** Gives up a running backup, which the next start makes. Resolves even if the target hangs. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#stopping.abort(new Error('the gateway stops'));
    await this.#opener.stop();
    await within(this.#options.clock, this.#limits.stopMs, this.#running);
  }

  /**
   * Opens a backup as a stream. @param signal aborted when the reader goes away
   * @throws GatewayError backup_in_progress (409), no_room (422), unavailable (503)
   */
  async open(
    password: string,
    { includeHistory, signal }: { includeHistory: boolean; signal: AbortSignal },
  ): Promise<{ fileName: string; stream: ReadableStream<Uint8Array> }> {
    await this.#readerLeft();
    signal.throwIfAborted();
    this.#begin();
    const { promise: reading, resolve } = Promise.withResolvers<void>();
    this.#reading = reading;
    const end = (): void => {
      this.#isBusy = false;
      resolve();
    };
    try {
      const { stream, ended } = await openBackup(this.#source(includeHistory, signal), password);
      void ended.then(end);
      // Two backups of one day have two names, so that a browser keeps both files.
      const moment = formatTimestamp(this.#options.clock.wallMs()).slice(0, 19).replaceAll(':', '');
      return { fileName: `${this.#owner().slug}-${moment}.backup`, stream };
    } catch (error) {
      end();
      throw error;
    }
  }

  async status(): Promise<PlanStatus> {
    const plan = this.#plan();
    const needsKey = plan.target?.startsWith('sftp://') ?? false;
    return {
      plan,
      outcome: this.#store.outcome(),
      takenAtMs: this.#options.lastTakenMs(),
      isRunning: this.#isRunning,
      isOverdue: this.isOverdue(),
      sftpKey: needsKey ? await this.#sftpKey() : undefined,
    };
  }

  /** The plan has produced no good backup for longer than it allows. */
  isOverdue(): boolean {
    const { clock } = this.#options;
    if (this.rehearsal) return false;
    return clock.isSet() && isOverdue(this.#plan(), this.#store.outcome(), clock.wallMs());
  }

  /** Secrets, for redaction of texts. */
  secrets(): string[] {
    const { password, targetPassword } = this.#plan();
    return [password, targetPassword].filter((secret) => secret !== null);
  }

  /** The last outcome, and whether good backups are overdue. */
  standing(): Partial<BackupOutcome> & { isOverdue: boolean } {
    return { ...this.#store.outcome(), isOverdue: this.isOverdue() };
  }

  /** @throws GatewayError invalid_body (400) for an invalid target, and a schedule without target or password */
  update(change: PlanChange): void {
    const before = this.#plan();
    const plan = { ...before, ...change, changedAtMs: this.#options.clock.wallMs() };
    if (plan.target !== before.target) {
      // The password of one target is not sent to another.
      if (change.targetPassword === undefined) plan.targetPassword = null;
      plan.isMount = this.#isMount(plan.target);
    }
    const missing = plan.schedule === 'OFF' ? undefined : missingOf(plan);
    if (missing !== undefined) throw invalidBody(missing, needs(missing));
    this.#options.database.transaction(() => this.#store.putPlan(plan));
    this.#log.info('backup plan changed', { schedule: plan.schedule, target: plan.target });
  }

  /**
   * Begins a backup now, whatever the schedule. Resolves when it has begun.
   * @throws GatewayError backup_in_progress (409), backup_plan_incomplete (409), in_rehearsal (409)
   */
  async run(): Promise<void> {
    if (this.rehearsal) throw inRehearsal();
    const plan = this.#plan();
    const missing = missingOf(plan);
    if (missing !== undefined) throw conflict('backup_plan_incomplete', needs(missing));
    await this.#readerLeft();
    this.#begin();
    this.#isRunning = true;
    this.#running = this.#deliver(plan).finally(() => {
      this.#isBusy = false;
      this.#isRunning = false;
    });
  }

  /** Keeps a file for `restore` for a day. Resolves with its size. @throws GatewayError unavailable (503) */
  async upload(stream: ReadableStream<Uint8Array>): Promise<number> {
    const sizeBytes = await keepUpload(this.#options.dataDir, stream);
    this.#uploadedAtMonotonicMs = this.#options.clock.monotonicMs();
    return sizeBytes;
  }

  /**
   * Prepares the uploaded file and requests the restart that takes it over. Resolves with undefined for a plain copy
   * of state.db. @throws GatewayError backup_refused (422)
   */
  async restore(given: { password: string; isRehearsal: boolean }): Promise<BackupInfo | undefined> {
    try {
      const info = await restoreUpload(this.#options.dataDir, given, this.#opener);
      this.#restartSoon('a backup is to be taken over');
      return info;
    } catch (error) {
      if (!(error instanceof BackupError)) throw error;
      throw unprocessable('backup_refused', error.message, undefined, error);
    }
  }

  /** Undefined: this gateway is no restored copy that sends nothing. */
  get rehearsal(): Rehearsal | undefined {
    return this.#options.rehearsal;
  }

  /** Requests the restart from which on the gateway takes the place of the original. @throws GatewayError no_rehearsal (409) */
  endRehearsal(): void {
    if (!this.rehearsal) throw conflict('no_rehearsal', 'This gateway is no rehearsal.');
    endRehearsal(this.#options.dataDir);
    this.#log.info('the rehearsal ends: the next start sends, and rules run');
    this.#restartSoon('the rehearsal has ended');
  }

  /** The pause lets the answer go out before. */
  #restartSoon(reason: string): void {
    const { clock, requestRestart } = this.#options;
    clock.setTimer(this.#limits.restartPauseMs, () => requestRestart(reason));
  }

  /** Undefined while the program that makes keys is missing, which the next backup reports. */
  async #sftpKey(): Promise<string | undefined> {
    // Two calls at once would make two keys, and one caller would get the key that was replaced.
    this.#keyAsked ??= sftpKey(this.#options.dataDir).finally(() => (this.#keyAsked = undefined));
    try {
      return await this.#keyAsked;
    } catch (error) {
      this.#log.warnLimited('sftp-key', 3_600_000, 'there is no key for SFTP', { error });
      return undefined;
    }
  }

  /** Checks again later when the disk cannot be read. */
  async #look(): Promise<void> {
    try {
      this.#forgetUpload();
      // A local command may have ended it.
      if (this.rehearsal) {
        if (!isRehearsalDue(this.#options.dataDir)) this.#options.requestRestart('the rehearsal has ended');
      } else if (!this.#isBusy && this.#isDue()) await this.run();
    } catch (error) {
      this.#log.warnLimited('look', 3_600_000, 'whether a backup is due is not known', { error });
    }
  }

  #isDue(): boolean {
    const { clock, site } = this.#options;
    const { retryMs } = this.#limits;
    if (!clock.isSet()) return false;
    // A failure that could not be stored is only in memory.
    if (this.#failedAtMonotonicMs !== undefined && clock.monotonicMs() - this.#failedAtMonotonicMs < retryMs)
      return false;
    const timeZone = canonicalTimeZone(site.get().timezone) ?? 'UTC';
    return isDue(this.#plan(), this.#store.outcome(), { wallMs: clock.wallMs(), timeZone, retryMs });
  }

  /** Deletes an old upload, which may be as large as the whole history. */
  #forgetUpload(): void {
    const { clock, dataDir } = this.#options;
    if (this.#uploadedAtMonotonicMs === undefined) return;
    if (clock.monotonicMs() - this.#uploadedAtMonotonicMs < this.#limits.uploadKeptMs) return;
    this.#uploadedAtMonotonicMs = undefined;
    discardUpload(dataDir);
  }

  /** Never rejects: an error becomes the outcome. */
  async #deliver(plan: BackupPlan): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.wallMs();
    let target: BackupTarget | undefined;
    try {
      target = this.#targetOf(plan);
      const owner = this.#owner();
      const name = backupName(owner, startedMs);
      const sizeBytes = await deliverBackup({
        ...this.#source(plan.includeHistory),
        password: plan.password ?? '',
        target,
        name,
        opener: this.#opener,
      });
      this.#put({
        goodAtMs: startedMs,
        goodName: name,
        goodBytes: sizeBytes,
        triedAtMs: startedMs,
        fault: null,
      });
      this.#failedAtMonotonicMs = undefined;
      this.#runs.inc({ result: 'good' });
      this.#log.info('backup made', { name, size_bytes: sizeBytes });
      await removeOld(target, namesToRemove(await target.names(), owner, plan.keep, name), clock);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      this.#runs.inc({ result: 'failed' });
      this.#log.warn('backup failed', { target: plan.target, error });
      this.#putFailure(faultOf(error), startedMs);
      if (target) await this.#removeParts(target);
    }
  }

  #targetOf(plan: BackupPlan): BackupTarget {
    return createTarget({
      location: plan.target ?? '',
      dataDir: this.#options.dataDir,
      username: plan.targetUsername ?? undefined,
      password: plan.targetPassword ?? undefined,
      isMountExpected: plan.isMount,
      clock: this.#options.clock,
      signal: this.#stopping.signal,
    });
  }

  /** Removes unfinished files, which may be the reason why the target has no room. */
  async #removeParts(target: BackupTarget): Promise<void> {
    try {
      await removeOld(target, partsOf(await target.names(), this.#owner()), this.#options.clock);
    } catch (error) {
      this.#log.debug('parts of backups could not be removed', { error });
    }
  }

  #putFailure(fault: string, triedAtMs: EpochMs): void {
    this.#failedAtMonotonicMs = this.#options.clock.monotonicMs();
    try {
      const { goodAtMs = null, goodName = null, goodBytes = null } = this.#store.outcome() ?? {};
      this.#put({ goodAtMs, goodName, goodBytes, triedAtMs, fault });
    } catch (error) {
      this.#log.warn('the outcome of a backup could not be stored', { error });
    }
  }

  #put(outcome: BackupOutcome): void {
    this.#options.database.transaction(() => this.#store.putOutcome(outcome));
  }

  /** A reader has the last byte of a backup before its copy is removed here, so the next backup waits for that. */
  async #readerLeft(): Promise<void> {
    await within(this.#options.clock, this.#limits.readerLeavesMs, this.#reading);
  }

  #begin(): void {
    if (this.#isBusy) throw conflict('backup_in_progress', 'Another backup is being made.');
    this.#isBusy = true;
  }

  /** @throws GatewayError no_room (422) */
  #source(includeHistory: boolean, reader?: AbortSignal): BackupOptions {
    const { history, freeBytes } = this.#options;
    const signal = AbortSignal.any([this.#stopping.signal, ...(reader ? [reader] : [])]);
    const options = { ...this.#options, signal, limits: this.#limits };
    if (!includeHistory) return options;
    const neededBytes = history.usedBytes() * 2;
    if (neededBytes > freeBytes())
      throw unprocessable(
        'no_room',
        `A backup with history needs ${neededBytes} bytes of free room meanwhile; there are ${freeBytes()}. Without history it needs little.`,
        { needed_bytes: neededBytes, free_bytes: freeBytes() },
      );
    return { ...options, historyPath: history.path };
  }

  #plan(): BackupPlan {
    return this.#store.plan() ?? PLAN_DEFAULT;
  }

  #owner(): BackupOwner {
    const { id, name } = this.#options.site.get();
    return { id, slug: slugFromName(name, 'gateway', () => false) };
  }

  #isMount(target: string | null): boolean {
    if (target === null) return false;
    const problem = targetProblem(target);
    if (problem !== undefined) throw invalidBody('target', `target ${problem}.`);
    if (!target.startsWith('/')) return false;
    const isElsewhere = isOnOtherDisk(target, this.#options.dataDir);
    if (typeof isElsewhere === 'string') throw invalidBody('target', isElsewhere);
    return isElsewhere;
  }
}

/** The missing part of a plan, without which no backup is made. */
const missingOf = (plan: BackupPlan): 'target' | 'password' | undefined =>
  (['target', 'password'] as const).find((field) => plan[field] === null);

const needs = (field: string): string => `The plan needs a ${field} before a backup can be made by itself.`;

/** The fault in a sentence. Errors of targets are about their own disk, all others about the disk of the box. */
const faultOf = (error: unknown): string =>
  error instanceof TargetError || error instanceof BackupError ? error.message : inWords(error);
