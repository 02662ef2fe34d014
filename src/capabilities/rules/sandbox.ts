/**
 * The gateway's side of the rule sandbox: what should run, what runs, and the answers to what scripts ask.
 * The sandbox is another program; when it ends it is started again and told everything anew.
 */
import type { Log } from '../../platform/log/index.ts';
import type { Processes, Program } from '../../platform/processes/index.ts';
import {
  decodeFromSandbox,
  encodeSandboxMessage,
  type FromSandbox,
  RULE_SANDBOX_PROGRAM,
  type RuleState,
  type SandboxSettings,
  type SandboxSite,
  type ToSandbox,
} from '../../protocol/rule-sandbox.ts';
import type { Devices } from '../devices/index.ts';
import type { Site } from '../site/index.ts';
import type { Telemetry } from '../telemetry/index.ts';
import type { RuleRunner, RunnableRule } from './model.ts';
import { type Ask, declaredName } from './questions.ts';
import type { Rules } from './service.ts';
import { createWatches, type Watches } from './watches.ts';

export interface RuleSandbox extends RuleRunner {
  start(): void;
  stop(): Promise<void>;
}

export interface RuleSandboxOptions {
  processes: Processes;
  /** File of the program. */
  entry: string;
  log: Log;
  /** Of the program's own service log. */
  logSettings: SandboxSettings['log'];
  site: Pick<Site, 'get' | 'events'>;
  devices: Devices;
  telemetry: Telemetry;
  ask: Ask;
  appendLog: Rules['logs']['append'];
  /** The program ended unasked. */
  onEnded: () => void;
}

interface Wanted {
  rule: RunnableRule;
  generation: number;
  state: RuleState;
}

export function createRuleSandbox(options: RuleSandboxOptions): RuleSandbox {
  return new Sandbox(options);
}

class Sandbox implements RuleSandbox {
  readonly #options: RuleSandboxOptions;
  readonly #log: Log;
  readonly #wanted = new Map<string, Wanted>();
  readonly #watches: Watches;
  readonly #program: Program;
  readonly #stopListening: () => void;
  #generation = 0;
  #isFlushing = false;

  constructor(options: RuleSandboxOptions) {
    this.#options = options;
    this.#log = options.log.child({ component: 'rules' });
    this.#watches = createWatches({ ...options, send: (message) => this.#sendChanged(message) });
    this.#program = options.processes.program({
      name: 'rule-sandbox',
      entry: options.entry,
      ...RULE_SANDBOX_PROGRAM,
      settings: (): SandboxSettings => ({ site: this.#site(), log: options.logSettings }),
      onRunning: () => {
        for (const wanted of this.#wanted.values()) this.#tellStart(wanted);
      },
      onPayload: (payload) => this.#receive(payload),
      onEnded: () => this.#ended(),
    });
    this.#stopListening = options.site.events.on('site_updated', 'rules', () =>
      this.#send({ type: 'site', site: this.#site() }),
    );
  }

  start(): void {
    this.#program.start();
  }

  async stop(): Promise<void> {
    this.#stopListening();
    this.#watches.stop();
    this.#wanted.clear();
    await this.#program.stop();
  }

  run(rule: RunnableRule): void {
    const wanted: Wanted = { rule, generation: ++this.#generation, state: 'STOPPED' };
    this.#wanted.set(rule.id, wanted);
    this.#tellStart(wanted);
  }

  end(ruleId: string): void {
    if (this.#wanted.delete(ruleId)) this.#send({ type: 'stop', ruleId });
  }

  rename({ id, slug }: RunnableRule): void {
    const wanted = this.#wanted.get(id);
    if (!wanted) return;
    wanted.rule = { ...wanted.rule, slug };
    this.#send({ type: 'rename', ruleId: id, slug });
  }

  isStarted(ruleId: string): boolean {
    return this.#wanted.get(ruleId)?.state === 'STARTED';
  }

  #site(): SandboxSite {
    const { timezone, location } = this.#options.site.get();
    const { latitude, longitude } = location ?? {};
    return {
      timeZone: timezone,
      ...(latitude !== undefined && longitude !== undefined && { location: { latitude, longitude } }),
    };
  }

  #send(message: ToSandbox): boolean {
    return this.#program.state === 'running' && this.#program.send(encodeSandboxMessage(message));
  }

  #tellStart({ rule, generation }: Wanted): void {
    const { id, slug, script } = rule;
    this.#send({
      type: 'start',
      generation,
      rule: {
        id,
        slug,
        runtimeVersion: script.runtimeVersion,
        code: script.code,
        execIntervalMs: script.execIntervalMs ?? 0,
      },
    });
  }

  /** What does not fit is kept back by the watches and sent once there is room. */
  #sendChanged(message: ToSandbox): boolean {
    if (this.#send(message)) return true;
    if (!this.#isFlushing && this.#program.state === 'running') {
      this.#isFlushing = true;
      void this.#program.drained().then(() => {
        this.#isFlushing = false;
        this.#watches.flush();
      });
    }
    return false;
  }

  #ended(): void {
    this.#options.onEnded();
    this.#watches.clear();
    for (const wanted of this.#wanted.values()) {
      if (wanted.state === 'STARTED')
        this.#options.appendLog(wanted.rule.id, 'error', 'the rule engine ended and is started again');
      wanted.state = 'STOPPED';
    }
  }

  #receive(payload: unknown): void {
    const message = decodeFromSandbox(payload as string);
    switch (message.type) {
      case 'state': {
        const wanted = this.#current(message);
        if (wanted) wanted.state = message.state;
        return;
      }
      case 'log':
        // What a script said on its way out still counts, unless the rule is gone.
        if (this.#wanted.has(message.ruleId))
          for (const { severity, message: text } of message.entries)
            this.#options.appendLog(message.ruleId, severity, text);
        return;
      case 'request':
        return void this.#answer(message);
      case 'run_ended':
        return this.#watches.endRun(message.run);
      case 'status':
        return undefined;
    }
  }

  #current({ ruleId, generation }: { ruleId: string; generation: number }): Wanted | undefined {
    const wanted = this.#wanted.get(ruleId);
    return wanted?.generation === generation ? wanted : undefined;
  }

  async #answer(request: FromSandbox & { type: 'request' }): Promise<void> {
    const { id, ruleId } = request;
    const wanted = this.#wanted.get(ruleId);
    if (!wanted) return;
    try {
      const { rule } = wanted;
      const isWatch = request.method === 'watch' || request.method === 'unwatch';
      const answer = isWatch ? this.#watch(request) : await this.#options.ask(rule, request);
      this.#send({ type: 'answer', id, ...answer });
    } catch (error) {
      this.#log.error('question of a rule failed', { rule_id: ruleId, method: request.method, error });
      this.#send({ type: 'answer', id, ok: false, error: 'the gateway failed to answer' });
    }
  }

  #watch(
    request: FromSandbox & { type: 'request' },
  ): { ok: true; result: null } | { ok: false; error: string } {
    const { run } = request;
    if (request.method === 'unwatch') {
      this.#watches.remove({ run, watchId: request.parameters.watchId });
      return { ok: true, result: null };
    }
    if (request.method !== 'watch') return { ok: false, error: 'unknown question' };
    const { deviceId, watchId } = request.parameters;
    const device = this.#options.devices.get(deviceId);
    if (!device) return { ok: false, error: 'device not found' };
    if (request.parameters.kind === 'connectivity') {
      this.#watches.addConnectivity({ run, watchId }, deviceId);
      return { ok: true, result: null };
    }
    const { name } = request.parameters;
    const attribute = declaredName(this.#options.devices.manifest(device).telemetry, name);
    if (attribute === undefined) return { ok: false, error: `unknown telemetry attribute "${name}"` };
    this.#watches.addTelemetry({ run, watchId }, deviceId, attribute);
    return { ok: true, result: null };
  }
}
