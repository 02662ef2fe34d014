/** Asks one unit whether it is there and what it is. Only reads, and nothing that changes a device by being read. */
import {
  type DeviceIdentification,
  identifyDevice,
  isUnreached,
  type ModbusAnswer,
  type ModbusRequest,
  scriptFaultOf,
  textOf,
} from '../field/index.ts';

/** The finding under one unit id. */
export interface Finding {
  outcome: 'answers' | 'exception' | 'silent' | 'garbled' | 'closed';
  /** Why not, in words. */
  reason?: string;
  exception_code?: number;
  sunspec?: SunspecIdentity;
  identification?: DeviceIdentification;
}

type Ask = (request: ModbusRequest) => Promise<ModbusAnswer>;

const holdings = (range: { start: number; count: number }): ModbusRequest => ({
  kind: 'read_holdings',
  ...range,
});
/** Registers that most devices have: some are silent about those that they do not have. */
const COMMON_PLACES: readonly ModbusRequest[] = [
  holdings({ start: 0, count: 1 }),
  { kind: 'read_inputs', start: 0, count: 1 },
];

/** @param isThorough a unit that is known to be there is asked more than once */
export async function examineUnit(ask: Ask, isThorough: boolean): Promise<Finding> {
  const heard: ModbusAnswer[] = [];
  const listen: Ask = async (request) => {
    const answer = await ask(request);
    heard.push(answer);
    return answer;
  };
  const [base = 0] = SUNSPEC_BASES;
  const marker = await listen(holdings(markerAt(base)));
  if (isThorough) for (const request of COMMON_PLACES) if (!heard.some(isThere)) await listen(request);
  if (!heard.some(isThere)) return absent(heard);
  const sunspec = await findSunspec(listen, marker);
  const identified = await identifyDevice(ask);
  const identification = identified.ok ? identified.identification : undefined;
  // A device may refuse all that is asked here and have its registers elsewhere.
  if (isThorough) for (const request of COMMON_PLACES) if (!heard.some(({ ok }) => ok)) await listen(request);
  return {
    ...outcomeOf(heard, sunspec !== undefined || identification !== undefined),
    ...(sunspec && { sunspec }),
    ...(identification && { identification }),
  };
}

/** The finding that follows from answers to other requests. */
export function findingOf(heard: readonly ModbusAnswer[]): Finding {
  return heard.some(isThere) ? outcomeOf(heard, false) : absent(heard);
}

function isThere(answer: ModbusAnswer): boolean {
  return answer.ok || (answer.fault.kind === 'exception' && !isUnreached(answer.fault));
}

const ABSENCES = {
  timeout: 'silent',
  exception: 'silent',
  connection_failed: 'closed',
  invalid_response: 'garbled',
  invalid_argument: 'garbled',
  overloaded: 'closed',
} as const;

/** Reports the most telling fault: received bytes are more than silence. */
function absent(heard: readonly ModbusAnswer[]): Finding {
  const faults = heard.flatMap((answer) => (answer.ok ? [] : [answer.fault]));
  const fault = faults.find(({ kind }) => kind !== 'timeout') ?? { kind: 'timeout' as const };
  const reason =
    'reason' in fault ? fault.reason : fault.kind === 'timeout' ? undefined : scriptFaultOf(fault).text;
  return { outcome: ABSENCES[fault.kind], ...(reason !== undefined && { reason }) };
}

function outcomeOf(heard: readonly ModbusAnswer[], isKnown: boolean): Finding {
  if (isKnown || heard.some(({ ok }) => ok)) return { outcome: 'answers' };
  for (const answer of heard)
    if (!answer.ok && answer.fault.kind === 'exception')
      return {
        outcome: 'exception',
        exception_code: answer.fault.exceptionCode,
        reason: scriptFaultOf(answer.fault).text,
      };
  return { outcome: 'answers' };
}

async function findSunspec(ask: Ask, firstMarker: ModbusAnswer): Promise<SunspecIdentity | undefined> {
  for (const [index, base] of SUNSPEC_BASES.entries()) {
    const marker = index === 0 ? firstMarker : await ask(holdings(markerAt(base)));
    if (!marker.ok || !isSunspecMarker(marker.values)) continue;
    const common = await ask(holdings(commonModelAt(base)));
    return common.ok ? sunspecIdentityOf(common.values) : undefined;
  }
  return undefined;
}

// Identity of a device by the common model of SunSpec. Source: SunSpec Device Information Model Specification, sections
// "Device modbus map" and "Common model (1)". Pure.

/** Where the marker may stand, addresses from 0, the usual place first. */
export const SUNSPEC_BASES: readonly number[] = [40_000, 50_000, 0];
const MARKER_REGISTERS = 2;
/** The marker is "SunS". */
const MARKER: readonly number[] = [0x5375, 0x6e53];

const COMMON_MODEL = 1;
/** Model and length, then texts; each so many registers after the marker. */
const TEXTS = {
  manufacturer: [2, 16],
  model: [18, 16],
  version: [42, 8],
  serial_number: [50, 16],
} as const;
const COMMON_REGISTERS = 66;

/** Absent: the device leaves it empty. */
type SunspecIdentity = { [Name in keyof typeof TEXTS]?: string };

/** Registers to read. */
interface Registers {
  start: number;
  count: number;
}

export function markerAt(base: number): Registers {
  return { start: base, count: MARKER_REGISTERS };
}

/** The common model, from behind the marker on. */
function commonModelAt(base: number): Registers {
  return { start: base + MARKER_REGISTERS, count: COMMON_REGISTERS };
}

export function isSunspecMarker(registers: readonly number[]): boolean {
  return MARKER.every((word, index) => registers[index] === word);
}

/** Number of the model after the last one. */
const MODELS_END = 0xffff;

/** The registers that begin a model: its number, and how many follow. */
export function modelHeadAt(start: number): Registers {
  return { start, count: 2 };
}

/** Undefined: the chain of models ends here. */
export function modelOf(head: readonly number[]): { model: number; registers: number } | undefined {
  const [model = MODELS_END, length = 0] = head;
  return model === MODELS_END || length === 0 ? undefined : { model, registers: head.length + length };
}

/** Undefined when the registers behind the marker are no common model. */
function sunspecIdentityOf(registers: readonly number[]): SunspecIdentity | undefined {
  if (registers[0] !== COMMON_MODEL) return undefined;
  const texts = Object.entries(TEXTS).flatMap(([name, [start, count]]) => {
    const text = textOf(registers.slice(start, start + count).flatMap((word) => [word >> 8, word & 0xff]));
    return text === '' ? [] : [[name, text] as const];
  });
  return Object.fromEntries(texts);
}
