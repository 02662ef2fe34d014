/**
 * Which requests are sent when, and which transaction id each has. In order per unit; units do not wait for
 * each other: each may have one request in flight, and more as long as the device as a whole has room. A unit
 * that is silent gets one at a time until it answers; one that loses some of several, for good.
 */
import type { Limits } from '../../lib/limits.ts';

export interface Waiting {
  readonly unitId: number;
  /** False when its turn comes: it is not sent. Whoever added it ends it. */
  readonly isWanted?: (() => boolean) | undefined;
  /** Given when it is sent. */
  transactionId?: number;
}

const TRANSACTION_IDS = 65_536;

interface Unit<Entry> {
  queued: Entry[];
  inFlight: Set<Entry>;
  /** Answers so far; a request that is lost while this grows was lost because of its neighbours. */
  answers: number;
}

export class Pipeline<Entry extends Waiting> {
  readonly #limits: Limits['field'];
  readonly #units = new Map<number, Unit<Entry>>();
  readonly #inFlight = new Map<number, { entry: Entry; answersBefore: number }>();
  /** Units that take one request at a time. */
  readonly #lossy = new Set<number>();
  readonly #silent = new Set<number>();
  #queuedCount = 0;
  #nextId = 0;
  /** One request at a time, whatever its unit. */
  isSingle = false;

  constructor(limits: Limits['field']) {
    this.#limits = limits;
  }

  /** False: too many wait already. */
  add(entry: Entry): boolean {
    if (this.#queuedCount >= this.#limits.queuedRequests) return false;
    this.#queuedCount += 1;
    this.#unitOf(entry.unitId).queued.push(entry);
    return true;
  }

  /** Asks them again before anything that waits. */
  addAgain(entries: readonly Entry[]): void {
    this.#queuedCount += entries.length;
    for (const entry of entries.toReversed()) this.#unitOf(entry.unitId).queued.unshift(entry);
  }

  /** From now on one request of that unit is under way at a time. */
  sendSingly(unitId: number): void {
    this.#lossy.add(unitId);
  }

  /** Takes those that may be sent now and gives them their ids. */
  takeReady(): Entry[] {
    const ready: Entry[] = [];
    // The list first: the loop moves units to the end.
    const inTurn = [...this.#units.keys()];
    for (const unitId of inTurn) {
      const unit = this.#unitOf(unitId);
      const taken = this.#takeOf(unitId, unit);
      if (taken.length === 0) continue;
      ready.push(...taken);
      // The next turn begins with another unit.
      this.#units.delete(unitId);
      this.#units.set(unitId, unit);
    }
    return ready;
  }

  /** The request of that id, which is no longer in flight; undefined when nobody waits for it. */
  answered(transactionId: number): Entry | undefined {
    const entry = this.#inFlight.get(transactionId)?.entry;
    if (entry === undefined) return undefined;
    this.#inFlight.delete(transactionId);
    const unit = this.#unitOf(entry.unitId);
    unit.inFlight.delete(entry);
    unit.answers += 1;
    this.#silent.delete(entry.unitId);
    this.#forget(entry.unitId);
    return entry;
  }

  /** Its time is over; returns whether it had been sent. */
  expired(entry: Entry): boolean {
    const unit = this.#unitOf(entry.unitId);
    const sent = entry.transactionId === undefined ? undefined : this.#inFlight.get(entry.transactionId);
    if (sent?.entry === entry) {
      this.#inFlight.delete(entry.transactionId ?? 0);
      unit.inFlight.delete(entry);
      if (unit.answers > sent.answersBefore) this.#lossy.add(entry.unitId);
      else this.#silent.add(entry.unitId);
    } else {
      const index = unit.queued.indexOf(entry);
      if (index !== -1) {
        unit.queued.splice(index, 1);
        this.#queuedCount -= 1;
      }
    }
    this.#forget(entry.unitId);
    return sent?.entry === entry;
  }

  /** True when some are not sent yet. */
  get isWaiting(): boolean {
    return this.#queuedCount > 0;
  }

  /** True when some are sent and not answered. */
  get isInFlight(): boolean {
    return this.#inFlight.size > 0;
  }

  /** What is sent and not answered, in the order of sending. */
  get inFlight(): Entry[] {
    return [...this.#inFlight.values()].map(({ entry }) => entry);
  }

  /** True when nothing is in flight to a unit that answered when it was last asked. */
  get hopesForNothing(): boolean {
    return this.inFlight.every((entry) => this.#silent.has(entry.unitId));
  }

  /** Takes out those that were sent: their connection is gone. */
  takeSent(): Entry[] {
    const sent = this.inFlight;
    this.#inFlight.clear();
    for (const entry of sent) {
      this.#unitOf(entry.unitId).inFlight.delete(entry);
      this.#forget(entry.unitId);
    }
    return sent;
  }

  /** Takes out everything. */
  clear(): Entry[] {
    const all = [...this.#units.values()].flatMap((unit) => [...unit.inFlight, ...unit.queued]);
    this.#units.clear();
    this.#inFlight.clear();
    this.#queuedCount = 0;
    return all;
  }

  #unitOf(unitId: number): Unit<Entry> {
    return this.#units.getOrInsertComputed(unitId, () => ({ queued: [], inFlight: new Set(), answers: 0 }));
  }

  #freeId(): number {
    // Few of them are taken: `requestsAtOnce`, or one per unit.
    while (this.#inFlight.has(this.#nextId)) this.#nextId = (this.#nextId + 1) % TRANSACTION_IDS;
    const id = this.#nextId;
    this.#nextId = (this.#nextId + 1) % TRANSACTION_IDS;
    return id;
  }

  #forget(unitId: number): void {
    const unit = this.#units.get(unitId);
    if (unit && unit.queued.length === 0 && unit.inFlight.size === 0) this.#units.delete(unitId);
  }

  #takeOf(unitId: number, unit: Unit<Entry>): Entry[] {
    const unitMax =
      this.#lossy.has(unitId) || this.#silent.has(unitId) ? 1 : this.#limits.requestsAtOncePerUnit;
    const mayTake = (): boolean =>
      (unit.inFlight.size === 0 && !(this.isSingle && this.isInFlight)) ||
      (!this.isSingle && unit.inFlight.size < unitMax && this.#inFlight.size < this.#limits.requestsAtOnce);
    const taken: Entry[] = [];
    while (mayTake()) {
      const entry = unit.queued.shift();
      if (entry === undefined) break;
      this.#queuedCount -= 1;
      if (entry.isWanted?.() === false) continue;
      entry.transactionId = this.#freeId();
      unit.inFlight.add(entry);
      this.#inFlight.set(entry.transactionId, { entry, answersBefore: unit.answers });
      taken.push(entry);
    }
    return taken;
  }
}
