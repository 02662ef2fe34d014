/**
 * Local commands for the person who owns the box: they open state.db themselves, so they work with the
 * gateway running, stopped, or never started. Who can run them can read the database anyway.
 */
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createLocalAudit } from './capabilities/audit/index.ts';
import { type Auth, createAuth, type IssuableRole, ISSUABLE_ROLES } from './capabilities/auth/index.ts';
import { parseDurationMs } from './lib/duration.ts';
import { messageOf } from './lib/errors.ts';
import { formatTimestamp } from './lib/timestamp.ts';
import { createSystemClock } from './platform/clock/index.ts';
import { ConfigError, loadConfig } from './platform/config/index.ts';
import { packagePath } from './platform/files/index.ts';
import { createLog } from './platform/log/index.ts';
import { createMetrics } from './platform/metrics/index.ts';
import { openDatabase } from './platform/sqlite/index.ts';

const HELP = `Usage: npm run --silent admin -- <command> [options]
       energy-gateway <command> [options]      where it is installed as a service

Local commands of the gateway. They read the same environment and configuration
file (GATEWAY_DATA_DIR, GATEWAY_CONFIG_FILE) and work with the gateway running
or stopped; a running gateway follows at once, without a restart.

  create-token           make an access token and print it; it is shown only here
    --role <role>        ${ISSUABLE_ROLES.join(', ')} (default OWNER)
    --name <name>        what it is for (default "local command")
    --expires-in <time>  such as 30d or 12h (default: valid until revoked)
    --count <number>     make several, one per line (default 1)
  list-tokens            show tokens and logins
  revoke-token <id>      end a token or login, and the tokens it made
  list-users             show who can log in
  reset-access           when nobody knows the password: installers lose their
                         password and logins, and a new claim code is printed
    --revoke-tokens      end every token and every login too

  --help                 this text`;

const EXIT_FAILURE = 1;
const EXIT_USAGE = 64;
const EXIT_CONFIGURATION = 78;
const TOKENS_AT_ONCE = 1_000;

const OPTIONS = {
  role: { type: 'string', default: 'OWNER' },
  name: { type: 'string', default: 'local command' },
  'expires-in': { type: 'string' },
  count: { type: 'string', default: '1' },
  'revoke-tokens': { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

/** A mistake in the command line, told without a stack. */
class UsageError extends Error {}

function readArguments() {
  try {
    return parseArgs({ allowPositionals: true, options: OPTIONS });
  } catch (error) {
    throw new UsageError(`${messageOf(error)}; try --help`, { cause: error });
  }
}

/** Takes note of what the command did. */
type RecordAudit = ReturnType<typeof createLocalAudit>;

type Values = ReturnType<typeof readArguments>['values'];

interface Command {
  /** Names of the arguments after the command. */
  takes: readonly string[];
  /** Judges the options before anything is opened; what it returns runs on the database and gives the output. */
  prepare(values: Values, given: readonly string[]): (auth: Auth, record: RecordAudit) => string[];
}

const COMMANDS: Record<string, Command> = {
  'create-token': {
    takes: [],
    prepare: (values) => {
      const request = { name: values.name, role: roleOf(values.role), lifetimeMs: lifetimeOf(values) };
      const count = countOf(values.count);
      return (auth, record) =>
        Array.from({ length: count }, () => {
          const made = auth.tokens.create(request);
          record('admin_create_token', { token_id: made.record.id });
          return made.text;
        });
    },
  },
  'list-tokens': {
    takes: [],
    prepare: () => (auth) => {
      const rows = auth.tokens
        .all()
        .map((token) => [
          token.id,
          token.kind,
          token.role,
          token.user?.name ?? '-',
          formatTimestamp(token.createdAtMs),
          token.expiresAtMs === undefined ? 'never' : formatTimestamp(token.expiresAtMs),
          token.lastUsedAtMs === undefined ? 'never' : formatTimestamp(token.lastUsedAtMs),
          token.name,
        ]);
      return table(['ID', 'KIND', 'ROLE', 'USER', 'MADE', 'EXPIRES', 'LAST USED', 'NAME'], rows);
    },
  },
  'revoke-token': {
    takes: ['id'],
    prepare:
      (_values, [id = '']) =>
      (auth, record) => {
        auth.tokens.revoke(id);
        record('admin_revoke_token', { token_id: id });
        return [];
      },
  },
  'list-users': {
    takes: [],
    prepare: () => (auth) =>
      table(
        ['ID', 'ROLE', 'PASSWORD', 'MADE', 'NAME'],
        auth.users
          .all()
          .map(({ id, role, hasPassword, createdAtMs, name }) => [
            id,
            role,
            hasPassword ? 'set' : 'none',
            formatTimestamp(createdAtMs),
            name,
          ]),
      ),
  },
  'reset-access': {
    takes: [],
    prepare: (values) => (auth, record) => {
      const code = auth.resetAccess({ revokeTokens: values['revoke-tokens'] });
      record('admin_reset_access', { revoke_tokens: String(values['revoke-tokens']) });
      return [`Claim code: ${code}`, `It stands in ${resolve(auth.claimCodeFile)} too, until it is used.`];
    },
  },
};

function roleOf(text: string): IssuableRole {
  const role = ISSUABLE_ROLES.find((name) => name === text.toUpperCase());
  if (role === undefined) throw new UsageError(`--role must be one of: ${ISSUABLE_ROLES.join(', ')}`);
  return role;
}

function lifetimeOf({ 'expires-in': text }: Values): number | undefined {
  if (text === undefined) return undefined;
  const lifetimeMs = parseDurationMs(text);
  if (!lifetimeMs) throw new UsageError('--expires-in must be a time such as 30d or 12h');
  return lifetimeMs;
}

function countOf(text: string): number {
  const count = /^\d+$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > TOKENS_AT_ONCE)
    throw new UsageError(`--count must be a number from 1 to ${TOKENS_AT_ONCE}`);
  return count;
}

/** Columns as wide as their longest text; the last one is free. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
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

/**
 * Run by root, the command becomes the user whom the data folder belongs to, so that the gateway can read
 * and write afterwards what was made here.
 */
function becomeOwnerOf(dataDir: string): void {
  const owner = statSync(dataDir, { throwIfNoEntry: false });
  if (!owner || process.getuid?.() !== 0 || owner.uid === 0) return;
  process.setgroups?.([owner.gid]);
  process.setgid?.(owner.gid);
  process.setuid?.(owner.uid);
}

/** Runs the command on the state of the gateway; makes and migrates it before the first start. */
function onState(work: (auth: Auth, record: RecordAudit) => string[]): string[] {
  const config = loadConfig({ environment: process.env, file: process.env['GATEWAY_CONFIG_FILE'] });
  becomeOwnerOf(config.dataDir);
  const clock = createSystemClock();
  const log = createLog({
    level: 'warn',
    format: 'text',
    clock,
    write: (text) => void process.stderr.write(text),
  });
  try {
    const database = openDatabase({
      path: join(config.dataDir, 'state.db'),
      migrationsDir: packagePath('migrations', 'state'),
      backupDir: join(config.dataDir, 'backups'),
      clock,
      log,
    });
    try {
      const { dataDir } = config;
      const auth = createAuth({ database, clock, log, metrics: createMetrics(), dataDir });
      const record = createLocalAudit({ database, clock });
      return database.transaction(() => work(auth, record));
    } finally {
      database.close();
    }
  } finally {
    clock.close();
  }
}

function run(): string[] {
  const { positionals, values } = readArguments();
  const [name, ...given] = positionals;
  if (values.help || name === undefined) return [HELP];
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) throw new UsageError(`unknown command "${name}"; try --help`);
  if (given.length !== command.takes.length)
    throw new UsageError(`usage: ${[name, ...command.takes.map((one) => `<${one}>`)].join(' ')}`);
  return onState(command.prepare(values, given));
}

// Whatever is made here is for the user of the gateway alone.
process.umask(0o077);
try {
  for (const line of run()) process.stdout.write(`${line}\n`);
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode =
    error instanceof UsageError
      ? EXIT_USAGE
      : error instanceof ConfigError
        ? EXIT_CONFIGURATION
        : EXIT_FAILURE;
}
