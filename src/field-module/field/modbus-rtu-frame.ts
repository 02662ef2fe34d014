/**
 * The envelope of Modbus on a serial line: unit, request or answer, checksum. Source: MODBUS over Serial Line
 * V1.02, sections 2.5.1 and 6.2.2.
 */
import { Buffer } from 'node:buffer';

/** The cyclic redundancy check of section 6.2.2; sent with its low byte first. */
export function crc16(bytes: Uint8Array): number {
  let crc = 0xffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >> 1) ^ 0xa001 : crc >> 1;
  }
  return crc;
}

export function encodeRtuFrame(unitId: number, pdu: Uint8Array): Buffer {
  const frame = Buffer.alloc(pdu.length + 3);
  frame.writeUInt8(unitId, 0);
  frame.set(pdu, 1);
  frame.writeUInt16LE(crc16(frame.subarray(0, -2)), frame.length - 2);
  return frame;
}

const EXCEPTION_FLAG = 0x80;
const FRAME_MAX = 256;

/**
 * How long the answer that begins so will be, envelope included; undefined while it is not known yet,
 * 0 when no answer begins so.
 */
export function rtuAnswerLength(begun: Buffer): number | undefined {
  const functionCode = begun[1];
  if (functionCode === undefined) return undefined;
  if ((functionCode & EXCEPTION_FLAG) !== 0) return 5;
  switch (functionCode) {
    case 1:
    case 2:
    case 3:
    case 4:
    case 23: {
      const dataBytes = begun[2];
      if (dataBytes === undefined) return undefined;
      return dataBytes + 5 > FRAME_MAX ? 0 : dataBytes + 5;
    }
    case 5:
    case 6:
    case 15:
    case 16:
      return 8;
    case 22:
      return 10;
    case 43:
      return identificationLength(begun);
    default:
      return 0;
  }
}

/** Where the objects of an identification begin, envelope included; each says its own length in its second byte. */
const OBJECTS_AT = 8;

function identificationLength(begun: Buffer): number | undefined {
  const count = begun[OBJECTS_AT - 1];
  if (count === undefined) return undefined;
  let end = OBJECTS_AT;
  for (let index = 0; index < count; index += 1) {
    const dataBytes = begun[end + 1];
    if (dataBytes === undefined) return undefined;
    end += 2 + dataBytes;
    if (end + 2 > FRAME_MAX) return 0;
  }
  return end + 2;
}

/** Unit and content of a whole frame; undefined when the checksum is wrong. */
export function decodeRtuFrame(frame: Buffer): { unitId: number; pdu: Buffer } | undefined {
  if (frame.length < 4) return undefined;
  const checksum = frame.readUInt16LE(frame.length - 2);
  if (crc16(frame.subarray(0, -2)) !== checksum) return undefined;
  return { unitId: frame.readUInt8(0), pdu: Buffer.from(frame.subarray(1, -2)) };
}
