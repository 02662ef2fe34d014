/**
 * What the simulated Modbus units say they are: the common model of SunSpec at its usual place, and the objects of
 * function 43/14 (MODBUS Application Protocol V1.1b3, section 6.21).
 */
import { INVERTER_UNIT, METER_UNIT } from './modbus-registers.ts';

const MANUFACTURER = 'Simulated';

interface Identity {
  model: string;
  version: string;
  serialNumber: string;
}

const IDENTITIES: ReadonlyMap<number, Identity> = new Map([
  [INVERTER_UNIT, { model: 'Hybrid inverter', version: '1.4', serialNumber: 'SIM-INV-0001' }],
  [METER_UNIT, { model: 'Power meter', version: '2.0', serialNumber: 'SIM-MTR-0001' }],
]);

/** Where the marker "SunS" stands, in the holding registers. */
const SUNSPEC_BASE = 40_000;
const COMMON_MODEL_REGISTERS = 66;

/** Holding registers of the identity by address; empty for a unit without one. */
export function sunspecRegisters(unitId: number): ReadonlyMap<number, number> {
  const identity = IDENTITIES.get(unitId);
  if (identity === undefined) return new Map();
  const words = [
    ...words16('SunS', 2),
    1,
    COMMON_MODEL_REGISTERS,
    ...words16(MANUFACTURER, 16),
    ...words16(identity.model, 16),
    ...words16('', 8),
    ...words16(identity.version, 8),
    ...words16(identity.serialNumber, 16),
    // Address of the device, and what makes the length even.
    unitId,
    0,
    // No further model.
    0xffff,
    0,
  ];
  return new Map(words.map((word, index) => [SUNSPEC_BASE + index, word]));
}

/** The answer to function 43/14; undefined for a unit without an identity. */
export function identificationAnswer(unitId: number): Buffer | undefined {
  const identity = IDENTITIES.get(unitId);
  if (identity === undefined) return undefined;
  const objects = [MANUFACTURER, identity.model, identity.version].map((text, id) =>
    Buffer.concat([Buffer.of(id, text.length), Buffer.from(text)]),
  );
  // Function and type; basic objects, nothing follows.
  return Buffer.concat([Buffer.of(43, 14, 1, 1, 0, 0, objects.length), ...objects]);
}

function words16(text: string, count: number): number[] {
  const bytes = Buffer.alloc(count * 2);
  bytes.write(text, 'latin1');
  return Array.from({ length: count }, (_, index) => bytes.readUInt16BE(index * 2));
}
