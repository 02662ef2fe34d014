/** What it takes to judge and compile a large blueprint, and the worst that a hostile manifest can ask for. */
import { createHash } from 'node:crypto';
import { catalogueOf } from '../../src/capabilities/blueprints/built-in.ts';
import { compileArchive } from '../../src/capabilities/blueprints/compile-archive.ts';
import { compiledFiles } from '../../src/capabilities/blueprints/compiler/zip.ts';
import { writeArchive } from '../../src/capabilities/blueprints/source/archive.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';

interface BlueprintParameters {
  attributes: number;
  luaFiles: number;
  luaLines: number;
  rounds: number;
}

export const benchmark: Benchmark<BlueprintParameters> = {
  name: 'blueprints',
  describe: 'validate and compile one large blueprint',
  small: { attributes: 10, luaFiles: 2, luaLines: 10, rounds: 2 },
  large: { attributes: 400, luaFiles: 30, luaLines: 300, rounds: 20 },
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
  return checksum;
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
