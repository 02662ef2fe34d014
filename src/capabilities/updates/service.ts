import { conflict, unprocessable } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { formatTimestamp, type MonotonicMs } from '../../lib/time.ts';
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

interface UpdatesOptions {
  clock: Pick<Clock, 'monotonicMs'>;
  log: Log;
  folder: UpdateFolder;
  installed: InstalledVersion;
  /** Free room of the disk with the data. */
  freeBytes: () => number;
  limits?: Limits['update'];
}

interface UploadedPackage extends Omit<DebPackage, 'name'> {
  sizeBytes: number;
}

export interface UpdateStatus {
  /** The running version. */
  version: string;
  /** False when the gateway was not installed by its package, so that uploads cannot be installed. */
  isSupported: boolean;
  /** Handed over and not answered yet; the gateway stops when the new version is unpacked. */
  isInstalling: boolean;
  uploaded: UploadedPackage | undefined;
  outcome: UpdateOutcome | undefined;
  /** Why the last installed version was rolled back; undefined: it runs. */
  failedTrial: TrialFailure | undefined;
}

/** Why a package is refused. */
type UpdateProblem = PackageProblem | 'not_supported' | 'not_uploaded';

/** Newer versions that are uploaded: kept, checked, shown, and handed to the installer. */
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
      // The facts about an earlier upload were lost with the earlier process.
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

  /** Why the last installed version was rolled back, in a sentence; undefined: it runs. */
  trialFailure(): string | undefined {
    const failure = this.#options.folder.trialFailure;
    return failure && sentenceOf(failure);
  }

  /** Keeps a package in place of an earlier one, and checks it. @throws GatewayError update_refused, update_in_progress */
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
    try {
      folder.confirm();
    } catch (error) {
      // It is installed nevertheless, so this is no refusal.
      log.warn('a cut of power before the update begins would undo it', { error });
    }
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

// A rolled-back version in a sentence for the operator.

function sentenceOf({ atMs, version, reason, status, words }: TrialFailure): string {
  const said = words === undefined ? '' : `: ${words}`;
  return `Version ${version} went away at ${formatTimestamp(atMs)}: ${WHY[reason](status ?? 'no exit code')}${said}`;
}

const WHY: Record<TrialFailure['reason'], (status: string) => string> = {
  NOT_READY: () => 'it did not become ready in time',
  ENDED: (status) => `it ended by itself several times (${status})`,
  REFUSED: () => 'it refused to run',
  HUNG: () => 'it hung',
  CUT_OFF: () => 'it was cut off several times before it was ready',
  NO_COPY: () => 'there was no room for a copy of the state, so it was not started',
  OTHER: () => 'see energy-gateway-versions status on the box',
};
