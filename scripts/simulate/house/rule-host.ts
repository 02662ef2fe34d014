/** Runs the rule of a strategy in a simulated house: the script and the sandbox's own code, in simulated time. */
import { loadStrategy, type ScriptValues, strategyScript } from '#library';
import { Scheduler, Scripts } from '#scripting/lua';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LIMITS } from '../../../src/lib/limits.ts';
import { createSystemClock, nextTurn } from '../../../src/platform/clock/index.ts';
import { processorMs } from '../../../src/platform/threads/index.ts';
import type { OutputParameters } from '../../../src/protocol/output.ts';
import type { RuleAnswer, RuleRequest } from '../../../src/protocol/rule-sandbox.ts';
import type { JsonValue } from '../../../src/protocol/telemetry.ts';
import { createIdleDetector, VirtualClock } from '../../../src/scripting/rule-sandbox/dry-run/dry-run.ts';
import { createRuleLog } from '../../../src/scripting/rule-sandbox/rule-log.ts';
import { createRun, type Run } from '../../../src/scripting/rule-sandbox/rule-run.ts';

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

export interface House {
  startMs: number;
  stepS: number;
  /** Lets a step pass, and gives the values of `device.attribute` at its end; undefined: the simulation is over. */
  step(): ReadonlyMap<string, JsonValue> | undefined;
  command(device: string, name: string, value: number | undefined): void;
}

/**
 * Resolves with the errors that the rule logged, when the house ends.
 * @param stored what the rule has learnt before, by key
 */
export async function runRule(
  code: string,
  house: House,
  stored: Readonly<Record<string, JsonValue>> = {},
): Promise<string[]> {
  const system = createSystemClock();
  const clock = new VirtualClock(house.startMs);
  const idle = createIdleDetector(nextTurn);
  const site = new SimulatedGateway(clock, house, stored);
  const errors: string[] = [];
  const note = (text: string): void => void (errors.length < 20 && errors.push(text));
  const run = createRun({
    rule: { id: 'rule', slug: 'rule', runtimeVersion: 'V3', code, execIntervalMs: 1_000 },
    scripts: new Scripts({
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
    }),
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
    send: (request, answered) => answered(site.answer(request)),
    onEnded: (how) => note(`the rule ${how}`),
    onFault: note,
  });
  run.start();
  await idle.reached();
  await pass(house, { clock, idle, site, run });
  run.stop();
  system.close();
  return errors;
}

interface Running {
  clock: VirtualClock;
  idle: ReturnType<typeof createIdleDetector>;
  site: SimulatedGateway;
  run: Run;
}

async function pass(house: House, { clock, idle, site, run }: Running): Promise<void> {
  for (let values = house.step(); values; values = house.step()) {
    const endMs = clock.wallMs() + house.stepS * 1_000;
    while (clock.nextDueMs() < endMs) {
      clock.fireNext();
      await idle.reached();
    }
    clock.moveTo(endMs);
    for (const change of site.measured(values)) run.changed(change);
    await idle.reached();
  }
}

/** Answers the requests of a rule from the newest values. */
class SimulatedGateway {
  readonly #clock: VirtualClock;
  readonly #house: House;
  readonly #stored: Map<string, string>;
  readonly #watches = new Map<number, string>();
  #values: ReadonlyMap<string, JsonValue> = new Map();
  #measuredMs = 0;
  /** The last command by device. */
  readonly #outputs = new Map<string, string>();

  constructor(clock: VirtualClock, house: House, stored: Readonly<Record<string, JsonValue>>) {
    this.#clock = clock;
    this.#house = house;
    this.#stored = new Map(Object.entries(stored).map(([key, content]) => [key, JSON.stringify(content)]));
  }

  measured(values: ReadonlyMap<string, JsonValue>) {
    this.#values = values;
    this.#measuredMs = this.#clock.wallMs();
    return [...this.#watches].flatMap(([watchId, name]) => {
      const measured = values.get(name);
      return measured === undefined ? [] : [{ watchId, value: measured, timestampMs: this.#measuredMs }];
    });
  }

  /** Nobody else asks here: a command goes to the house when it is another one. */
  #set({ deviceId, name, arguments: given }: OutputParameters): void {
    const text = JSON.stringify([name, given]);
    if (!given || this.#outputs.get(deviceId) === text) return;
    this.#outputs.set(deviceId, text);
    this.#house.command(deviceId, name, given['value'] as number | undefined);
  }

  answer(request: RuleRequest): RuleAnswer {
    const ok = (result: JsonValue): RuleAnswer => ({ ok: true, result });
    const { method, parameters } = request;
    switch (method) {
      case 'several':
        return ok(parameters.requests.map((each) => this.answer(each)));
      case 'find_device': {
        const { idOrSlug: id } = parameters;
        return ok({ id, slug: id, name: id, type: 'LUA' });
      }
      case 'latest': {
        const found = this.#values.get(`${parameters.deviceId}.${parameters.name}`);
        const ageMs = this.#clock.wallMs() - this.#measuredMs;
        if (found === undefined || ageMs > parameters.relevanceMs)
          return { ok: false, error: 'no recent value' };
        return ok({ value: found, timestampMs: this.#measuredMs });
      }
      case 'watch':
        if (parameters.kind === 'telemetry')
          this.#watches.set(parameters.watchId, `${parameters.deviceId}.${parameters.name}`);
        return ok(null);
      case 'execute':
        this.#house.command(
          parameters.deviceId,
          parameters.name,
          parameters.arguments['value'] as number | undefined,
        );
        return ok({});
      case 'output_request':
        this.#set(parameters);
        return ok({ holds: true });
      case 'storage_read':
        return ok(this.#stored.get(parameters.key) ?? null);
      case 'storage_write':
        this.#stored.set(parameters.key, parameters.value);
        return ok(null);
      default:
        return { ok: false, error: `${method} is not simulated` };
    }
  }
}
