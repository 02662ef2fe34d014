/** The device's end of a Modbus TCP connection, answering as a test says. */
import { Buffer } from 'node:buffer';
import type { Duplex } from 'node:stream';
import { LIMITS, type Limits } from '../../../src/lib/limits.ts';
import { ModbusTcp, type ModbusTcpOptions } from '../../../src/field-module/field/modbus-tcp.ts';
import {
  createTcpFrameReader,
  encodeTcpFrame,
  type TcpFrame,
} from '../../../src/field-module/field/modbus-tcp-connection.ts';
import { streamPair } from '../../support/stream-pair.ts';
import type { TestClock } from '../../support/test-clock.ts';

export interface Seen extends TcpFrame {
  answer(pdu: string | Buffer, change?: Partial<TcpFrame>): void;
  stream: Duplex;
}

export interface FakeDevice {
  readonly client: ModbusTcp;
  /** Requests in the order of their arrival. */
  readonly seen: Seen[];
  /** Attempts to connect. */
  dials: number;
  /** The device's end of each connection. */
  readonly streams: Duplex[];
  /** What happens to the next attempts. */
  reach: 'open' | 'refused' | 'black_hole';
  onRequest: ((request: Seen) => void) | undefined;
}

export function fakeDevice(clock: TestClock, limits: Partial<Limits['field']> = {}): FakeDevice {
  const accept = (): Duplex => {
    const { client, server } = streamPair();
    const reader = createTcpFrameReader();
    device.streams.push(server);
    server.on('data', (chunk: Buffer) => {
      for (const frame of reader.read(chunk) ?? []) {
        const seen: Seen = {
          ...frame,
          stream: server,
          answer: (pdu, change = {}) =>
            void server.write(encodeTcpFrame({ ...frame, pdu: bytesOf(pdu), ...change })),
        };
        device.seen.push(seen);
        device.onRequest?.(seen);
      }
    });
    server.on('error', () => server.destroy());
    return client;
  };
  const dial: ModbusTcpOptions['dial'] = (signal) => {
    device.dials += 1;
    if (device.reach === 'open') return Promise.resolve(accept());
    if (device.reach === 'black_hole') return unanswered(signal);
    return Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
  };
  const device: FakeDevice = {
    client: new ModbusTcp({ dial, clock, limits: { ...LIMITS.field, ...limits } }),
    seen: [],
    dials: 0,
    streams: [],
    reach: 'open',
    onRequest: undefined,
  };
  return device;
}

function bytesOf(pdu: string | Buffer): Buffer {
  return typeof pdu === 'string' ? Buffer.from(pdu.replaceAll(' ', ''), 'hex') : pdu;
}

/** An attempt to connect that nobody answers. */
export function unanswered(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
}
