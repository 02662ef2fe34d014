import { hash } from 'node:crypto';
import { unprocessable } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { mapped } from '../../lib/members.ts';
import { cutToBytes } from '../../lib/text.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import { createKeyValueStore, type Database, type KeyValueStore } from '../../platform/sqlite/index.ts';
import {
  type BlueprintFacts,
  contentChunk,
  decodeFromModule,
  encodeFacts,
  encodeModuleMessage,
  type FromModule,
  MODULE_PROTOCOL,
  MODULE_SUBJECT,
  type ScriptState,
  type ToModule,
} from '../../protocol/module.ts';
import { type Blueprints, type CompiledManifest, offersOfModule } from '../blueprints/index.ts';
import type { Commands } from '../commands/index.ts';
import type { Connectivity, DeviceMessage } from '../connectivity/index.ts';
import type { DeviceConfiguration } from '../device-configuration/index.ts';
import { type Device, type Devices, type DeviceService, isModule } from '../devices/index.ts';
import type { Site } from '../site/index.ts';
import type { BuiltInModule } from './built-in-module.ts';
import { ModuleRuns, ModuleScans, type Scan, type ScanOrder } from './scans.ts';
import {
  answerStorage,
  createModuleRequests,
  type DeviceRequest,
  executePeerCommand,
  type ModuleAnswer,
  type ModuleRequests,
  type StorageRequest,
  tableOf,
} from './script-requests.ts';
import { deviceStorage } from './tables.ts';
import { DeviceTraces } from './traces.ts';

interface ScriptStatus {
  state: ScriptState;
  reason: string | undefined;
  /** Configuration groups whose values the script reads from the device. */
  reads: readonly string[];
}

interface ModulesOptions {
  database: Database;
  clock: Clock;
  log: Log;
  limits?: Limits;
  site: Pick<Site, 'get' | 'events'>;
  blueprints: Blueprints;
  devices: Devices & Pick<DeviceService, 'setOffers'>;
  connectivity: Connectivity;
  deviceConfiguration: DeviceConfiguration;
  commands: Commands;
}

const GREETING_INTERVAL_MS = 10_000;

type Of<Type extends FromModule['type']> = FromModule & { type: Type };

/**
 * The gateway's side of communication modules: assignments of scripts, the chunks that modules fetch, storage and requests
 * of scripts. The conversation is described in docs/communication-module.md.
 */
export class Modules {
  /** The built-in module, which rests while it is not needed; set once it exists. */
  builtIn: Pick<BuiltInModule, 'borrow'> | undefined;
  readonly #options: ModulesOptions;
  readonly #log: Log;
  readonly #limits: Limits['module'];
  readonly #contents: Contents;
  readonly #storage: KeyValueStore<Buffer>;
  readonly #statuses = new Map<string, ScriptStatus>();
  readonly #requests: ModuleRequests;
  readonly #scans: ModuleScans;
  /** Exchanges with devices, recorded while a person looks for a fault. */
  readonly traces: DeviceTraces;
  readonly #unsubscribe: (() => void)[];
  readonly #runs: ModuleRuns;
  /** Repeats the assignments, which carry the time. */
  readonly #again: Timer;
  #revision = 0;

  constructor(options: ModulesOptions) {
    this.#options = options;
    this.#log = options.log.child({ component: 'modules' });
    this.#limits = (options.limits ?? LIMITS).module;
    this.#contents = createContents(options.blueprints);
    this.#storage = createKeyValueStore(options.database.orm, deviceStorage);
    this.#requests = createModuleRequests({
      clock: options.clock,
      withinMs: this.#limits.configurationMs,
      send: (module, message) => this.#send(module, message),
    });
    this.#scans = new ModuleScans({
      clock: options.clock,
      ...(options.limits && { limits: options.limits }),
      send: (module, message) => this.#send(module, message),
      wake: (module) => (isBuiltIn(module) ? this.builtIn?.borrow() : undefined),
    });
    this.traces = this.#createTraces(options);
    this.#runs = new ModuleRuns({
      ...options,
      silentMsMax: this.#limits.silentRunMs,
      helloLogIntervalMs: GREETING_INTERVAL_MS,
    });
    this.#again = options.clock.setRepeating(this.#limits.assignAgainMs, () => this.#assignAll());
    options.connectivity.handle('module', (message) => this.handle(message));
    options.deviceConfiguration.side = {
      judge: (device, group, values) => this.#judge(device, group, values),
      read: (device, group) => this.#read(device, group),
    };
    const { devices, deviceConfiguration, site } = options;
    const owner = 'modules';
    this.#unsubscribe = [
      devices.events.on('device_created', owner, ({ device }) => this.#assignmentsChanged(device)),
      devices.events.on('blueprint_assigned', owner, ({ device }) => this.#assignmentsChanged(device)),
      devices.events.on('blueprint_assigned_again', owner, ({ device }) => {
        const module = this.#moduleOf(device);
        const { channelId: channel_id } = device.communication;
        const { assignmentCount: assignment_count = 0 } = device;
        // A module that misses this sees the changed number in the assignments after its hello.
        if (module && channel_id !== undefined)
          this.#send(module, { type: 'restart', channel_id, assignment_count });
      }),
      devices.events.on('device_deleted', owner, ({ device }) => {
        this.#statuses.delete(device.id);
        this.#runs.forget(device);
        this.traces.forget(device);
        this.#assignmentsChanged(device);
      }),
      devices.events.on('connectivity_changed', owner, ({ device, status }) => {
        if (status !== 'OFFLINE') return;
        for (const carried of this.#carriedBy(device)) {
          this.#statuses.delete(carried.id);
          options.connectivity.noteScript(carried, undefined);
        }
        this.#requests.giveUp(device);
        this.#scans.moduleOffline(device);
      }),
      options.connectivity.events.on('module_session_closed', owner, ({ module }) =>
        this.#runs.sessionClosed(module, this.#carriedBy(module)),
      ),
      deviceConfiguration.events.on('configuration_changed', owner, ({ device, group }) =>
        this.#sendConfiguration(device, [group]),
      ),
      site.events.on('site_updated', owner, ({ site: changed, previous }) => {
        if (changed.timezone !== previous.timezone) this.#assignAll();
      }),
      options.clock.onStepped(() => this.#assignAll()),
    ];
  }

  #createTraces({ clock, limits, deviceConfiguration }: ModulesOptions): DeviceTraces {
    return new DeviceTraces({
      clock,
      ...(limits && { limits }),
      moduleOf: (device) => this.#moduleOf(device),
      send: (module, message) => this.#send(module, message),
      secretsOf: (device) => deviceConfiguration.secretsOf(device),
    });
  }

  stop(): void {
    this.#again.cancel();
    this.traces.stopAll();
    for (const end of this.#unsubscribe) end();
  }

  /**
   * Scans an address or a serial line of a module for units, until the signal is aborted. `runtime`: id or slug of the
   * module, or of the gateway for the one that is built in.
   * @throws GatewayError device_not_found (404), invalid_runtime (422), device_offline (422), scan_active (409)
   */
  scan(runtime: string, order: ScanOrder, signal: AbortSignal): Promise<Scan> {
    return this.#scans.start(requireModule(this.#options.devices, runtime), order, signal);
  }

  /** Handles one message of a module. */
  handle({ device: module, body, session }: DeviceMessage): void {
    const decoded = decodeFromModule(body);
    if (decoded.problem !== undefined)
      return this.#log.warnLimited(`message:${module.id}`, 60_000, 'message of a module dropped', {
        device_id: module.id,
        problem: decoded.problem,
      });
    const { message } = decoded;
    if (message.type === 'hello') return this.#greet(module, message, session);
    if (!this.#runs.maySpeak(module, session)) return;
    switch (message.type) {
      case 'get':
        return this.#sendPiece(module, message);
      case 'status':
        return this.#noteStatus(module, message);
      case 'storage_read':
      case 'storage_write':
      case 'storage_remove':
        return this.#answerStorage(module, message);
      case 'command':
        return void this.#answerCommand(module, message);
      case 'configuration_verdict':
      case 'configuration_values':
        return void this.#requests.settle(module, message);
      case 'scan_unit':
      case 'scan_end':
        return this.#scans.receive(module, message);
      case 'trace_entries':
        return this.#noteTraced(module, message);
    }
  }

  #assignAll(): void {
    for (const module of this.#options.devices.all().filter(isModule)) this.#assign(module);
  }

  #carriedBy(module: Device): Device[] {
    return this.#options.devices.all().filter(({ communication }) => communication.upstreamId === module.id);
  }

  #moduleOf(device: Device): Device | undefined {
    const { upstreamId } = device.communication;
    return upstreamId === undefined ? undefined : this.#options.devices.get(upstreamId);
  }

  #send(module: Device, message: ToModule): void {
    this.#options.connectivity
      .send(module, MODULE_SUBJECT, encodeModuleMessage(message))
      .catch((error: unknown) => this.#lost(module, error));
  }

  /** Sends a change of state; when the disk fails, the module gets the whole state once it works again. */
  #sendOrDefer(module: Device, message: ToModule): void {
    const { connectivity, devices } = this.#options;
    const sendAll = (): void => {
      const present = devices.get(module.id);
      if (present) this.#sendAll(present);
    };
    connectivity
      .sendOrDefer(`module ${module.id}`, sendAll, module, MODULE_SUBJECT, encodeModuleMessage(message))
      .catch((error: unknown) => this.#lost(module, error));
  }

  #lost(module: Device, error: unknown): void {
    this.#log.warn('message to a module was lost', { device_id: module.id, error });
  }

  #sendAll(module: Device): void {
    this.#assign(module);
    for (const device of this.#carriedBy(module)) this.#sendConfiguration(device, []);
  }

  #greet(module: Device, { version, offers, run }: Of<'hello'>, session: DeviceMessage['session']): void {
    if (version !== MODULE_PROTOCOL.version)
      return this.#log.warnLimited(`version:${module.id}`, 3_600_000, 'module speaks another version', {
        device_id: module.id,
        version,
        expected: MODULE_PROTOCOL.version,
      });
    const refusal = this.#runs.greet(module, run, session);
    if (refusal !== undefined && session) return void this.#refuse(module, run, refusal, session);
    if (this.#runs.shouldLogHello(module, run)) {
      const shown = cutToBytes(offers.join(' '), this.#limits.reasonBytes);
      this.#log.info('module said hello', { device_id: module.id, run, offers: shown });
    }
    this.#options.devices.setOffers(module.id, offersOfModule(offers));
    this.#scans.greeted(module, run);
    this.#sendAll(module);
    this.traces.resume(this.#carriedBy(module));
  }

  /** Refuses a run, and ends its session so that no command reaches it. */
  async #refuse(
    module: Device,
    run: string,
    reason: string,
    session: NonNullable<DeviceMessage['session']>,
  ): Promise<void> {
    const { connectivity } = this.#options;
    try {
      await connectivity.send(module, MODULE_SUBJECT, encodeModuleMessage({ type: 'refused', run, reason }));
    } catch (error) {
      this.#lost(module, error);
    }
    connectivity.turnAway(module, session, reason);
  }

  #assignmentsChanged(device: Device): void {
    const module = this.#moduleOf(device);
    if (!module) return;
    this.#assign(module);
    if (this.#options.devices.get(device.id)) this.#sendConfiguration(device, []);
  }

  #assign(module: Device): void {
    const carried = this.#carriedBy(module);
    this.#contents.keepOnly(new Set(this.#options.devices.all().map(({ blueprintId }) => blueprintId)));
    const devices = carried.flatMap((device) => {
      const contents = this.#contents.ofBlueprint(device.blueprintId);
      const { channelId } = device.communication;
      return contents && channelId !== undefined
        ? [
            {
              device_id: device.id,
              channel_id: channelId,
              blueprint_id: device.blueprintId,
              assignment_count: device.assignmentCount ?? 0,
              ...contents,
            },
          ]
        : [];
    });
    const { clock, commands, site } = this.#options;
    const run = this.#runs.of(module);
    this.#sendOrDefer(module, {
      type: 'assignments',
      revision: ++this.#revision,
      time_zone: site.get().timezone,
      command_timeout_s: commands.timeoutMs / 1_000,
      devices,
      ...(run !== undefined && { run }),
      ...(clock.isSet() && { now_ms: clock.wallMs() }),
    });
  }

  #sendConfiguration(device: Device, written: string[]): void {
    const module = this.#moduleOf(device);
    const { channelId } = device.communication;
    if (!module || channelId === undefined) return;
    const groups = this.#options.deviceConfiguration.valuesForDevice(device);
    this.#sendOrDefer(module, { type: 'configuration', channel_id: channelId, groups, written });
  }

  #sendPiece(module: Device, { hash, offset }: Of<'get'>): void {
    const whole = this.#contents.get(hash);
    const chunk = whole && contentChunk(hash, whole, offset);
    if (chunk) this.#send(module, chunk);
  }

  #deviceAt(module: Device, channelId: string): Device | undefined {
    const { hardwareId } = module.communication;
    const device =
      hardwareId === undefined ? undefined : this.#options.devices.atAddress(hardwareId, channelId);
    return device?.communication.upstreamId === module.id ? device : undefined;
  }

  #noteStatus(module: Device, { channel_id: channelId, state, reason, reads = [] }: Of<'status'>): void {
    const device = this.#deviceAt(module, channelId);
    if (!device) return;
    this.#statuses.set(device.id, { state, reason, reads });
    this.#options.connectivity.noteScript(device, state === 'starting' ? undefined : state === 'running');
  }

  #noteTraced(module: Device, message: Of<'trace_entries'>): void {
    const device = this.#deviceAt(module, message.channel_id);
    if (device) this.traces.receive(device, message);
  }

  /** Why a running script refuses values before they are stored; undefined: it accepts them, or does not run. */
  async #judge(device: Device, group: string, values: Record<string, unknown>): Promise<string | undefined> {
    const answer = await this.#ask(device, { type: 'configuration_check', group, values });
    return answer?.type === 'configuration_verdict' ? answer.refusal : undefined;
  }

  async #read(device: Device, group: string): Promise<Record<string, unknown> | undefined> {
    if (!this.#statuses.get(device.id)?.reads.includes(group)) return undefined;
    const answer = await this.#ask(device, { type: 'configuration_read', group });
    return answer?.type === 'configuration_values' ? tableOf(answer.values) : undefined;
  }

  async #ask(device: Device, request: DeviceRequest): Promise<ModuleAnswer | undefined> {
    const module = this.#moduleOf(device);
    const { channelId: channel_id } = device.communication;
    const isRunning = this.#statuses.get(device.id)?.state === 'running';
    if (!module || channel_id === undefined || !isRunning) return undefined;
    const answer = await this.#requests.send(module, { ...request, channel_id });
    if (answer === undefined)
      this.#log.warnLimited(`silent:${device.id}`, 60_000, 'a module did not answer about configuration', {
        device_id: device.id,
      });
    return answer;
  }

  #answerStorage(module: Device, message: StorageRequest): void {
    const { id, channel_id: channelId } = message;
    const device = this.#deviceAt(module, channelId);
    if (!device) return this.#fail(module, id, 'The device does not exist.');
    const parts = { store: this.#storage, log: this.#log, limits: this.#limits };
    return this.#send(module, { type: 'answer', id, ...answerStorage(parts, device.id, message) });
  }

  #fail(module: Device, id: string, error: string): void {
    this.#send(module, { type: 'answer', id, error: cutToBytes(error, this.#limits.reasonBytes) });
  }

  async #answerCommand(module: Device, message: Of<'command'>): Promise<void> {
    const device = this.#deviceAt(module, message.channel_id);
    if (!device) return this.#fail(module, message.id, 'The device does not exist.');
    const { error, ...outcome } = await executePeerCommand(this.#options, device, message);
    if (error !== undefined) return this.#fail(module, message.id, error);
    return this.#send(module, { type: 'answer', id: message.id, ...outcome });
  }
}

// Contents that modules fetch in chunks: scripts and facts of blueprints, by their SHA-256.

type Contents = ReturnType<typeof createContents>;

function createContents(blueprints: Blueprints) {
  const known = new Map<string, ReturnType<typeof load>>();

  function load(blueprintId: string, script: Uint8Array) {
    const facts = encodeFacts(factsOf(blueprints.manifest(blueprintId)));
    return { script: contentOf(script), facts: contentOf(facts) };
  }

  return {
    /** Script and facts of a blueprint; undefined when it has no script. */
    ofBlueprint: (blueprintId: string) => {
      const script = known.has(blueprintId) ? undefined : blueprints.script(blueprintId);
      if (script) known.set(blueprintId, load(blueprintId, script));
      const loaded = known.get(blueprintId);
      return loaded && { script: loaded.script.summary, facts: loaded.facts.summary };
    },
    /** The bytes of a content by its hash. */
    get: (wanted: string) => {
      const contents = [...known.values()].flatMap(({ script, facts }) => [script, facts]);
      return contents.find(({ summary }) => summary.hash === wanted)?.bytes;
    },
    /** Forgets all but the blueprints in use. */
    keepOnly: (blueprintIds: ReadonlySet<string>) => {
      for (const blueprintId of known.keys()) if (!blueprintIds.has(blueprintId)) known.delete(blueprintId);
    },
  };
}

function contentOf(bytes: Uint8Array) {
  return { bytes, summary: { hash: hash('sha256', bytes), size: bytes.length } };
}

function factsOf(manifest: CompiledManifest): BlueprintFacts {
  const types = (declared: Record<string, { type: string }>): Record<string, string> =>
    mapped(declared, ({ type }) => type);
  return {
    api: manifest.blueprint_spec === 'device_compiled/3.0' ? 'v3' : 'v1',
    telemetry: types(manifest.telemetry),
    properties: types(manifest.properties),
    configuration: mapped(manifest.configuration, ({ parameters }) =>
      Object.keys(parameters).filter((name) => parameters[name]?.required === true),
    ),
  };
}

// Which devices are modules.

function isBuiltIn(device: Device): boolean {
  return isModule(device) && device.communication.type === 'MQTT_V1_LOCALHOST';
}

/**
 * @param runtime id or slug of a module, or of the gateway for the one that is built in
 * @throws GatewayError device_not_found (404), invalid_runtime (422)
 */
function requireModule(devices: Pick<Devices, 'all' | 'require'>, runtime: string): Device {
  const asked = devices.require(runtime);
  const module = asked.type === 'GATEWAY' ? devices.all().find(isBuiltIn) : asked;
  if (module && isModule(module)) return module;
  throw unprocessable(
    'invalid_runtime',
    `"${asked.name}" talks to no field devices: a communication module does, or the gateway.`,
  );
}
