/** Runs the rule of a strategy in a simulated house: the script and the sandbox's own code, in simulated time. */
import { loadStrategy, type ScriptValues, strategyScript } from '#library';
import { Scheduler, Scripts } from '#scripting/lua';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LIMITS } from '../../../src/lib/limits.ts';
import { createSystemClock, nextTurn } from '../../../src/platform/clock/index.ts';
import { processorMs } from '../../../src/platform/threads/index.ts';
import type { JsonValue } from '../../../src/protocol/telemetry.ts';
import { createIdleDetector } from '../../../src/scripting/rule-sandbox/dry-run/dry-run.ts';
import { createRuleLog } from '../../../src/scripting/rule-sandbox/rule-log.ts';
import { createRun, type Run } from '../../../src/scripting/rule-sandbox/rule-run.ts';
import type { Commanded, PlannedFault } from './faults.ts';
import { type House, SimulatedClock, SimulatedGateway } from './simulated-gateway.ts';

const STRATEGIES = join(import.meta.dirname, '../../../src/library/strategies');

const textOf = (path: string): string => readFileSync(join(STRATEGIES, path), 'utf8');

/** The script of a strategy with these parameters over the defaults. */
export function scriptOf(id: string, parameters: Record<string, ScriptValues>): string {
  const strategy = loadStrategy(id, {
    declaration: textOf(`${id}/strategy.yml`),
    rule: textOf(`${id}/rule.lua`),
  });
  const defaults = Object.fromEntries(
    Object.entries(strategy.parameters).map(([name, parameter]) => [
      name,
      parameter.kind === 'list' ? [] : 'default' in parameter ? parameter.default : undefined,
    ]),
  );
  return strategyScript(strategy, { ...defaults, ...parameters }, textOf('shared.lua'));
}

/** Parameters as scripts get them. */
export const value = (device: string, attribute: string): ScriptValues => ({ device, attribute, factor: 1 });
export const action = (device: string, command: string): ScriptValues => ({ device, command, arguments: {} });
export const setpoint = (device: string, command: string): ScriptValues => ({
  ...(action(device, command) as object),
  argument: 'value',
});

/** A strategy at work in a house of its own. */
export interface StrategyCase {
  code: string;
  house: House;
  /** What the rule has learnt before, by key. */
  stored?: Readonly<Record<string, JsonValue>>;
}

export interface RuleRecord extends Commanded {
  /** What the rule logged as an error. */
  errors: string[];
}

/** Resolves when the house ends. Faults are in the order of their beginnings, and one is over when the next one begins. */
export async function runRule(
  { code, house, stored = {} }: StrategyCase,
  faults: readonly PlannedFault[] = [],
): Promise<RuleRecord> {
  const system = createSystemClock();
  const clock = new SimulatedClock(house.startMs);
  const idle = createIdleDetector(nextTurn);
  const gateway = new SimulatedGateway(clock, house, stored);
  const errors: string[] = [];
  const note = (text: string): void => void (errors.length < 20 && errors.push(text));
  const scripts = new Scripts({
    clock,
    monotonicMs: () => system.monotonicMs(),
    processorMs,
    scheduler: new Scheduler({
      clock: system,
      nextTurn: () => idle.during(nextTurn()),
      limits: { ...LIMITS.lua, processorPermille: 1_000 },
      onSlice: () => undefined,
    }),
    limits: { ...LIMITS.lua, timerSlackPermille: 0 },
    seed: () => [1n, 2n],
  });
  const start = (): Run => {
    const run = createRun({
      rule: { id: 'rule', slug: 'rule', runtimeVersion: 'V3', code, execIntervalMs: 1_000 },
      scripts,
      clock,
      site: () => ({ timeZone: 'UTC' }),
      limits: LIMITS,
      log: createRuleLog({
        clock,
        limits: LIMITS.rules,
        timeZone: () => 'UTC',
        isImmediate: true,
        send: (entries) => {
          for (const { severity, message } of entries) if (severity === 'error') note(message);
        },
      }),
      send: (request, answered) => answered(gateway.answer(request)),
      onEnded: (how) => note(`the rule ${how}`),
      onFault: note,
    });
    run.start();
    return run;
  };
  await new Passage({ house, clock, idle, gateway, start }).go(faults);
  gateway.stop();
  system.close();
  const safe = [...gateway.safe].map(([device, { name, arguments: given }]) => ({
    device,
    name,
    value: given['value'] as number | undefined,
  }));
  return { errors, sent: gateway.sent, safe };
}

interface Parts {
  house: House;
  clock: SimulatedClock;
  idle: ReturnType<typeof createIdleDetector>;
  gateway: SimulatedGateway;
  start: () => Run;
}

/** The time of a house, with a rule that runs and what happens to it. */
class Passage {
  readonly #parts: Parts;
  #run: Run | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async go(faults: readonly PlannedFault[]): Promise<void> {
    const { house, clock, idle, gateway, start } = this.#parts;
    const moments = faults.flatMap((fault) => [
      { atMs: fault.beginMs, act: () => this.#begin(fault) },
      { atMs: fault.endMs, act: () => this.#end(fault) },
    ]);
    this.#run = start();
    await idle.reached();
    for (let values = house.step(); values; values = house.step()) {
      const endMs = clock.trueMs + house.stepS * 1_000;
      for (let next = moments[0]; next && next.atMs < endMs; next = moments[0]) {
        moments.shift();
        await this.#timersUntil(next.atMs);
        next.act();
        await idle.reached();
      }
      await this.#timersUntil(endMs);
      for (const change of gateway.measured(values)) this.#run?.changed(change);
      await idle.reached();
    }
    this.#run?.stop();
  }

  async #timersUntil(endMs: number): Promise<void> {
    const { clock, idle } = this.#parts;
    while (clock.nextDueMs() < endMs) {
      clock.fireNext();
      await idle.reached();
    }
    clock.moveTo(endMs);
  }

  #begin({ kind, offsetMs }: PlannedFault): void {
    const { gateway, clock } = this.#parts;
    if (kind === 'silent values') gateway.isSilent = true;
    else if (kind === 'lost device') gateway.isLost = true;
    else if (kind === 'wrong clock') clock.setOffset(offsetMs);
    else {
      this.#run?.stop();
      this.#run = undefined;
      if (kind === 'kill') gateway.ruleEnded();
      else gateway.restart();
    }
  }

  #end({ kind }: PlannedFault): void {
    const { gateway, clock, start } = this.#parts;
    if (kind === 'silent values') gateway.isSilent = false;
    else if (kind === 'lost device') gateway.isLost = false;
    else if (kind === 'wrong clock') clock.setOffset(0);
    else this.#run = start();
  }
}
