/**
 * Values without a stream: something on the way, mostly a reverse proxy, lets none through. They are read every while, and
 * a banner says why.
 */
import { signal } from '@preact/signals';
import { callFor, NoAnswer } from './api.ts';
import { isAway, isConnected, obstacle } from './connection.ts';
import { remoteChangeCount } from './remote-changes.ts';

const POLL_INTERVAL_MS = 10_000;

/** Grows with each reading. */
export const polls = signal(0);

export class Polling {
  readonly #read: () => Promise<void>;
  #timer: ReturnType<typeof setInterval> | undefined;
  #isEnded = false;

  /** @param read everything that a stream would bring; rejects like any call */
  constructor(read: () => Promise<void>) {
    this.#read = read;
  }

  get isRunning(): boolean {
    return this.#timer !== undefined;
  }

  /** Starts as soon as the gateway answers, which is what tells an obstacle from a lost connection. */
  async start(): Promise<void> {
    if (this.isRunning) return;
    // Without an answer the connection is lost, and the stream says so.
    const found = await findObstacle().catch(() => undefined);
    if (found === undefined) return;
    if (this.#isEnded || this.isRunning) return;
    obstacle.value = found;
    this.#timer = setInterval(() => void this.#poll(), POLL_INTERVAL_MS);
    await this.#poll();
  }

  /** The stream is open, or the page is left. */
  end(): void {
    this.#isEnded = true;
    clearInterval(this.#timer);
    this.#timer = undefined;
    obstacle.value = undefined;
  }

  async #poll(): Promise<void> {
    if (document.visibilityState === 'hidden') return;
    let isThere = true;
    try {
      await this.#read();
    } catch (error) {
      isThere = !(error instanceof NoAnswer);
    }
    if (!this.isRunning) return;
    isConnected.value = isThere;
    isAway.value = !isThere;
    if (!isThere) return;
    polls.value += 1;
    remoteChangeCount.value += 1;
  }
}

/** @throws ApiError, NoAnswer */
async function findObstacle(): Promise<'origin' | 'stream'> {
  const address = `/v3/connection?origin=${encodeURIComponent(location.origin)}`;
  const found = await callFor<{ is_known_origin?: boolean }>('connection', 'GET', address);
  return found.is_known_origin === false ? 'origin' : 'stream';
}
