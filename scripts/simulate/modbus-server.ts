/** Serves simulated Modbus units over TCP and over a serial stream, with faults. */
import net from 'node:net';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../src/platform/clock/index.ts';
import { exceptionAnswer, type ModbusUnits } from './modbus-device.ts';
import type { ConnectionFault, FaultBoard } from './modbus-faults.ts';

export interface ModbusServerParts {
  units: ModbusUnits;
  faults: Pick<FaultBoard, 'of'>;
  clock: Clock;
}

export interface ModbusServer {
  readonly port: number;
  readonly connections: number;
  /** Requests served so far. */
  readonly requests: number;
  /** Undefined: everything works again. */
  setFault(fault: ConnectionFault | undefined): void;
  close(): Promise<void>;
}

/** Gives the answer, sooner or later or never. */
function respond(
  { units, faults, clock }: ModbusServerParts,
  unitId: number,
  request: Buffer,
  send: (answer: Buffer) => void,
): void {
  const fault = faults.of(unitId);
  const answer = units.answer(unitId, request);
  if (answer === undefined || fault?.kind === 'silent') return;
  switch (fault?.kind) {
    case undefined:
      return send(answer);
    case 'slow':
      return void clock.setTimer(fault.delayMs, () => send(answer));
    case 'exception':
      return send(exceptionAnswer(request, fault.exceptionCode));
    case 'nonsense':
      return send(Buffer.from(answer.map((byte, index) => (index === 1 ? byte : byte ^ 0x55))));
  }
}

const HEADER_BYTES = 7;

/** Listens on the port; 0 takes a free one. */
export async function serveModbusTcp(
  parts: ModbusServerParts & { host: string; port: number },
): Promise<ModbusServer> {
  const sockets = new Set<net.Socket>();
  const hanging = new Set<net.Socket>();
  let isBlackHole = false;
  let requests = 0;
  const server = net.createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    if (isBlackHole) hanging.add(socket);
    let rest = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      if (hanging.has(socket)) return;
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= HEADER_BYTES) {
        const end = 6 + rest.readUInt16BE(4);
        if (rest.readUInt16BE(2) !== 0 || end < HEADER_BYTES + 1 || end > 260) return void socket.destroy();
        if (rest.length < end) return;
        const frame = Buffer.from(rest.subarray(0, end));
        rest = rest.subarray(end);
        requests += 1;
        respond(parts, frame.readUInt8(6), frame.subarray(HEADER_BYTES), (answer) => {
          const header = Buffer.from(frame.subarray(0, HEADER_BYTES));
          header.writeUInt16BE(answer.length + 1, 4);
          if (!socket.destroyed && !hanging.has(socket)) socket.write(Buffer.concat([header, answer]));
        });
      }
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      hanging.delete(socket);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    const { port, host } = parts;
    server.listen({ port, host }, () => resolve());
  });
  return {
    port: (server.address() as net.AddressInfo).port,
    get connections() {
      return sockets.size;
    },
    get requests() {
      return requests;
    },
    setFault: (fault) => {
      isBlackHole = fault === 'black-hole';
      if (fault === undefined) hanging.clear();
      for (const socket of sockets)
        if (fault === 'drop') socket.destroy();
        else if (fault !== undefined) hanging.add(socket);
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** Silence after which a request on the serial line begins anew. */
const SILENCE_MS = 20;

/** Serves the units on the two directions of a serial line. `crc16` is handed in: it is the client's. */
export function serveModbusSerial(
  parts: ModbusServerParts & {
    input: Readable;
    output: Writable;
    crc16: (bytes: Uint8Array) => number;
  },
): void {
  const { input, output, clock, crc16 } = parts;
  let rest = Buffer.alloc(0);
  let silence: { cancel(): void } | undefined;
  input.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    silence?.cancel();
    silence = clock.setTimer(SILENCE_MS, () => (rest = Buffer.alloc(0)));
    const lengthBytes = serialRequestLength(rest);
    if (lengthBytes === undefined || rest.length < lengthBytes) return;
    const frame = rest.subarray(0, lengthBytes);
    rest = Buffer.alloc(0);
    if (crc16(frame.subarray(0, -2)) !== frame.readUInt16LE(lengthBytes - 2)) return;
    const unitId = frame.readUInt8(0);
    respond(parts, unitId, Buffer.from(frame.subarray(1, -2)), (answer) => {
      const body = Buffer.concat([Buffer.of(unitId), answer]);
      const checksum = Buffer.alloc(2);
      checksum.writeUInt16LE(crc16(body));
      output.write(Buffer.concat([body, checksum]));
    });
  });
}

function serialRequestLength(begun: Buffer): number | undefined {
  const functionCode = begun[1];
  if (functionCode === 43) return begun.length >= 7 ? 7 : undefined;
  if (functionCode === 22) return begun.length >= 10 ? 10 : undefined;
  if (functionCode === 23) return begun[10] === undefined ? undefined : 13 + begun[10];
  if (functionCode !== 15 && functionCode !== 16) return begun.length >= 8 ? 8 : undefined;
  const dataBytes = begun[6];
  return dataBytes === undefined ? undefined : 9 + dataBytes;
}
