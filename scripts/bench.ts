/** `npm run bench`: lists the benchmarks in `scripts/bench/`, or runs one and prints what is needed to compare. */
import { readdirSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { decimal, parseArguments, UsageError } from './support/arguments.ts';
import type { Benchmark } from './support/benchmark.ts';
import { ontoBoard, simulateBoard } from './support/small-board.ts';

const FOLDER = join(import.meta.dirname, 'bench');

const HELP = `Usage: npm run bench [-- <name> [--small] [--board] [--only <part>] [--set <parameter>=<number>]…]

Without a name: lists the benchmarks.

  --small  little work: shows that the benchmark runs; its figures mean nothing
  --board  limits the measured program to 0.3 of a core and 512 MB, like a small board (needs root)
  --only   one part of a benchmark that has several; a parameter has the name of each
  --set    sets a parameter; each run prints its parameters and their values
  --help   this text`;

/** Names of all benchmarks: those of their files. */
function benchmarkNames(): string[] {
  return readdirSync(FOLDER)
    .map((file) => file.replace(/\.ts$/, ''))
    .sort();
}

async function benchmarkCalled(name: string): Promise<Benchmark> {
  const { benchmark } = (await import(join(FOLDER, `${name}.ts`))) as { benchmark: Benchmark };
  return benchmark;
}

/** All benchmarks, by name. */
export async function benchmarks(): Promise<Benchmark[]> {
  const found: Benchmark[] = [];
  for (const name of benchmarkNames()) found.push(await benchmarkCalled(name));
  return found;
}

/** Runs one and writes what ran, seed, machine, figures and checksum, a line each. */
export async function runBenchmark(
  benchmark: Benchmark,
  size: 'small' | 'large',
  write: (line: string) => void,
  changes: Readonly<Record<string, number>> = {},
): Promise<void> {
  const parameters = { ...benchmark[size], ...changes };
  write(`benchmark   ${benchmark.name}: ${benchmark.describe}`);
  write(`parameters  ${JSON.stringify(parameters)} (${size})`);
  if (benchmark.seed !== undefined) write(`seed        ${benchmark.seed}`);
  write(`machine     ${machine()}`);
  const checksum = await benchmark.run(parameters, (label, value, unit = '') => {
    write(`${figure(value).padStart(16)} ${unit.padEnd(10)} ${label}`);
  });
  if (checksum !== undefined) write(`checksum    ${checksum}`);
}

function machine(): string {
  const model = cpus()[0]?.model ?? process.arch;
  const memoryGib = (totalmem() / 2 ** 30).toFixed(1);
  return `${availableParallelism()} cores (${model}), ${memoryGib} GiB memory, Node ${process.version}`;
}

/** Three significant digits at least, thousands apart. */
function figure(value: number | string): string {
  if (typeof value === 'string') return value;
  const decimals = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  const options = { maximumFractionDigits: Math.min(decimals, 20) };
  return value.toLocaleString('en', options).replaceAll(',', ' ');
}

async function main(): Promise<number> {
  const { values, positionals } = parseArguments({
    small: { type: 'boolean', default: false },
    board: { type: 'boolean', default: false },
    only: { type: 'string' },
    set: { type: 'string', multiple: true, default: [] },
    help: { type: 'boolean', default: false },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const [name] = positionals;
  if (name === undefined) {
    for (const benchmark of await benchmarks())
      console.log(`${benchmark.name.padEnd(16)} ${benchmark.describe}`);
    return 0;
  }
  if (!benchmarkNames().includes(name)) {
    console.error(`no benchmark is called ${name}; there are: ${benchmarkNames().join(', ')}`);
    return 1;
  }
  const benchmark = await benchmarkCalled(name);
  const size = values.small ? 'small' : 'large';
  if (values.board) {
    console.log(`board       ${simulateBoard()}`);
    if (!benchmark.isApart) ontoBoard(process.pid);
  }
  const changes = { ...leftOut(values.only, benchmark), ...changesOf(values.set, benchmark[size]) };
  await runBenchmark(benchmark, size, console.log, changes);
  return 0;
}

/** All parts but one. @throws UsageError for a part that the benchmark does not have */
function leftOut(only: string | undefined, { name, parts = [] }: Benchmark): Record<string, number> {
  if (only === undefined) return {};
  if (!parts.includes(only))
    throw new UsageError(`${name} has no part called ${only}; there are: ${parts.join(', ') || 'none'}`);
  return Object.fromEntries(parts.filter((part) => part !== only).map((part) => [part, 0]));
}

/** @throws UsageError for a parameter that the benchmark does not have */
function changesOf(
  settings: readonly string[],
  parameters: Readonly<Record<string, number>>,
): Record<string, number> {
  const pairs = settings.map((setting) => {
    const [name = '', text] = setting.split('=');
    const value = decimal(`set ${name}`, text ?? '', 0, Number.MAX_SAFE_INTEGER) ?? 0;
    if (!Object.hasOwn(parameters, name)) throw new UsageError(`no parameter is called ${name}`);
    return [name, value] as const;
  });
  return Object.fromEntries(pairs);
}

if (import.meta.main)
  try {
    process.exitCode = await main();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    process.exitCode = 2;
  }
