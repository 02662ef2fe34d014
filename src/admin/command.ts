/** The form of local commands, and the state that they work on. */
import { statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createLocalAudit } from '../capabilities/audit/index.ts';
import { Auth } from '../capabilities/auth/index.ts';
import { hostInUrl, localAddress } from '../lib/address.ts';
import { messageOf } from '../lib/errors.ts';
import { LIMITS } from '../lib/limits.ts';
import type { DurationMs } from '../lib/time.ts';
import { type Clock, createSystemClock } from '../platform/clock/index.ts';
import type { Config } from '../platform/config/index.ts';
import { packagePath, requireNoObstacle } from '../platform/files/index.ts';
import { createLog, type Log } from '../platform/log/index.ts';
import { createMetrics } from '../platform/metrics/index.ts';
import {
  type Database,
  type KilledHolder,
  lockFolder,
  lossNoter,
  MigrationsPendingError,
  openDatabase,
  tryLockFolder,
} from '../platform/sqlite/index.ts';
import type { Outcome } from '../site-file/index.ts';

const OPTIONS = {
  role: { type: 'string', default: 'OWNER' },
  name: { type: 'string', default: 'local command' },
  'expires-in': { type: 'string' },
  count: { type: 'string', default: '1' },
  'password-file': { type: 'string' },
  rehearsal: { type: 'boolean', default: false },
  'revoke-tokens': { type: 'boolean', default: false },
  confirm: { type: 'string' },
  'delete-data': { type: 'boolean', default: false },
  yes: { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
  version: { type: 'boolean', default: false },
} as const;

/** A mistake in the command line, reported without a stack. */
export class UsageError extends Error {}

/** Does work that fails because of a mistake in the command line. @throws UsageError with the reason of the failure */
export function tried<Result>(work: () => Result, wordsOf = (reason: string) => reason): Result {
  try {
    return work();
  } catch (cause) {
    throw new UsageError(wordsOf(messageOf(cause)), { cause });
  }
}

export const readArguments = () =>
  tried(
    () => parseArgs({ allowPositionals: true, options: OPTIONS, tokens: true }),
    (reason) => `${reason}; try --help`,
  );

/** Records in the audit trail what the command did. */
export type RecordAudit = ReturnType<typeof createLocalAudit>;

export type Values = ReturnType<typeof readArguments>['values'];

/** Lines of output. */
export type Run = (local: Local) => string[] | Promise<string[]>;

export interface Command {
  /** Names of the arguments after the command. */
  takes: readonly string[];
  /** Options of the command; others are refused, because they may have been meant to restrict it. */
  options?: readonly (keyof Values)[];
  /** Checks the options and opens files as the calling user; the function that it returns runs as the user of the gateway. */
  prepare(values: Values, given: readonly string[], terminal: Terminal, config: Config): Run | Promise<Run>;
}

/** The terminal, as commands use it. */
export interface Terminal {
  /** Asks without showing what is typed; undefined when nobody is there to answer. */
  askSecret: ((question: string) => Promise<string>) | undefined;
  /** The same, and what is typed is shown. */
  ask: ((question: string) => Promise<string>) | undefined;
  /** Environment of the calling user. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Lines beside the output. */
  complain: (text: string) => void;
}

interface LocalState {
  database: Database;
  auth: Auth;
  record: RecordAudit;
}

export interface Local {
  config: Config;
  clock: Clock;
  log: Log;
  /** Opens state.db for the work, beside a running gateway too; makes and migrates it before the first start. */
  withState: <Result>(work: (state: LocalState) => Result | Promise<Result>) => Promise<Result>;
}

/** Runs a prepared command as the owner of the data folder. */
export async function runLocally(run: Run, config: Config, terminal: Terminal): Promise<string[]> {
  becomeOwnerOf(config.dataDir);
  const clock = createSystemClock();
  const log = createLog({ level: 'warn', format: 'text', clock, write: terminal.complain });
  try {
    return await run({ config, clock, log, withState: (work) => withState({ config, clock, log }, work) });
  } finally {
    clock.close();
  }
}

async function withState<Result>(
  { config, clock, log }: Pick<Local, 'config' | 'clock' | 'log'>,
  work: (state: LocalState) => Result | Promise<Result>,
): Promise<Result> {
  const { dataDir } = config;
  const database = await openState({ dataDir, clock, log });
  try {
    const auth = new Auth({ database, clock, log, metrics: createMetrics(), dataDir });
    return await work({ database, auth, record: createLocalAudit({ database, clock }) });
  } finally {
    database.close();
  }
}

/** Beside a running gateway as well; the gateway's folder is held only while the database is opened. */
async function openState({ dataDir, clock, log }: Pick<Local, 'clock' | 'log'> & { dataDir: string }) {
  const path = join(dataDir, 'state.db');
  const open = (mayMigrate: boolean, killed?: KilledHolder): Database =>
    openDatabase({
      path,
      isFirst: mayMigrate,
      onLost: lossNoter({ dataDir, clock, log })(path),
      wasOpen: killed?.hasServed === true && killed.isOfThisBoot,
      migrationsDir: packagePath('migrations', 'state'),
      backupDir: join(dataDir, 'backups'),
      mayMigrate,
      clock,
      log,
    });
  const waitMs = LIMITS.start.lockWaitMs;
  const lock = tryLockFolder({ dataDir, clock, log });
  try {
    return open(lock !== undefined, lock?.killed);
  } catch (error) {
    if (!(error instanceof MigrationsPendingError)) throw error;
    // Another local command may be migrating it.
    const later = await lockFolder({ dataDir, clock, log, waitMs }).catch(() => undefined);
    if (!later) throw error;
    try {
      return open(true, later.killed);
    } finally {
      later.release();
    }
  } finally {
    lock?.release();
  }
}

/** A command of root becomes the owner of the data folder, so that the gateway can read and write what the command made. */
function becomeOwnerOf(dataDir: string): void {
  const owner = statSync(dataDir, { throwIfNoEntry: false });
  if (!owner || process.getuid?.() !== 0 || owner.uid === 0) return;
  process.setgroups?.([owner.gid]);
  process.setgid?.(owner.gid);
  process.setuid?.(owner.uid);
}

/** Columns as wide as their longest text; the last one is free. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => (row[column] ?? '').length)),
  );
  return [head, ...rows].map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** @throws UsageError with the reason of the system, also for a path to read that is no file */
export async function openFile(path: string, flags: string): Promise<FileHandle> {
  try {
    if (flags === 'r') requireNoObstacle(path);
    return await open(path, flags, 0o600);
  } catch (error) {
    throw new UsageError(messageOf(error), { cause: error });
  }
}

/** Asks the running gateway. @throws Error when it does not answer in time */
export async function askGateway(
  { config, clock }: Pick<Local, 'config' | 'clock'>,
  path: string,
  { withinMs, token }: { withinMs: DurationMs; token?: string },
): Promise<{ ok: boolean; text: string }> {
  const url = localUrl(config, path);
  const silence = new AbortController();
  const timer = clock.setTimer(withinMs, () => silence.abort());
  try {
    const headers: Record<string, string> = token === undefined ? {} : { 'X-Service-Auth-Token': token };
    const response = await fetch(url, { headers, signal: silence.signal });
    return { ok: response.ok, text: await response.text() };
  } catch (error) {
    // Messages of fetch itself say nothing.
    const reason = messageOf(error instanceof Error && error.cause ? error.cause : error);
    throw new Error(`The gateway does not answer at ${url}: ${reason}`, { cause: error });
  } finally {
    timer.cancel();
  }
}

/** URL of the gateway of this configuration on this machine. */
function localUrl({ httpHost, httpPort }: Config, path: string): string {
  return `http://${hostInUrl(localAddress(httpHost))}:${httpPort}${path}`;
}

// The local command that applies a site file to the running gateway.

export const PROVISION_COMMANDS: Record<string, Command> = {
  provision: {
    takes: ['file'],
    options: ['dry-run'],
    prepare: async (values, [path = ''], terminal) => {
      const { readSiteFile } = await loadSiteFile();
      const file = tried(() => readSiteFile(path, terminal.environment));
      const isDryRun = values['dry-run'];
      return async ({ config, clock, withState }) => {
        await requireRunning(config);
        return withState(async ({ auth, record }) => {
          const { Api, apply, withOwnToken } = await loadSiteFile();
          const outcome = await withOwnToken(auth.tokens, (token) =>
            apply(file, new Api({ origin: localUrl(config, ''), token, fetch, clock }), { isDryRun }),
          );
          if (!isDryRun) record('admin_provision', { changes: String(outcome.done.length) });
          return linesOf(outcome, isDryRun);
        });
      };
    },
  },
};

/** Loaded on demand, because it brings many forms of the interface, which other commands do not need. */
const loadSiteFile = () => import('../site-file/index.ts');

/** Checked before anything is opened, because the first start must make the database, not this command. */
async function requireRunning(config: Config): Promise<void> {
  const url = localUrl(config, '/healthz');
  try {
    await (await fetch(url)).body?.cancel();
  } catch (error) {
    throw new Error(
      `The gateway does not answer at ${url}. Start it; for its first start GATEWAY_PROVISION_FILE may name the file.`,
      { cause: error },
    );
  }
}

function linesOf({ done, failed, left }: Outcome, isDryRun: boolean): string[] {
  if (failed) throw new Error(failureText(failed, done, left));
  const count = done.length + left.length;
  if (count === 0) return ['Nothing to change: the gateway is as the file says.'];
  const changes = count === 1 ? '1 change' : `${count} changes`;
  return [...done, ...left, isDryRun ? `${changes} to make; nothing was changed.` : `${changes} made.`];
}

function failureText(
  { change, reason }: NonNullable<Outcome['failed']>,
  done: string[],
  left: string[],
): string {
  const list = (head: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : [head, ...lines.map((line) => `  ${line}`)];
  return [
    ...list('Done:', done),
    `Failed: ${change}`,
    `  ${reason}`,
    ...list('Not tried:', left),
    'Once that is mended run it again: it goes on from here.',
  ].join('\n');
}
