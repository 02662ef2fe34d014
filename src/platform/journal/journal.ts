import { LIMITS, type Limits } from '../../lib/limits.ts';
import { CommitGroup } from '../commit/index.ts';
import type { Instruments } from '../metrics/index.ts';
import { type JournalFiles, nodeFiles } from './files.ts';
import { SegmentWriter } from './segment-writer.ts';

interface JournalOptions extends Instruments {
  /** Made with the first record, if absent. */
  folder: string;
  /** Prefix of the metrics, snake_case. */
  name: string;
  /** Hands over everything buffered as one record; `undefined` when there is nothing. */
  encode: () => Uint8Array | undefined;
  /**
   * The record is on disk. Called in order, before the promises of its group resolve, which wait for the
   * returned one too: so a slow consumer slows the producers.
   */
  synced: (sequence: number, payload: Uint8Array) => Promise<void> | void;
  /** False while the disk has no room for another segment; what there is goes on being used. Default: always. */
  mayGrow?: () => boolean;
  /** Sequences up to here are taken, whatever the folder holds: a lost journal never reuses them. */
  lastKnownSequence?: number;
  /** Damage before this sequence costs nothing: those records are stored elsewhere. */
  neededFrom?: number;
  /** Segments that the disk does not give are damaged. Default: they will be given, and the opening fails until then. */
  acceptsRefused?: boolean;
  limits?: { commits: Limits['commits']; journal: Limits['journal'] };
  files?: JournalFiles;
}

/**
 * An append-only journal of records in files of its own, synced in groups. Beside SQLite rather than in it,
 * because a sync then runs outside the event loop, and because one small record rewrites one 4 KiB page of
 * the card where a SQLite commit rewrites two and its checkpoint another (docs/decisions/0010).
 *
 * Segments are filled with zeros when made and recycled when released, so that a sync changes data only and
 * the file system has no metadata to commit. What could not be read is never written over: such a segment is
 * renamed to `NNNNNN.journal.damaged` and stays until a person removes it.
 */
export class Journal {
  /** Whoever has buffered something for the next record says so here. */
  readonly commits: CommitGroup;
  readonly segments: Pick<
    SegmentWriter,
    'release' | 'writeCompanion' | 'lastSequence' | 'sizeBytes' | 'damagedSegments'
  >;
  readonly #writer: SegmentWriter;
  #pending: Uint8Array | undefined;

  private constructor(options: JournalOptions, writer: SegmentWriter) {
    this.#writer = writer;
    this.segments = writer;
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
   * Continues after the last intact record of the folder, which is read with `readJournal` first. @throws Error when the disk
   * does not give something of it now
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const writer = new SegmentWriter({
      folder: options.folder,
      files: options.files ?? nodeFiles,
      limits: (options.limits ?? LIMITS).journal,
      log: options.log,
      neededFrom: options.neededFrom ?? 1,
      acceptsRefused: options.acceptsRefused ?? false,
      mayGrow: options.mayGrow ?? (() => true),
      nextSequence: (options.lastKnownSequence ?? 0) + 1,
    });
    await writer.setDamagedAside();
    return new Journal(options, writer);
  }

  async #commit({ encode, synced }: JournalOptions): Promise<void> {
    for (;;) {
      // A record that could not be written stays here and is tried again before anything newer.
      this.#pending ??= encode();
      if (!this.#pending) return;
      const sequence = await this.#writer.append(this.#pending);
      const written = this.#pending;
      this.#pending = undefined;
      await synced(sequence, written);
    }
  }

  async stop(): Promise<void> {
    await this.commits.stop();
    await this.#writer.close();
  }
}
