/**
 * Finds a host by its `.local` name where the system cannot: one question to the multicast group, answered by the
 * host itself. Source: RFC 6762 sections 5.1 and 6.7 (one-shot queries), RFC 1035 section 4 for the format.
 */
import { Buffer } from 'node:buffer';
import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { isIPv4 } from 'node:net';
import type { Clock } from '../../platform/clock/index.ts';

export interface LocalNameOptions {
  clock: Clock;
  /** Default: the multicast group of RFC 6762. */
  group?: { address: string; port: number };
  /** Default: the system's resolver. */
  resolve?: (host: string) => Promise<string>;
  limits: { localNameMs: number };
}

const GROUP = { address: '224.0.0.251', port: 5_353 };
const LOCAL = /\.local\.?$/i;
/** The question is asked again after a third of the time: datagrams may be lost. */
const ATTEMPTS = 3;

/** The address of a host; names that do not end in `.local` come back as they are. @throws Error when unknown */
export async function addressOf(host: string, options: LocalNameOptions): Promise<string> {
  if (!LOCAL.test(host)) return host;
  const resolve = options.resolve ?? (async (name: string) => (await lookup(name, { family: 4 })).address);
  try {
    return await resolve(host);
  } catch (cause) {
    const address = await askGroup(host.replace(/\.$/, ''), options);
    if (address === undefined) throw new Error(`${host} is not known on this network`, { cause });
    return address;
  }
}

function askGroup(
  host: string,
  { clock, group = GROUP, limits }: LocalNameOptions,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    const question = encodeQuestion(host);
    let sent = 0;
    let isOver = false;
    const finish = (address: string | undefined): void => {
      if (isOver) return;
      isOver = true;
      timer.cancel();
      socket.close();
      resolve(address);
    };
    const ask = (): void => {
      if (sent >= ATTEMPTS) return finish(undefined);
      sent += 1;
      socket.send(question, group.port, group.address, (error) => {
        // No network now; the next attempt to connect asks again.
        if (error) finish(undefined);
      });
    };
    const timer = clock.setRepeating(limits.localNameMs / ATTEMPTS, ask);
    socket.on('error', () => finish(undefined));
    socket.on('message', (answer) => {
      const address = readAnswer(answer, host);
      if (address !== undefined) finish(address);
    });
    ask();
  });
}

const TYPE_A = 1;
const CLASS_IN = 1;
const HEADER_BYTES = 12;

/** One question for the IPv4 address of a name. */
export function encodeQuestion(host: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(1, 4);
  const labels = host.split('.').map((label) => {
    const bytes = Buffer.from(label);
    return Buffer.concat([Buffer.of(bytes.length), bytes]);
  });
  return Buffer.concat([header, ...labels, Buffer.of(0, 0, TYPE_A, 0, CLASS_IN)]);
}

/** The IPv4 address that an answer gives for the name; undefined when it is no such answer. */
export function readAnswer(message: Buffer, host: string): string | undefined {
  const isResponse = message.length >= HEADER_BYTES && (message.readUInt16BE(2) & 0x8000) !== 0;
  if (!isResponse) return undefined;
  let at = HEADER_BYTES;
  for (let left = message.readUInt16BE(4); left > 0; left -= 1) {
    const name = readName(message, at);
    if (name === undefined) return undefined;
    at = name.end + 4;
  }
  for (let left = message.readUInt16BE(6); left > 0; left -= 1) {
    const name = readName(message, at);
    if (name === undefined || name.end + 10 > message.length) return undefined;
    const type = message.readUInt16BE(name.end);
    const dataBytes = message.readUInt16BE(name.end + 8);
    const data = message.subarray(name.end + 10, name.end + 10 + dataBytes);
    const address = data.join('.');
    if (type === TYPE_A && isIPv4(address) && name.text.toLowerCase() === host.toLowerCase()) return address;
    at = name.end + 10 + dataBytes;
  }
  return undefined;
}

const POINTER = 0xc0;
const NAME_STEPS_MAX = 128;

/** A name, which may end with a pointer to an earlier one, and where the reading goes on behind it. */
function readName(message: Buffer, start: number): { text: string; end: number } | undefined {
  const labels: string[] = [];
  let at = start;
  let end: number | undefined;
  for (let steps = 0; steps < NAME_STEPS_MAX; steps += 1) {
    const length = message[at];
    if (length === undefined) return undefined;
    if (length === 0) return { text: labels.join('.'), end: end ?? at + 1 };
    if ((length & POINTER) === POINTER) {
      const low = message[at + 1];
      if (low === undefined) return undefined;
      end ??= at + 2;
      at = ((length & ~POINTER) << 8) | low;
    } else {
      if (at + 1 + length > message.length) return undefined;
      labels.push(message.toString('utf8', at + 1, at + 1 + length));
      at += 1 + length;
    }
  }
  return undefined;
}
