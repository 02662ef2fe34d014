import { randomUUID } from 'node:crypto';
import type { Emitter } from '../../lib/emitter.ts';
import {
  errorOfProblems,
  gatewayError,
  inRehearsal,
  insufficientRole,
  notFound,
  unavailable,
  unprocessable,
} from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { type Role, roleIncludes, roleNeededFor, ROLES } from '../../lib/role.ts';
import type { DurationMs } from '../../lib/time.ts';
import { within } from '../../platform/clock/index.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import type { RetentionLoop, ScarceRoom } from '../../platform/retention/index.ts';
import type { Database, GroupCommit } from '../../platform/sqlite/index.ts';
import { checkArguments, type CompiledCommand, maskSensitive } from '../blueprints/index.ts';
import type { Connectivity } from '../connectivity/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import { type CommandEvents, InFlight, type Live } from './in-flight.ts';
import {
  type Caller,
  type CommandResponse,
  type Execution,
  type ExecutionFilter,
  findCommand,
  guardedCommands,
  isFinished,
  readAccessLevel,
} from './model.ts';
import { ResponseHandler } from './mqtt.ts';
import { ResponseBuffer } from './response-buffer.ts';
import { type CommandStore, createCommandStore, createRetention } from './store.ts';

export interface CommandRequest {
  /** Name of a command or one of its aliases. */
  name: string;
  arguments: Record<string, unknown>;
  ephemeral: boolean;
  /** A script asks: its empty tables are read as the declared list or object. */
  isFromLua?: boolean;
  /** False when the command must not be sent any more. Called after the execution was stored. */
  isWanted?: () => boolean;
}

/** An execution that was sent. */
export interface Running {
  readonly id: string;
  /** Resolves when the end is on disk, or when the gateway stops while the disk fails. Never rejects. */
  readonly ended: Promise<Execution>;
  /** The present state. */
  current(): Execution;
}

export interface ListQuery extends Omit<ExecutionFilter, 'hidden' | 'hiddenRoles'> {
  descending: boolean;
  limit: number;
  offset: number;
}

interface CommandsOptions extends Instruments {
  database: Database;
  /** Group commit of state.db. */
  commits: GroupCommit;
  limits?: Limits;
  /** Room for state; while it is scarce, fewer executions are kept. */
  room?: ScarceRoom | undefined;
  devices: Devices;
  connectivity: Pick<Connectivity, 'handle' | 'observe' | 'canReceiveCommands' | 'sendCommandRequest'>;
  /** Silence after which an execution ends as TIMEOUT; default `limits.commands.timeoutMs`. */
  timeoutMs?: DurationMs;
  newId?: () => string;
  /** A restored copy that sends nothing refuses every command. Default: it is none. */
  isRehearsal?: boolean;
  onRequested?: CommandListener;
}

/** Called for every request, with its execution or the error that its caller gets. */
export type CommandListener = (
  requested: { device: Device; name: string; origin: Caller['origin'] },
  outcome: { executionId?: string; error?: unknown },
) => void;

/**
 * Commands to devices: check, record, send, follow until the end. Source: docs/interface/http.md#commands,
 * docs/interface/mqtt-devices.md#commands.
 *
 * An execution is on disk as NEW before its request is published, and a request is published once: one that
 * was lost ends as TIMEOUT, because sending it again could do harm.
 */
export class Commands {
  readonly events: Emitter<CommandEvents>;
  /** Silence after which an execution ends as TIMEOUT. */
  readonly timeoutMs: DurationMs;
  readonly #options: CommandsOptions;
  readonly #limits: Limits['commands'];
  readonly #store: CommandStore;
  readonly #buffer: ResponseBuffer;
  readonly #inFlight: InFlight;
  readonly #retention: RetentionLoop;
  readonly #stopListening: () => void;

  constructor(given: CommandsOptions) {
    const options = { ...given, log: given.log.child({ component: 'commands' }) };
    const { database, devices, connectivity } = options;
    const { commands: limits, commits } = options.limits ?? LIMITS;
    this.#options = options;
    this.#limits = limits;
    this.timeoutMs = options.timeoutMs ?? limits.timeoutMs;
    const store = (this.#store = createCommandStore(database));
    const { bufferedResponseBytes: bufferedBytes } = limits;
    const expediteMs = commits.quickWindowMs;
    const buffer = (this.#buffer = new ResponseBuffer({ ...options, store, bufferedBytes, expediteMs }));
    const inFlightOptions = { ...options, buffer, limits, timeoutMs: this.timeoutMs };
    const inFlight = (this.#inFlight = new InFlight(inFlightOptions));
    const responses = new ResponseHandler({ ...options, inFlight, buffer, store, limits });
    this.events = inFlight.events;
    this.#retention = createRetention({ ...options, store, limits });
    connectivity.handle('command_responses', (message) => responses.handle(message));
    connectivity.observe('logs', (device) => inFlight.loggedBy(device.id));
    this.#stopListening = devices.events.on('device_deleted', 'commands', ({ device }) =>
      inFlight.end(inFlight.ofDevice(device.id), 'device_deleted'),
    );
  }

  /**
   * Sends a command. Resolves when the request was written to the device.
   * @throws GatewayError command_not_found, insufficient_role, invalid_command_arguments,
   *   payload_too_large, device_offline and in_rehearsal (nothing is recorded), too_many_requests, unavailable
   */
  async execute(device: Device, request: CommandRequest, caller: Caller): Promise<Running> {
    const { onRequested } = this.#options;
    const requested = { device, name: request.name, origin: caller.origin };
    try {
      const running = await this.#execute(device, request, caller);
      onRequested?.(requested, { executionId: running.id });
      return running;
    } catch (error) {
      onRequested?.(requested, { error });
      throw error;
    }
  }

  /**
   * Executes for a script, and waits for the end; undefined when it does not come in time. A command that the disk delays
   * for much longer than the script waits is not sent. @throws as `execute`
   */
  executeWithin(
    timeoutMs: DurationMs,
    device: Device,
    request: Omit<CommandRequest, 'ephemeral' | 'isFromLua' | 'isWanted'> & { ephemeral?: boolean },
    caller: Caller,
  ): Promise<Execution | undefined> {
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + Math.max(timeoutMs, this.#limits.sentWithinMs);
    const isWanted = (): boolean => clock.monotonicMs() < untilMs;
    const running = this.execute(device, { ephemeral: false, ...request, isFromLua: true, isWanted }, caller);
    return within(
      clock,
      timeoutMs,
      running.then(({ ended }) => ended),
    );
  }

  /**
   * Checks a request as `execute` does, but not the state of the device; sends and stores nothing. Answers the declared
   * name and the arguments with their defaults.
   * @throws GatewayError command_not_found, insufficient_role, invalid_command_arguments, payload_too_large
   */
  check(device: Device, request: CommandRequest, role: Role): Pick<CommandRequest, 'name' | 'arguments'> {
    const { manifestName, checked } = this.#judged(device, request, role);
    return { name: manifestName, arguments: checked };
  }

  /**
   * Arguments of a command as the role may see them: sensitive values masked; undefined: not at all. What is sensitive of a
   * command that the present blueprint does not have is not known.
   */
  shown(device: Device, request: Pick<CommandRequest, 'name' | 'arguments'>, role: Role) {
    const found = findCommand(this.#options.devices.manifest(device), request.name);
    if (!found) return roleIncludes(role, 'INSTALLER') ? {} : undefined;
    if (!mayAccess(role, readAccessLevel(found.command))) return undefined;
    return maskSensitive(found.command, request.arguments);
  }

  /** @throws GatewayError execution_not_found, insufficient_role (the command's `read_access_level`) */
  get(device: Device, executionId: string, role: Role): Execution {
    const execution = this.#store.get(executionId);
    if (!execution || execution.deviceId !== device.id)
      throw notFound('execution_not_found', 'The device has no execution of this id.');
    for (const level of readLevels(this.#options.devices, device, execution)) requireAccess(level, role);
    return execution;
  }

  /** All responses, newest first. */
  log(executionId: string): CommandResponse[] {
    return this.#store.log(executionId);
  }

  /** One execution of a page; undefined when it was deleted meanwhile. */
  find(executionId: string): Execution | undefined {
    return this.#store.get(executionId);
  }

  /** True when the role may see the execution. */
  maySee(device: Device, execution: Execution, role: Role): boolean {
    return readLevels(this.#options.devices, device, execution).every((level) => mayAccess(role, level));
  }

  /** The ids of one page and the number of all matches, without executions that the role must not see. */
  list(query: ListQuery, role: Role): { ids: string[]; totalCount: number } {
    const { descending, limit, offset } = query;
    const filter = { ...query, ...hiddenFrom(this.#options.devices, role, query.deviceIds) };
    const ids = limit === 0 ? [] : this.#store.pageIds(filter, descending, limit, offset);
    return { ids, totalCount: this.#store.count(filter) };
  }

  /** Open executions of a device. */
  underWay(deviceId: string): Live[] {
    return this.#inFlight.ofDevice(deviceId);
  }

  /** Ends executions whose module was restarted, and so does not execute them any more. */
  endAbandoned(lives: readonly Live[]): void {
    this.#inFlight.end(lives, 'module_restarted');
  }

  /** Ends executions that an earlier run left unfinished, and starts retention. */
  async start(): Promise<void> {
    for (const execution of this.#store.unfinishedIds().flatMap((id) => this.find(id) ?? []))
      this.#inFlight.watch(execution);
    this.#inFlight.endAll();
    await this.#flush('unfinished executions are ended as soon as the disk takes data');
    this.#retention.start();
  }

  /** Ends open executions, once no device is connected any more. Resolves when that is on disk, or the disk fails; never rejects. */
  async endAll(): Promise<void> {
    this.#inFlight.endAll();
    await this.#flush('what is under way ends as TIMEOUT with the next start');
  }

  async stop(): Promise<void> {
    this.#stopListening();
    this.#retention.stop();
    await this.#flush('the last responses could not be stored');
    this.#inFlight.stop();
  }

  async #execute(device: Device, request: CommandRequest, caller: Caller): Promise<Running> {
    const { clock, connectivity, devices, newId = randomUUID } = this.#options;
    const { command, manifestName, checked } = this.#judged(device, request, caller.role);
    if (this.#options.isRehearsal) throw inRehearsal();
    if (!connectivity.canReceiveCommands(device)) throw deviceOffline(devices, device);
    this.#inFlight.requireRoomFor(device.id);

    const execution: Execution = {
      id: newId(),
      deviceId: device.id,
      state: 'NEW',
      ephemeral: request.ephemeral,
      createdAtMs: clock.wallMs(),
      request: { name: request.name, manifestName, arguments: maskSensitive(command, checked) },
      origin: caller.origin,
      readRole: roleNeededFor(readAccessLevel(command)),
    };
    this.#recordNew(execution);
    const live = this.#inFlight.watch(execution);
    // The caller still waits; after the end the result of a second request would be lost.
    const isWanted = (): boolean =>
      !live.isAnswered && !isFinished(live.execution.state) && request.isWanted?.() !== false;
    const message = { id: execution.id, name: manifestName, arguments: checked };
    const sent = this.#send(live, () => connectivity.sendCommandRequest(device, message, isWanted));
    // Deleting the device while the request is on its way ends the execution first.
    await Promise.race([sent, live.ended]);
    if (!this.#inFlight.find(execution.id) && live.execution.state === 'NEW') {
      // The request was not sent, so no execution is recorded.
      this.#removeUnsent(execution);
      throw request.isWanted?.() === false
        ? unavailable('The execution was stored too late, so the command was not sent.')
        : deviceOffline(devices, device);
    }
    return { id: execution.id, ended: live.ended, current: () => live.execution };
  }

  /** The declared command, with the arguments to send. */
  #judged(device: Device, request: CommandRequest, role: Role) {
    const { name } = request;
    const found = findCommand(this.#options.devices.manifest(device), name);
    if (!found)
      throw unprocessable('command_not_found', `The device's blueprint has no command "${name}".`, { name });
    requireAccess(found.command.access_level, role);
    return { ...found, checked: checkedArguments(found.command, request, this.#limits) };
  }

  /** The execution is on disk when it returns. */
  #recordNew(execution: Execution): void {
    const { deviceId, ephemeral } = execution;
    try {
      this.#options.database.transaction(() => {
        this.#store.insert(execution);
        const surplus = this.#store.countOf(deviceId, ephemeral) - this.#limits.persistentPerDevice;
        if (surplus > 0) this.#store.trim(deviceId, ephemeral, surplus);
      });
    } catch (error) {
      throw unavailable('The execution could not be stored, so the command was not sent.', { cause: error });
    }
  }

  #removeUnsent(execution: Execution): void {
    const { database, log } = this.#options;
    try {
      database.transaction(() => this.#store.remove(execution.id));
    } catch (error) {
      log.warn('an unsent execution stays as an error', { execution_id: execution.id, error });
      this.#inFlight.apply(this.#inFlight.watch(execution), 'not_sent');
      this.#buffer.storeSoon();
    }
  }

  /** Publishes, and applies the result to the state machine. Never rejects. */
  async #send(live: Live, publish: () => Promise<number>): Promise<void> {
    const { id } = live.execution;
    let sessions: number | undefined;
    try {
      sessions = await publish();
    } catch (error) {
      this.#options.log.warn('command request could not be published', { execution_id: id, error });
    }
    if (!this.#inFlight.find(id)) return;
    const input = sessions === undefined ? 'send_failed' : sessions > 0 ? 'published' : 'unreached';
    this.#inFlight.apply(live, input);
    this.#buffer.storeSoon();
  }

  /** Never rejects. */
  async #flush(otherwise: string): Promise<void> {
    const { commits, log } = this.#options;
    await commits.flush().catch((error: unknown) => log.warn(otherwise, { error }));
  }
}

function checkedArguments(
  command: CompiledCommand,
  request: CommandRequest,
  limits: Limits['commands'],
): Record<string, unknown> {
  const checked = checkArguments(command, request.arguments, request.isFromLua);
  const fault = errorOfProblems('unprocessable', checked.problems ?? []);
  if (fault) throw fault;
  const values = checked.arguments ?? {};
  if (Buffer.byteLength(JSON.stringify(values)) > limits.argumentsBytes)
    throw gatewayError('too_large', 'payload_too_large', 'The arguments are too large.', {
      limit: limits.argumentsBytes,
    });
  return values;
}

function mayAccess(role: Role, accessLevel: string): boolean {
  return roleIncludes(role, roleNeededFor(accessLevel));
}

function requireAccess(accessLevel: string, role: Role): void {
  const required = roleNeededFor(accessLevel);
  if (!roleIncludes(role, required))
    throw insufficientRole(`This needs the role ${required} or higher.`, required, role);
}

function deviceOffline(devices: Devices, device: Device): Error {
  const online = devices.connectivity(device.id) === 'ONLINE';
  const lua = device.communication.type === 'UCM_LUA';
  const reason = online
    ? 'is connected but does not listen for commands'
    : lua
      ? 'is offline: its script is not running'
      : 'is offline';
  return unprocessable('device_offline', `The device "${device.name}" ${reason}.`);
}

/** Access levels of the blueprint at creation, and of the present one if it has the command. */
function readLevels(devices: Devices, device: Device, { request, readRole }: Execution): string[] {
  const found = findCommand(devices.manifest(device), request.manifestName);
  return [readRole ?? 'SYSTEM', ...(found ? [readAccessLevel(found.command)] : [])];
}

/** Executions of a list that the role must not see. */
function hiddenFrom(devices: Devices, role: Role, deviceIds: readonly string[] | undefined) {
  const asked = deviceIds ? deviceIds.flatMap((id) => devices.get(id) ?? []) : devices.all();
  const hidden = asked.flatMap((device) =>
    guardedCommands(devices.manifest(device))
      .filter(([, accessLevel]) => !mayAccess(role, accessLevel))
      .map(([name]) => `${device.id}/${name}`),
  );
  return { hidden, hiddenRoles: ROLES.filter((needed) => !roleIncludes(role, needed)) };
}
