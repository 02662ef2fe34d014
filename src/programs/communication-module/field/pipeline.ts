/**
 * Which requests are sent when, and which transaction id each has. In order per unit; units do not wait for
 * each other: each may have one request in flight, and more as long as the device as a whole has room. A unit
 * that is silent gets one at a time until it answers; one that loses some of several, for good.
 */
import type { Limits } from '../../../lib/limits.ts';

export interface Waiting {
  readonly unitId: number;
  /** Given when it is sent. */
  transactionId?: number;
}

export interface Pipeline<Entry extends Waiting> {
  /** False: too many wait already. */
  add(entry: Entry): boolean;
  /** Takes those that may be sent now and gives them their ids. */
  takeReady(): Entry[];
  /** The request of that id, which is no longer in flight; undefined when nobody waits for it. */
  answered(transactionId: number): Entry | undefined;
  /** Its time is over; returns whether it had been sent. */
  expired(entry: Entry): boolean;
  /** True when some are not sent yet. */
  readonly isWaiting: boolean;
  /** True when nothing is in flight to a unit that answered when it was last asked. */
  readonly hopesForNothing: boolean;
  /** Takes out those that were sent: their connection is gone. */
  takeSent(): Entry[];
  /** Takes out everything. */
  clear(): Entry[];
}

const TRANSACTION_IDS = 65_536;

interface Unit<Entry> {
  queued: Entry[];
  inFlight: Set<Entry>;
  /** Answers so far; a request that is lost while this grows was lost because of its neighbours. */
  answers: number;
}

export function createPipeline<Entry extends Waiting>(
  limits: Pick<Limits['field'], 'queuedRequests' | 'requestsAtOnce' | 'requestsAtOncePerUnit'>,
): Pipeline<Entry> {
  const units = new Map<number, Unit<Entry>>();
  const inFlight = new Map<number, { entry: Entry; answersBefore: number }>();
  /** Units that take one request at a time. */
  const lossy = new Set<number>();
  const silent = new Set<number>();
  let queuedCount = 0;
  let nextId = 0;

  function unitOf(unitId: number): Unit<Entry> {
    const known = units.get(unitId);
    if (known) return known;
    const unit: Unit<Entry> = { queued: [], inFlight: new Set(), answers: 0 };
    units.set(unitId, unit);
    return unit;
  }

  function freeId(): number {
    // Few of them are taken: `requestsAtOnce`, or one per unit.
    while (inFlight.has(nextId)) nextId = (nextId + 1) % TRANSACTION_IDS;
    const id = nextId;
    nextId = (nextId + 1) % TRANSACTION_IDS;
    return id;
  }

  function forget(unitId: number): void {
    const unit = units.get(unitId);
    if (unit && unit.queued.length === 0 && unit.inFlight.size === 0) units.delete(unitId);
  }

  function takeOf(unitId: number, unit: Unit<Entry>): Entry[] {
    const unitMax = lossy.has(unitId) || silent.has(unitId) ? 1 : limits.requestsAtOncePerUnit;
    const mayTake = (): boolean =>
      unit.inFlight.size === 0 || (unit.inFlight.size < unitMax && inFlight.size < limits.requestsAtOnce);
    const taken: Entry[] = [];
    while (mayTake()) {
      const entry = unit.queued.shift();
      if (entry === undefined) break;
      queuedCount -= 1;
      entry.transactionId = freeId();
      unit.inFlight.add(entry);
      inFlight.set(entry.transactionId, { entry, answersBefore: unit.answers });
      taken.push(entry);
    }
    return taken;
  }

  return {
    add: (entry) => {
      if (queuedCount >= limits.queuedRequests) return false;
      queuedCount += 1;
      unitOf(entry.unitId).queued.push(entry);
      return true;
    },
    takeReady: () => {
      const ready: Entry[] = [];
      // The list first: the loop moves units to the end.
      const inTurn = [...units.keys()];
      for (const unitId of inTurn) {
        const unit = unitOf(unitId);
        const taken = takeOf(unitId, unit);
        if (taken.length === 0) continue;
        ready.push(...taken);
        // The next turn begins with another unit.
        units.delete(unitId);
        units.set(unitId, unit);
      }
      return ready;
    },
    answered: (transactionId) => {
      const entry = inFlight.get(transactionId)?.entry;
      if (entry === undefined) return undefined;
      inFlight.delete(transactionId);
      const unit = unitOf(entry.unitId);
      unit.inFlight.delete(entry);
      unit.answers += 1;
      silent.delete(entry.unitId);
      forget(entry.unitId);
      return entry;
    },
    expired: (entry) => {
      const unit = unitOf(entry.unitId);
      const sent = entry.transactionId === undefined ? undefined : inFlight.get(entry.transactionId);
      if (sent?.entry === entry) {
        inFlight.delete(entry.transactionId ?? 0);
        unit.inFlight.delete(entry);
        if (unit.answers > sent.answersBefore) lossy.add(entry.unitId);
        else silent.add(entry.unitId);
      } else {
        const index = unit.queued.indexOf(entry);
        if (index !== -1) {
          unit.queued.splice(index, 1);
          queuedCount -= 1;
        }
      }
      forget(entry.unitId);
      return sent?.entry === entry;
    },
    get isWaiting() {
      return queuedCount > 0;
    },
    get hopesForNothing() {
      return [...inFlight.values()].every(({ entry }) => silent.has(entry.unitId));
    },
    takeSent: () => {
      const sent = [...inFlight.values()].map(({ entry }) => entry);
      inFlight.clear();
      for (const entry of sent) {
        unitOf(entry.unitId).inFlight.delete(entry);
        forget(entry.unitId);
      }
      return sent;
    },
    clear: () => {
      const all = [...units.values()].flatMap((unit) => [...unit.inFlight, ...unit.queued]);
      units.clear();
      inFlight.clear();
      queuedCount = 0;
      return all;
    },
  };
}
