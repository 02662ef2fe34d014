/** A site in simulated time for the scripts of strategies: values that age, commands that change them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Arbiter, type Output, type StoredOutput } from '../../src/capabilities/outputs/arbiter.ts';
import type { Bounds, OutputCommand } from '../../src/capabilities/outputs/model.ts';
import { type Plan, planOf } from '../../src/capabilities/outputs/plan.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import type { OutputParameters } from '../../src/protocol/output.ts';
import { loadStrategy, type ScriptValues, type Strategy, strategyScript } from '#library';
import type { RuleAnswer } from '../../src/protocol/rule-sandbox.ts';
import type { JsonValue } from '../../src/protocol/telemetry.ts';
import { answers, ok, refused, type RunningRule, startRule } from '../support/rule-run.ts';
import { TestClock } from '../support/test-clock.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

const FOLDER = join(PROJECT_ROOT, 'src/library/strategies');

export const textOf = (path: string): string => readFileSync(join(FOLDER, path), 'utf8');

export const strategy = (id: string): Strategy =>
  loadStrategy(id, { declaration: textOf(`${id}/strategy.yml`), rule: textOf(`${id}/rule.lua`) });

/** Parameters as scripts get them. */
export const value = (device: string, attribute = 'power', factor = 1): ScriptValues => ({
  device,
  attribute,
  factor,
});
export const action = (device: string, command: string): ScriptValues => ({ device, command, arguments: {} });
export const setpoint = (device: string, command: string, argument: string): ScriptValues => ({
  device,
  command,
  argument,
  arguments: {},
});

export interface Commanded {
  /** Seconds since the site began. */
  atS: number;
  device: string;
  name: string;
  arguments: Record<string, JsonValue>;
}

interface Execute {
  deviceId: string;
  name: string;
  arguments: Record<string, JsonValue>;
}

/** The script of a strategy with these parameters over the defaults. */
export function scriptOf(id: string, parameters: Record<string, ScriptValues>): string {
  const declared = strategy(id);
  const defaults = Object.fromEntries(
    Object.entries(declared.parameters).map(([name, parameter]) => [
      name,
      parameter.kind === 'list' ? [] : 'default' in parameter ? parameter.default : undefined,
    ]),
  );
  return strategyScript(declared, { ...defaults, ...parameters }, textOf('shared.lua'));
}

/** What a rule has asked of an output of a device. */
export interface Asked {
  rule: string;
  device: string;
  name: string;
  /** Null: it only limits. */
  arguments: Readonly<Record<string, JsonValue>> | null;
  max: Readonly<Record<string, number>>;
  /** As `changes` writes it. */
  safe: string;
  plan: Plan;
  priority: number;
  atMs: number;
  untilMs: number;
}

const RULE = 'r';

export const textOfCommand = ({
  name,
  arguments: given,
}: Pick<OutputCommand, 'name' | 'arguments'>): string =>
  [name, ...Object.values(given).map(String)].join(' ');

interface Rule {
  id: string;
  slug: string;
}

interface Location {
  latitude: number;
  longitude: number;
}

interface Release {
  deviceId: string;
  name: string;
  output: string | null;
}

interface Running {
  rule: RunningRule | undefined;
  readonly answers: ReturnType<typeof answers>;
  readonly watches: Map<string, Set<number>>;
}

export class SimulatedSite {
  readonly clock: TestClock;
  readonly commands: Commanded[] = [];
  /** By rule and device: its newest request of each output, until it withdraws it. */
  readonly asked = new Map<string, Asked>();
  readonly rejected = new Set<string>();
  /** Called with each command that a device has accepted. */
  onCommand: (command: Commanded) => void = () => undefined;
  readonly #startMs: number;
  readonly #values = new Map<string, { value: JsonValue; atMs: number }>();
  readonly #location: Location | undefined;
  readonly #rules = new Map<string, Running>();
  /** What is held, as on disk. */
  readonly #kept = new Map<string, StoredOutput>();
  #arbiter: Arbiter;
  readonly #logged: string[] = [];
  #outputs = 0;

  constructor(wallMs = Date.UTC(2026, 2, 1, 8), location?: Location) {
    this.clock = new TestClock(wallMs);
    this.#location = location;
    this.#startMs = this.clock.monotonicMs();
    this.#arbiter = this.#newArbiter();
  }

  get nowS(): number {
    return (this.clock.monotonicMs() - this.#startMs) / 1_000;
  }

  /** What the rules have logged. */
  get said(): string[] {
    return [...[...this.#rules.values()].flatMap(({ rule }) => rule?.said() ?? []), ...this.#logged];
  }

  /** Starts a rule, or starts it again with what it has stored. */
  async start(code: string, id = RULE): Promise<void> {
    this.end(id);
    const location = this.#location;
    const running = this.#rules.get(id) ?? this.#newRule(id);
    // Days pass within seconds of real time, in which a script would have used up its share of the processor.
    const limits = { lua: { processorPermille: 1_000 } };
    running.rule = startRule(code, {
      clock: this.clock,
      answers: running.answers,
      rule: { id },
      site: { timeZone: 'UTC', ...(location && { location }) },
      limits,
    });
    await running.rule.idle();
  }

  /** Ends a rule as a kill does: it withdraws nothing. */
  end(id = RULE): void {
    const running = this.#rules.get(id);
    running?.rule?.run.stop();
    running?.watches.clear();
    if (running) running.rule = undefined;
    this.#arbiter.ruleEnded(id);
  }

  /** Ends the gateway as a kill does, and starts it again with what is on disk; rules are yet to be started. */
  restartGateway(): void {
    for (const id of this.#rules.keys()) this.end(id);
    this.#arbiter.stop();
    this.asked.clear();
    this.#arbiter = this.#newArbiter();
    this.#arbiter.restore([...this.#kept.values()]);
  }

  /** A new value of `device.attribute`; the power of a device without a dot. */
  measure(name: string, measured: JsonValue): void {
    const key = name.includes('.') ? name : `${name}.power`;
    const atMs = this.clock.wallMs();
    this.#values.set(key, { value: measured, atMs });
    for (const { rule, watches } of this.#rules.values())
      for (const watchId of watches.get(key) ?? [])
        rule?.run.changed({ watchId, value: measured, timestampMs: atMs });
  }

  /** Lets time pass in steps; `before` measures what there is in each of them. */
  async pass(durationS: number, before: () => void = () => undefined, stepS = 5): Promise<void> {
    const endS = this.nowS + durationS;
    while (this.nowS < endS) {
      before();
      await this.idle();
      await this.clock.advance(stepS * 1_000);
      await this.idle();
    }
  }

  /** Lets everything that is ready run. */
  async idle(): Promise<void> {
    for (const { rule } of this.#rules.values()) await rule?.idle();
  }

  /** Commands as `name` or `name value`, in order, each once until another one of the device follows. */
  changes(device: string): string[] {
    const texts = this.commands.filter((command) => command.device === device).map(textOfCommand);
    return texts.filter((text, index) => text !== texts[index - 1]);
  }

  last(device: string): string | undefined {
    return this.changes(device).at(-1);
  }

  #newArbiter(): Arbiter {
    return new Arbiter({
      clock: this.clock,
      log: { warn: () => undefined },
      limits: LIMITS.outputs,
      newId: () => String(++this.#outputs),
      accepts: () => true,
      send: async (deviceId, { command }) => {
        const answer = this.#execute({ deviceId, ...command } as Execute);
        return answer.ok ? undefined : answer.error;
      },
      keep: (output) => this.#keep(output),
      forget: ({ id }) => void this.#kept.delete(id),
      onChange: (output, { command, fault }) => {
        this.#keep(output);
        this.#logged.push(`${output.deviceId} ${command.name}${fault === undefined ? '' : `: ${fault}`}`);
      },
    });
  }

  #keep({ id, deviceId, part, safe, commands, last }: Output): void {
    const rules = last ? [last.rule, ...last.limitedBy] : [];
    const ruleIds = rules.map((rule) => rule.id);
    this.#kept.set(id, { id, deviceId, part, safe, commands: [...commands], ruleIds });
  }

  #newRule(id: string): Running {
    const watches: Running['watches'] = new Map();
    const rule = { id, slug: id };
    const own = answers({
      find_device: ({ idOrSlug }: { idOrSlug: string }) =>
        ok({ id: idOrSlug, slug: idOrSlug, name: idOrSlug, type: 'LUA' }),
      latest: (asked: { deviceId: string; name: string; relevanceMs: number }) => this.#latest(asked),
      watch: ({ deviceId, watchId, name }: { deviceId: string; watchId: number; name: string }) => {
        const key = `${deviceId}.${name}`;
        watches.set(key, (watches.get(key) ?? new Set()).add(watchId));
        return ok(null);
      },
      execute: (given: Execute) => this.#execute(given),
      output_request: (given: OutputParameters) => this.#request(rule, given),
      output_release: ({ deviceId, name, output }: Release) => {
        this.asked.delete(`${id} ${deviceId}`);
        this.#arbiter.release(rule, deviceId, output ?? '', name);
        return ok(null);
      },
    });
    const running = { rule: undefined, answers: own, watches };
    this.#rules.set(id, running);
    return running;
  }

  #latest({ deviceId, name, relevanceMs }: { deviceId: string; name: string; relevanceMs: number }) {
    const found = this.#values.get(`${deviceId}.${name}`);
    if (!found || this.clock.wallMs() - found.atMs > relevanceMs)
      return refused(`no recent value of "${name}"`);
    return ok({ value: found.value, timestampMs: found.atMs });
  }

  /** As the gateway judges a request, for devices that take any command. */
  #request(rule: Rule, { deviceId, name, arguments: given, options }: OutputParameters): RuleAnswer {
    const { priority, valid_s: validS, output, safe, min, max, commands } = options;
    const { command, arguments: safeArguments } = safe as {
      command: string;
      arguments: OutputCommand['arguments'];
    };
    const nowMs = this.clock.monotonicMs();
    this.asked.set(`${rule.id} ${deviceId}`, {
      rule: rule.id,
      device: deviceId,
      name,
      arguments: given,
      max: (max ?? {}) as Bounds,
      safe: textOfCommand({ name: command, arguments: safeArguments }),
      plan: planOf(options['plan']),
      priority: priority as number,
      atMs: nowMs,
      untilMs: nowMs + 1_000 * (validS as number),
    });
    const answer = this.#arbiter.request({
      rule,
      deviceId,
      part: (output ?? '') as string,
      name,
      commands: Object.values(commands as Record<string, string>),
      arguments: given ?? undefined,
      safe: { name: command, arguments: safeArguments },
      min: (min ?? {}) as Bounds,
      max: (max ?? {}) as Bounds,
      priority: priority as number,
      validMs: 1_000 * (validS as number),
      repeatMs: 1_000 * LIMITS.outputs.repeatDefaultS,
      plan: planOf(options['plan']),
    });
    return ok(answer as unknown as JsonValue);
  }

  #execute({ deviceId: device, name, arguments: given }: Execute): RuleAnswer {
    if (this.rejected.has(device)) return refused('device is offline');
    const command = { atS: this.nowS, device, name, arguments: given };
    this.commands.push(command);
    this.onCommand(command);
    return ok({});
  }
}
