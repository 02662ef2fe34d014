/** `npm run bench`: lists the benchmarks in `scripts/bench/`, or runs one and prints what is needed to compare. */
import { readdirSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Benchmark } from './support/benchmark.ts';

const FOLDER = join(import.meta.dirname, 'bench');

const HELP = `Usage: npm run bench [-- <name> [--small]]

Without a name: lists the benchmarks.

  --small  little work: shows that the benchmark runs, the figures mean nothing
  --help   this text`;

/** All benchmarks, by file name. */
export async function benchmarks(): Promise<Benchmark[]> {
  const found: Benchmark[] = [];
  for (const file of readdirSync(FOLDER).sort()) {
    const { benchmark } = (await import(join(FOLDER, file))) as { benchmark: Benchmark };
    found.push(benchmark);
  }
  return found;
}

/** Runs one and writes what ran, seed, machine, figures and checksum, a line each. */
export async function runBenchmark(
  benchmark: Benchmark,
  size: 'small' | 'large',
  write: (line: string) => void,
): Promise<void> {
  write(`benchmark   ${benchmark.name}: ${benchmark.describe}`);
  write(`parameters  ${JSON.stringify(benchmark[size])} (${size})`);
  if (benchmark.seed !== undefined) write(`seed        ${benchmark.seed}`);
  write(`machine     ${machine()}`);
  const checksum = await benchmark.run(benchmark[size], (label, value, unit = '') => {
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
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { small: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const all = await benchmarks();
  const [name] = positionals;
  if (name === undefined) {
    for (const benchmark of all) console.log(`${benchmark.name.padEnd(16)} ${benchmark.describe}`);
    return 0;
  }
  const benchmark = all.find((candidate) => candidate.name === name);
  if (!benchmark) {
    console.error(`no benchmark is called ${name}; there are: ${all.map((each) => each.name).join(', ')}`);
    return 1;
  }
  await runBenchmark(benchmark, values.small ? 'small' : 'large', console.log);
  return 0;
}

if (import.meta.main) process.exitCode = await main();
