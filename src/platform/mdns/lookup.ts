/**
 * Finds a host by its `.local` name where the system cannot: one question to the group on every network, answered
 * by the host itself. Source: RFC 6762 sections 5.1 and 6.7 (one-shot queries).
 */
import type { Buffer } from 'node:buffer';
import { lookup } from 'node:dns/promises';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import { type Asker, openAskers } from './asker.ts';
import { decodeMessage, encodeMessage, isSameName } from './message.ts';
import { GROUP, systemNetwork } from './network.ts';

interface LookupOptions {
  clock: Clock;
  /** Default: the multicast group of RFC 6762. */
  group?: { address: string; port: number };
  /** Addresses of this machine in the networks to ask. Default: all of them. */
  addresses?: readonly string[];
  /** Default: the system's resolver. */
  resolve?: (host: string) => Promise<string>;
  limits: { localNameMs: DurationMs };
}

const LOCAL = /\.local\.?$/i;
/** The question is asked again after a third of the time: datagrams may be lost. */
const ATTEMPTS = 3;

/** The address of a host; names that do not end in `.local` come back as they are. @throws Error when unknown */
export async function addressOf(host: string, options: LookupOptions): Promise<string> {
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

function askGroup(host: string, options: LookupOptions): Promise<string | undefined> {
  const { clock, group = GROUP, limits, addresses = systemNetwork().addresses() } = options;
  return new Promise((resolve) => {
    const question = encodeMessage({ questions: [{ name: host, type: 'A', isUnicast: false }] });
    const askers: Asker[] = [];
    let sent = 0;
    let isOver = false;
    const finish = (address: string | undefined): void => {
      if (isOver) return;
      isOver = true;
      timer.cancel();
      for (const asker of askers) asker.close();
      resolve(address);
    };
    const ask = (): void => {
      if (sent >= ATTEMPTS) return finish(undefined);
      sent += 1;
      for (const asker of askers) asker.ask(question, group);
    };
    const timer = clock.setRepeating(limits.localNameMs / ATTEMPTS, ask);
    void openAskers(addresses, (bytes) => {
      const address = readAnswer(bytes, host);
      if (address !== undefined) finish(address);
    }).then((opened) => {
      askers.push(...opened);
      if (isOver) for (const asker of opened) asker.close();
      else ask();
    });
  });
}

/** The IPv4 address that a message gives for the name; undefined for any other message. */
export function readAnswer(bytes: Buffer, host: string): string | undefined {
  const message = decodeMessage(bytes);
  if (!message?.isResponse) return undefined;
  const answer = message.answers.find(({ name, type }) => type === 'A' && isSameName(name, host));
  return answer?.type === 'A' ? answer.data : undefined;
}
