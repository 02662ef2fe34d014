/**
 * Everything that may go wrong with a Modbus request, as a value: a device that does not answer is ordinary.
 * Texts are those of docs/interface/lua-devices.md#modbus, numbers those of docs/interface/lua-devices.md#older-interface.
 */
import { messageOf } from '../../lib/errors.ts';

/** Why a Modbus request failed. */
export type ModbusFault =
  | { kind: 'timeout' }
  | { kind: 'connection_failed'; reason: string }
  | { kind: 'invalid_argument'; reason: string }
  /** The answer breaks the rules of the protocol or does not fit the request. */
  | {
      kind: 'invalid_response';
      reason: string;
      /** It would fit with `?ids=loose`. */
      hasOtherIds?: true;
    }
  /** The device refused: exception code of the application protocol, section 7. */
  | { kind: 'exception'; exceptionCode: number }
  /** More requests wait for this address or port than the limit. */
  | { kind: 'overloaded' };

/** Result of a request; a write gives no values. */
export type ModbusAnswer = { ok: true; values: readonly number[] } | { ok: false; fault: ModbusFault };

export function failed(fault: ModbusFault): ModbusAnswer {
  return { ok: false, fault };
}

/** Exceptions with which a gateway to serial lines reports a unit that it does not reach. */
const UNREACHED_EXCEPTIONS: ReadonlySet<number> = new Set([10, 11]);

/** A gateway says that the unit does not answer. */
export function isUnreached(fault: ModbusFault): boolean {
  return fault.kind === 'exception' && UNREACHED_EXCEPTIONS.has(fault.exceptionCode);
}

const EXCEPTION_TEXTS: ReadonlyMap<number, string> = new Map([
  [1, 'illegal function'],
  [2, 'illegal data address'],
  [3, 'illegal data value'],
  [4, 'server device failure'],
  [5, 'acknowledge'],
  [6, 'server device busy'],
  [8, 'memory parity error'],
  [10, 'gateway path unavailable'],
  [11, 'gateway target device failed to respond'],
]);

/** Text of an exception code, in the words of the specification. */
export function exceptionText(code: number | bigint): string {
  return EXCEPTION_TEXTS.get(Number(code)) ?? `exception ${code}`;
}

const SYSTEM_REASONS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', 'connection reset'],
  ['EHOSTUNREACH', 'no route to host'],
  ['ENETUNREACH', 'no route to network'],
  ['ETIMEDOUT', 'no answer'],
  ['ENOTFOUND', 'unknown host'],
  ['EAI_AGAIN', 'the name cannot be resolved now'],
  ['ENOENT', 'no such device file'],
  ['EACCES', 'permission denied'],
  ['ENXIO', 'the device is gone'],
  ['EIO', 'the device is gone'],
  ['EBUSY', 'the device is in use'],
]);

/** Why the system refused, in words for a log or a script. */
export function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return SYSTEM_REASONS.get(code) ?? messageOf(error);
}

/**
 * Error of each kind for a script: its number (docs/interface/lua-devices.md#older-interface), and the text before the
 * reason.
 */
const KINDS = {
  timeout: { number: 1, prefix: '' },
  connection_failed: { number: 2, prefix: 'connection failed: ' },
  /** More requests wait for an address or a port than the limit. */
  overloaded: { number: 2, prefix: 'connection failed: ' },
  invalid_argument: { number: 3, prefix: '' },
  invalid_response: { number: 4, prefix: 'invalid response: ' },
  not_supported: { number: 5, prefix: '' },
  /** More frames wait for a bus than the limit. */
  too_many_frames: { number: 7, prefix: '' },
} as const;

const EXCEPTION_NUMBER = 100;
const TEXTS = { timeout: 'timeout', overloaded: 'too many requests are waiting' } as const;

/** As a script sees it. */
export function scriptFaultOf(fault: ModbusFault): ScriptFault {
  if (fault.kind === 'exception')
    return { text: exceptionText(fault.exceptionCode), number: EXCEPTION_NUMBER + fault.exceptionCode };
  const { number, prefix } = KINDS[fault.kind];
  return { text: prefix + ('reason' in fault ? fault.reason : TEXTS[fault.kind]), number };
}

/** A fault with the text and number of the device API. */
export interface ScriptFault {
  text: string;
  number: number;
}

/** Why a port of the module could not be used; `message` is for people. */
export class PortFault extends Error {
  readonly kind: keyof typeof KINDS;
  constructor(kind: PortFault['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'PortFault';
    this.kind = kind;
  }

  /** As a script sees it. */
  get ofScript(): ScriptFault {
    const { number, prefix } = KINDS[this.kind];
    return { text: prefix + this.message, number };
  }
}
