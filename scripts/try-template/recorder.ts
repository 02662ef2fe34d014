/** A way to a Modbus device that remembers every register that passes. Nothing is changed on the way. */
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { decodeAnswer, type ReadKind } from '../../src/field-module/field/modbus-pdu.ts';
import { createTcpFrameReader, type TcpFrame } from '../../src/field-module/field/modbus-tcp-connection.ts';
import type { RegisterMemory, RegisterTable } from './register-memory.ts';

const READS: Readonly<Record<number, { kind: ReadKind; table: RegisterTable }>> = {
  1: { kind: 'read_coils', table: 'coil' },
  2: { kind: 'read_discrete_inputs', table: 'discrete' },
  3: { kind: 'read_holdings', table: 'holding' },
  4: { kind: 'read_inputs', table: 'input' },
};

/** Registers or coils that a device has taken. */
export interface RegisterWrite {
  table: 'holding' | 'coil';
  address: number;
  words: number[];
}

export interface Recorder {
  /** On the loopback. */
  port: number;
  /** In the order in which the device confirmed them. */
  writes: readonly RegisterWrite[];
  close(): Promise<void>;
}

export async function recordModbus(
  device: { host: string; port: number },
  memory: RegisterMemory,
): Promise<Recorder> {
  const sockets = new Set<net.Socket>();
  const writes: RegisterWrite[] = [];
  const keep = (socket: net.Socket): net.Socket => {
    sockets.add(socket);
    return socket.on('close', () => sockets.delete(socket));
  };
  const server = net.createServer((client) => {
    const upstream = keep(net.connect(device));
    keep(client);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    const open = new Map<number, TcpFrame>();
    const requests = createTcpFrameReader();
    const answers = createTcpFrameReader();
    client.on('data', (chunk: Buffer) => {
      for (const frame of requests.read(chunk) ?? []) open.set(frame.transactionId, frame);
      upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      for (const frame of answers.read(chunk) ?? []) {
        const request = open.get(frame.transactionId);
        open.delete(frame.transactionId);
        if (!request) continue;
        remember(memory, request, frame);
        const write = writeOf(request.pdu);
        if (write && frame.pdu[0] === request.pdu[0]) writes.push(write);
      }
      client.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    writes,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function remember(memory: RegisterMemory, { unitId, pdu }: TcpFrame, answer: TcpFrame): void {
  const read = READS[pdu[0] ?? 0];
  if (!read || pdu.length !== 5) return;
  const start = pdu.readUInt16BE(1);
  const decoded = decodeAnswer({ kind: read.kind, start, count: pdu.readUInt16BE(3) }, answer.pdu);
  if (!decoded.ok) return;
  for (const [index, word] of decoded.values.entries()) memory.put(unitId, read.table, start + index, word);
}

const [WRITE_COIL, WRITE_HOLDING, WRITE_HOLDINGS] = [5, 6, 16];

/** Undefined: the request writes nothing. */
function writeOf(pdu: Buffer): RegisterWrite | undefined {
  const code = pdu[0];
  if (code === WRITE_COIL || code === WRITE_HOLDING) {
    const table = code === WRITE_COIL ? 'coil' : 'holding';
    const word = pdu.readUInt16BE(3);
    return { table, address: pdu.readUInt16BE(1), words: [table === 'coil' ? Number(word !== 0) : word] };
  }
  if (code !== WRITE_HOLDINGS) return undefined;
  const words = Array.from({ length: pdu.readUInt16BE(3) }, (_, index) => pdu.readUInt16BE(6 + 2 * index));
  return { table: 'holding', address: pdu.readUInt16BE(1), words };
}
