/**
 * The envelope of Modbus on TCP: transaction, protocol 0, length, unit. Source: MODBUS Messaging on TCP/IP
 * Implementation Guide V1.0b, section 3.1.3.
 */
import { Buffer } from 'node:buffer';

export interface TcpFrame {
  transactionId: number;
  unitId: number;
  pdu: Buffer;
}

const HEADER_BYTES = 7;
/** What the header says before the unit, which the length counts. */
const PREFIX_BYTES = 6;
/** A length counts the unit and 1 to 253 bytes of the rest. */
const LENGTH_MIN = 2;
const LENGTH_MAX = 254;

export function encodeTcpFrame({ transactionId, unitId, pdu }: TcpFrame): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(transactionId, 0);
  header.writeUInt16BE(pdu.length + 1, 4);
  header.writeUInt8(unitId, 6);
  return Buffer.concat([header, pdu]);
}

export function createTcpFrameReader() {
  let rest: Buffer = Buffer.alloc(0);
  return {
    /**
     * Takes what arrived, in chunks of any size; returns the frames that are complete now. Holds less than one
     * frame. Undefined: this is not Modbus, or its beginning is lost; nothing after it can be understood.
     */
    read: (chunk: Buffer) => {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const frames: TcpFrame[] = [];
      while (rest.length >= PREFIX_BYTES) {
        const length = rest.readUInt16BE(4);
        if (rest.readUInt16BE(2) !== 0 || length < LENGTH_MIN || length > LENGTH_MAX) return undefined;
        const end = PREFIX_BYTES + length;
        if (rest.length < end) break;
        // Copied: the frame outlives the chunk it came in.
        const pdu = Buffer.from(rest.subarray(HEADER_BYTES, end));
        frames.push({ transactionId: rest.readUInt16BE(0), unitId: rest.readUInt8(6), pdu });
        rest = rest.subarray(end);
      }
      return frames;
    },
  };
}
