/**
 * Local commands for the person who owns the box: they open state.db themselves, so they work with the
 * gateway running, stopped, or never started.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createAuth, type IssuableRole, ISSUABLE_ROLES } from './capabilities/auth/index.ts';
import { messageOf } from './lib/errors.ts';
import { parseDurationMs } from './lib/duration.ts';
import { createSystemClock } from './platform/clock/index.ts';
import { ConfigError, loadConfig } from './platform/config/index.ts';
import { packagePath } from './platform/files/index.ts';
import { createLog } from './platform/log/index.ts';
import { createMetrics } from './platform/metrics/index.ts';
import { openDatabase } from './platform/sqlite/index.ts';

const HELP = `Usage: npm run --silent admin -- <command> [options]

Local commands of the gateway. They read the same environment and configuration
file (GATEWAY_DATA_DIR, GATEWAY_CONFIG_FILE) and work with the gateway running
or stopped.

  create-token       make an access token and print it; it is shown only here
    --role <role>        ${ISSUABLE_ROLES.join(', ')} (default OWNER)
    --name <name>        what it is for (default "local command")
    --expires-in <time>  such as 30d or 12h (default: valid until revoked)
    --count <number>     make several, one per line (default 1)

  --help             this text`;

const EXIT_USAGE = 64;
const EXIT_CONFIG = 78;
const TOKENS_AT_ONCE = 1_000;

/** A mistake in the command line, told without a stack. */
class UsageError extends Error {}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    role: { type: 'string', default: 'OWNER' },
    name: { type: 'string', default: 'local command' },
    'expires-in': { type: 'string' },
    count: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});

function roleOf(text: string): IssuableRole {
  const role = ISSUABLE_ROLES.find((name) => name === text.toUpperCase());
  if (role === undefined) throw new UsageError(`--role must be one of: ${ISSUABLE_ROLES.join(', ')}`);
  return role;
}

function run(): void {
  const [command, ...rest] = positionals;
  if (values.help || command === undefined) return void process.stdout.write(`${HELP}\n`);
  if (command !== 'create-token' || rest.length > 0)
    throw new UsageError(`unknown command "${positionals.join(' ')}"; try --help`);
  const lifetimeMs = values['expires-in'] === undefined ? undefined : parseDurationMs(values['expires-in']);
  if (values['expires-in'] !== undefined && !lifetimeMs)
    throw new UsageError('--expires-in must be a time such as 30d or 12h');
  const count = /^\d+$/.test(values.count) ? Number(values.count) : 0;
  if (count < 1 || count > TOKENS_AT_ONCE)
    throw new UsageError(`--count must be a number from 1 to ${TOKENS_AT_ONCE}`);
  const role = roleOf(values.role);

  const { env } = process;
  const config = loadConfig({ environment: env, file: env['GATEWAY_CONFIG_FILE'] });
  const clock = createSystemClock();
  const log = createLog({
    level: 'warn',
    format: 'text',
    clock,
    write: (text) => void process.stderr.write(text),
  });
  const database = openDatabase({
    path: join(config.dataDir, 'state.db'),
    migrationsDir: packagePath('migrations', 'state'),
    backupDir: join(config.dataDir, 'backups'),
    clock,
    log,
  });
  try {
    const auth = createAuth({ database, clock, log, metrics: createMetrics(), dataDir: config.dataDir });
    for (let made = 0; made < count; made++)
      process.stdout.write(`${auth.tokens.create({ name: values.name, role, lifetimeMs }).text}\n`);
  } finally {
    database.close();
    clock.close();
  }
}

try {
  run();
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode =
    error instanceof UsageError ? EXIT_USAGE : error instanceof ConfigError ? EXIT_CONFIG : 1;
}
