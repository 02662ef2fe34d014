/**
 * What a device says it is by the common model of SunSpec. Source: SunSpec Device Information Model Specification,
 * sections "Device modbus map" and "Common model (1)". Pure.
 */
import { textOf } from '../field/index.ts';

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
export type SunspecIdentity = { [Name in keyof typeof TEXTS]?: string };

/** Registers to read. */
interface Registers {
  start: number;
  count: number;
}

export function markerAt(base: number): Registers {
  return { start: base, count: MARKER_REGISTERS };
}

/** The common model, from behind the marker on. */
export function commonModelAt(base: number): Registers {
  return { start: base + MARKER_REGISTERS, count: COMMON_REGISTERS };
}

export function isSunspecMarker(registers: readonly number[]): boolean {
  return MARKER.every((word, index) => registers[index] === word);
}

/** Undefined: what stands behind the marker is no common model. */
export function sunspecIdentityOf(registers: readonly number[]): SunspecIdentity | undefined {
  if (registers[0] !== COMMON_MODEL) return undefined;
  const texts = Object.entries(TEXTS).flatMap(([name, [start, count]]) => {
    const text = textOf(registers.slice(start, start + count).flatMap((word) => [word >> 8, word & 0xff]));
    return text === '' ? [] : [[name, text] as const];
  });
  return Object.fromEntries(texts);
}
