/**
 * Worker: publishes at QoS 1 over several connections, each with a window of unacknowledged messages, and
 * reports how long it took from the first message to the last acknowledgement. Speaks raw bytes made in
 * advance, so that the load costs less than what it measures.
 */
import { connect, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { generate } from 'mqtt-packet';
import type { MqttLoad } from './mqtt-load-parameters.ts';

const load = workerData as MqttLoad;
const PUBACK_BYTES = 4;
const CONNACK_BYTES = 4;

function loginBytes(index: number): Buffer {
  return generate({
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clientId: `load-${index}`,
    clean: true,
    keepalive: 0,
    username: `load-${index}`,
    password: Buffer.from('secret'),
  });
}

/** Half a window of messages; their packet ids are those of the first or of the second half. */
function batch(index: number, half: 0 | 1): Buffer {
  const count = load.window / 2;
  return Buffer.concat(
    Array.from({ length: count }, (_, offset) =>
      generate({
        cmd: 'publish',
        topic: `from/load-${index}/main/v1/telemetry`,
        payload: Buffer.alloc(load.payloadBytes, 'x'),
        qos: 1,
        messageId: half * count + offset + 1,
        dup: false,
        retain: false,
      }),
    ),
  );
}

function login(index: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: load.port, host: '127.0.0.1', noDelay: true });
    socket.once('error', reject);
    socket.write(loginBytes(index));
    let bytes = 0;
    socket.on('data', function wait(chunk: Buffer) {
      bytes += chunk.length;
      if (bytes < CONNACK_BYTES) return;
      socket.off('data', wait);
      resolve(socket);
    });
  });
}

/** Resolves when everything is acknowledged. */
function publish(socket: Socket, batches: readonly [Buffer, Buffer]): Promise<void> {
  return new Promise((resolve, reject) => {
    const perBatch = load.window / 2;
    let sent = 0;
    let ackBytes = 0;
    const send = (): void => {
      if (sent >= load.messagesPerConnection) return;
      socket.write(batches[(sent / perBatch) % 2 === 0 ? 0 : 1]);
      sent += perBatch;
    };
    socket.on('close', () => reject(new Error('the broker closed the connection')));
    socket.on('data', (chunk: Buffer) => {
      const before = Math.floor(ackBytes / PUBACK_BYTES / perBatch);
      ackBytes += chunk.length;
      const after = Math.floor(ackBytes / PUBACK_BYTES / perBatch);
      for (let count = before; count < after; count++) send();
      if (ackBytes >= load.messagesPerConnection * PUBACK_BYTES) resolve();
    });
    send();
    send();
  });
}

const indexes = Array.from({ length: load.connections }, (_, index) => index);
const batches = indexes.map((index): [Buffer, Buffer] => [batch(index, 0), batch(index, 1)]);
const sockets = await Promise.all(indexes.map(login));
parentPort?.postMessage('ready');
const startedMs = performance.now();
await Promise.all(
  sockets.map((socket, index) => publish(socket, batches[index] ?? [Buffer.alloc(0), Buffer.alloc(0)])),
);
parentPort?.postMessage(performance.now() - startedMs);
for (const socket of sockets) socket.removeAllListeners('close').destroy();
