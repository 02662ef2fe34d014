/**
 * Requests and answers of Modbus without their envelope. Source: MODBUS Application Protocol Specification
 * V1.1b3, sections 4 to 7. Pure; a request is judged before it is sent, an answer against its request.
 */
import { Buffer } from 'node:buffer';
import { failed, type ModbusAnswer } from './modbus-fault.ts';

/** Functions 1 to 4. */
export type ReadKind = 'read_coils' | 'read_discrete_inputs' | 'read_holdings' | 'read_inputs';
/** Functions 5, 6, 15 and 16. */
export type WriteKind = 'write_coil' | 'write_holding' | 'write_multiple_coils' | 'write_multiple_holdings';

/** A read or a write, addresses from 0. */
type RegisterRequest =
  | { kind: ReadKind; start: number; count: number }
  /** Registers as 0..65535 or -32768..-1, coils as 0 or 1; the two single kinds take one value. */
  | { kind: WriteKind; start: number; values: readonly number[] };

/** One request to a unit. */
export type ModbusRequest =
  | RegisterRequest
  /** Function 22, section 6.16: a register becomes itself and `andMask`, or those bits of `orMask` that are not in it. */
  | { kind: 'mask_write_holding'; start: number; andMask: number; orMask: number }
  /** Function 23, section 6.17: the device writes first, then reads. */
  | {
      kind: 'read_write_holdings';
      start: number;
      count: number;
      writeStart: number;
      values: readonly number[];
    }
  /**
   * Function 43/14, section 6.21: objects from `start` on, of the basic (1) or the regular (2) category. Its values are
   * the bytes after the type of the message.
   */
  | { kind: 'read_identification'; category: 1 | 2; start: number };

const FUNCTION_CODES: Readonly<Record<ModbusRequest['kind'], number>> = {
  read_coils: 1,
  read_discrete_inputs: 2,
  read_holdings: 3,
  read_inputs: 4,
  write_coil: 5,
  write_holding: 6,
  write_multiple_coils: 15,
  write_multiple_holdings: 16,
  mask_write_holding: 22,
  read_write_holdings: 23,
  read_identification: 43,
};

/** Section 6: the largest counts whose answer or request still fits 253 bytes. */
const COUNT_MAX = {
  read_coils: 2_000,
  read_discrete_inputs: 2_000,
  read_holdings: 125,
  read_inputs: 125,
  write_coil: 1,
  write_holding: 1,
  write_multiple_coils: 1_968,
  write_multiple_holdings: 123,
} as const satisfies Record<ReadKind | WriteKind, number>;
/** Registers that function 23 writes. */
const WRITTEN_MAX = 121;

const ADDRESSES = 65_536;
const REGISTER = [-32_768, 65_535] as const;
const COIL = [0, 1] as const;
const READ_DEVICE_IDENTIFICATION = 14;
const EXCEPTION_FLAG = 0x80;
const COIL_ON = 0xff00;

/** Whether it changes something in the device. */
export function isWrite(request: ModbusRequest): boolean {
  return 'values' in request || request.kind === 'mask_write_holding';
}

function isRead(request: RegisterRequest): request is RegisterRequest & { kind: ReadKind } {
  return 'count' in request;
}

function isBits(kind: ModbusRequest['kind']): boolean {
  return kind.endsWith('coils') || kind.endsWith('coil') || kind === 'read_discrete_inputs';
}

/** Why the request cannot be sent; undefined when it can. */
export function requestProblem(unitId: number, request: ModbusRequest): string | undefined {
  if (!isWhole(unitId, 0, 255)) return 'the unit id must be an integer from 0 to 255';
  const { start } = request;
  switch (request.kind) {
    case 'read_identification':
      return isWhole(start, 0, 255) ? undefined : 'the object must be an integer from 0 to 255';
    case 'mask_write_holding':
      return rangeProblem(start, 1, 1) ?? valuesProblem([request.andMask, request.orMask], REGISTER);
    case 'read_write_holdings':
      return (
        rangeProblem(start, request.count, COUNT_MAX.read_holdings) ??
        rangeProblem(request.writeStart, request.values.length, WRITTEN_MAX) ??
        valuesProblem(request.values, REGISTER)
      );
    default: {
      const countMax = COUNT_MAX[request.kind];
      if (isRead(request)) return rangeProblem(start, request.count, countMax);
      const problem = rangeProblem(start, request.values.length, countMax);
      return problem ?? valuesProblem(request.values, isBits(request.kind) ? COIL : REGISTER);
    }
  }
}

function rangeProblem(start: number, count: number, countMax: number): string | undefined {
  if (!isWhole(start, 0, ADDRESSES - 1)) return 'the address must be an integer from 0 to 65535';
  if (!isWhole(count, 1, countMax))
    return countMax === 1 ? 'exactly one value is written' : `the count must be from 1 to ${countMax}`;
  return start + count > ADDRESSES ? 'the range ends after address 65535' : undefined;
}

function valuesProblem(values: readonly number[], [min, max]: readonly [number, number]): string | undefined {
  const isWrong = (value: number): boolean => !isWhole(value, min, max);
  return values.some(isWrong) ? `a value must be an integer from ${min} to ${max}` : undefined;
}

function isWhole(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}

/** The bytes of a request that `requestProblem` has nothing against. */
export function encodeRequest(request: ModbusRequest): Buffer {
  const functionCode = FUNCTION_CODES[request.kind];
  if (request.kind === 'read_identification')
    return Buffer.of(functionCode, READ_DEVICE_IDENTIFICATION, request.category, request.start);
  if (request.kind === 'mask_write_holding')
    return Buffer.of(functionCode, ...packRegisters([request.start, request.andMask, request.orMask]));
  if (request.kind === 'read_write_holdings') {
    const { start, count, writeStart, values } = request;
    const head = packRegisters([start, count, writeStart, values.length]);
    return Buffer.of(functionCode, ...head, values.length * 2, ...packRegisters(values));
  }
  const head = Buffer.alloc(5);
  head.writeUInt8(functionCode, 0);
  head.writeUInt16BE(request.start, 1);
  if (isRead(request)) {
    head.writeUInt16BE(request.count, 3);
    return head;
  }
  const [first = 0] = request.values;
  switch (request.kind) {
    case 'write_coil':
      head.writeUInt16BE(first === 0 ? 0 : COIL_ON, 3);
      return head;
    case 'write_holding':
      head.writeUInt16BE(first & 0xffff, 3);
      return head;
    case 'write_multiple_coils':
    case 'write_multiple_holdings': {
      head.writeUInt16BE(request.values.length, 3);
      const data = isBits(request.kind) ? packBits(request.values) : packRegisters(request.values);
      return Buffer.concat([head, Buffer.of(data.length), data]);
    }
  }
}

function packBits(values: readonly number[]): Buffer {
  const data = Buffer.alloc(Math.ceil(values.length / 8));
  for (const [index, value] of values.entries())
    if (value !== 0) data[index >> 3] = (data[index >> 3] ?? 0) | (1 << (index & 7));
  return data;
}

function packRegisters(values: readonly number[]): Buffer {
  const data = Buffer.alloc(values.length * 2);
  for (const [index, value] of values.entries()) data.writeUInt16BE(value & 0xffff, index * 2);
  return data;
}

/** Reads the answer to `request`: everything that does not fit it exactly is an invalid response. */
export function decodeAnswer(request: ModbusRequest, pdu: Buffer): ModbusAnswer {
  const problem = answerProblem(request, pdu);
  if (problem !== undefined) return failed({ kind: 'invalid_response', reason: problem });
  const [functionCode = 0, second = 0] = pdu;
  if ((functionCode & EXCEPTION_FLAG) !== 0) return failed({ kind: 'exception', exceptionCode: second });
  if (request.kind === 'read_identification') return { ok: true, values: [...pdu.subarray(2)] };
  return { ok: true, values: 'count' in request ? decodeValues(request, pdu) : [] };
}

/** Why it is no answer to `request`, neither values nor an exception; undefined when it is one. */
function answerProblem(request: ModbusRequest, pdu: Buffer): string | undefined {
  const functionCode = FUNCTION_CODES[request.kind];
  if (pdu[0] === (functionCode | EXCEPTION_FLAG))
    return pdu.length === 2 && pdu[1] !== 0 ? undefined : 'an exception without a code';
  if (pdu[0] !== functionCode) return `function code ${pdu[0]} answers ${functionCode}`;
  if (request.kind === 'read_identification')
    return pdu[1] === READ_DEVICE_IDENTIFICATION ? undefined : 'no identification';
  if (!('count' in request)) {
    // Confirmed by the head of the request, with masks by all of it.
    const sent = encodeRequest(request);
    const head = request.kind === 'mask_write_holding' ? sent : sent.subarray(0, 5);
    return pdu.equals(head) ? undefined : 'another write is confirmed';
  }
  const sizeBytes = isBits(request.kind) ? Math.ceil(request.count / 8) : request.count * 2;
  const isWhole = pdu[1] === sizeBytes && pdu.length === sizeBytes + 2;
  return isWhole ? undefined : `${pdu.length - 2} bytes of data instead of ${sizeBytes}`;
}

function decodeValues({ kind, count }: ModbusRequest & { count: number }, pdu: Buffer): number[] {
  const isOfBits = isBits(kind);
  return Array.from({ length: count }, (_, index) =>
    isOfBits ? ((pdu[2 + (index >> 3)] ?? 0) >> (index & 7)) & 1 : pdu.readUInt16BE(2 + index * 2),
  );
}
