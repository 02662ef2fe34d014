/** `npm run soak`: does a gateway under attack live on, bounded, and serve its clients meanwhile? */
import { randomInt } from 'node:crypto';
import { createSystemClock } from '../src/platform/clock/index.ts';
import { type Quantiles, soak, type SoakReport } from './soak/run.ts';
import { decimal, parseWords, runScript, whole } from './support/arguments.ts';
import { hasBundle } from './support/gateway-process.ts';

const HELP = `Attacks a gateway with garbage and measures it and its clients.

  npm run soak -- [options]

  --minutes M       of mixed garbage over HTTP, WebSockets, MQTT and TLS (default 10)
  --sequences N     hostile MQTT byte sequences before that (default 10000)
  --devices N       measured devices that publish once a second with QoS 1 (default 10)
  --memory MB       most memory that the gateway may hold (default 300)
  --latency MS      longest p99 of HTTP requests and MQTT pings (default 100)
  --source          run the sources instead of what npm run build has made
  --seed N          repeat the bytes of a run (default: a new seed, printed)

Starts a gateway on loopback with a temporary data folder. The attacker comes from eight other loopback
addresses, has the credentials of four devices and a token, keeps 32 connections under way and leaves when its
time is over. Meanwhile devices publish, people rename and command, a program reads and a console follows the
stream. At the end everything that was acknowledged to them is read back. Exit code 1 when the gateway crashed,
logged an error, passed a bound, lost or doubled something, or cut one of these clients off.
`;

const MEGABYTE = 1_000_000;

async function main(): Promise<number> {
  const values = parse();
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const seed = whole('seed', values.seed, 0, 2 ** 31) ?? randomInt(2 ** 31);
  const minutes = decimal('minutes', values.minutes, 0, 120) ?? 10;
  const sequences = whole('sequences', values.sequences, 0, 1_000_000) ?? 10_000;
  const devices = whole('devices', values.devices, 1, 500) ?? 10;
  const memoryMegabytesMax = whole('memory', values.memory, 1, 100_000) ?? 300;
  const latencyMsMax = whole('latency', values.latency, 1, 100_000) ?? 100;
  const clock = createSystemClock();
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const program = values.source || !hasBundle() ? 'source' : 'bundle';
  say(`seed ${seed}, ${program}`);
  try {
    const report = await soak({ seed, sequences, mixedMs: minutes * 60_000, devices, program, clock, say });
    const problems = [...report.problems, ...beyondBounds(report, memoryMegabytesMax, latencyMsMax)];
    print(report, say);
    for (const problem of problems) say(`PROBLEM     ${problem}`);
    say(problems.length === 0 ? 'no crash, no failure, all within bounds' : `${problems.length} problems`);
    return problems.length === 0 ? 0 : 1;
  } finally {
    clock.close();
  }
}

function beyondBounds(report: SoakReport, memoryMegabytesMax: number, latencyMsMax: number): string[] {
  const memoryMegabytes = report.memoryBytes.largest / MEGABYTE;
  const late = (kind: string, { p99 = Infinity }: Quantiles): string[] =>
    p99 > latencyMsMax ? [`p99 of ${kind} is ${p99.toFixed(1)} ms, above ${latencyMsMax} ms`] : [];
  return [
    ...(memoryMegabytes > memoryMegabytesMax
      ? [`held ${memoryMegabytes.toFixed(0)} MB, more than ${memoryMegabytesMax} MB`]
      : []),
    ...late('HTTP', report.httpMs),
    ...late('MQTT', report.pingMs),
  ];
}

function print(
  { attacks, memoryBytes, httpMs, pingMs, telemetryMs, streamed, kept }: SoakReport,
  say: (line: string) => void,
): void {
  const megabytes = (bytes: number): string => `${(bytes / MEGABYTE).toFixed(0)} MB`;
  const quantiles = ({ count, median, p99, largest }: Quantiles): string =>
    `median ${median?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms, largest ${largest?.toFixed(1)} ms of ${count}`;
  say(
    `attacks     ${attacks.mqtt} MQTT, ${attacks.http} HTTP and WebSocket, ${attacks.tls} TLS, ${attacks.idle} idle`,
  );
  say(
    `memory      ${megabytes(memoryBytes.before)} before, ${megabytes(memoryBytes.largest)} at most, ${megabytes(memoryBytes.after)} after`,
  );
  say(`HTTP        ${quantiles(httpMs)} requests`);
  say(`MQTT        ${quantiles(pingMs)} pings`);
  say(`telemetry   ${quantiles(telemetryMs)} acknowledgements, which wait for their group`);
  say(`stream      ${streamed} messages`);
  say(
    `read back   ${kept.samples} samples, ${kept.logs} log entries, ${kept.properties} properties, ` +
      `${kept.settings} names, ${kept.executions} commands, all acknowledged`,
  );
}

function parse() {
  const text = { type: 'string' } as const;
  return parseWords({
    help: { type: 'boolean' },
    minutes: text,
    sequences: text,
    devices: text,
    memory: text,
    latency: text,
    seed: text,
    source: { type: 'boolean' },
  });
}

await runScript(main);
