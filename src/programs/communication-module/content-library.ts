/**
 * Scripts and facts by their hash: fetched piece by piece, verified, kept as long as somebody runs them.
 */
import { createHash } from 'node:crypto';
import type { Limits } from '../../lib/limits.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Assignment, ToModule } from '../../protocol/module.ts';

export type ContentReference = Assignment['script'];

export interface ContentLibrary {
  /** What is here already; undefined while it is fetched. */
  get(hash: string): Buffer | undefined;
  /** From now on exactly these are wanted: others are forgotten, missing ones are fetched. */
  want(contents: readonly ContentReference[]): void;
  /** A piece came. */
  receive(piece: ToModule & { type: 'content' }): void;
  /** There is a connection again: what is missing is asked for again. */
  askAgain(): void;
  stop(): void;
}

interface Fetching {
  sizeBytes: number;
  pieces: Buffer[];
  receivedBytes: number;
  timer: Timer | undefined;
}

export interface ContentLibraryOptions {
  clock: Clock;
  limits: Limits['module'];
  /** Asks for the piece that begins there. */
  ask: (hash: string, offset: number) => void;
  /** It is here and its hash is right. */
  onComplete: (hash: string) => void;
  /** What came is not what its hash says; it is fetched again. */
  onDamaged: (hash: string) => void;
}

export function createContentLibrary(options: ContentLibraryOptions): ContentLibrary {
  const { clock, limits } = options;
  const whole = new Map<string, Buffer>();
  const fetching = new Map<string, Fetching>();

  function ask(hash: string, entry: Fetching): void {
    entry.timer?.cancel();
    // The answer, or the question, may be lost with a connection.
    entry.timer = clock.setTimer(limits.answerMs, () => ask(hash, entry));
    options.ask(hash, entry.receivedBytes);
  }

  function restart(hash: string, entry: Fetching): void {
    entry.pieces = [];
    entry.receivedBytes = 0;
    entry.timer?.cancel();
    entry.timer = clock.setTimer(limits.answerMs, () => ask(hash, entry));
    options.onDamaged(hash);
  }

  function finish(hash: string, entry: Fetching): void {
    const bytes = Buffer.concat(entry.pieces);
    if (createHash('sha256').update(bytes).digest('hex') !== hash) return restart(hash, entry);
    entry.timer?.cancel();
    fetching.delete(hash);
    whole.set(hash, bytes);
    options.onComplete(hash);
  }

  return {
    get: (hash) => whole.get(hash),
    want: (contents) => {
      const wanted = new Map(contents.map((content) => [content.hash, content]));
      for (const hash of whole.keys()) if (!wanted.has(hash)) whole.delete(hash);
      for (const [hash, entry] of fetching)
        if (!wanted.has(hash)) {
          entry.timer?.cancel();
          fetching.delete(hash);
        }
      for (const { hash, size: sizeBytes } of wanted.values()) {
        if (whole.has(hash) || fetching.has(hash)) continue;
        const entry: Fetching = { sizeBytes, pieces: [], receivedBytes: 0, timer: undefined };
        fetching.set(hash, entry);
        ask(hash, entry);
      }
    },
    receive: ({ hash, size: sizeBytes, offset, data }) => {
      const entry = fetching.get(hash);
      // A piece that was asked for twice comes twice.
      if (entry === undefined || offset !== entry.receivedBytes) return;
      const endBytes = offset + data.length;
      if (
        sizeBytes !== entry.sizeBytes ||
        endBytes > sizeBytes ||
        (data.length === 0 && endBytes < sizeBytes)
      )
        return restart(hash, entry);
      entry.pieces.push(data);
      entry.receivedBytes = endBytes;
      if (endBytes === sizeBytes) finish(hash, entry);
      else ask(hash, entry);
    },
    askAgain: () => {
      for (const [hash, entry] of fetching) ask(hash, entry);
    },
    stop: () => {
      for (const entry of fetching.values()) entry.timer?.cancel();
      fetching.clear();
    },
  };
}
