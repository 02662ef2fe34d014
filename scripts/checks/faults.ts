/** `npm run check -- faults`: is anything that the gateway acknowledged lost, doubled or forgotten by what a box meets? */
import { randomInt } from 'node:crypto';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import type { Problem } from './world/journal.ts';
import { type Plant, PLANTS } from './faults/control.ts';
import { missingForDisks } from './faults/disk.ts';
import type { FaultKind } from './faults/kind.ts';
import { FAULT_KINDS } from './faults/kinds.ts';
import { hasOwnMounts, runWithOwnMounts } from './faults/own-mounts.ts';
import { faultCheck, type FaultReport } from './faults/run.ts';
import { PROGRAMS } from '../build.ts';
import { decimal, parseWords, runScript, UsageError, whole } from '../support/arguments.ts';
import { packPrograms } from '../support/packed-programs.ts';

const HELP = `Injects faults into a gateway and reads back everything that it had acknowledged.

  npm run check -- faults [options]

  --faults N        number of faults (default 30)
  --hours H         run for this time instead
  --kinds A,B       only these kinds (default: all that this machine allows)
  --list            list the kinds and end
  --seed N          repeat the faults and moments of a run (default: a new seed, printed)
  --devices N       devices that publish once a second with QoS 1 (default 10)
  --attributes N    telemetry attributes per message (default 10)
  --source          run the sources instead of bundling them first
  --plant WHICH     remove a protection, to prove that the check finds it: sync, lock, byte-budget, call-limit or
                    request-feed

Devices send telemetry, logs and properties and answer commands. Callers rename devices and run commands. Owners create,
change and delete users, tokens, rules, devices, configuration and site. A journal records what was acknowledged, and after
every fault all of it is read back through the API. Uses temporary folders and free ports. With root and loop devices, the
data is on a disk of its own that can be full, broken, read-only or lose its power. The exit code is 1 if anything is
missing, doubled, wrong, or damaged without being named.
`;

const PROBLEMS_SHOWN = 12;
const HOUR_MS = 3_600_000;
const FAULTS_MAX = 1_000_000;

const COLUMNS: readonly [title: string, cell: (report: FaultReport) => string][] = [
  ['fault', ({ number }) => String(number)],
  ['kind', ({ kind }) => kind.padEnd(20)],
  ['samples', ({ samples }) => String(samples)],
  ['logs', ({ logs }) => String(logs)],
  ['executions', ({ executions }) => String(executions)],
  ['changes', ({ changes, settings, properties }) => String(changes + settings + properties)],
  ['took s', ({ tookMs }) => (tookMs / 1_000).toFixed(1)],
  ['problems', ({ problems }) => String(problems.length)],
];

const line = (cells: readonly string[]): string => cells.map((cell) => cell.padStart(10)).join(' ');

async function main(): Promise<number> {
  const values = parse();
  const isPlain = values.help || values.list || missingForDisks().length > 0;
  if (!isPlain && !hasOwnMounts()) return runWithOwnMounts();
  const say = (text: string): void => void process.stdout.write(`${text}\n`);
  if (values.help) return tell(HELP);
  if (values.list) return tell(FAULT_KINDS.map(({ name, about }) => `${name.padEnd(22)}${about}\n`).join(''));
  const seed = whole('seed', values.seed, 0, 2 ** 31) ?? randomInt(2 ** 31);
  const hours = decimal('hours', values.hours, 0.01, 1_000);
  const faults = whole('faults', values.faults, 1, FAULTS_MAX) ?? (hours === undefined ? 30 : FAULTS_MAX);
  say(`seed ${seed}`);
  const clock = createSystemClock();
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => {
      say('ends after this fault');
      stopping.abort();
    });
  const plants = plantsOf(values.plant);
  const packed = values.source ? undefined : await packPrograms(PROGRAMS);
  const estimate = new Estimate(faults);
  let head = `${line(COLUMNS.map(([title]) => title))}\n`;
  try {
    const problems = await faultCheck({
      seed,
      faults,
      durationMs: (hours ?? 1_000) * HOUR_MS,
      kinds: kindsOf(values.kinds),
      devices: whole('devices', values.devices, 1, 500) ?? 10,
      attributes: whole('attributes', values.attributes, 1, 1_000) ?? 10,
      program: packed ?? 'source',
      plants,
      signal: stopping.signal,
      clock,
      say,
      onFault: (report) => {
        say(head + line(COLUMNS.map(([, cell]) => cell(report))));
        head = '';
        if (report.problems.length > 0) say(linesOf(report.problems));
        const left = estimate.after(report);
        if (left !== undefined && hours === undefined) say(left);
      },
    });
    say(
      problems.length === 0
        ? 'nothing acknowledged was lost, doubled or forgotten'
        : `${problems.length} problems, seed ${seed}`,
    );
    return problems.length === 0 ? 0 : 1;
  } finally {
    clock.close();
    packed?.remove();
  }
}

const SAID_EVERY = 10;
const MINUTE_MS = 60_000;

/** How long it will take, by what it took so far. */
class Estimate {
  readonly #faults: number;
  #tookMs = 0;

  constructor(faults: number) {
    this.#faults = faults;
  }

  /** A line now and then; undefined: nothing to say. */
  after({ number, tookMs }: FaultReport): string | undefined {
    this.#tookMs += tookMs;
    if (number % SAID_EVERY !== 0 || number === this.#faults) return undefined;
    const leftMs = ((this.#faults - number) * this.#tookMs) / number;
    return `${(this.#tookMs / number / 1_000).toFixed(1)} s each, ${Math.ceil(leftMs / MINUTE_MS)} minutes left of ${this.#faults} faults`;
  }
}

function tell(text: string): number {
  process.stdout.write(text);
  return 0;
}

function linesOf(problems: readonly Problem[]): string {
  const lines = problems.slice(0, PROBLEMS_SHOWN).map(({ kind, item }) => `  ${kind}: ${item}`);
  if (problems.length > PROBLEMS_SHOWN) lines.push(`  … and ${problems.length - PROBLEMS_SHOWN} more`);
  return lines.join('\n');
}

function kindsOf(text: string | undefined): readonly FaultKind[] {
  if (text === undefined) return FAULT_KINDS;
  return text.split(',').map((name) => {
    const kind = FAULT_KINDS.find((each) => each.name === name.trim());
    if (!kind) throw new UsageError(`--kinds: there is no ${name}; --list names those that are`);
    return kind;
  });
}

function plantsOf(text: string | undefined): readonly Plant[] {
  if (text === undefined) return [];
  const plant = PLANTS.find((each) => each === text);
  if (!plant) throw new UsageError(`--plant must be one of: ${PLANTS.join(', ')}`);
  return [plant];
}

function parse() {
  const text = { type: 'string' } as const;
  return parseWords({
    help: { type: 'boolean' },
    list: { type: 'boolean' },
    source: { type: 'boolean' },
    faults: text,
    hours: text,
    kinds: text,
    seed: text,
    devices: text,
    attributes: text,
    plant: text,
  });
}

await runScript(main);
