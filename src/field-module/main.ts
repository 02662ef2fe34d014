/**
 * A communication module as a process: built in, when the gateway starts it and hands over its settings, or by
 * hand on any board with `--config FILE`.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { messageOf } from '../lib/errors.ts';
import { LIMITS } from '../lib/limits.ts';
import { createSystemClock } from '../platform/clock/index.ts';
import { packageVersion } from '../platform/files/index.ts';
import { createStreamLog, type LogLevel } from '../platform/log/index.ts';
import { connectToParent } from '../platform/processes/index.ts';
import { MODULE_PROTOCOL } from '../protocol/module.ts';
import {
  type ModuleConfiguration,
  moduleConfigurationOf,
  parseModuleConfiguration,
} from './module-configuration.ts';
import { CommunicationModule } from './module.ts';

const EXIT_CONFIGURATION = 78;
const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

const HELP = `Runs a communication module: Lua scripts of devices, Modbus, serial lines, HTTP.

  npm run module -- --config FILE

  --config FILE        connection configuration of the module's device as provisioning returned it, as JSON or
                       base64; the JSON may name serial ports in the member "ports":
                       {"config": {…}, "ports": {"rs485": {"path": "/dev/ttyUSB0", "baud_rate": 9600,
                       "data_bits": 8, "parity": "N", "stop_bits": 1}}}
  --log-level LEVEL    debug, info, warn or error (default info)
  --help               this text
  --version            the version of this program

The gateway starts its built-in module by itself.
`;

/** Settings of the program, and the signal that ends it. */
type Orders = Awaited<ReturnType<typeof ordersOfParent>>;

/** The command line makes no sense. */
class UsageError extends Error {}

function readArguments() {
  try {
    return parseArgs({
      options: {
        config: { type: 'string' },
        'log-level': { type: 'string', default: 'info' },
        help: { type: 'boolean', short: 'h', default: false },
        version: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(`${messageOf(error)}; try --help`, { cause: error });
  }
}

async function orders(): Promise<Orders | undefined> {
  if (process.send !== undefined) return ordersOfParent();
  const values = readArguments();
  if (values.help || values.version) {
    process.stdout.write(values.help ? HELP : `${packageVersion()}\n`);
    return undefined;
  }
  if (values.config === undefined) throw new Error('give --config FILE; --help tells more');
  const stop = Promise.withResolvers<void>();
  process.on('SIGTERM', () => stop.resolve());
  process.on('SIGINT', () => stop.resolve());
  const configuration = configurationOf(values.config);
  const level = levelOf(values['log-level']);
  return { configuration, level, stopRequested: stop.promise, close: () => undefined };
}

/** @throws Error naming the file, for the reader of the service log */
function configurationOf(path: string): ModuleConfiguration {
  // Reading a pipe would block before the fault is reported.
  if (!statSync(path).isFile()) throw new Error(`${path} is not a file`);
  try {
    return parseModuleConfiguration(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new Error(`${path}: ${messageOf(cause)}`, { cause });
  }
}

async function ordersOfParent() {
  const link = await connectToParent({
    port: process,
    protocolVersion: MODULE_PROTOCOL.version,
    onPayload: () => undefined,
  });
  const settings = link.settings as { log_level?: unknown };
  return {
    configuration: moduleConfigurationOf(link.settings),
    level: levelOf(settings.log_level ?? 'info'),
    stopRequested: link.stopRequested,
    /** Lets go of the parent. */
    close: () => link.close(),
  };
}

function levelOf(word: unknown): LogLevel {
  const level = (['debug', 'info', 'warn', 'error', 'fatal'] as const).find((known) => known === word);
  if (level === undefined) throw new Error('the log level must be debug, info, warn, error or fatal');
  return level;
}

async function run(): Promise<void> {
  const given = await orders();
  if (given === undefined) return;
  const clock = createSystemClock();
  const log = createStreamLog({
    level: given.level,
    format: process.stdout.isTTY ? 'text' : 'json',
    clock,
    stream: process.stdout,
  }).child({ program: 'communication-module' });
  const module = new CommunicationModule({
    configuration: given.configuration,
    clock,
    log,
    run: randomName(),
  });
  let isStopping = false;
  const stop = async (exitCode: number): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    clock.setTimer(LIMITS.processes.stopMs, () => process.exit(EXIT_FAILURE));
    await module.stop();
    given.close();
    process.exit(exitCode);
  };
  process.on('uncaughtException', (error) => {
    log.fatal('unexpected error', { error });
    void stop(EXIT_FAILURE);
  });
  await given.stopRequested;
  await stop(0);
}

function randomName(random = (): Buffer => randomBytes(8)): string {
  return random().toString('hex');
}

try {
  await run();
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = error instanceof UsageError ? EXIT_USAGE : EXIT_CONFIGURATION;
}
