/** Devices out of images that speak by telegrams over TCP, by datagrams to a group, or answer datagrams. */
import { Buffer } from 'node:buffer';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import type { DeviceImage } from './device-image.ts';
import type { ImageDevice } from './image-device.ts';

type Telegrams = NonNullable<DeviceImage['telegrams']>;

/** Between two parts of what a meter sends. */
const PART_MS = 40;

const bytesOf = (part: Telegrams[number]): Buffer =>
  'hex' in part
    ? Buffer.from(part.hex.replaceAll(/\s/g, ''), 'hex')
    : Buffer.from(part.text.trimEnd().replaceAll('\n', '\r\n') + '\r\n');

/** Sends the parts one after another, again and again; returns how to end that. */
function sendForever(telegrams: Telegrams, send: (bytes: Buffer) => void): () => void {
  const parts = telegrams.map(bytesOf);
  let next = 0;
  const timer = setInterval(() => {
    const part = parts[next % parts.length];
    if (part) send(part);
    next += 1;
  }, PART_MS);
  return () => clearInterval(timer);
}

/** A meter behind a serial server. */
export async function startMeter(telegrams: Telegrams): Promise<ImageDevice> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    const stop = sendForever(telegrams, (bytes) => socket.write(bytes));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      stop();
      sockets.delete(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    address: `tcp://127.0.0.1:${port}`,
    word: () => undefined,
    requests: [],
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

async function boundSocket(): Promise<{ socket: Socket; port: number }> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { socket, port: socket.address().port };
}

const closed = async (socket: Socket): Promise<void> => {
  const done = once(socket, 'close');
  socket.close();
  await done;
};

/** A meter that sends to a group, within this machine. */
export async function startGroupMeter(telegrams: Telegrams, group: string): Promise<ImageDevice> {
  const { socket, port: own } = await boundSocket();
  socket.setMulticastInterface('127.0.0.1');
  // Some port that no other test has; the meter itself sends from another.
  const port = own === 65_535 ? own - 1 : own + 1;
  const stop = sendForever(telegrams, (bytes) => socket.send(bytes, port, group));
  return {
    port,
    address: `${group}:${port}`,
    word: () => undefined,
    requests: [],
    close: async () => {
      stop();
      await closed(socket);
    },
  };
}

/** A device that answers a text by JSON, or by a text. */
export async function startAnswering(answers: Readonly<Record<string, unknown>>): Promise<ImageDevice> {
  const { socket, port } = await boundSocket();
  const requests: string[] = [];
  socket.on('message', (bytes, from) => {
    const text = bytes.toString();
    requests.push(text);
    const answer = Object.hasOwn(answers, text) ? answers[text] : answers['*'];
    if (answer === undefined) return;
    socket.send(typeof answer === 'string' ? answer : JSON.stringify(answer), from.port, from.address);
  });
  return {
    port,
    address: `127.0.0.1:${port}`,
    word: () => undefined,
    requests,
    close: () => closed(socket),
  };
}
