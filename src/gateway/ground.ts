/** What all parts stand on: databases, their group commits, metrics, the box. */
import { join } from 'node:path';
import { applyRestore } from '../platform/backup/index.ts';
import { type Clock, keepProvenTime } from '../platform/clock/index.ts';
import type { Config } from '../platform/config/index.ts';
import { packagePath } from '../platform/files/index.ts';
import { createHost, type Host } from '../platform/host/index.ts';
import type { Log } from '../platform/log/index.ts';
import type { Mdns } from '../platform/mdns/index.ts';
import { createMetrics, type Metrics } from '../platform/metrics/index.ts';
import {
  createGroupCommit,
  damageOf,
  type Database,
  type GroupCommit,
  isDamage,
  markDamaged,
  openDatabase,
  openOrSetAside,
  setAside,
} from '../platform/sqlite/index.ts';
import type { Tls } from '../platform/tls/index.ts';

export interface GatewayOptions {
  config: Config;
  clock: Clock;
  log: Log;
  version: string;
  /** Folder of the built console. Default: where `npm run build` puts it. */
  consoleDir?: string;
}

/** Registers what has been started, so that it is stopped, the last one first, whatever fails later. */
export type StartedHook = (name: string, stop: () => Promise<void> | void) => void;

export interface Ground {
  options: GatewayOptions;
  metrics: Metrics;
  host: Host;
  state: Database;
  history: Database;
  stateCommits: GroupCommit;
  historyCommits: GroupCommit;
  /** Undefined when nothing listens over TLS. */
  tls: Tls | undefined;
  /** Undefined: the gateway does not announce itself. */
  mdns: Mdns | undefined;
}

/**
 * Damage or growth of history never stops control (decision 2): when a start failed because a database is
 * damaged, and it is history.db, that is renamed and true returned, so that the next start begins a new one.
 * All databases must be closed.
 */
export function setDamagedHistoryAside({ config, clock, log }: GatewayOptions, failure: unknown): boolean {
  if (!isDamage(failure)) return false;
  if (damageOf(join(config.dataDir, 'state.db')) !== undefined) return false;
  const path = join(config.dataDir, 'history.db');
  const damage = damageOf(path);
  if (damage === undefined) return false;
  log.error('damaged database set aside, a new one was begun', {
    aside: setAside(path, clock),
    damage,
    error: failure,
  });
  return true;
}

export function openGround(options: GatewayOptions, started: StartedHook): Omit<Ground, 'tls' | 'mdns'> {
  const { config, clock, log } = options;
  const metrics = createMetrics();
  applyRestore({ dataDir: config.dataDir, log });
  const database = (name: 'state' | 'history') => ({
    path: join(config.dataDir, `${name}.db`),
    migrationsDir: packagePath('migrations', name),
    backupDir: join(config.dataDir, 'backups'),
    clock,
    log,
  });
  const provenTime = keepProvenTime({
    clock,
    path: join(config.dataDir, 'proven-time.json'),
    witnessPath: join(config.dataDir, 'state.db'),
    onFailure: (error) =>
      log.warnLimited('proven-time', 3_600_000, 'the proven time could not be saved', { error }),
  });
  started('proven time', () => provenTime.stop());
  const state = openDatabase(database('state'));
  started('state database', () => state.close());
  const history = openOrSetAside(database('history'));
  started('history database', () => history.close());
  const commits = (target: Database, name: string, onDamage?: () => void): GroupCommit => {
    const group = createGroupCommit({
      database: target,
      name,
      clock,
      log,
      metrics,
      ...(onDamage && { onDamage }),
    });
    started(`${name} commits`, () => group.stop());
    return group;
  };
  const host = createHost(config.dataDir);
  started('host', () => host.stop());
  return {
    options,
    metrics,
    host,
    state,
    history,
    stateCommits: commits(state, 'state'),
    // What waits is never acknowledged; the next start begins a new history.db.
    historyCommits: commits(history, 'history', () => markDamaged(history.path)),
  };
}
