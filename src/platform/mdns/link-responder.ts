/**
 * The life of a host's records on one network. Source: RFC 6762 sections 6 to 10.
 *
 *   probing ─three questions, nobody objects─▶ announced ─▶ answers
 *      ▲  └───────somebody has the name──────▶ another name
 *      └──────────somebody says otherwise─────────┘
 */
import type { Buffer } from 'node:buffer';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Clock, Timer } from '../clock/index.ts';
import {
  decodeMessage,
  type DnsRecord,
  encodeMessage,
  isSameName,
  isSameRecord,
  type Message,
  TYPE,
} from './message.ts';
import type { MulticastLink, Sender } from './network.ts';
import type { HostRecords } from './records.ts';

export interface LinkResponder {
  /** Says goodbye and closes the link. */
  stop(): void;
}

export interface LinkResponderOptions {
  link: MulticastLink;
  records: HostRecords;
  clock: Clock;
  limits: Limits['mdns'];
  /** 0 to 1, so that hosts that start together do not speak together. */
  random: () => number;
  /** Before the first question; longer after many conflicts. */
  pauseMs: number;
  /** Every address of this machine is its own on each of its networks. */
  isOwnAddress: (address: string) => boolean;
  /** Somebody else has the name. */
  onConflict: () => void;
  onAnnounced: () => void;
}

/** RFC 6762 sections 8.1, 8.3, 6. */
const PROBES = 3;
const PROBE_MS = 250;
const ANNOUNCEMENTS = 2;
const ANNOUNCE_MS = 1_000;
const YIELD_MS = 1_000;
const SHARED_MIN_MS = 20;
const SHARED_SPREAD_MS = 100;
const REPEAT_MS = 1_000;
const DEFENCE_MS = 250;
/** RFC 6762 section 6.7: askers that are no multicast DNS shall not keep it for long. */
const LEGACY_TTL_S = 10;
const MDNS_PORT = 5_353;

export function createLinkResponder(options: LinkResponderOptions): LinkResponder {
  const { link, records, clock, limits, random } = options;
  const bucket = new TokenBucket(limits.packetsPerSecond, limits.packetBurst, clock.monotonicMs());
  const sentAtMs = new Map<DnsRecord, number>();
  const timers = new Set<Timer>();
  let state: 'probing' | 'announced' | 'stopped' = 'probing';

  function later(durationMs: number, run: () => void): void {
    const timer = clock.setTimer(durationMs, () => {
      timers.delete(timer);
      run();
    });
    timers.add(timer);
  }

  function forgetTimers(): void {
    for (const timer of timers) timer.cancel();
    timers.clear();
  }

  function begin(pauseMs: number): void {
    forgetTimers();
    state = 'probing';
    later(pauseMs + random() * PROBE_MS, () => probe(0));
  }

  function probe(count: number): void {
    if (count === PROBES) return announce(0);
    const questions = records.names.map((name) => ({ name, type: TYPE.ANY, isUnicast: count === 0 }));
    link.send(encodeMessage({ questions, authorities: records.unique }));
    later(PROBE_MS, () => probe(count + 1));
  }

  function announce(count: number): void {
    if (count === 0) {
      state = 'announced';
      options.onAnnounced();
    }
    link.send(encodeMessage({ isResponse: true, answers: records.all }));
    if (count + 1 < ANNOUNCEMENTS) later(ANNOUNCE_MS, () => announce(count + 1));
  }

  function receive(bytes: Buffer, from: Sender): void {
    if (state === 'stopped' || bytes.length > limits.packetBytes) return;
    if (!bucket.take(clock.monotonicMs())) return;
    const message = decodeMessage(bytes);
    if (message === undefined) return;
    if (message.isResponse) return hear(message);
    if (state === 'announced') return answer(message, from);
    compare(message);
  }

  /** Does this record say something else about a name of ours? */
  function contradicts(record: DnsRecord): boolean {
    if (!records.names.some((name) => isSameName(name, record.name))) return false;
    const mine = records.unique.filter(({ type }) => type === record.type);
    // A goodbye is nobody's claim; of types that we do not have nobody needs to hear anything.
    if (record.ttlS === 0 || mine.length === 0) return false;
    if (mine.some((own) => isSameRecord(own, record))) return false;
    return !(record.type === TYPE.A && options.isOwnAddress(record.data.join('.')));
  }

  function hear({ answers, additionals }: Message): void {
    if (![...answers, ...additionals].some(contradicts)) return;
    // Who comes second asks again; if the other insists, the name is lost.
    if (state === 'announced') return begin(0);
    forgetTimers();
    options.onConflict();
  }

  /** Two that ask for one name at the same time: who has the lesser data waits (RFC 6762 section 8.2). */
  function compare({ questions, authorities }: Message): void {
    const isMine = (name: string): boolean => records.names.some((own) => isSameName(own, name));
    if (!questions.some(({ name, type }) => type === TYPE.ANY && isMine(name))) return;
    const theirs = authorities.filter(contradicts);
    const isLesser = theirs.some((record) =>
      records.unique.some(
        (own) =>
          own.type === record.type && isSameName(own.name, record.name) && own.data.compare(record.data) < 0,
      ),
    );
    if (isLesser) begin(YIELD_MS);
  }

  function answer(query: Message, from: Sender): void {
    const { answers, additionals } = records.answers(query.questions, query.answers);
    if (answers.length === 0) return;
    if (from.port !== MDNS_PORT) return answerLegacy(query, answers, from);
    if (query.questions.every(({ isUnicast }) => isUnicast))
      return link.send(encodeMessage({ isResponse: true, answers, additionals }), from);
    const isProbe = query.authorities.length > 0;
    const speak = (): void => multicast(answers, additionals, isProbe ? DEFENCE_MS : REPEAT_MS);
    // Others may have the same to say, and somebody may be quicker.
    if (answers.some(({ isUnique }) => !isUnique)) later(SHARED_MIN_MS + random() * SHARED_SPREAD_MS, speak);
    else speak();
  }

  function answerLegacy({ id, questions }: Message, answers: readonly DnsRecord[], from: Sender): void {
    const plain = answers.map((record) => ({
      ...record,
      isUnique: false,
      ttlS: Math.min(record.ttlS, LEGACY_TTL_S),
    }));
    link.send(encodeMessage({ id, isResponse: true, questions, answers: plain }), from);
  }

  /** What everybody heard just now is not said again. */
  function multicast(
    answers: readonly DnsRecord[],
    additionals: readonly DnsRecord[],
    pauseMs: number,
  ): void {
    const nowMs = clock.monotonicMs();
    const isDue = (record: DnsRecord): boolean =>
      nowMs - (sentAtMs.get(record) ?? Number.NEGATIVE_INFINITY) >= pauseMs;
    const due = answers.filter(isDue);
    if (due.length === 0) return;
    for (const record of due) sentAtMs.set(record, nowMs);
    link.send(encodeMessage({ isResponse: true, answers: due, additionals }));
  }

  link.onPacket(receive);
  begin(options.pauseMs);
  return {
    stop: () => {
      if (state === 'announced')
        link.send(
          encodeMessage({ isResponse: true, answers: records.all.map((record) => ({ ...record, ttlS: 0 })) }),
        );
      state = 'stopped';
      forgetTimers();
      link.close();
    },
  };
}
