/** One MQTT session that asks PINGREQ again and again: how long the broker takes for what needs no disk. */
import { connect, type Socket } from 'node:net';
import { generate } from 'mqtt-packet';
import type { Clock } from '../../src/platform/clock/index.ts';
import type { Insider } from '../hostile/mqtt-garbage.ts';
import type { Latencies } from './latencies.ts';

const PAUSE_MS = 50;
const CONNACK_BYTES = 4;
const PINGRESP_BYTES = 2;

/** Pings until the signal; `note` is told when the session ends before. */
export async function keepPinging(options: {
  port: number;
  login: Insider;
  clock: Clock;
  latencies: Latencies;
  signal: AbortSignal;
  note: (problem: string) => void;
}): Promise<void> {
  const { port, login, clock, latencies, signal } = options;
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  // `close` follows, and is what counts.
  socket.on('error', () => undefined);
  try {
    socket.write(loginBytes(login));
    await receive(socket, CONNACK_BYTES);
    while (!signal.aborted) {
      const sentMs = clock.monotonicMs();
      socket.write(generate({ cmd: 'pingreq' }));
      await receive(socket, PINGRESP_BYTES);
      latencies.add(clock.monotonicMs() - sentMs);
      await clock.sleep(PAUSE_MS);
    }
  } catch (error) {
    options.note(`MQTT session that pings: ${String(error)}`);
  } finally {
    socket.destroy();
  }
}

function loginBytes({ username, password }: Insider): Buffer {
  return generate({
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clientId: '',
    clean: true,
    keepalive: 60,
    username,
    password: Buffer.from(password),
  });
}

/** Resolves when so many bytes have arrived; an answer is never longer. */
function receive(socket: Socket, sizeBytes: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = sizeBytes;
    const onData = (chunk: Buffer): void => {
      left -= chunk.length;
      if (left > 0) return;
      socket.off('data', onData);
      socket.off('close', onClose);
      resolve();
    };
    const onClose = (): void => reject(new Error('closed by the gateway'));
    socket.on('data', onData);
    socket.once('close', onClose);
  });
}
