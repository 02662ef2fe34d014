import { conflict, unprocessable } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import {
  type DebPackage,
  type InstalledVersion,
  PackageError,
  type PackageProblem,
  type TrialFailure,
  type UpdateFolder,
  type UpdateOutcome,
} from '../../platform/packages/index.ts';
import { sentenceOf } from './model.ts';

interface UpdatesOptions {
  clock: Pick<Clock, 'monotonicMs'>;
  log: Log;
  folder: UpdateFolder;
  installed: InstalledVersion;
  /** Of the disk with the data. */
  freeBytes: () => number;
  limits?: Limits['update'];
}

interface UploadedPackage extends Omit<DebPackage, 'name'> {
  sizeBytes: number;
}

export interface UpdateStatus {
  /** That runs. */
  version: string;
  /** False: this gateway was not installed by its package, and nobody would install what is uploaded. */
  isSupported: boolean;
  /** Handed over and not answered yet; the gateway stops when the new version is unpacked. */
  isInstalling: boolean;
  uploaded: UploadedPackage | undefined;
  outcome: UpdateOutcome | undefined;
  /** Why the version that was installed last is not the one that runs; undefined: it is. */
  failedTrial: TrialFailure | undefined;
}

/** Why a package is not taken. */
type UpdateProblem = PackageProblem | 'not_supported' | 'not_uploaded';

/** Newer versions that come over the network: taken, judged, shown, and handed to whoever may install them. */
export class Updates {
  readonly #options: UpdatesOptions;
  readonly #limits: Limits['update'];
  #uploaded: UploadedPackage | undefined;
  #isReceiving = false;
  #handedOver: { atMs: MonotonicMs; outcomeBefore: UpdateOutcome | undefined } | undefined;

  constructor(options: UpdatesOptions) {
    this.#options = options;
    this.#limits = options.limits ?? LIMITS.update;
    try {
      // What is in memory went with the process before.
      options.folder.discard();
    } catch (error) {
      options.log.warn('what was uploaded before cannot be removed', { error });
    }
  }

  status(): UpdateStatus {
    const { folder, installed } = this.#options;
    return {
      version: installed.version,
      isSupported: folder.isTaken,
      isInstalling: this.#isInstalling(),
      uploaded: this.#uploaded,
      outcome: folder.outcome,
      failedTrial: folder.trialFailure,
    };
  }

  /** Why the version that was installed last went away, in a sentence; undefined: it did not. */
  trialFailure(): string | undefined {
    const failure = this.#options.folder.trialFailure;
    return failure && sentenceOf(failure);
  }

  /** Takes a package in place of one before, and judges it. @throws GatewayError update_refused, update_in_progress */
  async upload(stream: ReadableStream<Uint8Array>): Promise<UpdateStatus> {
    const { folder, installed, log, freeBytes } = this.#options;
    this.#requireIdle();
    if (freeBytes() < this.#limits.roomBytes)
      throw refused(
        'no_room',
        `An upload needs ${Math.ceil(this.#limits.roomBytes / 1_048_576)} MiB of free room.`,
      );
    this.#isReceiving = true;
    this.#uploaded = undefined;
    try {
      const sizeBytes = await folder.keep(stream);
      this.#uploaded = { ...(await folder.judge(installed)), sizeBytes };
      log.info('a newer version was uploaded', { version: this.#uploaded.version });
      return this.status();
    } catch (error) {
      folder.discard();
      if (error instanceof PackageError) throw refused(error.problem, error.message, error);
      throw error;
    } finally {
      this.#isReceiving = false;
    }
  }

  /** Hands the uploaded package over. @throws GatewayError update_refused, update_in_progress */
  install(): UpdateStatus {
    const { folder, log, clock } = this.#options;
    this.#requireIdle();
    if (!this.#uploaded)
      throw refused('not_uploaded', 'No package was uploaded since the gateway was started.');
    log.info('the uploaded version is to be installed', { version: this.#uploaded.version });
    const outcomeBefore = folder.outcome;
    folder.handOver();
    this.#handedOver = { atMs: clock.monotonicMs(), outcomeBefore };
    this.#uploaded = undefined;
    return this.status();
  }

  /** Forgets the upload, if there is one. @throws GatewayError update_in_progress */
  discard(): UpdateStatus {
    this.#requireIdle({ isAnywhere: true });
    this.#uploaded = undefined;
    this.#options.folder.discard();
    return this.status();
  }

  #isInstalling(): boolean {
    const { folder, clock } = this.#options;
    if (folder.isWaiting) return true;
    if (this.#handedOver === undefined) return false;
    const { atMs, outcomeBefore } = this.#handedOver;
    const isOver =
      folder.outcome?.atMs !== outcomeBefore?.atMs || clock.monotonicMs() - atMs > this.#limits.installMs;
    if (isOver) this.#handedOver = undefined;
    return !isOver;
  }

  #requireIdle({ isAnywhere = false } = {}): void {
    if (!isAnywhere && !this.#options.folder.isTaken)
      throw refused(
        'not_supported',
        'This gateway was not installed by its package, or keeps its data elsewhere, so nobody would install an upload. Update it as it was installed.',
      );
    if (this.#isReceiving || this.#isInstalling())
      throw conflict('update_in_progress', 'A package is being uploaded or installed.');
  }
}

function refused(problem: UpdateProblem, message: string, cause?: unknown) {
  return unprocessable('update_refused', message, { problem }, cause);
}
