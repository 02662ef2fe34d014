/**
 * Divides a turn of the event loop between identities. What a connection has read is worked off until its identity
 * has had its slice of this turn, or the turn is over; the rest waits for the next one, in which every waiting
 * identity gets a slice in its order. So a client that sends costly packets waits for itself; its neighbours and the
 * rest of the process wait for one turn and the longest single packet at most.
 */
import type { DurationMs } from '../../lib/time.ts';
import { nextTurn } from '../clock/index.ts';
import type { MqttLimits } from './types.ts';

/** One share of the turns; all connections of one identity have one together. */
export interface Share {
  /** Time that it worked in this turn; kept by the scheduler. */
  turnMs: DurationMs;
}

export interface Worker {
  readonly share: Share;
  /** Goes on until `mayGoOn` says no. */
  resume(): void;
}

export class TurnScheduler {
  readonly #limits: Pick<MqttLimits, 'turnWorkMs' | 'sliceWorkMs'>;
  readonly #waiting = new Map<Share, Set<Worker>>();
  /** Shares that worked in this turn. */
  #active: Share[] = [];
  #spentMs: DurationMs = 0;
  #isTurnBegun = false;

  constructor(limits: Pick<MqttLimits, 'turnWorkMs' | 'sliceWorkMs'>) {
    this.#limits = limits;
  }

  /** Whether time is left of this turn, and of the slice of this share in it. */
  mayGoOn(share: Share): boolean {
    return this.#spentMs < this.#limits.turnWorkMs && share.turnMs < this.#limits.sliceWorkMs;
  }

  spend(share: Share, workMs: DurationMs): void {
    if (workMs <= 0) return;
    if (share.turnMs === 0) this.#active.push(share);
    share.turnMs += workMs;
    this.#spentMs += workMs;
    this.#begin();
  }

  /** Calls `resume` in a later turn. */
  wait(worker: Worker): void {
    const workers = this.#waiting.get(worker.share);
    if (workers) workers.add(worker);
    else this.#waiting.set(worker.share, new Set([worker]));
    this.#begin();
  }

  forget(worker: Worker): void {
    const workers = this.#waiting.get(worker.share);
    workers?.delete(worker);
    if (workers?.size === 0) this.#waiting.delete(worker.share);
  }

  #begin(): void {
    if (this.#isTurnBegun) return;
    this.#isTurnBegun = true;
    void nextTurn().then(() => this.#next());
  }

  #next(): void {
    this.#isTurnBegun = false;
    this.#spentMs = 0;
    for (const share of this.#active) share.turnMs = 0;
    this.#active = [];
    // Half of the turn is left for connections that have not waited: most send one packet only.
    const queueMs = this.#limits.turnWorkMs / 2;
    const queue = [...this.#waiting];
    for (const [share, workers] of queue) {
      if (this.#spentMs >= queueMs) break;
      // A share that has to wait again goes to the end of the queue.
      this.#waiting.delete(share);
      this.#serve(share, [...workers]);
    }
    if (this.#waiting.size > 0) this.#begin();
  }

  #serve(share: Share, workers: readonly Worker[]): void {
    for (const worker of workers) {
      if (this.mayGoOn(share)) worker.resume();
      else this.wait(worker);
    }
  }
}
