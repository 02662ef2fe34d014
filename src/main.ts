/** The gateway as a process: configuration, start, signals, exit code. */
import { resolve } from 'node:path';
import { Gateway, type Started } from './gateway.ts';
import { hostInUrl, isAnyAddress } from './lib/address.ts';
import { messageOf, UnrecoverableError } from './lib/errors.ts';
import { LIMITS } from './lib/limits.ts';
import { inWordsAndDetail } from './lib/system-fault.ts';
import { createSystemClock } from './platform/clock/index.ts';
import {
  type Config,
  ConfigError,
  loadConfig,
  optionHelp,
  readServiceManager,
} from './platform/config/index.ts';
import { packageVersion } from './platform/files/index.ts';
import { createStreamLog, type Log, type LogFormat, RecentLines } from './platform/log/index.ts';
import { createServiceNotices } from './platform/systemd/index.ts';

/** A person must act; the service manager does not try again (EX_CONFIG of sysexits.h). */
const EXIT_UNRECOVERABLE = 78;
const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;
/** Asks the service manager for a new start: systemd, or scripts/run-gateway (EX_TEMPFAIL of sysexits.h). */
const EXIT_RESTART = 75;

const HELP = `Usage: npm start
       npm start -- --help
       npm start -- --version

Runs the gateway until SIGTERM or Ctrl-C. Options are not arguments: each is an
environment variable, or a line such as "http_port: 8080" of the YAML file that
GATEWAY_CONFIG_FILE names; the environment wins.

${optionHelp()}
`;

/** The gateway relies on language and library features that no earlier version has. */
const NODE_MAJOR_MIN = 26;

function requireRuntime(): void {
  if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR_MIN) return;
  process.stderr.write(
    `The gateway needs Node.js ${NODE_MAJOR_MIN} or newer, this is ${process.version}. ` +
      'Start it with scripts/gwnode after `npm ci`, which brings the right one.\n',
  );
  process.exit(EXIT_UNRECOVERABLE);
}

/** Undefined: nothing was asked, and the gateway is to be started. */
function answerTo(words: readonly string[]): { text: string; exitCode: number } | undefined {
  const unknown = words.find((word) => !['--help', '-h', '--version'].includes(word));
  if (unknown !== undefined)
    return {
      text: `unknown argument "${unknown}": options are environment variables; try --help\n`,
      exitCode: EXIT_USAGE,
    };
  if (words.length === 0) return undefined;
  return { text: words.includes('--version') ? `${packageVersion()}\n` : HELP, exitCode: 0 };
}

function readConfiguration(onDoubt: (doubt: string) => void): Config {
  try {
    return loadConfig({ environment: process.env, file: process.env['GATEWAY_CONFIG_FILE'], onDoubt });
  } catch (error) {
    process.stderr.write(`${inWordsAndDetail(error)}\n`);
    process.exit(error instanceof ConfigError ? EXIT_UNRECOVERABLE : EXIT_FAILURE);
  }
}

function formatOf(config: Config): LogFormat {
  if (config.logFormat !== 'auto') return config.logFormat;
  if (process.stdout.isTTY) return 'text';
  // journald names its stream in the environment (systemd.exec(5)).
  return process.env['JOURNAL_STREAM'] === undefined ? 'json' : 'journal';
}

function hostOf({ publicHost, httpHost }: Config): string {
  return hostInUrl(publicHost ?? (isAnyAddress(httpHost) ? 'localhost' : httpHost));
}

/** For the person at the terminal; a service log gets the same as fields. */
function welcome(started: Started, config: Config): string {
  const host = hostOf(config);
  const base = `http://${host}:${started.httpPort}`;
  const lines = [
    '',
    `  Energy gateway ${packageVersion()} is running.`,
    '',
    `  Console  ${base}/`,
    ...(started.httpsPort === undefined ? [] : [`           https://${host}:${started.httpsPort}/`]),
    `  API      ${base}/v3`,
    `  MQTT     port ${started.mqttPort}${started.mqttsPort === undefined ? '' : `, over TLS ${started.mqttsPort}`}`,
    `  Data     ${resolve(config.dataDir)}`,
  ];
  if (started.claim)
    lines.push('', `  Claim code  ${started.claim.code}  (also in ${resolve(started.claim.file)})`);
  lines.push('', '  A token for programs:  npm run --silent admin -- create-token --role OWNER', '');
  return `${lines.join('\n')}\n`;
}

async function run(): Promise<void> {
  requireRuntime();
  const doubts: string[] = [];
  const config = readConfiguration((doubt) => doubts.push(doubt));
  const clock = createSystemClock();
  const format = formatOf(config);
  const recent = new RecentLines(LIMITS.report);
  const log = createStreamLog({ level: config.logLevel, format, clock, stream: process.stdout, recent });
  for (const doubt of doubts) log.warn('an option cannot do what it is meant for', { problem: doubt });
  const gateway = new Gateway({
    config,
    clock,
    log,
    version: packageVersion(),
    requestRestart: (reason) => stop(reason, EXIT_RESTART),
    recentLog: () => recent.all(),
    environment: process.env,
  });
  const notices = createServiceNotices({
    ...readServiceManager(process.env, process.pid),
    isHealthy: () => gateway.isHealthy(),
    clock,
    log,
  });

  let stopping: Promise<void> | undefined;
  const stop = (reason: string, exitCode: number): void => {
    stopping ??= (async () => {
      log.info('stopping', { reason });
      const deadline = clock.setTimer(LIMITS.stop.totalMs, () => {
        log.fatal('stopping took too long', { limit_ms: LIMITS.stop.totalMs });
        process.exit(EXIT_FAILURE);
      });
      if (exitCode !== 0) await notices.failing(reason);
      await notices.stopping();
      await gateway.stop();
      deadline.cancel();
      clock.close();
      log.info('stopped', { reason });
      process.exit(exitCode);
    })();
  };
  process.on('SIGTERM', () => stop('SIGTERM', 0));
  process.on('SIGINT', () => stop('SIGINT', 0));
  process.on('uncaughtException', (error) => {
    log.fatal('unexpected error', { error });
    stop(`unexpected error: ${messageOf(error)}`, EXIT_FAILURE);
  });

  const started = await startOrEnd(() => gateway.start(), log, notices.failing);
  if (stopping) return;
  log.info('ready', {
    http_port: started.httpPort,
    https_port: started.httpsPort,
    mqtt_port: started.mqttPort,
    mqtts_port: started.mqttsPort,
    data_dir: config.dataDir,
  });
  if (format === 'text') process.stdout.write(welcome(started, config));
  await notices.ready(`API on port ${started.httpPort}, MQTT on port ${started.mqttPort}`);
}

async function startOrEnd(
  start: () => Promise<Started>,
  log: Log,
  tell: (reason: string) => Promise<void>,
): Promise<Started> {
  try {
    return await start();
  } catch (error) {
    if (error instanceof UnrecoverableError) {
      log.fatal('the gateway cannot start', { reason: error.message });
      await tell(error.message);
      process.exit(EXIT_UNRECOVERABLE);
    }
    const reason = inWordsAndDetail(error);
    log.fatal('the gateway could not start', { reason, error });
    await tell(reason);
    process.exit(EXIT_FAILURE);
  }
}

// Words for a person whose terminal is gone, or lies on a full disk, must not stop control; the log handles errors of its own stream.
process.stderr.on('error', () => undefined);
// Databases, keys and codes are for the user of the gateway alone.
process.umask(0o077);
const answer = answerTo(process.argv.slice(2));
if (answer === undefined) await run();
else {
  (answer.exitCode === 0 ? process.stdout : process.stderr).write(answer.text);
  process.exitCode = answer.exitCode;
}
