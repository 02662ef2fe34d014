import { LIMITS, type Limits } from '../../lib/limits.ts';
import { CommitGroup } from '../../platform/commit/index.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import { SegmentWriter, type SegmentWriterOptions } from './segment-writer.ts';

interface JournalOptions extends SegmentWriterOptions, Instruments {
  /** Prefix of the metrics, snake_case. */
  name: string;
  /** Hands over everything buffered as one record; `undefined` when there is nothing. */
  encode: () => Uint8Array | undefined;
  /**
   * The record is on disk. Called in order, before the promises of its group resolve, which also wait for the returned
   * promise: so a slow consumer slows the producers.
   */
  synced: (sequence: number, payload: Uint8Array) => Promise<void> | void;
  limits?: Pick<Limits, 'commits' | 'journal'>;
}

/**
 * An append-only journal of records in files of its own, synced in groups. It is not in SQLite, because its syncs run
 * outside the event loop, and because a small record rewrites one 4 KiB page of the card, where a SQLite commit rewrites
 * two and its checkpoint another (docs/decisions/0010).
 *
 * Segments are filled with zeros when created and recycled when released, so that a sync writes data only and no file
 * system metadata. A damaged segment is never overwritten: it is renamed to `NNNNNN.journal.damaged` and stays until a
 * person removes it.
 */
export class Journal {
  /** Callers report here what they buffered for the next record. */
  readonly commits: CommitGroup;
  readonly segments: SegmentWriter;
  #pending: Uint8Array | undefined;

  private constructor(options: JournalOptions, segments: SegmentWriter) {
    this.segments = segments;
    this.commits = new CommitGroup({
      name: options.name,
      target: options.folder,
      clock: options.clock,
      log: options.log,
      metrics: options.metrics,
      limits: (options.limits ?? LIMITS).commits,
      commit: () => this.#commit(options),
    });
  }

  /**
   * Continues after the last intact record of the folder. Read the folder with `readJournal` first.
   * @throws Error when the disk does not give something of it now
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const segments = new SegmentWriter(options);
    await segments.setDamagedAside();
    return new Journal(options, segments);
  }

  /** What is buffered meanwhile belongs to the next commit: the callers of this one wait for no more than their own data. */
  async #commit(options: JournalOptions): Promise<void> {
    // A record that could not be written stays here and is tried again before anything newer.
    if (this.#pending) await this.#append(this.#pending, options);
    this.#pending = options.encode();
    if (this.#pending) await this.#append(this.#pending, options);
  }

  async #append(record: Uint8Array, { synced }: JournalOptions): Promise<void> {
    const sequence = await this.segments.append(record);
    this.#pending = undefined;
    await synced(sequence, record);
  }

  async stop(): Promise<void> {
    await this.commits.stop();
    await this.segments.close();
  }
}
