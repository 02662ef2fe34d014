/** Samples of one attribute as they were recorded, read forwards and in pieces. */
import type { RecordedResults, RecordedSample } from '../../../protocol/dry-run.ts';

type Piece = RecordedResults['samples'];

export class Recording {
  readonly #load: (afterMs: number) => Promise<Piece>;
  #piece: Piece | undefined;
  /** Index in the piece of the first sample that is later than the last instant asked for. */
  #position = 0;
  #loading: Promise<void> | undefined;

  /** `load` gives the samples later than an instant, and the last one before. */
  constructor(load: (afterMs: number) => Promise<Piece>) {
    this.#load = load;
  }

  /** The newest sample not later than the instant. Instants must not go back. */
  async at(nowMs: number): Promise<RecordedSample | undefined> {
    const { samples, before } = await this.#reach(nowMs);
    return this.#position > 0 ? samples[this.#position - 1] : (before ?? undefined);
  }

  /** The first sample that is later. */
  async after(nowMs: number): Promise<RecordedSample | undefined> {
    const { samples } = await this.#reach(nowMs);
    return samples[this.#position];
  }

  async #reach(nowMs: number): Promise<Piece> {
    // A long way ahead is not gone sample by sample: the piece around the instant is read instead.
    for (;;) {
      const piece = this.#piece;
      if (piece && (piece.isComplete || (piece.samples.at(-1)?.[0] ?? 0) > nowMs)) {
        while ((piece.samples[this.#position]?.[0] ?? Number.POSITIVE_INFINITY) <= nowMs) this.#position++;
        return piece;
      }
      this.#loading ??= this.#fill(nowMs);
      await this.#loading;
    }
  }

  async #fill(nowMs: number): Promise<void> {
    try {
      this.#piece = await this.#load(nowMs);
      this.#position = 0;
    } finally {
      this.#loading = undefined;
    }
  }
}
