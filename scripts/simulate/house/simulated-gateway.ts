/** What a rule has around it in the simulated house: values, storage, and the gateway's own arbiter of outputs. */
import { Arbiter, type Output, type StoredOutput } from '../../../src/capabilities/outputs/arbiter.ts';
import type { OutputCommand } from '../../../src/capabilities/outputs/model.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { VirtualClock } from '../../../src/scripting/rule-sandbox/dry-run/dry-run.ts';
import type { OutputParameters } from '../../../src/protocol/output.ts';
import type { RuleAnswer, RuleRequest } from '../../../src/protocol/rule-sandbox.ts';
import type { JsonValue } from '../../../src/protocol/telemetry.ts';

export interface House {
  startMs: number;
  stepS: number;
  /** Lets a step pass, and gives the values of `device.attribute` at its end; undefined: the simulation is over. */
  step(): ReadonlyMap<string, JsonValue> | undefined;
  command(device: string, name: string, value: number | undefined): void;
}

/** A command that a device has accepted. */
export interface Sent {
  atMs: number;
  device: string;
  name: string;
  value: number | undefined;
}

/** Its wall clock may be wrong; timers and `trueMs` do not see that. */
export class SimulatedClock extends VirtualClock {
  #offsetMs = 0;
  readonly #stepped = new Set<(jumpMs: number) => void>();

  get trueMs(): number {
    return super.wallMs();
  }

  override wallMs(): number {
    return super.wallMs() + this.#offsetMs;
  }

  override onStepped(listener?: (jumpMs: number) => void): () => void {
    if (listener) this.#stepped.add(listener);
    return () => void (listener && this.#stepped.delete(listener));
  }

  setOffset(offsetMs: number): void {
    const jumpMs = offsetMs - this.#offsetMs;
    this.#offsetMs = offsetMs;
    if (jumpMs !== 0) for (const listener of this.#stepped) listener(jumpMs);
  }
}

const RULE = { id: 'rule', slug: 'rule' };

export class SimulatedGateway {
  /** Commands that devices have accepted; a repeated one is there once. */
  readonly sent: Sent[] = [];
  /** The safe command by device. */
  readonly safe = new Map<string, OutputCommand>();
  /** No new value reaches the gateway. */
  isSilent = false;
  /** Devices that are commanded refuse commands and report no values. */
  isLost = false;
  readonly #clock: SimulatedClock;
  readonly #house: House;
  readonly #stored: Map<string, string>;
  readonly #watches = new Map<number, string>();
  readonly #values = new Map<string, { value: JsonValue; atMs: number }>();
  readonly #commanded = new Set<string>();
  /** The newest command by device. */
  readonly #last = new Map<string, Sent>();
  /** Held outputs, as on disk. */
  readonly #kept = new Map<string, StoredOutput>();
  #arbiter: Arbiter;
  #outputs = 0;

  constructor(clock: SimulatedClock, house: House, stored: Readonly<Record<string, JsonValue>>) {
    this.#clock = clock;
    this.#house = house;
    this.#stored = new Map(Object.entries(stored).map(([key, content]) => [key, JSON.stringify(content)]));
    this.#arbiter = this.#newArbiter();
  }

  /** New values, and what the rule is to learn of them. */
  measured(values: ReadonlyMap<string, JsonValue>) {
    if (this.isSilent) return [];
    const atMs = this.#clock.wallMs();
    for (const [name, value] of values) if (!this.#isMissing(name)) this.#values.set(name, { value, atMs });
    return [...this.#watches].flatMap(([watchId, name]) => {
      const value = values.get(name);
      return value === undefined || this.#isMissing(name) ? [] : [{ watchId, value, timestampMs: atMs }];
    });
  }

  /** The script is gone, and asks for nothing. */
  ruleEnded(): void {
    this.#watches.clear();
    this.#arbiter.ruleEnded(RULE.id);
  }

  /** The gateway was killed, and comes back with what is on disk. */
  restart(): void {
    this.#watches.clear();
    this.#arbiter.stop();
    this.#arbiter = this.#newArbiter();
    this.#arbiter.restore([...this.#kept.values()]);
  }

  stop(): void {
    this.#arbiter.stop();
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
        if (!found || this.#clock.wallMs() - found.atMs > parameters.relevanceMs)
          return { ok: false, error: 'no recent value' };
        return ok({ value: found.value, timestampMs: found.atMs });
      }
      case 'watch':
        if (parameters.kind === 'telemetry')
          this.#watches.set(parameters.watchId, `${parameters.deviceId}.${parameters.name}`);
        return ok(null);
      case 'execute': {
        const fault = this.#execute(parameters.deviceId, parameters.name, parameters.arguments);
        return fault === undefined ? ok({}) : { ok: false, error: fault };
      }
      case 'output_request':
        return ok(this.#request(parameters));
      case 'output_release':
        this.#arbiter.release(
          RULE,
          parameters.deviceId,
          (parameters.output ?? '') as string,
          parameters.name,
        );
        return ok(null);
      case 'storage_read':
        return ok(this.#stored.get(parameters.key) ?? null);
      case 'storage_write':
        this.#stored.set(parameters.key, parameters.value);
        return ok(null);
      default:
        return { ok: false, error: `${method} is not simulated` };
    }
  }

  #isMissing(name: string): boolean {
    return this.isLost && this.#commanded.has(name.slice(0, name.indexOf('.')));
  }

  #newArbiter(): Arbiter {
    return new Arbiter({
      clock: this.#clock,
      log: { warn: () => undefined },
      limits: LIMITS.outputs,
      newId: () => String(++this.#outputs),
      accepts: () => true,
      send: async (deviceId, { command }) => this.#execute(deviceId, command.name, command.arguments),
      keep: (output) => this.#keep(output),
      forget: ({ id }) => void this.#kept.delete(id),
      onChange: (output) => this.#keep(output),
    });
  }

  #keep({ id, deviceId, part, safe, commands, last }: Output): void {
    const ruleIds = last ? [last.rule.id] : [];
    this.#kept.set(id, { id, deviceId, part, safe, commands: [...commands], ruleIds });
  }

  /** Nobody else asks here. */
  #request({ deviceId, name, arguments: given, options }: OutputParameters): JsonValue {
    const {
      priority,
      valid_s: validS,
      output,
      safe,
      max,
      commands,
    } = options as {
      priority: number;
      valid_s: number;
      output?: string;
      safe: { command: string; arguments: OutputCommand['arguments'] };
      max?: Record<string, number>;
      commands: Record<string, string>;
    };
    const safeCommand = { name: safe.command, arguments: safe.arguments };
    this.safe.set(deviceId, safeCommand);
    this.#commanded.add(deviceId);
    return this.#arbiter.request({
      rule: RULE,
      deviceId,
      part: output ?? '',
      name,
      commands: Object.values(commands),
      arguments: given ?? undefined,
      safe: safeCommand,
      min: {},
      max: max ?? {},
      priority,
      validMs: 1_000 * validS,
      repeatMs: 1_000 * LIMITS.outputs.repeatDefaultS,
      plan: [],
    }) as unknown as JsonValue;
  }

  /** Undefined: the device has accepted it. */
  #execute(device: string, name: string, given: OutputCommand['arguments']): string | undefined {
    if (this.isLost) return 'device is offline';
    const value = given['value'] as number | undefined;
    const last = this.#last.get(device);
    if (last?.name !== name || last.value !== value) {
      const sent = { atMs: this.#clock.trueMs, device, name, value };
      this.#last.set(device, sent);
      this.sent.push(sent);
    }
    this.#house.command(device, name, value);
    return undefined;
  }
}
