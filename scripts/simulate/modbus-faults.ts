/** What can be wrong with a simulated Modbus device, and the words that switch it on and off. */
import { UsageError } from '../support/arguments.ts';

export type ModbusFaultSetting =
  | { kind: 'slow'; delayMs: number }
  | { kind: 'silent' }
  | { kind: 'exception'; exceptionCode: number }
  /** The right length, the wrong content. */
  | { kind: 'nonsense' };

/** Faults of the server as a whole, TCP only. */
export type ConnectionFault =
  /** Connections that exist hang for ever; new ones work. */
  | 'half-open'
  /** Connections that exist are closed now. */
  | 'drop'
  /** Connections are taken and never served, until `ok`. */
  | 'black-hole';

export interface FaultBoard {
  /** What is wrong with the unit now. */
  of(unitId: number): ModbusFaultSetting | undefined;
  /** Takes a line such as `slow 1 500`. @throws UsageError when it makes no sense */
  command(line: string): void;
}

export const FAULT_HELP = `  slow UNIT MS         answers come so much later
  silent UNIT          no answers
  exception UNIT CODE  every request is refused with this exception code
  nonsense UNIT        answers that fit no request
  half-open            TCP connections that exist hang for ever; new ones work
  drop                 TCP connections that exist are closed now
  black-hole           TCP connections are taken and never served
  ok                   everything works again`;

/** @param onConnectionFault called for faults of the server as a whole; undefined: all is well again */
export function createFaultBoard(
  onConnectionFault: (fault: ConnectionFault | undefined) => void,
): FaultBoard {
  const faults = new Map<number, ModbusFaultSetting>();
  return {
    of: (unitId) => faults.get(unitId),
    command: (line) => {
      const [word = '', ...rest] = line.trim().split(/\s+/);
      switch (word) {
        case '':
          return;
        case 'ok':
          faults.clear();
          return onConnectionFault(undefined);
        case 'half-open':
        case 'drop':
        case 'black-hole':
          return onConnectionFault(word);
        default: {
          const unitId = wholeOf(rest[0], 0, 255, 'the unit');
          faults.set(unitId, faultOf(word, rest[1]));
        }
      }
    },
  };
}

function faultOf(word: string, argument: string | undefined): ModbusFaultSetting {
  switch (word) {
    case 'slow':
      return { kind: 'slow', delayMs: wholeOf(argument, 1, 3_600_000, 'the time in ms') };
    case 'silent':
      return { kind: 'silent' };
    case 'exception':
      return { kind: 'exception', exceptionCode: wholeOf(argument, 1, 255, 'the exception code') };
    case 'nonsense':
      return { kind: 'nonsense' };
    default:
      throw new UsageError(`${word} is no fault; these are:\n${FAULT_HELP}`);
  }
}

function wholeOf(text: string | undefined, min: number, max: number, name: string): number {
  const value = text === undefined || text === '' ? Number.NaN : Number(text);
  if (!Number.isInteger(value) || value < min || value > max)
    throw new UsageError(`${name} must be a whole number from ${min} to ${max}`);
  return value;
}
