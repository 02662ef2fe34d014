/** Samples of one attribute as they were recorded, read forwards and in chunks. */
import type { EpochMs } from '../../../lib/time.ts';
import type { RecordedResults, RecordedSample } from '../../../protocol/dry-run.ts';

type Chunk = RecordedResults['samples'];

export class Recording {
  readonly #load: (afterMs: EpochMs) => Promise<Chunk>;
  #chunk: Chunk | undefined;
  /** Index in the chunk of the first sample later than the last instant. */
  #position = 0;
  #loading: Promise<void> | undefined;

  /** `load` gives the samples later than an instant, and the last one before. */
  constructor(load: (afterMs: EpochMs) => Promise<Chunk>) {
    this.#load = load;
  }

  /** The newest sample not later than the instant. Instants must not go back. */
  async at(nowMs: EpochMs): Promise<RecordedSample | undefined> {
    const { samples, before } = await this.#reach(nowMs);
    return this.#position > 0 ? samples[this.#position - 1] : (before ?? undefined);
  }

  /** The first sample that is later. */
  async after(nowMs: EpochMs): Promise<RecordedSample | undefined> {
    const { samples } = await this.#reach(nowMs);
    return samples[this.#position];
  }

  async #reach(nowMs: EpochMs): Promise<Chunk> {
    // Far ahead, the chunk around the instant is loaded instead of all those between.
    for (;;) {
      const chunk = this.#chunk;
      if (chunk && (chunk.isComplete || (chunk.samples.at(-1)?.[0] ?? 0) > nowMs)) {
        while ((chunk.samples[this.#position]?.[0] ?? Number.POSITIVE_INFINITY) <= nowMs) this.#position++;
        return chunk;
      }
      this.#loading ??= this.#fill(nowMs);
      await this.#loading;
    }
  }

  async #fill(nowMs: EpochMs): Promise<void> {
    try {
      this.#chunk = await this.#load(nowMs);
      this.#position = 0;
    } finally {
      this.#loading = undefined;
    }
  }
}
