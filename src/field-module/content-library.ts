/**
 * Scripts and facts by their hash: fetched chunk by chunk, verified, and kept while a device needs them.
 */
import { hash as hashOf } from 'node:crypto';
import type { Limits } from '../lib/limits.ts';
import type { Clock, Timer } from '../platform/clock/index.ts';
import type { Assignment, ToModule } from '../protocol/module.ts';

type ContentReference = Assignment['script'];

interface Fetching {
  sizeBytes: number;
  chunks: Buffer[];
  receivedBytes: number;
  timer: Timer | undefined;
}

interface ContentLibraryOptions {
  clock: Clock;
  limits: Limits['module'];
  /** Asks for the chunk that begins there. */
  ask: (hash: string, offset: number) => void;
  /** The content is complete and its hash is right. */
  onComplete: (hash: string) => void;
  /** The content does not have its hash; it is fetched again. */
  onDamaged: (hash: string) => void;
}

export class ContentLibrary {
  readonly #options: ContentLibraryOptions;
  readonly #whole = new Map<string, Buffer>();
  readonly #fetching = new Map<string, Fetching>();

  constructor(options: ContentLibraryOptions) {
    this.#options = options;
  }

  /** Complete content; undefined while it is fetched. */
  get(hash: string): Buffer | undefined {
    return this.#whole.get(hash);
  }

  /** From now on exactly these are wanted: forgets others and fetches missing ones. */
  want(contents: readonly ContentReference[]): void {
    const wanted = new Map(contents.map((content) => [content.hash, content]));
    for (const hash of this.#whole.keys()) if (!wanted.has(hash)) this.#whole.delete(hash);
    for (const [hash, entry] of this.#fetching)
      if (!wanted.has(hash)) {
        entry.timer?.cancel();
        this.#fetching.delete(hash);
      }
    for (const { hash, size: sizeBytes } of wanted.values()) {
      if (this.#whole.has(hash) || this.#fetching.has(hash)) continue;
      const entry: Fetching = { sizeBytes, chunks: [], receivedBytes: 0, timer: undefined };
      this.#fetching.set(hash, entry);
      this.#ask(hash, entry);
    }
  }

  /** A chunk came. */
  receive({ hash, size: sizeBytes, offset, data }: ToModule & { type: 'content' }): void {
    const entry = this.#fetching.get(hash);
    // A chunk that was requested twice comes twice.
    if (entry === undefined || offset !== entry.receivedBytes) return;
    const endBytes = offset + data.length;
    if (sizeBytes !== entry.sizeBytes || endBytes > sizeBytes || (data.length === 0 && endBytes < sizeBytes))
      return this.#restart(hash, entry);
    entry.chunks.push(data);
    entry.receivedBytes = endBytes;
    if (endBytes === sizeBytes) this.#finish(hash, entry);
    else this.#ask(hash, entry);
  }

  /** After a new connection: requests what is missing again. */
  askAgain(): void {
    for (const [hash, entry] of this.#fetching) this.#ask(hash, entry);
  }

  stop(): void {
    for (const entry of this.#fetching.values()) entry.timer?.cancel();
    this.#fetching.clear();
  }

  #ask(hash: string, entry: Fetching): void {
    this.#askLater(hash, entry);
    this.#options.ask(hash, entry.receivedBytes);
  }

  #askLater(hash: string, entry: Fetching): void {
    entry.timer?.cancel();
    // The request or its answer may be lost with a connection.
    entry.timer = this.#options.clock.setTimer(this.#options.limits.answerMs, () => this.#ask(hash, entry));
  }

  #restart(hash: string, entry: Fetching): void {
    entry.chunks = [];
    entry.receivedBytes = 0;
    this.#askLater(hash, entry);
    this.#options.onDamaged(hash);
  }

  #finish(hash: string, entry: Fetching): void {
    const bytes = Buffer.concat(entry.chunks);
    if (hashOf('sha256', bytes) !== hash) return this.#restart(hash, entry);
    entry.timer?.cancel();
    this.#fetching.delete(hash);
    this.#whole.set(hash, bytes);
    this.#options.onComplete(hash);
  }
}
