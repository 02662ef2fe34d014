/**
 * Records of a host about itself: its address and its services. Source: RFC 6762 sections 6.1 and 10, RFC 6763 sections
 * 4 to 9. Pure.
 */
import { type DnsRecord, isSameName, isSameRecord, type Question } from './message.ts';

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
const UNIQUE = { class: 'IN', flush: true } as const;
const ENUMERATION = `_services._dns-sd._udp.${DOMAIN}`;

export type HostRecords = ReturnType<typeof hostRecords>;

/** `label` is the host's name without its domain; the services have it, too, so that it is one name to fight for. */
export function hostRecords(label: string, address: string, services: readonly AnnouncedService[]) {
  const host = `${label}.${DOMAIN}`;
  const instanceOf = (type: string): string => `${label}.${type}.${DOMAIN}`;
  const instances = services.map(({ type }) => instanceOf(type));
  const unique: DnsRecord[] = [
    { name: host, type: 'A', ttl: HOST_TTL_S, ...UNIQUE, data: address },
    ...services.flatMap(({ type, port, texts = [''] }): DnsRecord[] => {
      const name = instanceOf(type);
      return [
        { name, type: 'SRV', ttl: HOST_TTL_S, ...UNIQUE, data: { port, target: host } },
        // Without texts one empty text (RFC 6763 section 6.1).
        { name, type: 'TXT', ttl: OTHER_TTL_S, ...UNIQUE, data: [...texts] },
      ];
    }),
  ];
  const pointers = services.flatMap(({ type }) => [
    pointer(`${type}.${DOMAIN}`, instanceOf(type)),
    pointer(ENUMERATION, `${type}.${DOMAIN}`),
  ]);
  // Announces that there is no other address, so that the asker does not wait for one.
  const absences = [absence(host, ['A']), ...instances.map((name) => absence(name, ['TXT', 'SRV']))];
  /** Those that only one host may have come first. */
  const all = [...unique, ...pointers];

  function answersTo({ name, type }: Question): DnsRecord[] {
    const ofName = all.filter((record) => isSameName(record.name, name));
    const found = ofName.filter((record) => type === 'ANY' || record.type === type);
    if (found.length > 0) return found;
    return absences.filter((record) => isSameName(record.name, name));
  }

  return {
    all,
    unique,
    /** Names that only one host may have. */
    names: [host, ...instances],
    /** Answers to the questions, without those that the sender knows already; and what it will ask next. */
    answers: (questions: readonly Question[], known: readonly DnsRecord[]) => {
      // RFC 6762 section 7.1: known as long as half of its time is left.
      const isKnown = (record: DnsRecord): boolean =>
        known.some((other) => (other.ttl ?? 0) * 2 >= (record.ttl ?? 0) && isSameRecord(other, record));
      const answers = [...new Set(questions.flatMap(answersTo))].filter((record) => !isKnown(record));
      const hasAnswer = (type: string): boolean => answers.some((record) => record.type === type);
      const additionals = hasAnswer('PTR') ? unique : hasAnswer('SRV') ? unique.slice(0, 1) : [];
      return { answers, additionals: additionals.filter((record) => !answers.includes(record)) };
    },
  };
}

function pointer(name: string, data: string): DnsRecord {
  return { name, type: 'PTR', ttl: OTHER_TTL_S, class: 'IN', flush: false, data };
}

/** An NSEC record: the name has records of these types and no others. */
function absence(name: string, rrtypes: string[]): DnsRecord {
  return { name, type: 'NSEC', ttl: HOST_TTL_S, ...UNIQUE, data: { nextDomain: name, rrtypes } };
}
