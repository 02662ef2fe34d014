/**
 * The life of a host's records on one network. Source: RFC 6762 sections 6 to 10.
 *
 *   probing ─three probes without objection─▶ announced ─▶ answers
 *      ▲  └──────another host has the name─────▶ another name
 *      └────────a record contradicts───────────────┘
 */
import type { Buffer } from 'node:buffer';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../clock/index.ts';
import {
  dataOf,
  decodeMessage,
  type DnsRecord,
  encodeMessage,
  isSameName,
  isSameRecord,
  type Message,
} from './message.ts';
import type { MulticastLink, Sender } from './network.ts';
import type { HostRecords } from './records.ts';

interface LinkResponderOptions {
  link: MulticastLink;
  records: HostRecords;
  clock: Clock;
  limits: Limits['mdns'];
  /** 0 to 1: hosts that start together send at different moments. */
  random: () => number;
  /** Before the first probe; longer after many conflicts. */
  pauseMs: DurationMs;
  /** Every address of this machine is its own on each of its networks. */
  isOwnAddress: (address: string) => boolean;
  /** Another host has the name. */
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
/** RFC 6762 section 6.7: clients that are no multicast DNS cache an answer for this long. */
const LEGACY_TTL_S = 10;
const MDNS_PORT = 5_353;

export class LinkResponder {
  readonly #options: LinkResponderOptions;
  readonly #bucket: TokenBucket;
  readonly #sentAtMs = new Map<DnsRecord, number>();
  readonly #timers = new Set<Timer>();
  #state: 'probing' | 'announced' | 'stopped' = 'probing';

  constructor(options: LinkResponderOptions) {
    this.#options = options;
    const { link, clock, limits } = options;
    this.#bucket = new TokenBucket(limits.packetsPerSecond, limits.packetBurst, clock.monotonicMs());
    link.onPacket((bytes, from) => this.#receive(bytes, from));
    this.#begin(options.pauseMs);
  }

  /** False: the link receives nothing any more. */
  isJoined(): boolean {
    return this.#options.link.isJoined();
  }

  /** Says goodbye and closes the link. */
  stop(): void {
    if (this.#state === 'announced')
      this.#options.link.send(
        encodeMessage({
          isResponse: true,
          answers: this.#options.records.all.map((record) => ({ ...record, ttl: 0 })),
        }),
      );
    this.#state = 'stopped';
    this.#forgetTimers();
    this.#options.link.close();
  }

  #later(durationMs: DurationMs, run: () => void): void {
    const timer = this.#options.clock.setTimer(durationMs, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.add(timer);
  }

  #forgetTimers(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #begin(pauseMs: DurationMs): void {
    this.#forgetTimers();
    this.#state = 'probing';
    this.#later(pauseMs + this.#options.random() * PROBE_MS, () => this.#probe(0));
  }

  #probe(count: number): void {
    if (count === PROBES) return this.#announce(0);
    const questions = this.#options.records.names.map((name) => ({
      name,
      type: 'ANY' as const,
      isUnicast: count === 0,
    }));
    this.#options.link.send(encodeMessage({ questions, authorities: this.#options.records.unique }));
    this.#later(PROBE_MS, () => this.#probe(count + 1));
  }

  #announce(count: number): void {
    if (count === 0) {
      this.#state = 'announced';
      this.#options.onAnnounced();
    }
    this.#options.link.send(encodeMessage({ isResponse: true, answers: this.#options.records.all }));
    if (count + 1 < ANNOUNCEMENTS) this.#later(ANNOUNCE_MS, () => this.#announce(count + 1));
  }

  #receive(bytes: Buffer, from: Sender): void {
    if (this.#state === 'stopped' || bytes.length > this.#options.limits.packetBytes) return;
    if (!this.#bucket.take(this.#options.clock.monotonicMs())) return;
    const message = decodeMessage(bytes);
    if (message === undefined) return;
    if (message.isResponse) return this.#receiveResponse(message);
    if (this.#state === 'announced') return this.#answer(message, from);
    this.#compare(message);
  }

  /** Whether a record says something else about a name of this host. */
  #contradicts(record: DnsRecord): boolean {
    if (!this.#options.records.names.some((name) => isSameName(name, record.name))) return false;
    const mine = this.#options.records.unique.filter(({ type }) => type === record.type);
    // A goodbye claims nothing, and a type that this host does not have cannot contradict it.
    if (record.ttl === 0 || mine.length === 0) return false;
    if (mine.some((own) => isSameRecord(own, record))) return false;
    return !(record.type === 'A' && this.#options.isOwnAddress(record.data));
  }

  #receiveResponse({ answers, additionals }: Message): void {
    if (![...answers, ...additionals].some((record) => this.#contradicts(record))) return;
    // The host probes again; if the other host objects, it takes another name.
    if (this.#state === 'announced') return this.#begin(0);
    this.#forgetTimers();
    this.#options.onConflict();
  }

  /** Two hosts probe for one name at the same time: the one with the lesser data waits (RFC 6762 section 8.2). */
  #compare({ questions, authorities }: Message): void {
    const isMine = (name: string): boolean =>
      this.#options.records.names.some((own) => isSameName(own, name));
    if (!questions.some(({ name, type }) => type === 'ANY' && isMine(name))) return;
    const theirs = authorities.filter((record) => this.#contradicts(record));
    const isLesser = theirs.some((record) =>
      this.#options.records.unique.some(
        (own) =>
          own.type === record.type &&
          isSameName(own.name, record.name) &&
          dataOf(own).compare(dataOf(record)) < 0,
      ),
    );
    if (isLesser) this.#begin(YIELD_MS);
  }

  #answer(query: Message, from: Sender): void {
    const { answers, additionals } = this.#options.records.answers(query.questions, query.answers);
    if (answers.length === 0) return;
    if (from.port !== MDNS_PORT) return this.#answerLegacy(query, answers, from);
    if (query.questions.every(({ isUnicast }) => isUnicast))
      return this.#options.link.send(encodeMessage({ isResponse: true, answers, additionals }), from);
    const isProbe = query.authorities.length > 0;
    const send = (): void => this.#multicast(answers, additionals, isProbe ? DEFENCE_MS : REPEAT_MS);
    // Other hosts may answer, too: at different moments, so that their packets do not collide.
    if (answers.some(({ flush }) => flush !== true))
      this.#later(SHARED_MIN_MS + this.#options.random() * SHARED_SPREAD_MS, send);
    else send();
  }

  #answerLegacy({ id, questions }: Message, answers: readonly DnsRecord[], from: Sender): void {
    const plain = answers.map((record) => ({
      ...record,
      flush: false,
      ttl: Math.min(record.ttl ?? 0, LEGACY_TTL_S),
    }));
    this.#options.link.send(encodeMessage({ id, isResponse: true, questions, answers: plain }), from);
  }

  /** A record that was sent to all just now is not sent again. */
  #multicast(answers: readonly DnsRecord[], additionals: readonly DnsRecord[], pauseMs: DurationMs): void {
    const nowMs = this.#options.clock.monotonicMs();
    const isDue = (record: DnsRecord): boolean =>
      nowMs - (this.#sentAtMs.get(record) ?? Number.NEGATIVE_INFINITY) >= pauseMs;
    const due = answers.filter(isDue);
    if (due.length === 0) return;
    for (const record of due) this.#sentAtMs.set(record, nowMs);
    this.#options.link.send(encodeMessage({ isResponse: true, answers: due, additionals }));
  }
}
