/**
 * What it takes to judge and compile a large blueprint, and what hostile manifests cost the gateway in the thread that
 * judges them: until they are refused, by a problem or by the bounds of the thread.
 */
import { createHash } from 'node:crypto';
import { catalogueOf } from '../../src/capabilities/blueprints/built-in.ts';
import { compileArchive } from '../../src/capabilities/blueprints/compile-archive.ts';
import { createWorkerCompiler } from '../../src/capabilities/blueprints/compile-worker.ts';
import { compiledFiles } from '../../src/capabilities/blueprints/compiler/compile.ts';
import { writeArchive } from '../../src/capabilities/blueprints/source/archive.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createMetrics } from '../../src/platform/metrics/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';

interface BlueprintParameters {
  attributes: number;
  luaFiles: number;
  luaLines: number;
  rounds: number;
  /** Size of each hostile manifest. */
  hostileBytes: number;
}

export const benchmark: Benchmark<BlueprintParameters> = {
  name: 'blueprints',
  describe: 'validate and compile one large blueprint',
  small: { attributes: 10, luaFiles: 2, luaLines: 10, rounds: 2, hostileBytes: 1_024 },
  large: { attributes: 400, luaFiles: 30, luaLines: 300, rounds: 20, hostileBytes: 2_097_000 },
  run,
};

async function run(parameters: BlueprintParameters, report: Report): Promise<string> {
  const profiles = catalogueOf(new Map());
  const zip = await writeArchive(filesOf(parameters));
  report('archive', zip.length / 1_024, 'KiB');
  const before = memoryBytes();
  let peakBytes = 0;
  const durationsMs: number[] = [];
  let checksum = '';
  for (let round = 0; round < parameters.rounds; round++) {
    const startMs = performance.now();
    const { manifest, script, problems } = await compileArchive(zip, profiles);
    durationsMs.push(performance.now() - startMs);
    if (manifest === undefined) throw new Error(problems.join('\n'));
    peakBytes = Math.max(peakBytes, memoryBytes() - before);
    const compiled = await writeArchive(compiledFiles(manifest, script));
    checksum = createHash('sha256').update(compiled).digest('hex').slice(0, 16);
  }
  const sorted = durationsMs.toSorted((a, b) => a - b);
  report('validate and compile, first', durationsMs[0] ?? 0, 'ms');
  report('validate and compile, median', sorted[Math.floor(sorted.length / 2)] ?? 0, 'ms');
  report('validate and compile, slowest', sorted.at(-1) ?? 0, 'ms');
  report('memory above the start, peak', peakBytes / 1_048_576, 'MiB');
  await runHostile(parameters.hostileBytes, report);
  return checksum;
}

const HOSTILE: Readonly<Record<string, (bytes: number) => string>> = {
  'a list of ones': (bytes) => `a: [${'1,'.repeat(bytes / 2 - 4)}]`,
  'one tag after another': (bytes) => `a: ${'!a '.repeat(bytes / 3 - 4)}`,
  'a map of many keys': (bytes) =>
    Array.from(
      { length: Math.floor(bytes / 10) },
      (_, index) => `k${String(index).padStart(6, '0')}: 1`,
    ).join('\n'),
  'lists in lists': (bytes) => '['.repeat(bytes - 4),
  'aliases of aliases': (bytes) => {
    const level = (index: number): string => `a${index}: &a${index} [${`*a${index - 1},`.repeat(50)}]\n`;
    return `a0: &a0 [1]\n${Array.from({ length: Math.floor(bytes / 400) }, (_, index) => level(index + 1)).join('')}`;
  },
};

/** One after another through the thread that the gateway uses. */
async function runHostile(bytes: number, report: Report): Promise<void> {
  const clock = createSystemClock();
  const log = createLog({
    level: 'error',
    format: 'text',
    clock,
    write: (text) => process.stderr.write(text),
  });
  const compiler = createWorkerCompiler({ clock, log, metrics: createMetrics() });
  let peakBytes = 0;
  const sampling = clock.setRepeating(20, () => (peakBytes = Math.max(peakBytes, process.memoryUsage().rss)));
  try {
    for (const [name, textOf] of Object.entries(HOSTILE)) {
      const zip = await writeArchive(new Map([['manifest.yml', Buffer.from(textOf(bytes))]]));
      const before = process.memoryUsage().rss;
      peakBytes = before;
      const startMs = performance.now();
      const { problems } = await compiler.compile({ zip, profiles: new Map(), checks: 'STRICT' });
      if (problems === undefined) throw new Error(`${name} was taken`);
      report(`hostile: ${name}, refused`, performance.now() - startMs, 'ms');
      report(
        `hostile: ${name}, memory of the process above the start, peak`,
        (peakBytes - before) / 1_048_576,
        'MiB',
      );
    }
  } finally {
    sampling.cancel();
    await compiler.stop();
    clock.close();
  }
}

function memoryBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function filesOf({ attributes, luaFiles, luaLines }: BlueprintParameters): Map<string, Uint8Array> {
  const telemetry = Array.from({ length: attributes }, (_, index) => attributeText(index)).join('');
  const manifest =
    'blueprint_spec: device/3.0\ndisplay_name: Large\ncategory: power-meters\nruntime:\n  type: lua\n' +
    `  options: {dir: src}\ntelemetry:\n${telemetry}`;
  const files = new Map<string, Uint8Array>([['manifest.yml', Buffer.from(manifest)]]);
  const names = Array.from({ length: luaFiles - 1 }, (_, index) => `module_${index}`);
  files.set('src/main.lua', luaText(names, luaLines));
  for (const name of names) files.set(`src/${name}.lua`, luaText([], luaLines));
  return files;
}

function attributeText(index: number): string {
  const name = `  attribute_${index}:\n    display_name: Attribute ${index}\n    description: One of many.\n`;
  if (index % 5 !== 0) return `${name}    type: float\n    unit: W\n    auto_scale: [kW, MW]\n`;
  return `${name}    type: string\n    enum:\n      ok: {display_name: Fine, color: green}\n      fault: {display_name: Broken}\n`;
}

function luaText(modules: string[], lines: number): Buffer {
  const requires = modules.map((name) => `local ${name} = require("${name}")\n`).join('');
  const body = Array.from(
    { length: lines },
    (_, index) => `  values[${index}] = string.format("%d %s", ${index}, "text") -- value ${index}\n`,
  ).join('');
  return Buffer.from(`${requires}local values = {}\nfunction fill()\n${body}end\nreturn { fill = fill }\n`);
}
