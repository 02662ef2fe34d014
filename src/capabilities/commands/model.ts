/**
 * Executions of commands and their state machine. Source: docs/interface/http.md#commands,
 * docs/interface/mqtt-devices.md#commands.
 *
 *            published            SUCCEEDED
 *     NEW ──────────────▶ IN_PROGRESS ──────▶ SUCCESS
 *      │                    │  ▲  │  ERROR
 *      │ nobody reached     │  └──┘ ────────▶ ERROR
 *      ▼                    │ STARTED, IN_PROGRESS
 *   (removed)               └───────────────▶ TIMEOUT     silence, end of the gateway
 */
import { memoized } from '../../lib/memoized.ts';
import type { CompiledCommand, CompiledManifest } from '../blueprints/index.ts';
import type { Principal } from '../../platform/http/index.ts';
import type { Role } from '../../lib/role.ts';
import type { DurationMs, EpochMs } from '../../lib/time.ts';
import type { ResponseState } from '../../protocol/command.ts';

/** The states that executions have here. */
export const OWN_STATES = ['NEW', 'IN_PROGRESS', 'SUCCESS', 'ERROR', 'TIMEOUT'] as const;
export type OwnState = (typeof OWN_STATES)[number];
/** UNSYNC is part of the interface but never produced here, because a gateway always knows its executions. */
export const EXECUTION_STATES = [...OWN_STATES, 'UNSYNC'] as const;
type ExecutionState = (typeof EXECUTION_STATES)[number];

export interface CommandResponse {
  state: ResponseState;
  payload: Record<string, unknown>;
  receivedAtMs: EpochMs;
}

/** One command and its state. */
export interface Execution {
  readonly id: string;
  readonly deviceId: string;
  readonly state: OwnState;
  readonly ephemeral: boolean;
  readonly createdAtMs: EpochMs;
  readonly request: {
    /** As the caller wrote it: the command's name or one of its aliases. */
    readonly name: string;
    readonly manifestName: string;
    /** Sensitive values are masked. */
    readonly arguments: Record<string, unknown>;
  };
  /** The newest response that affected the state; responses after the end are only in the log. */
  readonly response?: CommandResponse;
  readonly origin: Principal['origin'];
  /** Role that may see it, by the blueprint at its creation; null: not known, so nobody may. */
  readonly readRole: Role | null;
}

/** The caller: its role decides what is allowed, its origin is stored with the execution. */
export interface Caller {
  role: Role;
  origin: Principal['origin'];
}

/** Inputs of the state machine: responses of the device, and others. */
export type Input =
  | ResponseState
  /** The request was written to at least one session of the device. */
  | 'published'
  /** No session was there any more when the request was published: nothing was sent. */
  | 'unreached'
  /** The request was not sent, but the execution is on disk and stays. */
  | 'not_sent'
  /** Publishing failed; whether the device got the request is not known. */
  | 'send_failed'
  /** The device sent nothing for the timeout. */
  | 'silence'
  /** The gateway stops, or starts and finds the execution unfinished. */
  | 'restart'
  /** The program that ran the script of the device was started again without an answer. */
  | 'module_restarted'
  | 'device_deleted';

/**
 * Entries that a step adds to the log: `started` a STARTED response made by the gateway, `given` the device's response,
 * `late` the device's response without effect on state and newest response, `failure` an ERROR response made by the
 * gateway.
 */
export type Addition = 'started' | 'given' | 'late' | 'failure';

export interface Step {
  /** `removed`: the execution never was; its caller gets an error instead. */
  readonly next: OwnState | 'removed';
  readonly add: readonly Addition[];
}

const step = (next: Step['next'], ...add: Addition[]): Step => ({ next, add });

/** An answer proves that the request arrived, so it starts an execution whose publishing is not yet reported. */
const FROM_NEW: Record<Input, Step> = {
  published: step('IN_PROGRESS', 'started'),
  unreached: step('removed'),
  not_sent: step('ERROR', 'failure'),
  send_failed: step('ERROR', 'failure'),
  STARTED: step('IN_PROGRESS', 'given'),
  IN_PROGRESS: step('IN_PROGRESS', 'started', 'given'),
  SUCCEEDED: step('SUCCESS', 'started', 'given'),
  ERROR: step('ERROR', 'started', 'given'),
  silence: step('TIMEOUT', 'failure'),
  restart: step('TIMEOUT', 'failure'),
  module_restarted: step('ERROR', 'failure'),
  device_deleted: step('ERROR', 'failure'),
};

const FROM_IN_PROGRESS: Record<Input, Step> = {
  published: step('IN_PROGRESS'),
  unreached: step('IN_PROGRESS'),
  not_sent: step('IN_PROGRESS'),
  send_failed: step('IN_PROGRESS'),
  STARTED: step('IN_PROGRESS', 'given'),
  IN_PROGRESS: step('IN_PROGRESS', 'given'),
  SUCCEEDED: step('SUCCESS', 'given'),
  ERROR: step('ERROR', 'given'),
  silence: step('TIMEOUT', 'failure'),
  restart: step('TIMEOUT', 'failure'),
  module_restarted: step('ERROR', 'failure'),
  device_deleted: step('ERROR', 'failure'),
};

/** The first end counts; later responses of the device are logged for people to read. */
function fromEnd(state: OwnState): Record<Input, Step> {
  const stay = step(state);
  const late = step(state, 'late');
  return {
    published: stay,
    unreached: stay,
    not_sent: stay,
    send_failed: stay,
    STARTED: late,
    IN_PROGRESS: late,
    SUCCEEDED: late,
    ERROR: late,
    silence: stay,
    restart: stay,
    module_restarted: stay,
    device_deleted: stay,
  };
}

export const TRANSITIONS: Readonly<Record<OwnState, Readonly<Record<Input, Step>>>> = {
  NEW: FROM_NEW,
  IN_PROGRESS: FROM_IN_PROGRESS,
  SUCCESS: fromEnd('SUCCESS'),
  ERROR: fromEnd('ERROR'),
  TIMEOUT: fromEnd('TIMEOUT'),
};

export function isFinished(state: OwnState): boolean {
  return state !== 'NEW' && state !== 'IN_PROGRESS';
}

/** `message` of the ERROR response that the gateway writes when the device does not. */
export function failureMessage(input: Input, timeoutMs: DurationMs): string {
  switch (input) {
    case 'silence':
      return `The device did not answer within ${timeoutMs / 1_000} s.`;
    case 'restart':
      return 'The gateway was stopped before the device answered.';
    case 'module_restarted':
      return 'The communication module was started again before the command ended.';
    case 'device_deleted':
      return 'The device was deleted.';
    case 'not_sent':
      return 'The request was not sent to the device.';
    default:
      return 'Sending the request failed; it is not known whether the device has received it.';
  }
}

/** The error that a script gets for an execution; undefined `ended`: the execution did not end in time. */
export function scriptFault(ended: Execution | undefined): string | undefined {
  if (!ended || ended.state === 'TIMEOUT') return 'timeout';
  if (ended.state === 'SUCCESS') return undefined;
  const message = ended.response?.payload.message;
  return typeof message === 'string' ? message : 'the command failed';
}

/** A command by its name or an alias; the name in the manifest comes along. */
export function findCommand(
  manifest: CompiledManifest,
  name: string,
): { manifestName: string; command: CompiledCommand } | undefined {
  const command = Object.hasOwn(manifest.commands, name) ? manifest.commands[name] : undefined;
  if (command) return { manifestName: name, command };
  const byAlias = Object.entries(manifest.commands).find(([, { aliases }]) => aliases.includes(name));
  return byAlias && { manifestName: byAlias[0], command: byAlias[1] };
}

/** Role that sees executions of a command (docs/interface/blueprints.md#commands, `read_access_level`). */
export function readAccessLevel(command: CompiledCommand): string {
  return typeof command.read_access_level === 'string' ? command.read_access_level : 'readonly';
}

/** Commands whose executions are visible from an access level on. */
export const guardedCommands = memoized(({ commands }: CompiledManifest) =>
  Object.entries(commands)
    .map(([name, command]) => [name, readAccessLevel(command)] as const)
    .filter(([, accessLevel]) => accessLevel !== 'readonly'),
);

export const RETENTIONS = ['PERSISTENT', 'EPHEMERAL', 'ALL'] as const;
export type Retention = (typeof RETENTIONS)[number];

export const ORDERS = ['CREATED_AT_ASC', 'CREATED_AT_DESC'] as const;

/** Filters of a list; an absent one does not restrict. */
export interface ExecutionFilter {
  deviceIds?: readonly string[] | undefined;
  /** `deviceId/manifestName` that the caller must not see. */
  hidden: readonly string[];
  /** `readRole` of those that the caller must not see. */
  hiddenRoles: readonly Role[];
  retention: Retention;
  createdFromMs?: EpochMs | undefined;
  createdBeforeMs?: EpochMs | undefined;
  states?: readonly ExecutionState[] | undefined;
  /** Names as requested or as in the manifest. */
  names?: readonly string[] | undefined;
}
