/**
 * Finds services of other machines by their types, such as `_shelly._tcp`: one-shot queries on every network, collected for
 * a while. Source: RFC 6763 sections 4 and 12.1, RFC 6762 section 5.1.
 */
import type { Buffer } from 'node:buffer';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import { openAskers } from './asker.ts';
import { decodeMessage, encodeMessage, isSameName } from './message.ts';
import { GROUP, systemNetwork } from './network.ts';

/** A service that a machine announced. */
export interface FoundService {
  /** As it was asked for. */
  type: string;
  /** First part of its name: `shellypro3em-0123`. */
  name: string;
  /** IPv4, of its machine. */
  address: string;
  /** Undefined: the machine did not say it. */
  port: number | undefined;
}

interface BrowseOptions {
  clock: Pick<Clock, 'sleep'>;
  types: readonly string[];
  /** How long answers are collected. */
  browseMs: DurationMs;
  /** More services are passed over. */
  servicesMax: number;
  signal: AbortSignal;
  /** Default: the multicast group of RFC 6762. */
  group?: { address: string; port: number } | undefined;
  /** Addresses of this machine in the networks to ask. Default: all of them. */
  addresses?: readonly string[] | undefined;
}

/** Datagrams may be lost. */
const ATTEMPTS = 3;
const DOMAIN = 'local';

/** Every service of these types that answers in time. @throws the reason of the signal */
export async function browse(options: BrowseOptions): Promise<FoundService[]> {
  const { clock, types, browseMs, servicesMax, signal, group = GROUP } = options;
  const found = new Map<string, FoundService>();
  const question = encodeMessage({
    questions: types.map((type) => ({ name: `${type}.${DOMAIN}`, type: 'PTR', isUnicast: false })),
  });
  const askers = await openAskers(options.addresses ?? systemNetwork().addresses(), (bytes, from) => {
    for (const service of servicesIn(bytes, types, from.address))
      if (found.size < servicesMax) found.set(`${service.type} ${service.name.toLowerCase()}`, service);
  });
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      for (const asker of askers) asker.ask(question, group);
      await clock.sleep(browseMs / ATTEMPTS, signal);
      signal.throwIfAborted();
    }
  } finally {
    for (const asker of askers) asker.close();
  }
  return [...found.values()];
}

/** Services in an answer. A machine without an address of its own in it is where the answer came from. */
export function servicesIn(bytes: Buffer, types: readonly string[], sender: string): FoundService[] {
  const message = decodeMessage(bytes);
  if (!message?.isResponse) return [];
  const records = [...message.answers, ...message.additionals];
  return types.flatMap((type) =>
    records.flatMap((record): FoundService[] => {
      if (record.type !== 'PTR' || !isSameName(record.name, `${type}.${DOMAIN}`)) return [];
      const suffix = `.${type}.${DOMAIN}`;
      const instance = record.data;
      if (!instance.toLowerCase().endsWith(suffix.toLowerCase())) return [];
      const service = records.find((one) => one.type === 'SRV' && isSameName(one.name, instance));
      const at = service?.type === 'SRV' ? service.data : undefined;
      const host = records.find((one) => one.type === 'A' && isSameName(one.name, at?.target ?? ''));
      const address = host?.type === 'A' ? host.data : sender;
      return [{ type, name: instance.slice(0, -suffix.length), address, port: at?.port }];
    }),
  );
}
