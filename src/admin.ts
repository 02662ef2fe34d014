/**
 * Local commands for the person who owns the box: they open state.db themselves, so they work with the
 * gateway running, stopped, or never started. Who can run them can read the database anyway.
 */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { ACCESS_COMMANDS } from './admin/access-commands.ts';
import { BACKUP_COMMANDS } from './admin/backup-commands.ts';
import { type Command, readArguments, runLocally, type Terminal, UsageError } from './admin/command.ts';
import { BOX_COMMANDS } from './admin/box-commands.ts';
import { PROVISION_COMMANDS } from './admin/provision-command.ts';
import { READY_COMMANDS } from './admin/ready-command.ts';
import { REPORT_COMMANDS } from './admin/report-command.ts';
import { SET_ASIDE_COMMANDS } from './admin/set-aside-commands.ts';
import { UPDATE_COMMANDS } from './admin/update-command.ts';
import { ISSUABLE_ROLES } from './capabilities/auth/index.ts';
import { messageOf, UnrecoverableError } from './lib/errors.ts';
import { inWords } from './lib/system-fault.ts';
import { ConfigError, loadConfig } from './platform/config/index.ts';
import { packageVersion } from './platform/files/index.ts';

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
  backup <file>          all that a new box needs to go on as this one, without
                         telemetry and logs, sealed by a password
  restore <file>         put a backup in the place of what is here; the gateway
                         does it at its next start, and keeps what was here
    --password-file <f>  for both: the password is the first line of this file
                         (default: asked for)

  provision <file>       make the running gateway what a file says: site, users,
                         blueprints, targets, devices, rules, notifications;
                         what is there stays (docs/fleet.md)
    --dry-run            only show what would change

  list-set-aside         show what was damaged, missing or of another site: files
                         that the gateway went on without, rows of state.db that
                         it could not read
  remove-set-aside <what>
                         remove a file of that list by its name, "rows" for all
                         rows, or "all"; ends the alert about it

  ready                  whether everything of the running gateway works; ends with
                         1 and says what does not
  problem-report <file>  what somebody far away needs to find a fault: versions,
                         options, log, metrics; without secrets

  update <package>       install a newer version from a file, if it is signed by
                         a key that the installed version knows (as root)
    --yes                without being asked
  move <file>            this box ends and another goes on: a backup with history
                         into the file, and the service is off (as root)
  factory-reset          delete all data, keys and history, and start anew (as root)
  uninstall              remove the gateway; its data stays (as root)
    --delete-data        remove its data too
    --confirm <name>     instead of being asked twice: the name of this machine

  --help                 this text
  --version              the version of these programs`;

const EXIT_FAILURE = 1;
const EXIT_USAGE = 64;
const EXIT_UNRECOVERABLE = 78;

const COMMANDS: Record<string, Command> = {
  ...ACCESS_COMMANDS,
  ...BACKUP_COMMANDS,
  ...BOX_COMMANDS,
  ...SET_ASIDE_COMMANDS,
  ...PROVISION_COMMANDS,
  ...READY_COMMANDS,
  ...REPORT_COMMANDS,
  ...UPDATE_COMMANDS,
};

const TERMINAL: Terminal = {
  environment: process.env,
  complain: (text) => void process.stderr.write(text),
  askSecret: process.stdin.isTTY ? (question) => ask(question, false) : undefined,
  ask: process.stdin.isTTY ? (question) => ask(question, true) : undefined,
};

async function ask(question: string, isShown: boolean): Promise<string> {
  process.stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const output = isShown ? process.stderr : nowhere;
  const line = createInterface({ input: process.stdin, output, terminal: true });
  try {
    return await line.question('');
  } finally {
    line.close();
    process.stderr.write('\n');
  }
}

async function run(): Promise<string[]> {
  const { positionals, values, tokens } = readArguments();
  const [name, ...given] = positionals;
  if (values.version && name === undefined) return [packageVersion()];
  if (values.help || name === undefined) return [HELP];
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) throw new UsageError(`unknown command "${name}"; try --help`);
  if (given.length !== command.takes.length)
    throw new UsageError(`usage: ${[name, ...command.takes.map((one) => `<${one}>`)].join(' ')}`);
  for (const token of tokens)
    if (token.kind === 'option' && !command.options?.includes(token.name))
      throw new UsageError(`${name} has no option --${token.name}; try --help`);
  const config = loadConfig({ environment: process.env, file: process.env['GATEWAY_CONFIG_FILE'] });
  return runLocally(await command.prepare(values, given, TERMINAL, config), config, TERMINAL);
}

// Whatever is made here is for the user of the gateway alone.
process.umask(0o077);
try {
  for (const line of await run()) process.stdout.write(`${line}\n`);
} catch (error) {
  const [words, said] = [inWords(error), messageOf(error)];
  // What the system said names the file.
  process.stderr.write(`${words === said ? said : `${words} (${said})`}\n`);
  process.exitCode =
    error instanceof UsageError
      ? EXIT_USAGE
      : error instanceof ConfigError || error instanceof UnrecoverableError
        ? EXIT_UNRECOVERABLE
        : EXIT_FAILURE;
}
