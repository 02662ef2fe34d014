/**
 * Worker: replays workload W as fast as the broker takes it, one QoS 1 connection for each device with a window
 * of unacknowledged messages, or at real time with `paceMs`. Raw bytes, so that the load costs little.
 */
import { connect, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { generate } from 'mqtt-packet';
import { createWorkload, type WorkloadDevice } from './workload.ts';
import type { TelemetryLoad } from './telemetry-load-parameters.ts';

const load = workerData as TelemetryLoad;
const PUBACK_BYTES = 4;

interface Connection {
  device: WorkloadDevice;
  topic: string;
  socket: Socket;
  sent: number;
  ackBytes: number;
  /** Times of messages without an acknowledgement, the oldest first. */
  sentAtMs: number[];
}

const { seed, devices, startS, numbers = 'decimal', stepS = 1 } = load;
const workload = createWorkload({ seed, devices, startS, numbers, stepS });
let wake: () => void = () => undefined;

function open(device: WorkloadDevice): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: load.port, host: '127.0.0.1', noDelay: true });
    const login = load.logins?.[device.index];
    const topic = login ? `v1/from/${login.hardwareId}/${login.channelId}/v1/telemetry` : device.topic;
    const connection = { device, topic, socket, sent: 0, ackBytes: 0, sentAtMs: [] };
    let isOpen = false;
    socket.once('error', reject);
    socket.on('close', () => reject(new Error('the broker closed the connection')));
    socket.on('data', (chunk: Buffer) => {
      if (isOpen) {
        connection.ackBytes += chunk.length;
        if (load.isTimed) noteAcknowledged(connection);
        wake();
        return;
      }
      isOpen = true;
      resolve(connection);
    });
    socket.write(
      generate({
        cmd: 'connect',
        protocolId: 'MQTT',
        protocolVersion: 4,
        clientId: login?.hardwareId ?? `load-${device.index}`,
        clean: true,
        keepalive: 0,
        username: login?.username ?? device.hardwareId,
        password: Buffer.from(login?.password ?? 'secret'),
      }),
    );
  });
}

const inFlight = (connection: Connection): number => connection.sent - connection.ackBytes / PUBACK_BYTES;

const latenciesMs: number[] = [];

/** A broker acknowledges in order (MQTT 3.1.1, 4.6). */
function noteAcknowledged(connection: Connection): void {
  const nowMs = performance.now();
  while (connection.sentAtMs.length > Math.ceil(inFlight(connection)))
    latenciesMs.push(nowMs - (connection.sentAtMs.shift() ?? nowMs));
}

function send(connection: Connection): number {
  const { device, topic, socket } = connection;
  const payload = workload.message(device);
  const length = 2 + topic.length + 2 + payload.length;
  const bytes = Buffer.allocUnsafe(3 + length);
  let at = bytes.writeUInt8(0x32, 0);
  // Two bytes of length: every message of W has between 128 and 16 383 bytes.
  at = bytes.writeUInt8((length & 127) | 128, at);
  at = bytes.writeUInt8(length >> 7, at);
  at = bytes.writeUInt16BE(topic.length, at);
  at += bytes.write(topic, at, 'latin1');
  at = bytes.writeUInt16BE((connection.sent % 65_535) + 1, at);
  bytes.write(payload, at, 'latin1');
  connection.sent++;
  if (load.isTimed) connection.sentAtMs.push(performance.now());
  socket.write(bytes);
  return device.signals.length;
}

const changed = (): Promise<void> =>
  new Promise((resolve) => {
    wake = resolve;
  });

async function waitUntil(dueMs: number): Promise<void> {
  const aheadMs = dueMs - performance.now();
  if (aheadMs > 0)
    await new Promise((resolve) => {
      setTimeout(resolve, aheadMs);
    });
}

const connections = await Promise.all(workload.devices.map(open));
parentPort?.postMessage('ready');
const startedMs = performance.now();
let values = 0;
const ending = new AbortController();
parentPort?.once('message', () => ending.abort());
for (let second = 0; second < load.seconds && !ending.signal.aborted; second += stepS) {
  const dueMs = startedMs + second * load.paceMs;
  await waitUntil(dueMs);
  while (connections.some((connection) => inFlight(connection) >= load.window)) await changed();
  workload.tick();
  for (const [place, connection] of connections.entries()) {
    if (load.isSpread) await waitUntil(dueMs + (place * load.paceMs) / connections.length);
    connection.socket.cork();
    if (connection.device.isPresent) values += send(connection);
    connection.socket.uncork();
  }
}
while (connections.some((connection) => inFlight(connection) > 0)) await changed();
parentPort?.postMessage({ values, elapsedMs: performance.now() - startedMs, latenciesMs });
for (const { socket } of connections) socket.removeAllListeners('close').destroy();
parentPort?.close();
