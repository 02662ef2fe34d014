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

export interface Recorder {
  /** On the loopback. */
  port: number;
  close(): Promise<void>;
}

export async function recordModbus(
  device: { host: string; port: number },
  memory: RegisterMemory,
): Promise<Recorder> {
  const sockets = new Set<net.Socket>();
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
        if (request) remember(memory, request, frame);
      }
      client.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
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
