import { randomUUID } from 'node:crypto';
import {
  errorOfProblems,
  gatewayError,
  insufficientRole,
  unavailable,
  unprocessable,
} from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { type Role, roleIncludes, roleNeededFor, ROLES } from '../../lib/role.ts';
import type { DurationMs } from '../../lib/time.ts';
import { type Clock, within } from '../../platform/clock/index.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import type { ScarceRoom } from '../../platform/retention/index.ts';
import type { Database, GroupCommit } from '../../platform/sqlite/index.ts';
import { checkArguments, type CompiledCommand, maskSensitive } from '../blueprints/index.ts';
import type { Connectivity } from '../connectivity/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import { InFlight, type Live } from './in-flight.ts';
import {
  type Caller,
  type Execution,
  type ExecutionFilter,
  findCommand,
  guardedCommands,
  isFinished,
  readAccessLevel,
} from './model.ts';
import { ResponseHandler } from './mqtt.ts';
import { ResponseBuffer } from './response-buffer.ts';
import { createRetention } from './retention.ts';
import { type CommandStore, createCommandStore } from './store.ts';

/** What the caller wants done. */
export interface CommandRequest {
  /** Name of a command or one of its aliases. */
  name: string;
  arguments: Record<string, unknown>;
  ephemeral: boolean;
  /** A script asks: its empty table is the list or object that is declared. */
  isFromLua?: boolean;
  /** False: what has not been sent by then is not sent any more. Asked after the disk has taken the record. */
  isWanted?: () => boolean;
}

/** An execution that was sent. */
export interface Running {
  readonly id: string;
  /** Resolves when the end is on disk, or without that when the gateway stops on a disk that takes none. Never rejects. */
  readonly ended: Promise<Execution>;
  /** As far as known. */
  current(): Execution;
}

export interface ListQuery extends Omit<ExecutionFilter, 'hidden' | 'hiddenRoles'> {
  descending: boolean;
  limit: number;
  offset: number;
}

export type Commands = ReturnType<typeof createCommands>;

interface CommandsOptions extends Instruments {
  /** state.db */
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
}

interface Parts {
  options: CommandsOptions;
  store: CommandStore;
  buffer: ResponseBuffer;
  inFlight: InFlight;
  limits: Limits['commands'];
  newId: () => string;
}

function createParts(options: CommandsOptions): Parts {
  const { database, commits, clock, log, metrics } = options;
  const allLimits = options.limits ?? LIMITS;
  const limits = allLimits.commands;
  const store = createCommandStore(database);
  const buffer = new ResponseBuffer({
    store,
    commits,
    clock,
    log,
    metrics,
    bufferedBytes: limits.bufferedResponseBytes,
    expediteMs: allLimits.commits.quickWindowMs,
  });
  const inFlight = new InFlight({
    buffer,
    clock,
    log,
    metrics,
    limits,
    timeoutMs: options.timeoutMs ?? limits.timeoutMs,
  });
  return { options, store, buffer, inFlight, limits, newId: options.newId ?? randomUUID };
}

/**
 * Commands to devices: check, record, send, follow until the end. Source: docs/interface/http.md#commands,
 * docs/interface/mqtt-devices.md#commands.
 *
 * An execution is on disk as NEW before its request is published, and a request is published once: one that
 * was lost ends as TIMEOUT, because sending it again could do harm.
 */
export function createCommands(given: CommandsOptions) {
  const options = { ...given, log: given.log.child({ component: 'commands' }) };
  const { metrics, devices, connectivity, log } = options;
  const parts = createParts(options);
  const { store, buffer, inFlight, limits } = parts;
  const retention = createRetention({ ...options, store, limits });
  const responses = new ResponseHandler({ inFlight, buffer, store, log, metrics, limits });
  connectivity.handle('command_responses', (message) => responses.handle(message));
  connectivity.observe('logs', (device) => inFlight.loggedBy(device.id));
  const stopListening = devices.events.on('device_deleted', 'commands', ({ device }) =>
    inFlight.end(inFlight.ofDevice(device.id), 'device_deleted'),
  );

  return {
    events: inFlight.events,
    timeoutMs: options.timeoutMs ?? limits.timeoutMs,
    /**
     * Sends a command. Resolves when the request was written to the device.
     * @throws GatewayError command_not_found, insufficient_role, invalid_command_arguments,
     *   payload_too_large, device_offline (nothing is recorded), too_many_requests, unavailable
     */
    execute: (device: Device, request: CommandRequest, caller: Caller) =>
      execute(parts, device, request, caller),
    /**
     * Judges a request as `execute` does before it looks at the state of the device; sends and records nothing.
     * @throws GatewayError command_not_found, insufficient_role, invalid_command_arguments, payload_too_large
     */
    check: (device: Device, request: CommandRequest, role: Role): void =>
      void judged(parts, device, request, role),
    /** @throws GatewayError execution_not_found, insufficient_role (the command's `read_access_level`) */
    get: (device: Device, executionId: string, role: Role) => getVisible(parts, device, executionId, role),
    /** All responses, newest first. */
    log: (executionId: string) => store.log(executionId),
    /** One execution of a page; undefined when it was deleted meanwhile. */
    find: (executionId: string) => store.get(executionId),
    /** True when the role may see the execution. */
    maySee: (device: Device, execution: Execution, role: Role) =>
      readLevels(devices, device, execution).every((level) => mayAccess(role, level)),
    /** The ids of one page and the number of all matches; what the role must not see is left out of both. */
    list: (query: ListQuery, role: Role) => {
      const filter = { ...query, ...hiddenFrom(devices, role, query.deviceIds) };
      return {
        ids: query.limit === 0 ? [] : store.pageIds(filter, query.descending, query.limit, query.offset),
        totalCount: store.count(filter),
      };
    },
    /** What is under way on a device. */
    underWay: (deviceId: string) => inFlight.ofDevice(deviceId),
    /** Ends what a module left behind that was started again: nobody carries it out any more. */
    leftBehind: (lives: readonly Live[]) => inFlight.end(lives, 'module_restarted'),
    /** Ends what an earlier run left unfinished, and begins to delete what is too old. */
    start: async () => {
      settleEarlier(parts);
      await flush(parts, 'unfinished executions are ended as soon as the disk takes data');
      retention.start();
    },
    /** Ends what is under way, when no device is heard any more. Resolves when that is on disk, or it takes nothing; never rejects. */
    endAll: () => {
      inFlight.endAll();
      return flush(parts, 'what is under way ends as TIMEOUT with the next start');
    },
    stop: async () => {
      stopListening();
      retention.stop();
      await flush(parts, 'the last responses could not be stored');
      inFlight.stop();
    },
  };
}

async function execute(
  parts: Parts,
  device: Device,
  request: CommandRequest,
  caller: Caller,
): Promise<Running> {
  const { options, inFlight, newId } = parts;
  const { devices, connectivity } = options;
  const { command, manifestName, checked } = judged(parts, device, request, caller.role);
  if (!connectivity.canReceiveCommands(device)) throw deviceOffline(devices, device);
  parts.inFlight.requireRoomFor(device.id);

  const execution: Execution = {
    id: newId(),
    deviceId: device.id,
    state: 'NEW',
    ephemeral: request.ephemeral,
    createdAtMs: options.clock.wallMs(),
    request: { name: request.name, manifestName, arguments: maskSensitive(command, checked) },
    origin: caller.origin,
    readRole: roleNeededFor(readAccessLevel(command)),
  };
  recordNew(parts, execution);
  const live = inFlight.watch(execution);
  // One that was answered has arrived, and after the end nobody would see what a second one does.
  const isWanted = (): boolean =>
    !live.isAnswered && !isFinished(live.execution.state) && request.isWanted?.() !== false;
  const message = { id: execution.id, name: manifestName, arguments: checked };
  const sent = send(parts, live, () => connectivity.sendCommandRequest(device, message, isWanted));
  // A device that was deleted while the request was under way ends the execution first.
  await Promise.race([sent, live.ended]);
  if (!inFlight.find(execution.id) && live.execution.state === 'NEW') {
    // The same answer as a moment before: nothing was sent, so nothing is recorded.
    removeUnsent(parts, execution);
    throw request.isWanted?.() === false ? storedTooLate() : deviceOffline(devices, device);
  }
  return { id: execution.id, ended: live.ended, current: () => live.execution };
}

/** The command that is meant, with the arguments to send. */
function judged({ options, limits }: Parts, device: Device, request: CommandRequest, role: Role) {
  const found = findCommand(options.devices.manifest(device), request.name);
  if (!found) throw commandNotFound(request.name);
  requireAccess(found.command.access_level, role);
  return { ...found, checked: checkedArguments(found.command, request, limits) };
}

function removeUnsent({ options, store, inFlight, buffer }: Parts, execution: Execution): void {
  try {
    options.database.transaction(() => store.remove(execution.id));
  } catch (error) {
    options.log.warn('an unsent execution stays as an error', { execution_id: execution.id, error });
    inFlight.apply(inFlight.watch(execution), 'not_sent');
    buffer.storeSoon();
  }
}

/** Publishes and tells the state machine what came of it. Never rejects. */
async function send(
  { inFlight, buffer, options }: Parts,
  live: Live,
  publish: () => Promise<number>,
): Promise<void> {
  const { id } = live.execution;
  let sessions: number | undefined;
  try {
    sessions = await publish();
  } catch (error) {
    options.log.warn('command request could not be published', { execution_id: id, error });
  }
  if (!inFlight.find(id)) return;
  inFlight.apply(live, sessions === undefined ? 'send_failed' : sessions > 0 ? 'published' : 'unreached');
  buffer.storeSoon();
}

/**
 * Executes for a script, and waits for the end; undefined: it did not come in time. What the disk holds up for much
 * longer than the script waits is not sent. @throws as `execute`
 */
export function executeWithin(
  {
    commands,
    clock,
  }: { commands: Pick<Commands, 'execute'>; clock: Pick<Clock, 'monotonicMs' | 'setTimer'> },
  device: Device,
  request: Omit<CommandRequest, 'isFromLua' | 'isWanted'>,
  { caller, timeoutMs }: { caller: Caller; timeoutMs: DurationMs },
): Promise<Execution | undefined> {
  const untilMs = clock.monotonicMs() + Math.max(timeoutMs, LIMITS.commands.sentWithinMs);
  const isWanted = (): boolean => clock.monotonicMs() < untilMs;
  const running = commands.execute(device, { ...request, isFromLua: true, isWanted }, caller);
  return within(
    clock,
    timeoutMs,
    running.then(({ ended }) => ended),
  );
}

/** On disk when it returns. */
function recordNew({ options, store, limits }: Parts, execution: Execution): void {
  const { deviceId, ephemeral } = execution;
  try {
    options.database.transaction(() => {
      store.insert(execution);
      const surplus = store.countOf(deviceId, ephemeral) - limits.persistentPerDevice;
      if (surplus > 0) store.trim(deviceId, ephemeral, surplus);
    });
  } catch (error) {
    throw unavailable('The execution could not be stored, so the command was not sent.', { cause: error });
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

function commandNotFound(name: string): Error {
  const message = `The device's blueprint has no command "${name}".`;
  return unprocessable('command_not_found', message, { name });
}

function storedTooLate(): Error {
  const message = 'The execution was stored too late, so the command was not sent.';
  return gatewayError('unavailable', 'unavailable', message);
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

function getVisible({ store, options }: Parts, device: Device, executionId: string, role: Role): Execution {
  const execution = store.get(executionId);
  if (!execution || execution.deviceId !== device.id)
    throw gatewayError('not_found', 'execution_not_found', 'The device has no execution of this id.');
  for (const level of readLevels(options.devices, device, execution)) requireAccess(level, role);
  return execution;
}

/** What the blueprint said when it was made, and what that of now says if it has the command. */
function readLevels(devices: Devices, device: Device, { request, readRole }: Execution): string[] {
  const found = findCommand(devices.manifest(device), request.manifestName);
  return [readRole ?? 'SYSTEM', ...(found ? [readAccessLevel(found.command)] : [])];
}

/** What of a list the role must not see. */
function hiddenFrom(devices: Devices, role: Role, deviceIds: readonly string[] | undefined) {
  const asked = deviceIds ? deviceIds.flatMap((id) => devices.get(id) ?? []) : devices.all();
  const hidden = asked.flatMap((device) =>
    guardedCommands(devices.manifest(device))
      .filter(([, accessLevel]) => !mayAccess(role, accessLevel))
      .map(([name]) => `${device.id}/${name}`),
  );
  return { hidden, hiddenRoles: ROLES.filter((needed) => !roleIncludes(role, needed)) };
}

/** Of an earlier version that did not keep who may see an execution, or damaged: what nobody can tell is the installer's. */
function judgeEarlier({ store, options }: Parts): void {
  const { database, devices, log } = options;
  try {
    database.transaction(() =>
      store.judge(({ deviceId, manifestName }) => {
        const device = devices.get(deviceId);
        const found = device && findCommand(devices.manifest(device), manifestName);
        return found ? roleNeededFor(readAccessLevel(found.command)) : 'INSTALLER';
      }),
    );
  } catch (error) {
    log.warn('who may see executions of an earlier version is found out with the next start', { error });
  }
}

/** Never rejects. */
async function flush({ options: { commits, log } }: Parts, otherwise: string): Promise<void> {
  await commits.flush().catch((error: unknown) => log.warn(otherwise, { error }));
}

function settleEarlier(parts: Parts): void {
  judgeEarlier(parts);
  const { store, inFlight } = parts;
  for (const execution of store.unfinishedIds().flatMap((id) => store.get(id) ?? []))
    inFlight.watch(execution);
  inFlight.endAll();
}
