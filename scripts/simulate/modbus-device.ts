/** The simulated Modbus units: answers requests from the register map and the plant behind it. No wires here. */
import { type Plant, type PlantReading } from './plant.ts';
import { identificationAnswer, sunspecRegisters } from './modbus-identity.ts';
import { REGISTERS, type RegisterTable, wordsOf } from './modbus-registers.ts';

/** Exception codes of the application protocol, section 7. */
const ILLEGAL_FUNCTION = 1;
const ILLEGAL_ADDRESS = 2;
const ILLEGAL_VALUE = 3;

const MASK_WRITE = 22;
const READ_WRITE = 23;
const IDENTIFICATION = 43;

export interface ModbusUnits {
  /** Ids of the units that exist. */
  readonly unitIds: readonly number[];
  /** The answer to a request without its envelope; undefined when there is no such unit. */
  answer(unitId: number, request: Buffer): Buffer | undefined;
}

const READS: ReadonlyMap<number, { table: RegisterTable; countMax: number }> = new Map([
  [1, { table: 'coils', countMax: 2_000 }],
  [2, { table: 'discrete_inputs', countMax: 2_000 }],
  [3, { table: 'holdings', countMax: 125 }],
  [4, { table: 'inputs', countMax: 125 }],
]);

class Refusal extends Error {
  readonly exceptionCode: number;
  constructor(exceptionCode: number) {
    super(`exception ${exceptionCode}`);
    this.name = 'Refusal';
    this.exceptionCode = exceptionCode;
  }
}

/** @param reading the latest state of the plant */
export function createModbusUnits(plant: Plant, reading: () => PlantReading): ModbusUnits {
  const byPlace = new Map<string, { register: (typeof REGISTERS)[number]; word: number }>();
  for (const register of REGISTERS) {
    const words = register.type === 'u32' || register.type === 'i32' ? 2 : 1;
    for (let word = 0; word < words; word += 1)
      byPlace.set(`${register.unitId} ${register.table} ${register.address + word}`, { register, word });
  }
  const unitIds = [...new Set(REGISTERS.map(({ unitId }) => unitId))];
  const identities = new Map(unitIds.map((unitId) => [unitId, sunspecRegisters(unitId)]));

  const placeOf = (unitId: number, table: RegisterTable, address: number) => {
    const place = byPlace.get(`${unitId} ${table} ${address}`);
    if (place === undefined) throw new Refusal(ILLEGAL_ADDRESS);
    return place;
  };

  function read(unitId: number, table: RegisterTable, start: number, count: number): number[] {
    const state = { plant, reading: reading() };
    const values = Array.from({ length: count }, (_, index) => {
      const identity = table === 'holdings' ? identities.get(unitId)?.get(start + index) : undefined;
      const place = byPlace.get(`${unitId} ${table} ${start + index}`);
      return identity ?? (place && wordsOf(place.register, state)[place.word]);
    });
    // Gaps between registers read as 0, as real devices do; beyond the map nothing is there.
    if (values.at(0) === undefined || values.at(-1) === undefined) throw new Refusal(ILLEGAL_ADDRESS);
    return values.map((value) => value ?? 0);
  }

  function write(unitId: number, table: RegisterTable, start: number, values: readonly number[]): void {
    const places = values.map((_, index) => placeOf(unitId, table, start + index));
    for (const [index, { register }] of places.entries())
      if (register.write?.(plant, values[index] ?? 0) !== true)
        throw new Refusal(register.write === undefined ? ILLEGAL_ADDRESS : ILLEGAL_VALUE);
  }

  function maskWrite(unitId: number, request: Buffer): Buffer {
    if (request.length !== 7) throw new Refusal(ILLEGAL_VALUE);
    const [start, andMask, orMask] = [1, 3, 5].map((at) => request.readUInt16BE(at)) as [
      number,
      number,
      number,
    ];
    const [value = 0] = read(unitId, 'holdings', start, 1);
    write(unitId, 'holdings', start, [(value & andMask) | (orMask & ~andMask & 0xffff)]);
    return request;
  }

  function readWrite(unitId: number, request: Buffer): Buffer {
    const { start, count } = rangeOf(request.subarray(0, 5), 5, 125);
    // What is written has the form of function 16.
    const written = several(
      Buffer.concat([Buffer.of(16), request.subarray(5)]),
      121,
      (registers) => registers * 2,
    );
    write(unitId, 'holdings', written.start, registersOf(written));
    return readAnswer(READ_WRITE, read(unitId, 'holdings', start, count));
  }

  function serve(unitId: number, request: Buffer): Buffer {
    const [functionCode = 0] = request;
    const readable = READS.get(functionCode);
    if (readable) {
      const { start, count } = rangeOf(request, 5, readable.countMax);
      return readAnswer(functionCode, read(unitId, readable.table, start, count));
    }
    if (functionCode === IDENTIFICATION) return identificationOf(unitId, request);
    if (functionCode === MASK_WRITE) return maskWrite(unitId, request);
    if (functionCode === READ_WRITE) return readWrite(unitId, request);
    const { table, start, values } = writeOf(request);
    write(unitId, table, start, values);
    return Buffer.from(request.subarray(0, 5));
  }

  return {
    unitIds,
    answer: (unitId, request) => {
      if (!unitIds.includes(unitId)) return undefined;
      try {
        return serve(unitId, request);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return exceptionAnswer(request, error.exceptionCode);
      }
    },
  };
}

export function exceptionAnswer(request: Buffer, exceptionCode: number): Buffer {
  return Buffer.of((request[0] ?? 0) | 0x80, exceptionCode);
}

function identificationOf(unitId: number, request: Buffer): Buffer {
  if (request.length !== 4) throw new Refusal(ILLEGAL_VALUE);
  const answer = identificationAnswer(unitId);
  if (request[1] !== 14 || answer === undefined) throw new Refusal(ILLEGAL_FUNCTION);
  return answer;
}

function rangeOf(request: Buffer, lengthBytes: number, countMax: number): { start: number; count: number } {
  if (request.length !== lengthBytes) throw new Refusal(ILLEGAL_VALUE);
  const start = request.readUInt16BE(1);
  const count = request.readUInt16BE(3);
  if (count < 1 || count > countMax) throw new Refusal(ILLEGAL_VALUE);
  return { start, count };
}

function readAnswer(functionCode: number, values: readonly number[]): Buffer {
  const isOfBits = functionCode <= 2;
  const data = Buffer.alloc(isOfBits ? Math.ceil(values.length / 8) : values.length * 2);
  for (const [index, value] of values.entries())
    if (!isOfBits) data.writeUInt16BE(value, index * 2);
    else if (value !== 0) data[index >> 3] = (data[index >> 3] ?? 0) | (1 << (index & 7));
  return Buffer.concat([Buffer.of(functionCode, data.length), data]);
}

function writeOf(request: Buffer): { table: RegisterTable; start: number; values: number[] } {
  const [functionCode = 0] = request;
  switch (functionCode) {
    case 5: {
      const raw = single(request);
      if (raw !== 0 && raw !== 0xff00) throw new Refusal(ILLEGAL_VALUE);
      return { table: 'coils', start: request.readUInt16BE(1), values: [raw === 0 ? 0 : 1] };
    }
    case 6:
      return { table: 'holdings', start: request.readUInt16BE(1), values: [single(request)] };
    case 15: {
      const { start, count, data } = several(request, 1_968, (bits) => Math.ceil(bits / 8));
      const bit = (index: number): number => ((data[index >> 3] ?? 0) >> (index & 7)) & 1;
      return { table: 'coils', start, values: Array.from({ length: count }, (_, index) => bit(index)) };
    }
    case 16: {
      const written = several(request, 123, (registers) => registers * 2);
      return { table: 'holdings', start: written.start, values: registersOf(written) };
    }
    default:
      throw new Refusal(ILLEGAL_FUNCTION);
  }
}

function registersOf({ count, data }: { count: number; data: Buffer }): number[] {
  return Array.from({ length: count }, (_, index) => data.readUInt16BE(index * 2));
}

function single(request: Buffer): number {
  if (request.length !== 5) throw new Refusal(ILLEGAL_VALUE);
  return request.readUInt16BE(3);
}

function several(
  request: Buffer,
  countMax: number,
  sizeOf: (count: number) => number,
): { start: number; count: number; data: Buffer } {
  const { start, count } = rangeOf(request.subarray(0, 5), 5, countMax);
  const data = request.subarray(6);
  if (request[5] !== data.length || data.length !== sizeOf(count)) throw new Refusal(ILLEGAL_VALUE);
  return { start, count, data };
}
