/** A device out of an image: Modbus units and HTTP paths that answer what the image says, and keep what is written. */
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { Aedes } from 'aedes';
import { createTcpFrameReader, encodeTcpFrame } from '../../src/field-module/field/modbus-tcp-connection.ts';
import { type DeviceImage, imageMemory } from './device-image.ts';
import { startAnswering, startGroupMeter, startMeter } from './image-telegrams.ts';

const TABLES = { 1: 'coil', 2: 'discrete', 3: 'holding', 4: 'input' } as const;
type Table = (typeof TABLES)[keyof typeof TABLES];
const ILLEGAL_FUNCTION = 1;
const ILLEGAL_ADDRESS = 2;

export interface ImageDevice {
  port: number;
  /** As the connection of its template takes it. */
  address: string;
  /** The word that a holding register or coil has now. */
  word(address: number, table?: 'holding' | 'coil'): number | undefined;
  /** `METHOD path` of each HTTP request, with its body behind a blank; topic and payload of each MQTT message. */
  requests: string[];
  close(): Promise<void>;
}

/** Where to listen; 0 takes a free port. */
interface Place {
  host: string;
  port: number;
}

const ANYWHERE: Place = { host: '127.0.0.1', port: 0 };

export async function startImageDevice(
  image: DeviceImage,
  isLowFirst: boolean,
  place = ANYWHERE,
): Promise<ImageDevice> {
  if (image.messages) return startBroker(image.messages);
  if (image.datagrams) return startAnswering(image.datagrams);
  if (image.telegrams && image.group !== undefined) return startGroupMeter(image.telegrams, image.group);
  if (image.telegrams) return startMeter(image.telegrams);
  if (!image.answers) return startModbus(image, isLowFirst, place);
  const commanded = (image.commands ?? []).flatMap(({ requests = [] }) => requests);
  return startHttp(image.answers, commanded);
}

async function startModbus(image: DeviceImage, isLowFirst: boolean, place: Place): Promise<ImageDevice> {
  const units = new Map(
    Object.entries(image.units ?? { 1: image.registers ?? {} }).map(([unit, registers]) => [
      Number(unit),
      imageMemory(registers, isLowFirst),
    ]),
  );
  const first = units.get(1) ?? units.values().next().value;
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    const reader = createTcpFrameReader();
    socket.on('data', (chunk: Buffer) => {
      for (const { transactionId, unitId, pdu } of reader.read(chunk) ?? []) {
        const memory = units.get(unitId) ?? (image.ignores_units === true ? first : undefined);
        if (memory) socket.write(encodeTcpFrame({ transactionId, unitId, pdu: answerOf(memory, pdu) }));
      }
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(place.port, place.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    address: `tcp://127.0.0.1:${port}`,
    word: (address, table = 'holding') => first?.get(`${table} ${address}`),
    requests: [],
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** The device answers what its image has; a read of registers that are not there reads 0 between others, else it is refused. */
function answerOf(memory: Map<string, number>, request: Buffer): Buffer {
  const code = request.readUInt8(0);
  const address = request.readUInt16BE(1);
  const refuse = (exception: number): Buffer => Buffer.from([code | 0x80, exception]);
  const table = TABLES[code as keyof typeof TABLES] as Table | undefined;
  if (table !== undefined) {
    const count = request.readUInt16BE(3);
    const words = Array.from({ length: count }, (_, index) => memory.get(`${table} ${address + index}`));
    if (words.every((word) => word === undefined)) return refuse(ILLEGAL_ADDRESS);
    return code <= 2 ? bitsAnswer(code, words) : wordsAnswer(code, words);
  }
  if (code === 5 || code === 6) {
    const value = request.readUInt16BE(3);
    memory.set(`${code === 5 ? 'coil' : 'holding'} ${address}`, code === 5 ? Number(value !== 0) : value);
    return Buffer.from(request);
  }
  if (code !== 16) return refuse(ILLEGAL_FUNCTION);
  for (let index = 0; index < request.readUInt16BE(3); index += 1)
    memory.set(`holding ${address + index}`, request.readUInt16BE(6 + index * 2));
  return Buffer.from(request.subarray(0, 5));
}

function wordsAnswer(code: number, words: readonly (number | undefined)[]): Buffer {
  const answer = Buffer.alloc(2 + words.length * 2);
  answer.writeUInt8(code, 0);
  answer.writeUInt8(words.length * 2, 1);
  for (const [index, word] of words.entries()) answer.writeUInt16BE(word ?? 0, 2 + index * 2);
  return answer;
}

function bitsAnswer(code: number, bits: readonly (number | undefined)[]): Buffer {
  const answer = Buffer.alloc(2 + Math.ceil(bits.length / 8));
  answer.writeUInt8(code, 0);
  answer.writeUInt8(answer.length - 2, 1);
  for (const [index, bit] of bits.entries())
    if (bit === 1)
      answer.writeUInt8((answer.at(2 + (index >> 3)) ?? 0) | (1 << (index & 7)), 2 + (index >> 3));
  return answer;
}

async function startHttp(
  answers: Readonly<Record<string, unknown>>,
  commanded: readonly string[],
): Promise<ImageDevice> {
  const requests: string[] = [];
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const line = `${request.method} ${request.url}`;
      requests.push(body === '' ? line : `${line} ${body}`);
      const present = withMoments(answers);
      const found = Object.hasOwn(present, line) ? present[line] : present[request.url ?? ''];
      response.statusCode =
        found === undefined && request.method === 'GET' && !commanded.includes(line) ? 404 : 200;
      response.end(typeof found === 'string' ? found : JSON.stringify(found ?? {}));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    address: `127.0.0.1:${port}`,
    word: () => undefined,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Answers of a service that is asked for a moment: `{hour}` and the like are those of now. */
function withMoments(answers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const text = JSON.stringify(answers);
  if (!MOMENT.test(text)) return answers;
  return JSON.parse(text.replaceAll(new RegExp(MOMENT, 'g'), momentNow)) as Record<string, unknown>;
}

const MOMENT = /\{(quarter|in_two_days|half|half_1|half_2|half_96|hour|today|tomorrow)\}/;

function momentNow(name: string): string {
  const nowS = Math.floor(Date.now() / 1000);
  const floored = (minutes: number): number => nowS - (nowS % (minutes * 60));
  const iso = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 19);
  const inUrl = (seconds: number): string => encodeURIComponent(`${iso(seconds)}Z`);
  const texts: Record<string, string> = {
    '{quarter}': String(floored(15)),
    '{in_two_days}': String(floored(15) + 172_800),
    '{half}': inUrl(floored(30)),
    '{half_1}': inUrl(floored(30) + 1_800),
    '{half_2}': inUrl(floored(30) + 3_600),
    '{half_96}': inUrl(floored(30) + 172_800),
    '{hour}': `${iso(floored(60))}+00:00`,
    '{today}': iso(nowS).slice(0, 10),
    '{tomorrow}': iso(nowS + 86_400).slice(0, 10),
  };
  return texts[name] ?? name;
}

/** A broker that has kept what the device published. */
async function startBroker(messages: Readonly<Record<string, unknown>>): Promise<ImageDevice> {
  const requests: string[] = [];
  const broker = await Aedes.createBroker();
  const server = net.createServer((socket) => void broker.handle(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  broker.on('publish', ({ topic, payload }, client) => {
    if (client) requests.push(`${topic} ${payload.toString()}`);
  });
  for (const [topic, content] of Object.entries(messages)) {
    const payload = typeof content === 'string' ? content : JSON.stringify(content);
    await new Promise<void>((resolve, reject) =>
      broker.publish({ cmd: 'publish', topic, payload, qos: 1, retain: true, dup: false }, (error) =>
        error ? reject(error) : resolve(),
      ),
    );
  }
  const { port } = server.address() as AddressInfo;
  return {
    port,
    address: `mqtt://127.0.0.1:${port}`,
    word: () => undefined,
    requests,
    close: () =>
      new Promise((resolve) => {
        broker.close(() => server.close(() => resolve()));
      }),
  };
}
