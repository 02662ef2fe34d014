/**
 * Communication modules as the gateway sees them: what each shall run, the chunks it fetches, what its
 * scripts keep and ask. The conversation is described in docs/communication-module.md.
 */
import { messageOf } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { cutToBytes } from '../../lib/text.ts';
import type { MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import { createKeyValueStore, type Database, type KeyValueStore } from '../../platform/sqlite/index.ts';
import { type Blueprints, offersOfModule } from '../blueprints/index.ts';
import { type Commands, executeWithin } from '../commands/index.ts';
import type { Connectivity, DeviceMessage } from '../connectivity/index.ts';
import type { DeviceConfiguration } from '../device-configuration/index.ts';
import type { Device, Devices, DeviceService } from '../devices/index.ts';
import type { Site } from '../site/index.ts';
import {
  contentChunk,
  decodeFromModule,
  encodeModuleMessage,
  type FromModule,
  MODULE_PROTOCOL,
  MODULE_SUBJECT,
  type ScriptState,
  type ToModule,
} from '../../protocol/module.ts';
import type { BuiltInModule } from './built-in-module.ts';
import { createContents, type Contents } from './contents.ts';
import {
  createModuleRequests,
  type ModuleAnswer,
  type ModuleRequest,
  type ModuleRequests,
} from './requests.ts';
import { ModuleScans, type Scan, type ScanOrder } from './scans.ts';
import { deviceStorage } from './tables.ts';
import { outcomeOf, tableOf } from './values.ts';
import { isBuiltIn, isModule, requireModule } from './which.ts';

interface ScriptStatus {
  state: ScriptState;
  reason: string | undefined;
  /** Configuration groups that the script reads from the device. */
  reads: readonly string[];
}

interface ModulesOptions {
  /** state.db */
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

export class Modules {
  readonly #options: ModulesOptions;
  readonly #log: Log;
  readonly #limits: Limits['module'];
  readonly #contents: Contents;
  readonly #storage: KeyValueStore<Buffer>;
  readonly #statuses = new Map<string, ScriptStatus>();
  readonly #requests: ModuleRequests;
  readonly #scans: ModuleScans;
  #builtIn: Pick<BuiltInModule, 'borrow'> | undefined;
  readonly #unsubscribe: (() => void)[];
  /** Of each module the last that was told. */
  readonly #greetings = new Map<string, { run: string; atMs: MonotonicMs }>();
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
      wake: (module) => (isBuiltIn(module) ? this.#builtIn?.borrow() : undefined),
    });
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
        if (module && channel_id !== undefined) this.#send(module, { type: 'restart', channel_id });
      }),
      devices.events.on('device_deleted', owner, ({ device }) => {
        this.#statuses.delete(device.id);
        this.#greetings.delete(device.id);
        this.#assignmentsChanged(device);
      }),
      devices.events.on('connectivity_changed', owner, ({ device, status }) => {
        if (status !== 'OFFLINE') return;
        for (const carried of this.#carriedBy(device)) {
          this.#statuses.delete(carried.id);
          options.connectivity.noteScript(carried, undefined);
        }
        this.#requests.giveUp(device);
        this.#scans.gone(device);
      }),
      deviceConfiguration.events.on('configuration_changed', owner, ({ device, group }) =>
        this.#sendConfiguration(device, [group]),
      ),
      site.events.on('site_updated', owner, ({ site: changed, previous }) => {
        if (changed.timezone !== previous.timezone)
          for (const module of this.#modules()) this.#assign(module);
      }),
    ];
  }

  stop(): void {
    for (const end of this.#unsubscribe) end();
  }

  /** The module of the gateway itself, which rests while nobody needs it. */
  useBuiltIn(builtIn: Pick<BuiltInModule, 'borrow'>): void {
    this.#builtIn = builtIn;
  }

  /**
   * Looks for units on an address or a line of a module, until the signal is aborted. `runtime`: id or slug of the
   * module, or of the gateway for the one that is built in.
   * @throws GatewayError device_not_found (404), invalid_runtime (422), device_offline (422), scan_active (409)
   */
  scan(runtime: string, order: ScanOrder, signal: AbortSignal): Promise<Scan> {
    return this.#scans.start(requireModule(this.#options.devices, runtime), order, signal);
  }

  /** One message of a module; resolves when what it stores is on disk. */
  handle({ device: module, body }: DeviceMessage): void {
    const decoded = decodeFromModule(body);
    if (decoded.problem !== undefined)
      return this.#log.warnLimited(`message:${module.id}`, 60_000, 'message of a module dropped', {
        device_id: module.id,
        problem: decoded.problem,
      });
    const { message } = decoded;
    switch (message.type) {
      case 'hello':
        return this.#greet(module, message);
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
    }
  }

  #modules(): Device[] {
    return this.#options.devices.all().filter(isModule);
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

  /** What it shall know as it is now; when the disk fails it is told everything once that takes data again. */
  #tell(module: Device, message: ToModule): void {
    const { connectivity, devices } = this.#options;
    const tellAll = (): void => {
      const present = devices.get(module.id);
      if (present) this.#tellAll(present);
    };
    connectivity
      .tell(`module ${module.id}`, tellAll, module, MODULE_SUBJECT, encodeModuleMessage(message))
      .catch((error: unknown) => this.#lost(module, error));
  }

  #lost(module: Device, error: unknown): void {
    this.#log.warn('message to a module was lost', { device_id: module.id, error });
  }

  #tellAll(module: Device): void {
    this.#assign(module);
    for (const device of this.#carriedBy(module)) this.#sendConfiguration(device, []);
  }

  #greet(module: Device, { version, offers, run }: Of<'hello'>): void {
    if (version !== MODULE_PROTOCOL.version)
      return this.#log.warnLimited(`version:${module.id}`, 3_600_000, 'module speaks another version', {
        device_id: module.id,
        version,
        expected: MODULE_PROTOCOL.version,
      });
    this.#tellGreeting(module, run, offers);
    this.#options.devices.setOffers(module.id, offersOfModule(offers));
    this.#scans.greeted(module, run);
    this.#tellAll(module);
  }

  /** Once for each start of a module, and not more often than modules start. */
  #tellGreeting(module: Device, run: string, offers: readonly string[]): void {
    const nowMs = this.#options.clock.monotonicMs();
    const last = this.#greetings.get(module.id);
    if (last && (last.run === run || nowMs - last.atMs < GREETING_INTERVAL_MS)) return;
    this.#greetings.set(module.id, { run, atMs: nowMs });
    const shown = cutToBytes(offers.join(' '), this.#limits.reasonBytes);
    this.#log.info('module said hello', { device_id: module.id, run, offers: shown });
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
        ? [{ device_id: device.id, channel_id: channelId, blueprint_id: device.blueprintId, ...contents }]
        : [];
    });
    const time_zone = this.#options.site.get().timezone;
    const command_timeout_s = this.#options.commands.timeoutMs / 1_000;
    const revision = ++this.#revision;
    this.#tell(module, { type: 'assignments', revision, time_zone, command_timeout_s, devices });
  }

  #sendConfiguration(device: Device, written: string[]): void {
    const module = this.#moduleOf(device);
    const { channelId } = device.communication;
    if (!module || channelId === undefined) return;
    const groups = this.#options.deviceConfiguration.valuesForDevice(device);
    this.#tell(module, { type: 'configuration', channel_id: channelId, groups, written });
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
    const isRunning = state === 'starting' ? undefined : state === 'running';
    this.#options.connectivity.noteScript(device, isRunning);
  }

  /** What a running script says about values before they are stored; one that does not run says nothing. */
  async #judge(device: Device, group: string, values: Record<string, unknown>): Promise<string | undefined> {
    const answer = await this.#ask(device, (channelId) => ({
      type: 'configuration_check',
      channel_id: channelId,
      group,
      values,
    }));
    return answer?.type === 'configuration_verdict' ? answer.refusal : undefined;
  }

  async #read(device: Device, group: string): Promise<Record<string, unknown> | undefined> {
    if (!this.#statuses.get(device.id)?.reads.includes(group)) return undefined;
    const answer = await this.#ask(device, (channelId) => ({
      type: 'configuration_read',
      channel_id: channelId,
      group,
    }));
    return answer?.type === 'configuration_values' ? tableOf(answer.values) : undefined;
  }

  async #ask(
    device: Device,
    request: (channelId: string) => ModuleRequest,
  ): Promise<ModuleAnswer | undefined> {
    const module = this.#moduleOf(device);
    const { channelId } = device.communication;
    const isRunning = this.#statuses.get(device.id)?.state === 'running';
    if (!module || channelId === undefined || !isRunning) return undefined;
    const answer = await this.#requests.send(module, request(channelId));
    if (answer === undefined)
      this.#log.warnLimited(`silent:${device.id}`, 60_000, 'a module did not answer about configuration', {
        device_id: device.id,
      });
    return answer;
  }

  #answerStorage(module: Device, message: Of<'storage_read' | 'storage_write' | 'storage_remove'>): void {
    const { id, key, channel_id: channelId } = message;
    const device = this.#deviceAt(module, channelId);
    if (!device) return this.#fail(module, id, 'The device does not exist.');
    try {
      if (message.type === 'storage_read') {
        const value = this.#storage.read(device.id, key);
        return this.#send(module, { type: 'answer', id, ...(value && { value }) });
      }
      if (message.type === 'storage_remove') this.#storage.remove(device.id, key);
      else {
        const { storageBytes } = this.#limits;
        const sizeBytes = Buffer.byteLength(key) + message.value.length;
        if (this.#storage.bytesBeside(device.id, key) + sizeBytes > storageBytes)
          return this.#fail(module, id, `The storage of a device holds at most ${storageBytes} bytes.`);
        // A script may write the same every second; the card need not know.
        if (!this.#storage.read(device.id, key)?.equals(message.value))
          this.#storage.write(device.id, key, message.value);
      }
      return this.#send(module, { type: 'answer', id });
    } catch (error) {
      this.#log.warnLimited('storage', 60_000, 'storage of a script failed', { device_id: device.id, error });
      return this.#fail(module, id, 'The gateway cannot store anything now.');
    }
  }

  #fail(module: Device, id: string, error: string): void {
    this.#send(module, { type: 'answer', id, error: cutToBytes(error, this.#limits.reasonBytes) });
  }

  async #answerCommand(module: Device, message: Of<'command'>): Promise<void> {
    const { id, channel_id: channelId, name } = message;
    const device = this.#deviceAt(module, channelId);
    const target = this.#targetOf(message);
    if (!device) return this.#fail(module, id, 'The device does not exist.');
    if (!target) return this.#fail(module, id, `There is no device "${message.target}".`);
    // Its commands run one after another: it would wait for itself.
    if (target.id === device.id) return this.#fail(module, id, 'A device cannot command itself.');
    const origin = { kind: 'device', id: device.id, name: device.name } as const;
    try {
      const ended = await executeWithin(
        this.#options,
        target,
        { name, arguments: tableOf(message.arguments) ?? {}, ephemeral: false },
        { caller: { role: 'SYSTEM', origin }, timeoutMs: message.timeout_ms },
      );
      if (!ended) return this.#fail(module, id, 'timeout');
      return this.#send(module, { type: 'answer', id, ...outcomeOf(ended) });
    } catch (error) {
      return this.#fail(module, id, messageOf(error));
    }
  }

  #targetOf({ target, target_channel_id: channelId }: Of<'command'>): Device | undefined {
    const { devices } = this.#options;
    const atAddress = channelId === undefined ? undefined : devices.atAddress(target, channelId);
    // Published scripts always name a channel, also where a person configured an id or a slug.
    return atAddress ?? devices.find(target);
  }
}
