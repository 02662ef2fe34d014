/**
 * What a host says about itself: its address and its services. Source: RFC 6762 sections 6.1 and 10, RFC 6763
 * sections 4 to 9. Pure.
 */
import { Buffer } from 'node:buffer';
import type { DurationS } from '../../lib/time.ts';
import { type DnsRecord, encodeName, isSameName, isSameRecord, type Question, TYPE } from './message.ts';

/** A service that others find by its type. */
export interface AnnouncedService {
  /** Registered name, such as `_http._tcp`. */
  type: string;
  port: number;
  /** `key=value` each. */
  texts?: readonly string[];
}

const DOMAIN = 'local';
/** RFC 6762 section 10: records with a host name in them, and all others. */
const HOST_TTL_S = 120;
const OTHER_TTL_S = 4_500;
const ENUMERATION = `_services._dns-sd._udp.${DOMAIN}`;

export type HostRecords = ReturnType<typeof hostRecords>;

/** `label` is the host's name without its domain; the services have it, too, so that it is one name to fight for. */
export function hostRecords(label: string, address: string, services: readonly AnnouncedService[]) {
  const host = `${label}.${DOMAIN}`;
  const instances = services.map(({ type }) => `${label}.${type}.${DOMAIN}`);
  const unique = [
    uniqueRecord(host, TYPE.A, HOST_TTL_S, Buffer.from(address.split('.').map(Number))),
    ...services.flatMap(({ port, texts }, index) => [
      uniqueRecord(instances[index] ?? '', TYPE.SRV, HOST_TTL_S, serviceData(port, host)),
      uniqueRecord(instances[index] ?? '', TYPE.TXT, OTHER_TTL_S, textData(texts ?? [])),
    ]),
  ];
  const pointers = services.flatMap(({ type }, index) => [
    pointer(`${type}.${DOMAIN}`, instances[index] ?? ''),
    pointer(ENUMERATION, `${type}.${DOMAIN}`),
  ]);
  // Says that there is nothing else, so that nobody waits for an answer that will not come.
  const absences = [absence(host, [TYPE.A]), ...instances.map((name) => absence(name, [TYPE.TXT, TYPE.SRV]))];
  /** Those that only one host may have come first. */
  const all = [...unique, ...pointers];

  function answersTo({ name, type }: Question): DnsRecord[] {
    const ofName = all.filter((record) => isSameName(record.name, name));
    const found = ofName.filter((record) => type === TYPE.ANY || record.type === type);
    if (found.length > 0) return found;
    return absences.filter((record) => isSameName(record.name, name));
  }

  return {
    all,
    unique,
    /** Names that only one host may have. */
    names: [host, ...instances],
    /** What answers the questions, without what the asker knows already; and what it will ask next. */
    answers: (questions: readonly Question[], known: readonly DnsRecord[]) => {
      // RFC 6762 section 7.1: known as long as half of its time is left.
      const isKnown = (record: DnsRecord): boolean =>
        known.some((other) => other.ttlS * 2 >= record.ttlS && isSameRecord(other, record));
      const answers = [...new Set(questions.flatMap(answersTo))].filter((record) => !isKnown(record));
      const isAsked = (type: number): boolean => answers.some((record) => record.type === type);
      const additionals = isAsked(TYPE.PTR) ? unique : isAsked(TYPE.SRV) ? unique.slice(0, 1) : [];
      return { answers, additionals: additionals.filter((record) => !answers.includes(record)) };
    },
  };
}

function uniqueRecord(name: string, type: number, ttlS: DurationS, data: Buffer): DnsRecord {
  return { name, type, ttlS, isUnique: true, data };
}

function pointer(name: string, to: string): DnsRecord {
  return { name, type: TYPE.PTR, ttlS: OTHER_TTL_S, isUnique: false, data: encodeName(to) };
}

/** Priority and weight 0: there is one. */
function serviceData(port: number, host: string): Buffer {
  const head = Buffer.alloc(6);
  head.writeUInt16BE(port, 4);
  return Buffer.concat([head, encodeName(host)]);
}

/** Without texts one empty one (RFC 6763 section 6.1). */
function textData(texts: readonly string[]): Buffer {
  const pieces = (texts.length === 0 ? [''] : texts).map((text) => {
    const bytes = Buffer.from(text).subarray(0, 255);
    return Buffer.concat([Buffer.of(bytes.length), bytes]);
  });
  return Buffer.concat(pieces);
}

/** An NSEC record: the name has records of these types, all below 256, and no others. */
function absence(name: string, types: readonly number[]): DnsRecord {
  const bits = Buffer.alloc(Math.floor(Math.max(...types) / 8) + 1);
  for (const type of types) bits[type >> 3] = (bits[type >> 3] ?? 0) | (0x80 >> (type & 7));
  const data = Buffer.concat([encodeName(name), Buffer.of(0, bits.length), bits]);
  return uniqueRecord(name, TYPE.NSEC, HOST_TTL_S, data);
}
