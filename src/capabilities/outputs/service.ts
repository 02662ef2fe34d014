import { randomUUID } from 'node:crypto';
import { GatewayError, invalidBody, requireFound, unavailable } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { type Role, RULE_ROLE } from '../../lib/role.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { LogSeverity } from '../../protocol/device-log.ts';
import type { OutputParameters } from '../../protocol/output.ts';
import type { JsonValue } from '../../protocol/telemetry.ts';
import { type Commands, type Execution, scriptFault } from '../commands/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import { Arbiter, type Output, OutputLimitError } from './arbiter.ts';
import { type AskingRule, type Decision, type OutputCommand, ranked, type Sent } from './model.ts';
import { declaredName, judgedRequest, partOf } from './options.ts';
import type { OutputPlan } from './plan.ts';
import { createOutputStore, type OutputChange, type OutputStore } from './store.ts';

interface OutputsOptions extends Instruments {
  database: Database;
  devices: Devices;
  commands: Commands;
  limits?: Limits['outputs'];
  newId?: () => string;
}

type AppendLog = (ruleId: string, severity: LogSeverity, message: string) => void;

/** A command to an output by another sender, since the last one of the arbiter. */
interface OtherCommand {
  command: OutputCommand;
  origin: Execution['origin'];
  atMs: EpochMs;
}

/**
 * Outputs of the site: what rules ask of devices, decided in one place (docs/interface/lua-rules.md#outputs). What is held
 * is on disk, so that the next run can bring it to its safe command.
 */
export class Outputs {
  readonly #options: OutputsOptions;
  readonly #limits: Limits['outputs'];
  readonly #store: OutputStore;
  readonly #arbiter: Arbiter;
  readonly #others = new Map<string, OtherCommand>();
  readonly #stopListening: (() => void)[];
  #appendLog: AppendLog = () => undefined;

  constructor(given: OutputsOptions) {
    const options = { ...given, log: given.log.child({ component: 'outputs' }) };
    const { clock, commands, database, devices, log, metrics } = options;
    const { outputs: limits } = { outputs: options.limits ?? LIMITS.outputs };
    this.#options = options;
    this.#limits = limits;
    const store = (this.#store = createOutputStore(database));
    this.#arbiter = new Arbiter({
      clock,
      log,
      limits,
      newId: options.newId ?? randomUUID,
      accepts: (deviceId, command) => this.#accepts(deviceId, command),
      send: (deviceId, decision) => this.#send(deviceId, decision),
      keep: (output) => database.transaction(() => store.put(output)),
      forget: ({ id }) => {
        this.#others.delete(id);
        try {
          database.transaction(() => store.remove(id));
        } catch (error) {
          log.warn('an output could not be removed', { error });
        }
      },
      onChange: (output, sent) => this.#changed(output, sent),
    });
    this.#stopListening = [
      devices.events.on('device_deleted', 'outputs', ({ device }) => this.#arbiter.deviceDeleted(device.id)),
      commands.events.on('execution_updated', 'outputs', ({ execution, late }) => {
        if (execution.state === 'SUCCESS' && !late) this.#executed(execution);
      }),
    ];
    metrics.measured(
      'outputs_held',
      'Outputs that rules hold.',
      () => this.all().filter(({ safe }) => safe).length,
    );
  }

  /** Takes over what an earlier run held. Before this, and on a gateway that sends nothing, nothing is decided. */
  start(appendLog: AppendLog): void {
    this.#appendLog = appendLog;
    this.#arbiter.restore(this.#store.stored());
  }

  stop(): void {
    for (const end of this.#stopListening) end();
    this.#arbiter.stop();
  }

  /**
   * A rule asks for a command of an output, or limits it.
   * @throws GatewayError whose message is for the script
   */
  request({ id, slug }: AskingRule, device: Device, given: OutputParameters): JsonValue {
    const request = judgedRequest(this.#options, { id, slug }, device, given);
    try {
      return this.#arbiter.request(request) as unknown as JsonValue;
    } catch (error) {
      if (error instanceof OutputLimitError) throw invalidBody('', error.message);
      throw unavailable('The request could not be stored, so nothing was sent.', { cause: error });
    }
  }

  /** Withdraws what the rule asks of an output. @throws GatewayError whose message is for the script */
  release(rule: AskingRule, device: Device, name: string, part: JsonValue): void {
    this.#arbiter.release(rule, device.id, partOf(part), declaredName(this.#options.devices, device, name));
  }

  /** Judges a request as `request` does and changes nothing. @throws GatewayError whose message is for the script */
  check(device: Device, given: OutputParameters): JsonValue {
    const rule = { id: '', slug: '' };
    const { name, arguments: asked, part, safe } = judgedRequest(this.#options, rule, device, given);
    const command = asked ? { name, arguments: asked } : null;
    return { output: part, command, safe: safe ?? null } as unknown as JsonValue;
  }

  /** The rule shall not run any more. */
  ruleStopped(ruleId: string): void {
    this.#arbiter.ruleStopped(ruleId);
  }

  /** The script of the rule has ended and may start again. */
  ruleEnded(ruleId: string): void {
    this.#arbiter.ruleEnded(ruleId);
  }

  /** By id. */
  all(): readonly Output[] {
    return this.#arbiter.all().toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** @throws GatewayError output_not_found (404) */
  require(id: string): Output {
    return requireFound('output_not_found', 'There is no output of this id.', this.#arbiter.get(id));
  }

  /** What rules are going to do with outputs: of all that ask now, whoever holds. */
  plans(): readonly OutputPlan[] {
    return this.all().flatMap((output) =>
      ranked(output.requests.values()).flatMap(({ rule: { id, slug }, plan: steps }) =>
        steps.length === 0
          ? []
          : [
              {
                rule: { id, slug },
                deviceId: output.deviceId,
                deviceName: this.deviceName(output),
                output: output.part,
                steps,
              },
            ],
      ),
    );
  }

  deviceName({ deviceId }: Output): string {
    return this.#options.devices.get(deviceId)?.name ?? deviceId;
  }

  /** The command that it should have now. */
  decision(output: Output): Decision | undefined {
    return this.#arbiter.decision(output);
  }

  /** The last command of another sender, until the arbiter sends the next one. */
  otherCommand({ id }: Output): OtherCommand | undefined {
    return this.#others.get(id);
  }

  /** Newest first. */
  changes({ id }: Output, limit: number, offset: number): { changes: OutputChange[]; totalCount: number } {
    return { changes: this.#store.changes(id, limit, offset), totalCount: this.#store.countChanges(id) };
  }

  /** Arguments as the role may see them; undefined: it may not see the command. */
  shown(deviceId: string, command: OutputCommand, role: Role): Record<string, unknown> | undefined {
    const device = this.#options.devices.get(deviceId);
    return device && this.#options.commands.shown(device, command, role);
  }

  #accepts(deviceId: string, command: OutputCommand): boolean {
    const device = this.#options.devices.get(deviceId);
    if (!device) return false;
    try {
      const request = { ...command, ephemeral: true, isFromLua: true };
      this.#options.commands.check(device, request, RULE_ROLE);
      return true;
    } catch (error) {
      if (error instanceof GatewayError) return false;
      throw error;
    }
  }

  /** Never rejects. */
  async #send(deviceId: string, { command, rule }: Decision): Promise<string | undefined> {
    const { commands, devices, log } = this.#options;
    const device = devices.get(deviceId);
    if (!device) return 'device not found';
    // Tried every few seconds: it shall leave no trace.
    if (devices.connectivity(deviceId) === 'OFFLINE') return 'device is offline';
    const origin = { kind: 'rule', id: rule.id, name: rule.slug } as const;
    try {
      const { commandTimeoutMs } = this.#limits;
      return scriptFault(
        await commands.executeWithin(commandTimeoutMs, device, command, { role: RULE_ROLE, origin }),
      );
    } catch (error) {
      if (error instanceof GatewayError) return error.message;
      log.error('a command to an output failed', { device_id: deviceId, error });
      return 'the gateway failed to send it';
    }
  }

  #changed(output: Output, sent: Sent): void {
    const { devices } = this.#options;
    this.#others.delete(output.id);
    const { fault, rule, source, limitedBy, atMs } = sent;
    const limiting = limitedBy.map(({ slug }) => slug);
    const origin = { kind: 'rule', id: rule.id, name: rule.slug } as const;
    this.#note(output, { atMs, source, origin, limitedBy: limiting, error: fault ?? null }, sent.command);
    const text = [
      devices.get(output.deviceId)?.slug ?? output.deviceId,
      ...(output.part ? [output.part] : []),
      ...wordsOf(sent.command),
      ...(source === 'SAFE' ? ['(safe)'] : []),
      ...(limiting.length > 0 ? [`(limited by ${limiting.join(', ')})`] : []),
    ].join(' ');
    if (fault === undefined) this.#appendLog(rule.id, 'info', text);
    else this.#appendLog(rule.id, 'error', `${text}: ${fault}`);
  }

  /** A command that came past the arbiter: it holds until the arbiter sends its next one. */
  #executed({ deviceId, request, origin }: Execution): void {
    for (const output of this.all()) {
      if (output.deviceId !== deviceId || !output.commands.has(request.manifestName)) continue;
      const isOwn = origin.kind === 'rule' && output.isSending;
      if (isOwn || !output.safe) continue;
      const command = { name: request.manifestName, arguments: request.arguments };
      const atMs = this.#options.clock.wallMs();
      this.#others.set(output.id, { command, origin, atMs });
      this.#note(output, { atMs, source: 'OTHER', origin, limitedBy: [], error: null }, command);
    }
  }

  #note(output: Output, change: Omit<OutputChange, 'outputId' | 'command'>, command: OutputCommand): void {
    const { database, log } = this.#options;
    const shown = this.shown(output.deviceId, command, 'SYSTEM') ?? {};
    try {
      database.transaction(() => {
        this.#store.put(output);
        this.#store.addChange(
          { ...change, outputId: output.id, command: { name: command.name, arguments: shown } },
          this.#limits.changes,
        );
      });
    } catch (error) {
      log.warn('a change of an output could not be stored', { output_id: output.id, error });
    }
  }
}

function wordsOf({ name, arguments: given }: OutputCommand): string[] {
  return [name, ...Object.entries(given).map(([key, value]) => `${key}=${JSON.stringify(value)}`)];
}
