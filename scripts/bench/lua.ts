/** The Lua border and the rule sandbox: cost of a call, of a state, of many rules, and of a reaction. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { LIMITS } from '../../src/lib/limits.ts';
import {
  type HostFunction,
  type Library,
  Scheduler,
  type Script,
  Scripts,
} from '../../src/scripting/lua/index.ts';
import { createSystemClock, nextTurn } from '../../src/platform/clock/index.ts';
import { processorMs } from '../../src/platform/threads/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { startRuleSandbox } from '../support/rule-sandbox.ts';

interface LuaParameters {
  calls: number;
  states: number;
  rules: number;
  reactions: number;
}

export const benchmark: Benchmark<LuaParameters> = {
  name: 'lua',
  describe: 'cost of calls and states of Lua, memory of many rules, reaction of a rule',
  small: { calls: 2_000, states: 3, rules: 4, reactions: 5 },
  large: { calls: 1_000_000, states: 200, rules: 200, reactions: 300 },
  run,
};

const MIB = 1_048_576;
const ECHO: Library = { name: 'echo', source: 'local host = ...\necho = host.echo' };

async function run(parameters: LuaParameters, report: Report): Promise<string> {
  const clock = createSystemClock();
  const hash = createHash('sha256');
  try {
    await measureCalls(parameters.calls, clock, report, hash);
    await measureStates(parameters.states, clock, report);
  } finally {
    clock.close();
  }
  await measureRules(parameters, report);
  return hash.digest('hex').slice(0, 16);
}

type BenchClock = ReturnType<typeof createSystemClock>;

function createScripts(clock: BenchClock): { create: (seen?: (text: string) => void) => Script } {
  // A benchmark may take all of the processor.
  const limits = { ...LIMITS.lua, turnMs: 600_000, processorBurstMs: 600_000 };
  const scripts = new Scripts({
    clock,
    monotonicMs: () => clock.monotonicMs(),
    processorMs,
    scheduler: new Scheduler({ clock, nextTurn, limits }),
    limits,
    seed: () => [1n, 2n],
  });
  const functions: Record<string, HostFunction> = { echo: (values) => values };
  return {
    create: (seen = () => undefined) =>
      scripts.create({
        kind: 'bench',
        memoryBytes: 32 * MIB,
        libraries: [ECHO],
        functions,
        modules: () => undefined,
        warn: () => undefined,
        print: seen,
        overlaps: true,
        timeZone: () => 'UTC',
        onJobFailure: () => undefined,
        onSettled: () => undefined,
        onPaused: () => undefined,
        onFault: (name, error) => {
          throw new Error(`host function ${name} failed`, { cause: error });
        },
      }),
  };
}

async function measureCalls(
  calls: number,
  clock: BenchClock,
  report: Report,
  hash: ReturnType<typeof createHash>,
): Promise<void> {
  const kinds: [label: string, code: string][] = [
    ['host call with an integer', 'local x for i = 1, N do x = echo(i) end print(x)'],
    ['host call with a text', 'local x for i = 1, N do x = echo("power") end print(x)'],
    [
      'host call with a table',
      'local x for i = 1, N do x = echo({ power = i, on = true }) end print(x.power)',
    ],
    [
      'json.decode and encode of 60 bytes',
      'local s = \'{"power":1500.5,"status":"ok","alerts":["a","b"],"n":{"x":1}}\' for i = 1, N do json.encode(json.decode(s)) end print(#s)',
    ],
    ['loop with a sum', 'local x = 0 for i = 1, N do x = x + i end print(x)'],
  ];
  for (const [label, code] of kinds) {
    const script = createScripts(clock).create((text) => hash.update(text));
    const startMs = clock.monotonicMs();
    await script.run(Buffer.from(code.replace('N', String(calls))), 'bench.lua');
    report(label, ((clock.monotonicMs() - startMs) / calls) * 1_000, 'µs');
    script.close();
  }
}

async function measureStates(states: number, clock: BenchClock, report: Report): Promise<void> {
  const scripts = createScripts(clock);
  const kept: Script[] = [scripts.create()];
  const startBytes = process.memoryUsage.rss();
  const startMs = clock.monotonicMs();
  for (let made = 0; made < states; made++) kept.push(scripts.create());
  report('a further state', (clock.monotonicMs() - startMs) / states, 'ms');
  report('memory of a further state', (process.memoryUsage.rss() - startBytes) / states / 1_024, 'KiB');
  const [first] = kept;
  const resetMs = clock.monotonicMs();
  for (let count = 0; count < states; count++) first?.reset();
  report('clearing a state for the next run', (clock.monotonicMs() - resetMs) / states, 'ms');
  for (const script of kept) script.close();
}

/** About as long as the rules people write: reads, decides, commands, remembers. */
function ruleCode(number: number): string {
  const helpers = Array.from(
    { length: 12 },
    (_, index) =>
      `local function step_${index}(state, value)\n  if value == nil then return state end\n` +
      `  state.sum = (state.sum or 0) + value * ${index + 1}\n  state.count = (state.count or 0) + 1\n` +
      '  if state.count > 100 then state.sum, state.count = 0, 0 end\n  return state\nend\n',
  ).join('');
  return (
    `local config = { device = "meter", limit = ${number}, names = { "power", "voltage", "current" } }\n` +
    `local state = {}\n${helpers}` +
    'local meter = enapter.device(config.device)\n' +
    'meter.telemetry.on_update("power", function(value)\n  meter.execute_command("set", { value = value })\nend)\n' +
    'scheduler.add(1000, function()\n' +
    '  for _, name in ipairs(config.names) do\n    local value = meter.telemetry.now(name)\n' +
    '    state = step_3(state, tonumber(value))\n  end\n' +
    '  if state.count == 99 then enapter.log("sum " .. tostring(state.sum), "debug") end\nend)\n'
  );
}

async function measureRules({ rules, reactions }: LuaParameters, report: Report): Promise<void> {
  const sandbox = await startRuleSandbox();
  try {
    report('sandbox without rules', sandbox.memoryBytes() / MIB, 'MiB');
    const startMs = sandbox.nowMs();
    for (let number = 0; number < rules; number++) sandbox.start(`rule-${number}`, ruleCode(number));
    await sandbox.watches(rules);
    report(`start of ${rules} rules`, sandbox.nowMs() - startMs, 'ms');
    const busyMs = sandbox.nowMs();
    const processorMs = sandbox.processorMs();
    const latenciesMs = await sandbox.react('rule-0', reactions);
    report('reaction, median', latenciesMs[Math.floor(reactions / 2)] ?? 0, 'ms');
    report('reaction, 99th percentile', latenciesMs[Math.floor(reactions * 0.99)] ?? 0, 'ms');
    const share = (sandbox.processorMs() - processorMs) / (sandbox.nowMs() - busyMs);
    report('processor meanwhile, all threads', share * 100, '%');
    report(`sandbox with ${rules} rules`, sandbox.memoryBytes() / MIB, 'MiB');
    const status = readFileSync(`/proc/${sandbox.processId()}/status`, 'utf8');
    report('its addresses', Number(/VmSize:\s+(\d+)/.exec(status)?.[1]) / 1_024, 'MiB');
  } finally {
    await sandbox.stop();
  }
}
