import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { EpochMs } from '../../lib/time.ts';
import { keepStream, makePrivateFolder, readPrivateFile, removeFile, syncFolder } from '../files/index.ts';
import type { DebPackage } from './deb-package.ts';
import { type InstalledVersion, judgePackage } from './signature.ts';

/** Files that the package puts beside the gateway. */
interface Updater {
  /** Takes `install.deb`; there when the gateway was installed by its package. */
  program: string;
  /** Where it looks for data. */
  dataDir: string;
  /** One line: when, and how the last update ended. */
  outcomeFile: string;
  /** The same for the last trial of an installed version. */
  trialFile: string;
  /** One line: why that trial failed; gone with the next version. */
  failureFile: string;
}

const SYSTEM_UPDATER: Updater = {
  program: '/usr/lib/energy-gateway/take-update',
  dataDir: '/var/lib/energy-gateway',
  outcomeFile: '/var/lib/energy-gateway-versions/update-outcome',
  trialFile: '/var/lib/energy-gateway-versions/outcome',
  failureFile: '/var/lib/energy-gateway-versions/failure',
};

/** Output of energy-gateway-versions for a version that stays. */
const STAYS = /^Version \S+ runs; /;

/** Characters; the script keeps no more. */
const WORDS_MAX = 300;

/** Result of the last update. */
export interface UpdateOutcome {
  atMs: EpochMs;
  /** `installed`, or why not. */
  message: string;
}

/**
 * Why a version on trial failed, as the package's `guard` names it. That script is the newest installed, and may know
 * reasons that this version does not.
 */
export const TRIAL_FAILURE_REASONS = [
  'NOT_READY',
  'ENDED',
  'REFUSED',
  'HUNG',
  'CUT_OFF',
  'NO_COPY',
  'OTHER',
] as const;

/** A version that was installed and went away by itself. */
export interface TrialFailure {
  atMs: EpochMs;
  version: string;
  reason: (typeof TRIAL_FAILURE_REASONS)[number];
  /** Exit code or signal with which it ended last. */
  status: string | undefined;
  /** Its last words, or what did not become ready. */
  words: string | undefined;
}

/**
 * The folder `update` below the data folder, where the gateway, which has few rights, hands packages to whoever may install:
 *
 *   uploaded.deb   came over the network; nobody but the gateway looks at it
 *   install.deb    to be installed: the unit energy-gateway-update.path waits for it, verifies and removes it
 */
export class UpdateFolder {
  readonly #folder: string;
  readonly #uploaded: string;
  readonly #waiting: string;
  readonly #isWatched: boolean;
  readonly #updater: Updater;

  constructor(dataDir: string, updater: Updater = SYSTEM_UPDATER) {
    this.#updater = updater;
    this.#folder = join(dataDir, 'update');
    this.#uploaded = join(this.#folder, 'uploaded.deb');
    this.#waiting = join(this.#folder, 'install.deb');
    this.#isWatched = dataDir === updater.dataDir;
  }

  /** Whether somebody installs what is handed over. */
  get isTaken(): boolean {
    return this.#isWatched && existsSync(this.#updater.program);
  }

  /** Whether what was handed over has not been taken yet. */
  get isWaiting(): boolean {
    return existsSync(this.#waiting);
  }

  /** How the last update ended, which may be that the version before came back; undefined: there was none. */
  get outcome(): UpdateOutcome | undefined {
    const { outcomeFile, trialFile } = this.#updater;
    const taken = outcomeIn(outcomeFile);
    const tried = outcomeIn(trialFile);
    if (!taken || !tried || tried.atMs < taken.atMs || STAYS.test(tried.message)) return taken;
    return tried;
  }

  /**
   * Failure of the last trial, however its version was installed; undefined: that version stayed, or there was none.
   */
  get trialFailure(): TrialFailure | undefined {
    return this.#isWatched ? failureIn(this.#updater.failureFile) : undefined;
  }

  /** In place of an upload before. Resolves with its bytes. */
  keep(stream: ReadableStream<Uint8Array>): Promise<number> {
    return keepStream(this.#uploaded, stream);
  }

  /** @throws PackageError */
  judge(installed: InstalledVersion): Promise<DebPackage> {
    return judgePackage(this.#uploaded, installed);
  }

  discard(): void {
    removeFile(this.#uploaded);
  }

  /** From then on it may be taken at any moment. @throws when it was not handed over */
  handOver(): void {
    makePrivateFolder(this.#folder);
    renameSync(this.#uploaded, this.#waiting);
  }

  /** The handed over file outlives a cut of power. */
  confirm(): void {
    syncFolder(this.#folder);
  }
}

/** Empty where the updater left nothing, or nothing that can be read: what it tells of the past stops no work. */
function textOf(file: string): string {
  try {
    return readPrivateFile(file) ?? '';
  } catch {
    // Whatever keeps it from being read.
    return '';
  }
}

function outcomeIn(file: string): UpdateOutcome | undefined {
  const [, at = '', message = ''] = /^(\S+) (.*)$/m.exec(textOf(file)) ?? [];
  const atMs = Date.parse(at);
  return Number.isNaN(atMs) ? undefined : { atMs, message: message.trimEnd() };
}

/** "TIME VERSION-DIGEST REASON STATUS WORDS" */
function failureIn(file: string): TrialFailure | undefined {
  const [, at = '', named = '', name = '', status, words = ''] =
    /^(\S+) (\S+) (\S+) (\S+)(?: (.*))?$/m.exec(textOf(file)) ?? [];
  const version = named.slice(0, Math.max(0, named.lastIndexOf('-')));
  const atMs = Date.parse(at);
  if (Number.isNaN(atMs) || version === '') return undefined;
  return {
    atMs,
    version,
    reason: TRIAL_FAILURE_REASONS.find((reason) => reason === name.toUpperCase()) ?? 'OTHER',
    status: status === '-' ? undefined : status,
    words: words.trim() === '' ? undefined : words.trim().slice(0, WORDS_MAX),
  };
}
