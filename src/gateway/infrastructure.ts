/** The base of all parts: databases, their group commits, metrics, the box. */
import { existsSync, fdatasync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GatewayError, messageOf, UnrecoverableError } from '../lib/errors.ts';
import { LIMITS, type Limits } from '../lib/limits.ts';
import { hasCode } from '../lib/system-fault.ts';
import { applyRestore, rehearsalIn, removeLeftovers } from '../platform/backup/index.ts';
import {
  type Clock,
  createStampCorrector,
  keepProvenTime,
  type StampCorrection,
} from '../platform/clock/index.ts';
import type { Config } from '../platform/config/index.ts';
import { packagePath, secretKeysPath, SecretSealer } from '../platform/files/index.ts';
import { createHost, DiskSpace, type OwnNetwork } from '../platform/host/index.ts';
import type { Log } from '../platform/log/index.ts';
import type { Mdns } from '../platform/mdns/index.ts';
import { createMetrics, type Metrics } from '../platform/metrics/index.ts';
import { programEntry } from '../platform/processes/index.ts';
import {
  createGroupCommit,
  type Database,
  DegradableDatabase,
  type GroupCommit,
  HISTORY_SALVAGE,
  type KilledHolder,
  lossNoter,
  openState,
  releaseStartReserve,
  rowStampsOf,
  StateUpkeep,
  type SyncFile,
  takeStartReserve,
} from '../platform/sqlite/index.ts';
import type { Tls } from '../platform/tls/index.ts';
import { HistoryRoom } from './history-room.ts';

export interface GatewayOptions {
  config: Config;
  clock: Clock;
  log: Log;
  version: string;
  /** Syncs a file beside the event loop. Default: the system's way. */
  syncFile?: SyncFile;
  /** Called for a fault that a restart repairs. Default: nothing happens. */
  requestRestart?: (reason: string) => void;
  /** Newest lines of the service log, for a report. Default: none. */
  recentLog?: () => readonly string[];
  /** Environment with secrets of a site file. Default: empty. */
  environment?: Readonly<Record<string, string | undefined>>;
  /** Folder of the built console. Default: where `npm run build` puts it. */
  consoleDir?: string;
  backupLimits?: Limits['backup'];
  /** Whether room for state.db and copies of it are made. Default: true; a gateway that lives for seconds needs none. */
  tendsState?: boolean;
  /** Networks on which devices are searched. Default: those of the machine. */
  networks?: () => readonly OwnNetwork[];
}

/** Registers a started part, so that it is stopped whatever fails later; the last one is stopped first. */
export type StartedHook = (name: string, stop: () => Promise<void> | void) => void;

export type Infrastructure = ReturnType<typeof openInfrastructure> & {
  /** Undefined when nothing listens over TLS. */
  tls: Tls | undefined;
  /** Undefined: the gateway does not announce itself. */
  mdns: Mdns | undefined;
};

/** `killed`: the process before this one, if it did not end in order. */
export function openInfrastructure(
  options: GatewayOptions,
  started: StartedHook,
  killed: KilledHolder | undefined,
) {
  const { config, clock, log } = options;
  const { dataDir } = config;
  const metrics = createMetrics();
  const space = new DiskSpace({ folder: dataDir, clock, limits: LIMITS.disk });
  started('disk space', () => space.stop());
  if (space.isLow) releaseStartReserve(dataDir, log);
  const { hadState, wasOpen, rehearsal } = takeFolder(options, killed);
  const provenTime = keepProvenTime({
    clock,
    path: join(dataDir, 'proven-time.json'),
    witnessPath: join(dataDir, 'state.db'),
    onUnreadable: (error) =>
      log.warn('the proven time cannot be read; it begins with the last change of state.db', { error }),
    onFailure: (error) =>
      log.warnLimited('proven-time', 3_600_000, 'the proven time could not be saved', { error }),
  });
  started('proven time', () => provenTime.stop());
  const { state, stateUpkeep } = namingFile(join(dataDir, 'state.db'), () =>
    openStateDatabase(options, { space, metrics, started, wasOpen }),
  );
  const journalFolder = join(dataDir, 'telemetry-journal');
  const history = createHistory(options, { journalFolder, started, wasOpen });
  const historyRoom = new HistoryRoom({
    path: history.path,
    journalFolder,
    maxBytes: config.historyMaxMib * 1_048_576,
    space,
    mayRemove: () => history.isOpen,
    clock,
    log,
    limits: LIMITS,
  });
  started('room of history', () => historyRoom.stop());
  const commits = (target: Database | DegradableDatabase, name: string): GroupCommit => {
    const group = createGroupCommit({ database: target, name, clock, log, metrics });
    started(`${name} commits`, () => group.stop());
    return group;
  };
  const host = createHost(dataDir);
  started('host', () => host.stop());
  return {
    options,
    metrics,
    host,
    space,
    sealer: new SecretSealer({ path: secretKeysPath(config), dataDir, log }),
    state,
    stateUpkeep,
    rehearsal,
    /** A gateway was started on this folder before. */
    hadState,
    stateCommits: commits(state, 'state'),
    historyCommits: commits(history, 'history'),
    history,
    /** Room of the history on the disk. */
    historyRoom,
    /** Journal of telemetry, which belongs to history.db. */
    journalFolder,
    /** Without a power cut the last record of the journal was written as a whole. */
    isTornEndDamage: killed?.isOfThisBoot === true,
  };
}

function takeFolder({ config: { dataDir }, clock, log }: GatewayOptions, killed: KilledHolder | undefined) {
  // A backup that is put back on a new box comes without the history of the old one.
  const hadState = ['state.db', 'backups'].some((name) => existsSync(join(dataDir, name)));
  const isRestored = applyRestore({ dataDir, clock, log });
  removeLeftovers({ dataDir, log });
  // A power cut may leave an index that nobody synced.
  const wasOpen = !isRestored && killed?.hasServed === true && killed.isOfThisBoot;
  return { hadState, wasOpen, rehearsal: rehearsalIn(dataDir, log) };
}

/** Opened once its owner is known. A copy before a migration could fill the disk. */
function createHistory(
  options: GatewayOptions,
  { journalFolder, started, wasOpen }: { journalFolder: string; started: StartedHook; wasOpen: boolean },
): DegradableDatabase {
  const { config, clock, log } = options;
  const path = join(config.dataDir, 'history.db');
  const history = new DegradableDatabase({
    path,
    onLost: lossNoter({ dataDir: config.dataDir, clock, log })(path),
    wasOpen,
    migrationsDir: packagePath('migrations', 'history'),
    salvage: HISTORY_SALVAGE,
    companions: [journalFolder],
    clock,
    log,
  });
  started('history database', () => history.close());
  return history;
}

/** SQLite does not say which file the disk refuses. */
function namingFile<Result>(path: string, open: () => Result): Result {
  try {
    return open();
  } catch (error) {
    if (error instanceof UnrecoverableError || !hasCode(error, /^SQLITE_/)) throw error;
    const said = error instanceof GatewayError ? error.cause : error;
    throw new Error(`${path}: ${messageOf(said)}`, { cause: error });
  }
}

const syncFile: SyncFile = promisify(fdatasync);

function openStateDatabase(
  options: GatewayOptions,
  {
    space,
    metrics,
    started,
    wasOpen,
  }: { space: DiskSpace; metrics: Metrics; started: StartedHook; wasOpen: boolean },
): { state: Database; stateUpkeep: StateUpkeep } {
  const { config, clock, log } = options;
  const { dataDir } = config;
  const migrationsDir = packagePath('migrations', 'state');
  // Before the reserve was released, because on a small disk its room ends the shortage.
  const startedLow = space.isLow;
  const path = join(dataDir, 'state.db');
  const state = openState({
    path,
    onLost: lossNoter({ dataDir: config.dataDir, clock, log })(path),
    wasOpen,
    migrationsDir,
    backupDir: join(dataDir, 'backups'),
    sync: options.syncFile ?? syncFile,
    clock,
    log,
  });
  started('state database', () => {
    state.close();
    if (startedLow || space.isLow) takeStartReserve(dataDir, LIMITS.state.startReserveBytes, log);
  });
  const stateUpkeep = new StateUpkeep({
    database: state,
    dataDir,
    migrationsDir,
    space,
    entry: programEntry('platform/sqlite/upkeep-thread'),
    clock,
    log,
    metrics,
    limits: LIMITS.state,
    onDamage: (damage) => {
      log.error('state.db is damaged; a new start puts its newest good copy in its place', { damage });
      options.requestRestart?.('state.db is damaged');
    },
  });
  stateUpkeep.holdRoom();
  started('state upkeep', () => stateUpkeep.stop());
  return { state, stateUpkeep };
}

// Stamps of a wrong clock are corrected once the clock is right: in state.db, and in memory.

/** Their capabilities correct more than a moment: ends of tokens, and the order of commands and their responses. */
const CORRECTED_ELSEWHERE = ['access_token', 'execution'];

/** Has rows in memory. */
interface Holder {
  restamp(correction: StampCorrection): void;
}

/** To be called before rows are read; owners of rows in memory join the returned list. */
export function keepRowStamps({ options, state }: Infrastructure, started: StartedHook): Holder[] {
  const { clock, log } = options;
  const restampRows = rowStampsOf(state, CORRECTED_ELSEWHERE);
  const holders: Holder[] = [];
  const restamp = (): void => {
    const correction = stamps.correction();
    if (!correction) return;
    try {
      restampRows(correction);
    } catch (error) {
      // The next start does it.
      log.warn('moments that a wrong clock gave could not be corrected', { error });
    }
    for (const holder of holders) holder.restamp(correction);
  };
  const stamps = createStampCorrector(clock, restamp);
  started('row stamps', () => stamps.stop());
  restamp();
  return holders;
}
