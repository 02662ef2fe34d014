/**
 * Local commands for the person who owns the box: they open state.db themselves, so they work with the
 * gateway running, stopped, or never started. Who can run them can read the database anyway.
 */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { ACCESS_COMMANDS } from './admin/access-commands.ts';
import { BACKUP_COMMANDS } from './admin/backup-commands.ts';
import {
  type Command,
  PROVISION_COMMANDS,
  readArguments,
  runLocally,
  type Terminal,
  UsageError,
} from './admin/command.ts';
import { BOX_COMMANDS, UPDATE_COMMANDS } from './admin/box-commands.ts';
import { STATUS_COMMANDS } from './admin/status-commands.ts';
import { SET_ASIDE_COMMANDS } from './admin/set-aside-commands.ts';
import { ISSUABLE_ROLES } from './capabilities/auth/index.ts';
import { messageOf, UnrecoverableError } from './lib/errors.ts';
import { inWordsAndDetail } from './lib/system-fault.ts';
import { ConfigError, loadConfig } from './platform/config/index.ts';
import { packageVersion } from './platform/files/index.ts';

const HELP = `Usage: npm run --silent admin -- <command> [options]
       energy-gateway <command> [options]      where it is installed as a service

Local commands of the gateway. They read the same environment and configuration
file (GATEWAY_DATA_DIR, GATEWAY_CONFIG_FILE) and work while the gateway runs or
is stopped. A running gateway follows at once, without a restart.

  create-token           create an access token and print it; it is shown only here
    --role <role>        ${ISSUABLE_ROLES.join(', ')} (default OWNER)
    --name <name>        its purpose (default "local command")
    --expires-in <time>  such as 30d or 12h (default: valid until revoked)
    --count <number>     create several, one per line (default 1)
  list-tokens            list tokens and logins
  revoke-token <id>      revoke a token or login, and the tokens it made
  list-users             list the users
  reset-access           if nobody knows the password: remove the passwords and
                         logins of installers and print a new claim code
    --revoke-tokens      revoke every token and login too
  backup <file>          write everything that a new box needs to take over,
                         without telemetry and logs, sealed by a password
  restore <file>         restore a backup at the next start of the gateway; the
                         present state is kept aside
    --rehearsal          the restored copy sends nothing: no targets, rules,
                         commands, notifications and planned backups
    --password-file <f>  for both: read the password from the first line of
                         this file (default: ask for it)
  end-rehearsal          let a copy that was restored with --rehearsal take the
                         place of the original; the gateway restarts by itself

  provision <file>       set up the running gateway from a file: site, users,
                         blueprints, targets, devices, tariffs, rules, notifications;
                         deletes nothing (docs/fleet.md)
    --dry-run            only show what would change

  list-set-aside         list what the gateway set aside: files that were damaged
                         or of another site
  remove-set-aside <what>
                         remove a file of that list by its name, or "all"; this
                         clears the alert
  salvage-history <file> while the gateway is stopped: copy what can be read of
                         a damaged history.db of that list into the new one

  ready                  check whether everything of the running gateway works;
                         otherwise tell what does not, with exit code 1
  problem-report <file>  write what remote support needs: versions, options, log,
                         metrics; without secrets

  update <package>       install a newer version from a file, if it is signed by
                         a key that the installed version knows (as root)
    --yes                do not ask
  move <file>            write a backup with history for another box and switch
                         the service off (as root)
  factory-reset          delete all data, keys and history (as root)
  uninstall              remove the gateway; its data stays (as root)
    --delete-data        delete its data too
    --confirm <name>     the name of this machine, instead of two questions

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
  ...STATUS_COMMANDS,
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

// The reader of the output may leave, as `head` does, which is no fault. A full disk is one: nobody has seen what was
// made.
process.stdout.on('error', (error) => {
  process.exitCode = EXIT_FAILURE;
  if (!('code' in error && error.code === 'EPIPE'))
    process.stderr.write(`The output could not be written: ${messageOf(error)}\n`);
});
process.stderr.on('error', () => undefined);
// Whatever is made here is for the user of the gateway alone.
process.umask(0o077);
try {
  for (const line of await run()) process.stdout.write(`${line}\n`);
} catch (error) {
  process.stderr.write(`${inWordsAndDetail(error)}\n`);
  process.exitCode =
    error instanceof UsageError
      ? EXIT_USAGE
      : error instanceof ConfigError || error instanceof UnrecoverableError
        ? EXIT_UNRECOVERABLE
        : EXIT_FAILURE;
}
