/** Dry runs: how long a script takes for a period with a sample of every attribute each second. */
import { createHash } from 'node:crypto';
import { LIMITS } from '../../src/lib/limits.ts';
import { createSystemClock, nextTurn } from '../../src/platform/clock/index.ts';
import { processorMs } from '../../src/platform/threads/index.ts';
import { dryRun } from '../../src/scripting/rule-sandbox/dry-run/dry-run.ts';
import type { DryRunEntry, RecordedSample } from '../../src/protocol/dry-run.ts';
import type { RecordedRequest, RuleAnswer, RuleScript } from '../../src/protocol/rule-sandbox.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';

interface DryRunParameters {
  hours: number;
}

export const benchmark: Benchmark<DryRunParameters> = {
  name: 'dry-run',
  describe: 'dry runs of rules over a period with a sample each second',
  small: { hours: 0.1 },
  large: { hours: 24 },
  run,
};

const FROM_MS = Date.UTC(2026, 2, 1);
const HOUR_MS = 3_600_000;
const DEVICE = { id: 'd-1', slug: 'inverter', name: 'Inverter', type: 'LUA' };

const THREE_READS = `
local inverter = enapter.device('inverter')
scheduler.add(1000, function()
  local soc, grid, load = inverter.telemetry.now('soc'), inverter.telemetry.now('grid'), inverter.telemetry.now('load')
  if soc + grid + load > 298 then inverter.execute_command('stop') end
end)`;
const WATCHING = `
local inverter = enapter.device('inverter')
inverter.telemetry.on_update('soc', function(soc) if soc > 99 then enapter.log(soc) end end)`;
const FROM_THE_TOP = `
if enapter.device('inverter').telemetry.now('soc') > 99 then enapter.log('full') end`;

const RULES: readonly [
  label: string,
  rule: Pick<RuleScript, 'code' | 'runtimeVersion' | 'execIntervalMs'>,
][] = [
  ['V3, three reads a second', { code: THREE_READS, runtimeVersion: 'V3', execIntervalMs: 0 }],
  ['V3, on_update each second', { code: WATCHING, runtimeVersion: 'V3', execIntervalMs: 0 }],
  ['V1, every 10 s', { code: FROM_THE_TOP, runtimeVersion: 'V1', execIntervalMs: 10_000 }],
  ['V1, every second', { code: FROM_THE_TOP, runtimeVersion: 'V1', execIntervalMs: 1_000 }],
];

async function run({ hours }: DryRunParameters, report: Report): Promise<string> {
  const clock = createSystemClock();
  const hash = createHash('sha256');
  const period = { fromMs: FROM_MS, toMs: FROM_MS + hours * HOUR_MS };
  try {
    for (const [label, rule] of RULES) {
      const entries: DryRunEntry[] = [];
      const startedMs = clock.monotonicMs();
      const { end, counts } = await dryRun({
        rule: { id: 'r-1', slug: 'rule', ...rule },
        period,
        site: () => ({ timeZone: 'Europe/Berlin' }),
        limits: LIMITS,
        clock,
        processorMs,
        nextTurn,
        ask: async (request) => answerTo(request),
        tell: (entry) => entries.push(entry),
        onSlice: () => undefined,
        onFault: (text) => {
          throw new Error(text);
        },
      });
      report(`${label}: ${hours} h, rests included`, clock.monotonicMs() - startedMs, 'ms');
      hash.update(JSON.stringify([end, counts, entries]));
    }
  } finally {
    clock.close();
  }
  return hash.digest('hex').slice(0, 16);
}

/** A value each second that goes up and down within some hours. */
const valueAt = (atMs: number): number => 50 + 50 * Math.sin(atMs / 3_600_000);

function answerTo(request: RecordedRequest): RuleAnswer {
  switch (request.method) {
    case 'find_device':
      return { ok: true, result: DEVICE };
    case 'samples': {
      const { afterMs, toMs } = request.parameters;
      const samples: RecordedSample[] = [];
      for (
        let atMs = afterMs + 1_000;
        atMs <= toMs && samples.length < LIMITS.telemetry.readSamples;
        atMs += 1_000
      )
        samples.push([atMs, valueAt(atMs)]);
      const isComplete = (samples.at(-1)?.[0] ?? toMs) + 1_000 > toMs;
      return { ok: true, result: { before: [afterMs, valueAt(afterMs)], samples, isComplete } };
    }
    case 'properties':
      return { ok: true, result: {} };
    case 'check_command':
      return { ok: true, result: null };
    default:
      throw new Error(`the scripts of this benchmark do not ask for ${request.method}`);
  }
}
